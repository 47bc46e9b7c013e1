"""The front page's table that is made from reports; `python -m tests.readme_tables` writes it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, SUMMARY = ROOT / "README.md", ROOT / "runs" / "reports" / "README.md"
BLOCK = re.compile(r"(<!-- paper-table: [^\n]*-->\n).*?(\n<!-- end -->)", re.DOTALL)


def paper_table() -> str:
    """How many of the paper's numbers are reached, as `cade reproduce summary` counts them."""
    section = SUMMARY.read_text().split("## Which of the paper's numbers are reached")[1]
    rows = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    # The cells that are missed are named in the summary.
    short = ["|".join(row.split("|")[:5]) + "|" for row in rows]
    return "\n".join(row.replace("](", "](runs/reports/") for row in short)


def with_table(readme: str) -> str:
    """The front page with the table of today."""
    return BLOCK.sub(lambda found: found[1] + paper_table() + found[2], readme)


if __name__ == "__main__":
    README.write_text(with_table(README.read_text()))
