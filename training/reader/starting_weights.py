"""The weights that training begins with, from the reader that is shipped.

    python -m training.reader.starting_weights START.pt

Training goes on from there, with more material. The first reader of lists began in the same way as the reader before
it, which read one text or eight lines (commit c2d24751, `src/remanence/models/small_reader`) and had begun as the stock
model ms-marco-MiniLM-L-12-v2. All runs have to begin with the same file: only then the mean of their weights is a good
reader.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor
from training.reader.model import ListReader

from remanence.models.text_model import FOLDER, read_word_vectors

Weights = dict[str, NDArray[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", type=Path)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="with reader.onnx and word_vectors.npz")
    options = parser.parse_args()
    torch.save(starting_state(options.folder), options.start)


def starting_state(folder: Path) -> dict[str, Tensor]:
    """The weights of the shipped reader, those of its 8-bit numbers among them as floats."""
    values = {
        name.removeprefix("m."): torch.from_numpy(np.array(value, np.float32))
        for name, value in floats_of(folder / "reader.onnx").items()
    }
    whole, scales = read_word_vectors((folder / "word_vectors.npz").read_bytes())
    vectors = whole * scales[:, None]
    state = values | {"words.weight": torch.from_numpy(vectors)}
    model = ListReader()
    model.load_state_dict({name: value for name, value in state.items() if name in model.state_dict()})
    return model.state_dict()


def floats_of(path: Path) -> Weights:
    """The weights of an 8-bit reader, by the names of our modules."""
    graph = onnx.load(str(path)).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    state = {
        name: value for name, value in held.items() if name.endswith((".weight", ".bias")) and value.dtype == np.float32
    }
    for node in graph.node:
        stored = next((name for name in node.input if name.endswith("_quantized") and name in held), None)
        if stored is None:
            continue
        stem, value = stored.removesuffix("_quantized"), dequantize(held, stored)
        if node.op_type == "QAttention":
            layer = "layers." + re.findall(r"\d+", node.name)[0]
            biases = np.split(held[f"{stem.removesuffix('_weight')}_bias"], 3)
            for name, weight, bias in zip(("query", "key", "value"), np.split(value, 3, axis=1), biases, strict=True):
                state |= {f"{layer}.{name}.weight": weight.T, f"{layer}.{name}.bias": bias}
        elif node.op_type == "MatMulInteger":
            module = re.sub(r"/(Gemm_)?MatMul_quant$", "", node.name).strip("/").replace("/", ".")
            state[f"{module}.weight"] = value.T
        else:
            state[stem] = value
    return state


def dequantize(held: Weights, name: str) -> NDArray[np.float32]:
    """The floats of an 8-bit tensor."""
    stem = name.removesuffix("_quantized")
    zero = held.get(f"{stem}_zero_point", np.zeros((), np.int8)).astype(np.float32)
    floats: NDArray[np.float32] = (held[name].astype(np.float32) - zero) * held[f"{stem}_scale"]
    return floats


if __name__ == "__main__":
    main()
