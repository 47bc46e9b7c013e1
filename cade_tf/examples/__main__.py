"""The notebooks of this folder: run their code without Jupyter, or write what they show.

python -m cade_tf.examples run [NAME ...]
python -m cade_tf.examples transcript
"""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
PICTURES = "pictures"

HEAD = """# Examples

Four notebooks, with what they print and draw, and five short programs. All of them run as they
stand, on the graph that comes with cade_tf; the tests run them too. The code of the four notebooks
took 37 seconds of processor time. The last digits differ from machine to machine.

| notebook | from | to |
|---|---|---|
{notebooks}

| program | shows |
|---|---|
| [own_graph.py](own_graph.py) | a Keras training: compile, fit, callbacks, embed, save, export |
| [sagb_layer.py](sagb_layer.py) | `SAGB` with a global bias as a layer in a functional model |
| [dual_layer.py](dual_layer.py) | `DualENC` as a layer, and the losses of equations 1 and 2 |
| [fine_tuning.py](fine_tuning.py) | a trained encoder in a model class of your own |
| [custom_loop.py](custom_loop.py) | sampler, model, loss and optimiser in your own `tf.function` |

`jupyter lab` opens a notebook, `python -m cade_tf.examples run NAME` runs its code without Jupyter,
and `python -m cade_tf.examples.NAME` runs a program. [search.flags](search.flags) is a search space
for `cade tune --search=search.flags`.

This page is written by `python -m cade_tf.examples transcript` from the notebooks.
"""

FROM_TO = {
    "1_own_graph": ("tables of your own", "embeddings, nearest nodes, a plot"),
    "2_new_nodes_and_serving": ("a graph that grows", "vectors of new nodes, a SavedModel"),
    "3_links": ("a graph with hidden edges", "likely links, scored by the pair itself"),
    "4_fine_tuning": ("an encoder and few labels", "a classifier, trained down to the encoder"),
}


def cells(name: str) -> list[dict]:
    """The cells of a notebook."""
    return json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"]


def run(name: str) -> None:
    """Runs the code of a notebook, in the present folder."""
    names: dict = {"__name__": name}
    for number, cell in enumerate(cells(name), start=1):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), names)


def transcript() -> tuple[str, dict[str, bytes]]:
    """The page of all notebooks, Markdown, and the files of its pictures by name."""
    rows = "\n".join(f"| [{name}]({name}.ipynb) | {a} | {b} |" for name, (a, b) in FROM_TO.items())
    parts, pictures = [HEAD.format(notebooks=rows)], {}
    for name in FROM_TO:
        for cell in cells(name):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                # The page has a title of its own.
                parts.append(f"#{source}" if source.startswith("#") else source)
                continue
            parts.append(f"```python\n{source}\n```")
            for kind, content in shown(cell):
                if kind == "picture":
                    file = f"{name}_{len([p for p in pictures if p.startswith(name)]) + 1}.png"
                    pictures[file] = base64.b64decode(content)
                    parts.append(f"![Output of the cell above]({PICTURES}/{file})")
                else:
                    parts.append(f"```text\n{content}\n```")
    return "\n\n".join(part.strip() for part in parts) + "\n", pictures


def shown(cell: dict) -> Iterator[tuple[str, str]]:
    """What a cell shows: pictures, and texts that belong together."""
    texts = []
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            yield "picture", data["image/png"]
        else:
            texts.append("".join(output.get("text", data.get("text/plain", ""))))
    lines = [line.rstrip() for text in texts for line in text.strip("\n").splitlines()]
    if lines:
        yield "text", "\n".join(lines)


def main(words: list[str]) -> None:
    """Does what the command asks for."""
    if words[:1] == ["run"]:
        for name in words[1:] or FROM_TO:
            print(f"--- {name}", flush=True)
            run(name)
    elif words == ["transcript"]:
        text, pictures = transcript()
        (FOLDER / "README.md").write_text(text)
        (FOLDER / PICTURES).mkdir(exist_ok=True)
        for name, content in pictures.items():
            (FOLDER / PICTURES / name).write_bytes(content)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
