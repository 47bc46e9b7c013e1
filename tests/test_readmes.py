"""The guides: links lead somewhere, commands and code are those of today, the front page runs."""

import ast
import importlib
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cade_tf
from cade_tf.cli import app, flags
from tests import readme_tables
from tests.training.small_run import NODES, small_graph

ROOT = Path(__file__).resolve().parent.parent
GUIDES = sorted(
    path.relative_to(ROOT)
    for path in (ROOT / "README.md", *ROOT.glob("cade_tf/**/README.md"), *ROOT.glob("runs/*.md"))
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(guide):
    """(language, text) of the blocks of code."""
    return BLOCK.findall((ROOT / guide).read_text())


def commands(guide):
    """Calls of cade in the blocks of a guide, each as its words."""
    for language, text in blocks(guide):
        if language in ("python", "text", "yaml"):
            continue
        for line in text.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ |nohup |RUN )?(cade [a-z].*)", line)
            if found:
                words = shlex.split(found[1].rstrip("& "), comments=True)
                # A line of output may begin with the name of the program too.
                if words[1] in app.COMMANDS:
                    yield words[1:]


@pytest.mark.parametrize("guide", GUIDES, ids=str)
def test_links_lead_somewhere(guide):
    text = re.sub(BLOCK, "", (ROOT / guide).read_text())
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        if not target.startswith("https://"):
            assert (ROOT / guide.parent / target).exists(), target


@pytest.mark.parametrize("guide", GUIDES, ids=str)
def test_commands_have_the_flags_of_today(guide):
    for name, *rest in commands(guide):
        module = importlib.import_module(f"cade_tf.cli.{name}")
        flags.parse(module.OPTIONS, [word for word in rest if "flagfile" not in word])


@pytest.mark.parametrize("guide", GUIDES, ids=str)
def test_code_is_python_and_names_what_there_is(guide):
    for language, text in blocks(guide):
        if language != "python":
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("cade_tf", "Graph"):
                owner = cade_tf if ast.unparse(node.value) == "cade_tf" else cade_tf.Graph
                assert hasattr(owner, node.attr), f"{ast.unparse(node)} in {guide}"


def marked(name):
    """The block of the front page after a comment."""
    (found,) = re.findall(
        rf"<!-- {name} -->\n```\w+\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    return found


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The files that the front page names, in the present folder; ids are names."""
    monkeypatch.chdir(tmp_path)
    graph = small_graph()
    np.savetxt("edges.csv", graph.edges(), "%d", ",")
    np.save("features.npy", graph.features)
    pd.DataFrame({"node": np.arange(NODES), "class": graph.labels}).to_csv("labels.csv")
    np.savetxt("grown.csv", [*graph.edges(), [0, NODES]], "%d", ",")
    np.save("grown.npy", np.vstack([graph.features, graph.features[:1]]))
    return graph


def test_the_commands_for_a_graph_of_ones_own_run(tables, capfd):
    lines = marked("own-graph-commands").splitlines()
    assert len(lines) == 4
    for line in lines:
        name, *rest = shlex.split(line)[1:]
        fewer = ["--steps=4", "--dim=8"] if name == "train" else []
        assert app.main([name, *rest, *fewer]) == 0, capfd.readouterr().err
    assert np.load("out/embeddings.npy").shape == (NODES + 1, 8)
    assert Path("served/1/saved_model.pb").is_file()


def test_the_code_for_a_graph_of_ones_own_runs(tables):
    code = marked("own-graph-python").replace("train(graph)", "train(graph, steps=4, dim=8)")
    names = ["ann", *(f"node {n}" for n in range(1, NODES))]
    edges = pd.DataFrame([[names[a], names[b]] for a, b in tables.edges()], columns=["u", "v"])
    nodes = pd.DataFrame(tables.features, index=names).assign(**{"class": tables.labels})
    found = {"edges": edges, "nodes": nodes}
    exec(code, found)
    assert found["table"].shape == (NODES, 8)
    assert len(found["ids"]) == 10


def test_the_tables_are_those_of_the_reports():
    readme = (ROOT / "README.md").read_text()
    assert len(readme_tables.BLOCK.findall(readme)) == 2
    assert readme == readme_tables.with_tables(readme), "run: python -m tests.readme_tables"
