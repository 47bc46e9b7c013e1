"""Writes GraphSAGE files of any size; by hand, of Reddit's:

python -m tests.graph.readers.graphsage_files FOLDER
"""

import json
import sys
from pathlib import Path

import numpy as np


def write_large(folder: Path, *, nodes: int, links: int, features: int, classes: int) -> None:
    """Writes a random graph in the format of reddit-G.json, block by block."""
    rng = np.random.default_rng(0)
    names = [f"n{i:x}" for i in rng.permutation(nodes)]
    with open(folder / "reddit-G.json", "w") as file:
        file.write('{"directed": false, "graph": {"name": "random"}, "nodes": [')
        parts = rng.choice(3, nodes, p=[0.66, 0.1, 0.24])
        for i, name in enumerate(names):
            node = {"test": bool(parts[i] == 2), "id": name, "val": bool(parts[i] == 1)}
            file.write((", " if i else "") + json.dumps(node))
        file.write('], "links": [')
        for start in range(0, links, 500_000):
            pairs = rng.integers(0, nodes, (min(500_000, links - start), 2))
            texts = [f'{{"source": {a}, "target": {b}}}' for a, b in pairs.tolist()]
            file.write((", " if start else "") + ", ".join(texts))
        file.write('], "multigraph": false}')
    matrix = np.lib.format.open_memmap(
        folder / "reddit-feats.npy", "w+", dtype=np.float64, shape=(nodes, features)
    )
    for start in range(0, nodes, 10_000):
        part = matrix[start : start + 10_000]
        part[:] = rng.normal(size=part.shape)
    matrix.flush()
    rows = dict(zip(names, rng.permutation(nodes).tolist(), strict=True))
    (folder / "reddit-id_map.json").write_text(json.dumps(rows))
    labels = dict(zip(names, rng.integers(0, classes, nodes).tolist(), strict=True))
    (folder / "reddit-class_map.json").write_text(json.dumps(labels))


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    write_large(target, nodes=232_965, links=11_606_919, features=602, classes=41)
