"""Tables of the front page that reports give; `python -m tests.readme_tables` writes them."""

import json
import re
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "runs" / "reports"
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- (\w+)-table: [^\n]*-->\n).*?(\n<!-- end -->)", re.DOTALL)
GRAPHS = {
    "cora_ml": "Cora-ML",
    "digits": "Digits",
    "pubmed": "Pubmed",
    "amazon_computers": "Amazon computers",
    "blogcatalog": "BlogCatalog",
    "twitch": "Twitch (ES)",
    "subppi": "subPPI (reconstructed labels)",
}
METHODS = {
    "raw_features": "raw features",
    "smoothed_pca": "smoothed PCA",
    "graphsage": "GraphSAGE",
    "cade_ms": "CADE-MS, the default",
}


def paper_table() -> str:
    """How many of the paper's numbers are reached, as `cade reproduce summary` counts them."""
    summary = (REPORTS / "README.md").read_text()
    section = summary.split("## Which of the paper's numbers are reached")[1]
    rows = [line for line in section.split("\n## ")[0].splitlines() if line.startswith("|")]
    # The cells that are missed are named in the summary.
    short = ["|".join(row.split("|")[:5]) + "|" for row in rows]
    return "\n".join(row.replace("](", "](runs/reports/") for row in short)


def default_table() -> str:
    """The four columns of the study of the default, for the methods that everybody asks for."""
    lines = (REPORTS / "default" / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    table = [f"| graph | {' | '.join(METHODS.values())} | seeds |", "|---" * 6 + "|"]
    for graph, title in GRAPHS.items():
        cells, seeds = [], set()
        for method in METHODS:
            found = [row for row in rows if (row["graph"], row["method"]) == (graph, method)]
            seeds.add(len(found))
            cells.append(
                " / ".join(_mean(found, c) for c in ("all_labels", "few_labels", "nmi", "dot"))
            )
        table.append(f"| {title} | {' | '.join(cells)} | {', '.join(map(str, sorted(seeds)))} |")
    return "\n".join(table)


def _mean(rows: list[dict], column: str) -> str:
    values = [row[column] for row in rows if column in row]
    return f"{np.mean(values):.3f}".removeprefix("0") if values else "-"


def with_tables(readme: str) -> str:
    """The front page with the tables of today."""
    makers = {"paper": paper_table, "default": default_table}
    return BLOCK.sub(lambda found: found[1] + makers[found[2]]() + found[3], readme)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text()))
