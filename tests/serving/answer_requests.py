"""Loads SavedModels in a process of its own, which imports TensorFlow only, and asks them.

Reads a JSON list of requests and writes a JSON list of answers: outputs by name, or the error.
"""

import json
import sys

import tensorflow as tf


def main(source: str, target: str) -> None:
    with open(source) as file:
        requests = json.load(file)
    loaded: dict = {}
    answers = []
    for request in requests:
        folder = request["folder"]
        if folder not in loaded:
            loaded[folder] = tf.saved_model.load(folder)
        model = loaded[folder]
        inputs = {n: tf.constant(v["value"], v["dtype"]) for n, v in request["inputs"].items()}
        inputs = {n: tf.reshape(t, request["inputs"][n]["shape"]) for n, t in inputs.items()}
        function = model.signatures[request["signature"]]
        if request["by_default"]:
            function = model.functions[request["signature"]]
        try:
            outputs = function(**inputs)
        except (tf.errors.OpError, TypeError, ValueError) as error:
            answers.append({"error": str(error)})
        else:
            answers.append({name: value.numpy().tolist() for name, value in outputs.items()})
    if "cade_tf" in sys.modules:
        raise ImportError("The process must not know cade_tf.")
    with open(target, "w") as file:
        json.dump({"answers": answers, "signatures": _signatures(loaded)}, file)


def _signatures(loaded: dict) -> dict:
    return {folder: sorted(model.signatures) for folder, model in loaded.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
