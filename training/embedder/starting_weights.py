"""The weights of the embedder's teacher, from its 8-bit ONNX file.

    python -m training.embedder.starting_weights FOLDER TEACHER.pt

FOLDER holds model.onnx and tokenizer.json of snowflake-arctic-embed-s (Apache-2.0), with the names of modules in it.
Its word vectors are put into the order of our word pieces, all of which it has. The embedder itself begins with three
layers of the reader that came before (`training.reader.starting_weights`).
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from training.embedder.model import PLACES
from training.reader.starting_weights import Weights, dequantize

from remanence.models.text_model import FOLDER

_LAYER = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "out",
    "attention.output.LayerNorm": "norm1",
    "output.LayerNorm": "norm2",
    "intermediate.dense": "up",
    "output.dense": "down",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("teacher", type=Path)
    options = parser.parse_args()
    old, new = (_pieces(folder / "tokenizer.json") for folder in (options.folder, FOLDER))
    order = [old[piece] for piece, _ in sorted(new.items(), key=lambda item: item[1])]
    state = teacher_state(floats_of(options.folder / "model.onnx"), order)
    torch.save({name: torch.from_numpy(np.array(value, np.float16)) for name, value in state.items()}, options.teacher)


def _pieces(tokenizer: Path) -> dict[str, int]:
    pieces: dict[str, int] = json.loads(tokenizer.read_text("utf-8"))["model"]["vocab"]
    return pieces


def floats_of(path: Path) -> Weights:
    """The weights of the model by the names of its modules."""
    graph = onnx.load(str(path)).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    floats = {
        name: value
        for name, value in held.items()
        if value.dtype == np.float32 and name.startswith(("embeddings", "encoder"))
    }
    for node in graph.node:
        for name in node.input:
            if name.endswith("_quantized") and name in held:
                value = dequantize(held, name)
                if name.startswith("embeddings"):
                    floats[name.removesuffix("_quantized")] = value
                else:  # a matrix has the name of its node only
                    module = re.sub(r"\.MatMul.*$", "", node.name.strip("/").replace("/", "."))
                    floats[f"{module}.weight"] = value.T
    return floats


def teacher_state(floats: Weights, order: list[int]) -> Weights:
    """The weights by our names, with the word vectors in this order."""
    outer = "embeddings."
    state = {
        "words.weight": floats[f"{outer}word_embeddings.weight"][order],
        "places.weight": floats[f"{outer}position_embeddings.weight"][:PLACES],
        "kinds.weight": floats[f"{outer}token_type_embeddings.weight"][:1].repeat(2, axis=0),
        "norm.weight": floats[f"{outer}LayerNorm.weight"],
        "norm.bias": floats[f"{outer}LayerNorm.bias"],
    }
    for name, value in floats.items():
        found = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", name)
        if found:
            state[f"layers.{found[1]}.{_LAYER[found[2]]}.{found[3]}"] = value
    return state


if __name__ == "__main__":
    main()
