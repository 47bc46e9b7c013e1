"""Data and imports flow one way: no package imports from a later one."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "cade_tf"

# A package may import from itself and from those before it.
STAGES = (
    "foundation",
    "graph",
    "presets",
    "sampling",
    "layers",
    "losses",
    "optimizers",
    "models",
    "training",
    "inference",
    "evaluation",
    "baselines",
    "experiments",
    "serving",
    "scale",
    "benchmark",
    "cli",
    "examples",
)
# The methods by which a user drives the later stages hand over to them.
DELEGATES = ("models/graph_model.py",)


def stage_of(module):
    """The package of a module `cade_tf.PACKAGE.NAME`; modules of the root are the foundation."""
    parts = module.split(".")
    folder = (ROOT / parts[1]) if len(parts) > 1 else ROOT
    return parts[1] if len(parts) > 1 and folder.is_dir() else "foundation"


def imports_of(path):
    """Modules of cade_tf that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("cade_tf"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cade_tf"):
            if node.module == "cade_tf":
                yield from (f"cade_tf.{name.name}" for name in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("stage", STAGES[1:])
def test_a_package_imports_from_earlier_ones_alone(stage):
    allowed = set(STAGES[: STAGES.index(stage) + 1])
    backwards = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / stage).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in DELEGATES
        for module in imports_of(path)
        if stage_of(module) not in allowed
    ]
    assert not backwards


def test_every_package_has_its_place_in_the_flow():
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").is_file()}
    assert folders == set(STAGES[1:])
