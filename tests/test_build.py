"""BUILD lists every file once, and the libraries depend on each other one way."""

import pytest

from tests import build_file

WRITTEN = {rule.name: rule for rule in build_file.written()}
NEEDED = {rule.name: rule for rule in build_file.needed()}


def test_no_name_is_given_twice():
    names = [rule.name for rule in build_file.written()]
    assert len(names) == len(set(names))


def test_every_source_and_test_file_has_its_rule_and_every_rule_its_files():
    assert sorted(WRITTEN) == sorted(NEEDED)


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_files_listed_in_build_exist(name):
    missing = [path for path in WRITTEN[name].srcs if not (build_file.ROOT / path).is_file()]
    assert not missing


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_a_rule_lists_its_files_and_the_libraries_they_import(name):
    rule, needed = WRITTEN.get(name), NEEDED[name]
    assert rule is not None, f"BUILD lacks {needed}"
    for field in ("srcs", "deps"):
        listed, right = set(getattr(rule, field)), set(getattr(needed, field))
        assert listed == right, f"{field}: add {sorted(right - listed)}, drop {listed - right}"
    assert rule == needed


@pytest.mark.parametrize("stage", [stage for stage in build_file.STAGES if stage in WRITTEN])
def test_a_library_depends_on_earlier_stages_alone(stage):
    earlier = build_file.STAGES[: build_file.STAGES.index(stage)]
    assert {dep.removeprefix(":") for dep in WRITTEN[stage].deps} <= set(earlier)


def test_no_file_imports_from_a_later_stage():
    backwards = []
    for place, stage in enumerate(build_file.STAGES):
        allowed = build_file.STAGES[: place + 1]
        for path in NEEDED[stage].srcs if stage in NEEDED else ():
            for imported in build_file.imports(build_file.ROOT, path):
                if imported.startswith("tests/") or build_file.library_of(imported) not in allowed:
                    backwards.append(f"{path} imports {imported}")
    assert not backwards


def test_a_new_folder_must_be_given_its_place_in_the_flow(tmp_path):
    tree(tmp_path, {"cade_tf/novelty/idea.py": ""})
    with pytest.raises(ValueError, match=r"cade_tf/novelty/idea\.py belongs to no stage"):
        build_file.needed(tmp_path)


def tree(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def test_the_needed_rules_follow_from_files_and_imports(tmp_path):
    tree(
        tmp_path,
        {
            "cade_tf/errors.py": "",
            "cade_tf/train.py": "def run():\n    import cade_tf.graph.io\n",
            "cade_tf/cli/app.py": "from cade_tf import errors",
            "cade_tf/graph/__init__.py": "",
            "cade_tf/graph/io/__init__.py": "from cade_tf.errors import InputError\nimport numpy",
            "tests/helper.py": "",
            "tests/graph/test_io.py": "from cade_tf.graph import io\nfrom tests import helper",
        },
    )
    assert build_file.needed(tmp_path) == [
        build_file.Rule("py_library", "foundation", ("cade_tf/errors.py",)),
        build_file.Rule(
            "py_library",
            "graph",
            ("cade_tf/graph/__init__.py", "cade_tf/graph/io/__init__.py"),
            (":foundation",),
        ),
        build_file.Rule("py_library", "cli", ("cade_tf/cli/app.py",), (":foundation",)),
        build_file.Rule("py_library", "commands", ("cade_tf/train.py",), (":graph",)),
        build_file.Rule(
            "py_binary",
            "cade",
            ("cade_tf/cli/app.py",),
            (":cli", ":commands"),
            "cade_tf/cli/app.py",
        ),
        build_file.Rule("py_library", "testing", ("tests/helper.py",)),
        build_file.Rule(
            "py_test",
            "tests_graph_test_io",
            ("tests/graph/test_io.py", "tests/run_pytest.py"),
            (":graph", ":testing"),
            "tests/run_pytest.py",
            ("tests/graph/test_io.py",),
        ),
    ]


def test_build_is_read_without_running_it(tmp_path):
    tree(
        tmp_path,
        {
            "BUILD": 'package(default_visibility = ["//visibility:public"])\n'
            'py_library(\n    name = "a",\n    srcs = ["y.py", "x.py"],\n    deps = [":b"],\n)\n'
        },
    )
    assert build_file.written(tmp_path / "BUILD") == [
        build_file.Rule("py_library", "a", ("x.py", "y.py"), (":b",))
    ]
