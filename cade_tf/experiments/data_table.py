"""The paper's table of data sets next to what the files hold."""

from pathlib import Path

from cade_tf.errors import InputError
from cade_tf.experiments import paper
from cade_tf.experiments.cells import load_graph
from cade_tf.experiments.declarations import labelled_title
from cade_tf.experiments.report import REPORT_FILE, markdown_table, notes_of, write_page

_COLUMNS = ("nodes", "edges", "classes", "features", "average degree")


def write(folder: Path, data_dir: str | None = None) -> Path:
    """Writes the table; a data set that is not there is shown as such.

    Args:
        folder: Folder of the report.
        data_dir: Folder of the data sets.

    Returns:
        Path of report.md.
    """
    rows, reasons = [], []
    for dataset, printed in paper.DATA.items():
        title = labelled_title(dataset)
        try:
            graph = load_graph(dataset, data_dir)
        except InputError:
            reasons.append(f"{title} is not available here; `cade data list` says where it is.")
            cells = [f"not available [{number:,}]" for number in printed]
        else:
            degree = 2 * graph.num_edges / graph.num_nodes
            found = (graph.num_nodes, graph.num_edges, graph.num_classes, graph.num_features)
            cells = [f"{a:,} [{b:,}]" for a, b in zip(found, printed, strict=False)]
            cells.append(f"{degree:.2f} [{printed[-1]:.2f}]")
        rows.append([title, *cells])
    parts = ["# Data sets", "Counted from the files; the paper's number in brackets."]
    parts += [markdown_table(["", *_COLUMNS], rows), *reasons, *notes_of(folder)[1:]]
    return write_page(folder / REPORT_FILE, parts)
