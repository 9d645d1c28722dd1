"""Plans as files: Markdown, todo.txt, checklists, and the lists of other tools."""
