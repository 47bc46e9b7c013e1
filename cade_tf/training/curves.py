"""The curves of a run in TensorBoard: where each is found, and what it should do.

TensorBoard sorts groups by name, and curves within a group. The first group, `at_a_glance`, tells
whether a run is healthy; its curves are numbered, so that the most telling come first.
"""

from typing import Any, NamedTuple


class Curve(NamedTuple):
    """One curve.

    Attributes:
        place: What precedes its name in TensorBoard: a group, and a number that orders it.
        meaning: What it is.
        healthy: What it does in a healthy run.
    """

    place: str
    meaning: str
    healthy: str


VALIDATION = "at_a_glance/3_"
"""Place of all scores on what training does not see, a user's own included."""

CURVES: dict[str, Curve] = {
    "loss": Curve(
        "at_a_glance/1_",
        "What training minimises, mean over the pairs of the last steps.",
        "Falls quickly at first, then slowly, with some noise. A rise that lasts means that the "
        "learning rate is too high.",
    ),
    "mrr": Curve(
        "at_a_glance/2_",
        "Mean reciprocal rank of a node's true partner among the negatives of its step; 1 is "
        "perfect.",
        "Rises and levels off. If it stays near its first value, nothing is learnt.",
    ),
    "validation_mrr": Curve(
        VALIDATION,
        "The same rank for validation nodes, which training does not see.",
        "Rises with `mrr`. If it falls while `mrr` rises, the model overfits.",
    ),
    "validation_pairs": Curve(
        VALIDATION,
        "The same rank for pairs of walks that training does not take, of nodes that it sees.",
        "Rises and levels off. The recommended preset stops where it no longer rises, and keeps "
        "the best weights.",
    ),
    "validation_probe": Curve(
        VALIDATION,
        "Micro-F1 of a classifier on the embeddings of the validation nodes.",
        "Rises and levels off. Training can stop where it no longer rises (`stop_on=probe`).",
    ),
    "attention_entropy": Curve(
        "at_a_glance/4_",
        "Entropy of the attention over K x K pairs of candidates, as a share of the greatest "
        "there can be, 2 ln K. At 1 all candidates count alike.",
        "Starts near 1 and falls a little. A fall to 0 means that one candidate does everything.",
    ),
    "mean_cosine": Curve(
        "at_a_glance/5_",
        "Mean cosine of all pairs of embeddings of a batch.",
        "Falls, or stays well below 1. Near 1 all embeddings point the same way: the run has "
        "collapsed.",
    ),
    "rank_me": Curve(
        "at_a_glance/6_",
        "Effective number of dimensions that the embeddings of a batch fill (RankMe).",
        "Rises or stays. A fall to a few dimensions is a collapse.",
    ),
    "pairs_per_second": Curve(
        "at_a_glance/7_",
        "Speed: positive pairs per second.",
        "Level after the first steps. The first value contains the tracing of the graph.",
    ),
    "positive_loss": Curve("train/", "Part of the loss that pulls a pair together.", "Falls."),
    "negative_loss": Curve(
        "train/", "Part of the loss that pushes a node away from negatives.", "Falls, or stays low."
    ),
    "positive_affinity": Curve(
        "train/", "Mean dot product of a node and its partner.", "Rises above `negative_affinity`."
    ),
    "negative_affinity": Curve(
        "train/",
        "Mean dot product of a node and its negatives.",
        "Stays below `positive_affinity`. If both are low and equal, the run has collapsed.",
    ),
    "learning_rate": Curve("train/", "Learning rate of the next step.", "As the schedule says."),
    "gradient_norm": Curve(
        "norm/",
        "Joint length of all gradients of the last step, before clipping.",
        "Falls or stays. Leaps mean that the learning rate is too high.",
    ),
    "weights_norm": Curve(
        "norm/", "Joint length of all dense weights.", "Grows slowly, or levels off."
    ),
    "global_bias_norm": Curve(
        "norm/", "Length of the whole table of the global bias.", "Grows from 0 and levels off."
    ),
    "steps_per_second": Curve("speed/", "Speed: steps per second.", "Level after the first steps."),
}

LAYOUT = {
    "Loss: falls": ("loss",),
    "Rank of the true partner: rises": ("mrr",),
    "Validation: rises": ("validation_mrr", "validation_pairs", "validation_probe"),
    "Attention: near 1 all candidates count alike": ("attention_entropy",),
    "Collapse: the mean cosine stays well below 1": ("mean_cosine",),
    "Effective dimensions: do not fall": ("rank_me",),
    "Affinities: the first rises above the second": ("positive_affinity", "negative_affinity"),
    "Length of the gradients: no leaps": ("gradient_norm",),
    "Pairs per second: level": ("pairs_per_second",),
}
"""Charts of the page `Custom Scalars`, and the curves in each."""


def tag(name: str) -> str:
    """The name of a curve in TensorBoard, its group included.

    Example:

    >>> tag("loss"), tag("validation_own")
    ('at_a_glance/1_loss', 'at_a_glance/3_validation_own')
    """
    # Scores of a validation of one's own have names of their own.
    return f"{CURVES[name].place if name in CURVES else VALIDATION}{name}"


def description(name: str) -> str:
    """What TensorBoard shows with a curve, Markdown."""
    if name not in CURVES:
        return f"{name}, as the function `validate` of this run gives it; higher is better."
    curve = CURVES[name]
    return f"{curve.meaning}\n\nIn a healthy run: {curve.healthy}"


def guide() -> str:
    """A page that says what each curve is and what it should do, Markdown."""
    rows = "".join(
        # With spaces a narrow column breaks a name between words.
        f"| {name.replace('_', ' ')} | {curve.meaning} | {curve.healthy} |\n"
        for name, curve in CURVES.items()
    )
    return (
        "# Is this run healthy?\n\n"
        "Look at the group `at_a_glance` of *Time Series* first: the loss falls, MRR rises, the "
        "mean cosine stays well below 1, and the speed is level. *Custom Scalars* has the same "
        "curves with what each should do. *Images* shows some nodes in the plane as training goes "
        "on: classes should separate, or at least not melt into one. Validation curves are there "
        "with `validate_every` and with the recommended preset; the entropy of the attention "
        "is there for models with attention.\n\n"
        "| curve | what it is | in a healthy run |\n|---|---|---|\n" + rows
    )


def layout() -> Any:
    """The page `Custom Scalars`: one chart for each question about a run's health."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    charts = [
        layout_pb2.Chart(
            title=title,
            multiline=layout_pb2.MultilineChartContent(tag=[f"^{tag(name)}$" for name in names]),
        )
        for title, names in LAYOUT.items()
    ]
    return layout_pb2.Layout(category=[layout_pb2.Category(title="Health", chart=charts)])
