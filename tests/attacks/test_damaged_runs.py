"""Whatever happens to a run, a command answers as before or with one line that says what is wrong.

60 damaged run directories, 60 encoders whose parts do not fit each other, and 20 numerical
extremes; the environment variable CADE_ATTACKS multiplies the random ones.
"""

import contextlib
import io
import json
import re
import shutil
import zipfile

import h5py
import numpy as np
import pytest

from cade_tf.cli.app import main
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.models.factory import load_model
from cade_tf.training.trainer import train
from tests.attacks.damage import cut, damaged, flip_bits, tries
from tests.trained_runs import make_graph, trained_run

COMMANDS = {
    "embed": ("embed", "--output={out}"),
    "evaluate": ("evaluate",),
    "explain": ("explain", "--pair=n1,n2"),
    "export": ("export", "--export_dir={out}"),
    "neighbors": ("neighbors", "--node=n3", "--top=5"),
}
READERS = {
    "config.json": ("embed", "evaluate", "explain", "export"),
    "encoder/model.keras": ("embed", "explain", "export"),
    "embeddings.npy": ("evaluate", "neighbors"),
    "node_ids.txt": ("evaluate", "neighbors"),
    "split.npz": ("evaluate",),
    "result.json": ("export",),
}
"""Which commands read a file of a run."""


def _zeros(content, rng):
    middle = len(content) // 2
    content[middle : middle + 16] = bytes(min(16, len(content) - middle))
    return content


def _empty(content, rng):
    return bytearray()


def _garbage(content, rng):
    return bytearray(rng.bytes(len(content)))


def _not_utf8(content, rng):
    content[int(rng.integers(len(content)))] = 0xFF
    return content


def _any(content, rng):
    return bytearray(damaged(bytes(content), rng))


DAMAGES = (flip_bits, cut, _zeros, _empty, _garbage, _not_utf8, _any)


