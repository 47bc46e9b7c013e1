"""The options of a run: config.json in its folder, and which of them may change later."""

from pathlib import Path

from cade_tf.config import Config, DataOptions, EmbeddingOptions, RunOptions
from cade_tf.errors import InputError
from cade_tf.training import manifest

CONFIG_FILE = "config.json"

# Where the data lie does not matter as long as they are the same, which their fingerprint tells.
_FREE = frozenset(
    (
        *DataOptions.field_names(),
        *EmbeddingOptions.field_names(),
        *RunOptions.field_names(),
        "strategy",
        "patience",
        "preset",  # its values count, not its name
    )
)
_LENGTH = frozenset(("steps", "epochs"))


def read_config(run_dir: str | Path) -> Config:
    """Options of a run, as its manifest has them.

    Raises:
        InputError: The folder holds no run, or its options were damaged or changed.
    """
    path = Path(run_dir) / CONFIG_FILE
    manifest.check(run_dir, CONFIG_FILE)
    if not path.is_file():
        expected = f"a run directory with {CONFIG_FILE}"
        raise InputError(str(run_dir), expected, "none", "Train first.")
    try:
        return Config.from_json(path.read_bytes())
    except InputError as error:
        raise error.within(path) from error


def differences(old: Config, new: Config) -> dict[str, tuple[object, object]]:
    """Options, old and new, that make two runs different; `steps` only where a schedule ends."""
    free = _FREE if "cosine" in (old.schedule, new.schedule) else _FREE | _LENGTH
    return {
        name: (getattr(old, name), getattr(new, name))
        for name in Config.field_names()
        if name not in free and getattr(old, name) != getattr(new, name)
    }
