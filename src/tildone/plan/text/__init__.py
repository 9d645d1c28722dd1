"""What is shown of a plan: lists, status lines, styled lines, and sanitized text."""