def run_command(name, run_dir, out):
    """Exit code, output without times, last line of errors, and embeddings where they are written.

    Anything but an answer or a line of errors ends the test as an exception would end the command.
    """
    output, errors = io.StringIO(), io.StringIO()
    command, *flags = (word.format(out=out) for word in COMMANDS[name])
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main([command, f"--run_dir={run_dir}", *flags])
    vectors = out / "embeddings.npy"
    content = vectors.read_bytes() if vectors.is_file() else b""
    shutil.rmtree(out, ignore_errors=True)
    text = re.sub(r"\([\d.]+ s\)|" + re.escape(str(out)), "", output.getvalue())
    return code, text, errors.getvalue().strip().split("\n")[-1], content


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What the commands answer to the undamaged run; `cade export` is too slow to be repeated."""
    out = tmp_path_factory.mktemp("good") / "out"
    return {name: run_command(name, trained_run(), out) for name in COMMANDS if name != "export"}


def attack(number, folder, *, manifest):
    """A copy of a run with one damaged file, and the name of that file."""
    rng = np.random.default_rng([number, manifest])
    files = sorted(READERS)
    if manifest:
        files.append("manifest.json")
    name = files[number % len(files)]
    shutil.copytree(trained_run(), folder, ignore=shutil.ignore_patterns("checkpoints", "events*"))
    if not manifest:
        (folder / "manifest.json").unlink()
    content = bytearray((folder / name).read_bytes())
    damage = DAMAGES[int(rng.integers(len(DAMAGES)))]
    changed = bytes(damage(bytearray(content), rng))
    (folder / name).write_bytes(changed)
    return name, damage.__name__, changed != bytes(content)


@pytest.mark.parametrize("number", range(tries(42)))
def test_a_damaged_run_is_refused_or_answers_as_before(number, answers, tmp_path):
    name, damage, changed = attack(number, tmp_path / "run", manifest=True)
    readers = READERS.get(name, ("evaluate", "neighbors"))
    for command in readers if changed else ():
        code, text, error, content = run_command(command, tmp_path / "run", tmp_path / "out")
        if code == 0:
            assert name == "manifest.json", f"{command} takes {name} after {damage}"
            assert (code, text, content) == (*answers[command][:2], answers[command][3])
        else:
            assert code == 2, error
            assert error.startswith("cade: "), f"{damage}: {error}"
            assert name in error, f"{damage}: {error}"


@pytest.mark.parametrize("number", range(tries(18)))
def test_a_damaged_run_without_a_manifest_ends_with_a_line(number, tmp_path):
    name, damage, _ = attack(number, tmp_path / "run", manifest=False)
    for command in READERS[name]:
        if command == "export" and len(READERS[name]) > 1:
            continue
        code, _, error, _ = run_command(command, tmp_path / "run", tmp_path / "out")
        assert code == 0 or error.startswith("cade: "), f"{name}, {damage}: {error}"


# --- encoders -------------------------------------------------------------------------------------


def _ids(count, start=0):
    return np.array([f"n{start + i}" for i in range(count)])


CONFIGS = [
    *(("walk_length", value) for value in (0, -1, 10**6, 2.5, "x", None)),
    *(("normalize", value) for value in ("zzz", 1, None)),
    *(("dim", value) for value in (0, -8, 7, 16, "8", None, 2.0)),
    *(("k", value) for value in (0, -1, None, "3", 2.5)),
    *(("fanouts", value) for value in ([], [3], [3, 2, 2], [0, 2], [-1, 2], "32", None)),
    *(("aggregator", value) for value in ("lstm", "pool", "zzz")),
    *(("activation", value) for value in ("zzz", 3)),
    *(("attention_temperature", value) for value in (0, -1.0, float("nan"))),
    *(("feature_scaling", value) for value in ("row", "zzz")),
    *(("feature_svd", value) for value in (-1, "x")),
    ("global_bias", False),
    ("seed", "x"),
]
BUILDS = [("num_known", 20), ("num_known", -1), ("feature_width", 4), ("feature_width", "x")]
ARRAYS = [
    *(("known_ids", _ids(count)) for count in (0, 1, 20, 22)),
    ("known_ids", _ids(21).reshape(3, 7)),
    ("known_ids", np.arange(21.0)),
    ("known_ids", np.repeat("n1", 21)),
    ("known_ids", np.array("n1")),
    ("transform.mean", np.zeros(2, "f")),
    ("transform.mean", np.zeros(3, "U1")),
    ("transform.mean", np.zeros((3, 1))),
    ("transform.mean", np.full(3, np.nan, "f")),
    *(("transform.scale", np.full(3, value, "f")) for value in (0, -1, np.nan, np.inf)),
    ("transform.scale", None),
    ("transform.input_width", np.array(4)),
    ("transform.scaling", np.array("zzz")),
    ("transform.components", np.zeros((3, 5), "f")),
    ("feature_names", np.array(["a", "b"])),
    ("structural", None),
]  # fmt: skip
WEIGHTS = [np.nan, np.inf, -np.inf]


def rewritten(source, target, changes):
    """A copy of a .keras file with other members."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = changes.get(name, lambda content: content)(old.read(name))
            if content is not None:
                new.writestr(name, content)


def change_config(name, value, part="config"):
    def change(content):
        config = json.loads(content)
        config[part][name] = value
        return json.dumps(config).encode()

    return {"config.json": change}


def change_array(name, value):
    def change(content):
        members = dict(np.load(io.BytesIO(content)))
        members.pop(name, None)
        if value is not None:
            members[name] = value
        file = io.BytesIO()
        np.savez(file, **members)
        return file.getvalue()

    return {"assets/preparation.npz": change}


def change_weight(value):
    def change(content):
        file = io.BytesIO(content)
        with h5py.File(file, "r+") as weights:
            weights["layers/sagb/rounds/sage_layer/vars/0"][0, 1, 2] = value
        return file.getvalue()

    return {"model.weights.h5": change}


def without(member):
    return {member: lambda content: None}


ENCODERS = {
    **{f"config {name}={value!r}": change_config(name, value) for name, value in CONFIGS},
    **{f"build {n}={v!r}": change_config(n, v, "build_config") for n, v in BUILDS},
    **{f"{number} {name}": change_array(name, v) for number, (name, v) in enumerate(ARRAYS)},
    **{f"weight {value}": change_weight(value) for value in WEIGHTS},
    **{
        f"no {name}": without(name)
        for name in ("config.json", "model.weights.h5", "assets/preparation.npz")
    },
}


