"""Models by name, and from files."""

import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.preparation import Preparation
from cade_tf.models.cade_gb import CadeGB
from cade_tf.models.cade_ma import CadeMA
from cade_tf.models.cade_ms import CadeMS
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.graphsage import GraphSAGE

MODEL_CLASSES: dict[str, type[DualEncoder]] = {
    "cade_ms": CadeMS,
    "cade_ma": CadeMA,
    "cade_gb": CadeGB,
    "graphsage": GraphSAGE,
}
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
"""Keras' name of each precision; weights stay float32."""

WEIGHTS_MEMBER = "model.weights.h5"


def make_model(config: Config) -> DualEncoder:
    """The model that some options describe; `adapt` or `build_for` creates its weights."""
    kind = MODEL_CLASSES[config.model]
    given = {name: getattr(config, name) for name in kind.ARGUMENTS}
    if not kind.has_bias:
        given["global_bias"] = False
    return kind(**given, dtype=POLICIES[config.precision])


def load_model(path: str | Path) -> DualEncoder:
    """A model that `model.save` wrote as a .keras file, with its weights and no optimiser.

    Raises:
        InputError: There is no such file, it is damaged, weights are not finite, or it holds
            something else.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(str(path), "a saved model", "none", "Train it to the end first.")
    try:
        model = keras.saving.load_model(path, compile=False)
        stored = _stored_weights(path)
    except InputError as error:
        raise error.within(path) from error
    # A damaged archive fails in as many ways as there are readers in it.
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            str(path), "a readable model", reason, "Train again or restore the file."
        ) from error
    if not isinstance(model, DualEncoder) or model.preparation is None:
        raise InputError(
            str(path),
            "a trained model of this version of cade_tf",
            type(model).__name__,
            "Train it again.",
        )
    _check_weights(model, stored, path)
    _check_parts(model, model.preparation, path)
    return model


def _check_parts(model: DualEncoder, preparation: Preparation, path: Path) -> None:
    """What was learnt of the training graph must be made for these weights."""
    known, width = len(preparation.known_ids), preparation.transform.output_width
    scalings = preparation.transform.scaling, model.feature_scaling
    # A model whose global bias was too large to be saved knows no node, and has one unused row.
    left_out = known == 0 and model.num_known == 1
    for expected, received, fits in (
        (f"{model.num_known} known ids", known, known == model.num_known or left_out),
        (f"{model.feature_width} features after scaling", width, width == model.feature_width),
        (f"the scaling {scalings[1]}", scalings[0], scalings[0] == scalings[1]),
    ):
        if not fits:
            raise InputError(str(path), expected, received, "Train again or restore the file.")


def _stored_weights(path: Path) -> int:
    """How many weights a .keras file holds, those of its optimiser aside."""
    names: list[str] = []
    with (
        zipfile.ZipFile(path) as archive,
        archive.open(WEIGHTS_MEMBER) as member,
        h5py.File(member, "r") as file,
    ):
        file.visititems(lambda n, item: names.append(n) if hasattr(item, "shape") else None)
    return sum(not name.startswith("optimizer/") for name in names)


def _check_weights(model: DualEncoder, stored: int, path: Path) -> None:
    # Keras reads the weights that its layers ask for, and says nothing of others.
    if stored != len(model.weights):
        raise InputError(
            str(path),
            f"the {len(model.weights)} weights of its options",
            stored,
            "Train again or restore the file.",
        )
    for weight in model.weights:
        if not np.isfinite(keras.ops.convert_to_numpy(weight)).all():
            raise InputError(
                str(path),
                "finite weights",
                f"NaN or infinity in {weight.path}",
                "Train again or restore the file.",
            )
