"""Write the pages."""

from tests.project.originals.page import PAGES

for path, page in PAGES.items():
    path.write_text(page(), encoding="utf-8", newline="\n")