@pytest.mark.parametrize("case", ENCODERS)
def test_an_encoder_whose_parts_do_not_fit_is_refused(case, tmp_path):
    rewritten(trained_run() / "encoder/model.keras", tmp_path / "model.keras", ENCODERS[case])
    with pytest.raises(InputError, match=r"model\.keras"):
        load_model(tmp_path / "model.keras")


def test_an_encoder_that_was_only_packed_again_is_taken(tmp_path):
    rewritten(trained_run() / "encoder/model.keras", tmp_path / "model.keras", {})
    assert load_model(tmp_path / "model.keras").num_known == 21


# --- numbers --------------------------------------------------------------------------------------


def extreme_graph(value, where="one"):
    graph = make_graph()
    features = np.array(graph.features)
    if where == "one":
        features[4, 1] = value
    elif where == "row":
        features[4] = value
    else:
        features = np.full_like(features, value) if where == "constant" else features * value
    return Graph(
        indptr=graph.indptr, indices=graph.indices, features=features, node_ids=graph.ids,
        feature_names=graph.feature_names, name="extreme",
    )  # fmt: skip


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("value", "where"),
    [(1e20, "one"), (-1e38, "row"), (1e37, "all"), (1e15, "one"), (1e-40, "all"), (0, "constant")],
)
def test_extreme_features_give_finite_embeddings_or_an_error_that_names_the_node(
    value, where, full
):
    model = load_model(trained_run("graphsage") / "encoder/model.keras")
    graph = extreme_graph(np.float32(value), where)
    embed = model.embed_full if full else model.embed
    if abs(value) > 1e12:
        with pytest.raises(InputError, match="node n" if where == "all" else "node n4"):
            embed(graph, progress=False)
    else:
        assert np.isfinite(embed(graph, progress=False)).all()


@pytest.mark.parametrize(
    ("value", "where", "scaling"),
    [
        (1e38, "one", "standard"),
        (1e38, "one", "row"),
        (1e30, "all", "none"),
        (1e-40, "all", "standard"),
        (1e-40, "all", "none"),
        (0, "constant", "standard"),
        (3, "constant", "row"),
        (1e30, "all", "standard"),
    ],
)
def test_training_on_extreme_features_ends_with_numbers_or_a_clear_error(value, where, scaling):
    config = Config(
        model="graphsage", dim=4, fanouts=(2,), steps=1, batch_size=8, feature_scaling=scaling
    )
    graph = extreme_graph(np.float32(value), where)
    with contextlib.suppress(InputError, FloatingPointError):
        trained = train(graph, config, progress=False)
        assert np.isfinite(trained.embed(graph, walks=1, progress=False)).all()


@pytest.mark.parametrize("scaling", ["none", "standard", "standard_row"])
def test_features_too_small_to_count_are_told(scaling, caplog):
    config = Config(model="graphsage", dim=4, fanouts=(2,), steps=0, feature_scaling=scaling)
    train(extreme_graph(np.float32(1e-40), "all"), config, progress=False)
    assert "numbers so small are lost" in caplog.text


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("value", [0, 3])
def test_equal_embeddings_of_another_graph_are_told(value, full, tmp_path, capsys):
    extreme_graph(np.float32(value), "constant").save(tmp_path / "equal.npz")
    flags = [
        f"--graph={tmp_path / 'equal.npz'}",
        f"--output={tmp_path}",
        *["--full_neighborhood"][:full],
    ]
    assert main(["embed", f"--run_dir={trained_run('graphsage')}", *flags]) == 0
    assert "all embeddings are equal" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["weight_decay", "bias_weight_decay"])
def test_a_weight_decay_that_takes_weights_away_whole_is_refused(name):
    with pytest.raises(InputError, match=f"{name}: expected less than 100, one over"):
        Config(learning_rate=0.01, **{name: 1e6})


@pytest.mark.parametrize("full", [False, True])
def test_a_graph_without_nodes_is_refused_with_and_without_sampling(full):
    model = load_model(trained_run("graphsage") / "encoder/model.keras")
    empty = make_graph().subgraph(np.zeros(0, int))
    with pytest.raises(InputError, match="graph: expected at least one node, received none"):
        (model.embed_full if full else model.embed)(empty, progress=False)


@pytest.mark.parametrize("seed", [-1, 2**31, 2**70])
def test_a_seed_out_of_range_is_refused_by_name(seed):
    with pytest.raises(InputError, match="seed: expected at "):
        Config(seed=seed)
