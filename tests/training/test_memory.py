"""What a long run keeps of its steps: nothing that grows with them."""

import gc
import tracemalloc

from cade_tf.training.trainer import train
from tests.training.small_run import small_config, small_graph

STEPS = 400


def test_a_run_keeps_no_number_of_its_steps(tmp_path):
    """TensorFlow keeps every Python number that it converts, and with it the object itself."""

    def validate(model, step):
        if not tracemalloc.is_tracing():
            # After the first steps, which compile.
            tracemalloc.start()
        return {"mrr": step / 7}

    config = small_config(
        steps=STEPS, summary_every=10, validate_every=10, stop_on="mrr", patience=STEPS
    )
    try:
        trained = train(small_graph(), config, run_dir=tmp_path, progress=False, validate=validate)
        assert len(trained.history["loss"]) == STEPS / 10
        del trained
        gc.collect()
        found = tracemalloc.take_snapshot()
    finally:
        tracemalloc.stop()
    here = [tracemalloc.Filter(True, f"*/{name}") for name in ("training/*.py", "test_memory.py")]
    kept = {str(s.traceback): s.count for s in found.filter_traces(here).statistics("lineno")}
    assert not {line: count for line, count in kept.items() if count > STEPS / 40}
