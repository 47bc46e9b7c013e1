"""What BUILD says, and what it should say given the files and their imports."""

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# The one way data and imports flow; a library may depend on earlier ones alone.
STAGES = (
    "foundation",
    "progress",
    "graph",
    "sampling",
    "layers",
    "models",
    "inference",
    "training",
    "evaluation",
    "baselines",
    "experiments",
    "benchmark",
    "cli",
    "commands",
)
FOUNDATION = ("errors", "options", "config", "files", "problems")
RUNNER = "tests/run_pytest.py"
HELPERS = "testing"
BINARY = "cade"
ENTRY_POINT = "cade_tf/cli/app.py"


@dataclasses.dataclass(frozen=True)
class Rule:
    """One rule of BUILD, its lists sorted."""

    kind: str
    name: str
    srcs: tuple[str, ...]
    deps: tuple[str, ...] = ()
    main: str | None = None
    args: tuple[str, ...] = ()


def written(path: Path = ROOT / "BUILD") -> list[Rule]:
    """The rules BUILD holds; BUILD files are syntactically Python."""
    rules = []
    for statement in ast.parse(path.read_text()).body:
        if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
            continue
        call = statement.value
        kind = ast.unparse(call.func)
        if kind.startswith("py_"):
            values = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
            rules.append(
                Rule(
                    kind,
                    values["name"],
                    tuple(sorted(values.get("srcs", ()))),
                    tuple(sorted(values.get("deps", ()))),
                    values.get("main"),
                    tuple(values.get("args", ())),
                )
            )
    return rules


def needed(root: Path = ROOT) -> list[Rule]:
    """The rules that the files under cade_tf and tests call for."""
    rules = []
    by_library: dict[str, list[str]] = {stage: [] for stage in STAGES}
    for path in _python_files(root, "cade_tf"):
        if library_of(path) not in STAGES:
            raise ValueError(f"{path} belongs to no stage; give its folder a place in STAGES")
        by_library[library_of(path)].append(path)
    for stage, paths in by_library.items():
        if paths:
            rules.append(Rule("py_library", stage, tuple(paths), _deps(root, stage, paths)))
    commands = tuple(f":{s}" for s in ("cli", "commands") if by_library[s])
    rules.append(Rule("py_binary", BINARY, (ENTRY_POINT,), commands, ENTRY_POINT))
    tests = _python_files(root, "tests")
    helpers = [path for path in tests if not Path(path).name.startswith("test_")]
    rules.append(Rule("py_library", HELPERS, tuple(helpers), _deps(root, HELPERS, helpers)))
    for path in tests:
        if path not in helpers:
            name = path.removesuffix(".py").replace("/", "_")
            deps = tuple(sorted({*_deps(root, name, [path]), f":{HELPERS}"}))
            sources = tuple(sorted((path, RUNNER)))
            rules.append(Rule("py_test", name, sources, deps, RUNNER, (path,)))
    return rules


def library_of(path: str) -> str:
    """Library that holds a source file of the package."""
    parts = Path(path).with_suffix("").parts[1:]
    if parts[0] == "cli":
        return "progress" if parts[1] in ("__init__", "progress") else "cli"
    if len(parts) > 1:
        return parts[0]
    return "foundation" if parts[0] in FOUNDATION else "commands"


def imports(root: Path, path: str) -> Iterator[str]:
    """Files of this repository that a file imports, at its top or inside its functions."""
    for node in ast.walk(ast.parse((root / path).read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for module in modules:
            yield from _file_of(root, module)


def _file_of(root: Path, module: str) -> Iterator[str]:
    """`cade_tf.graph.graph.Graph` -> cade_tf/graph/graph.py; nothing for foreign modules."""
    parts = module.split(".")
    if parts[0] not in ("cade_tf", "tests"):
        return
    for end in range(len(parts), 0, -1):
        stem = "/".join(parts[:end])
        for candidate in (f"{stem}.py", f"{stem}/__init__.py"):
            if (root / candidate).exists():
                yield candidate
                return


def _python_files(root: Path, folder: str) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in (root / folder).rglob("*.py"))


def _deps(root: Path, name: str, paths: list[str]) -> tuple[str, ...]:
    used = set()
    for path in paths:
        for imported in imports(root, path):
            used.add(HELPERS if imported.startswith("tests/") else library_of(imported))
    return tuple(sorted(f":{library}" for library in used - {name}))
