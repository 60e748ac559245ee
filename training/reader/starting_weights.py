"""The weights that training begins with, from the reader that came before.

    git show c2d24751:src/remanence/models/small_reader/model.onnx > OLD.onnx
    python -m training.reader.starting_weights OLD.onnx START.pt

The old reader had the same layers, read one text or eight lines, and had fewer answers. It began as the stock model
ms-marco-MiniLM-L-12-v2. What it lacks begins anew. START.pt also has its answer for one text, which teaches. All runs
have to begin with the same file: only then the mean of their weights is a good reader.
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
from training.reader.model import KINDS, ListReader

Weights = dict[str, NDArray[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old_reader", type=Path)
    parser.add_argument("start", type=Path)
    options = parser.parse_args()
    torch.save(starting_state(floats_of(options.old_reader)), options.start)


def starting_state(old: Weights) -> dict[str, Tensor]:
    """The weights of a list reader, and those of the old one's answer for one text."""
    torch.manual_seed(0)
    new = ListReader()
    values = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in old.items()}
    values["words.weight"] = round_rows(values["words.weight"])
    values["kinds.weight"] = _repeat_last(values["kinds.weight"], KINDS)
    values["places.weight"] = _repeat_last(values["places.weight"], new.places.num_embeddings)
    missing = new.load_state_dict({k: v for k, v in values.items() if k in new.state_dict()}, strict=False)
    print("begin anew:", missing.missing_keys)
    with torch.no_grad():
        new.holds.load_state_dict(new.tells.state_dict())
        new.replaced.weight.mul_(0.1)
        new.replaced.bias.fill_(-1)
    taught = {name: value for name, value in values.items() if name.startswith(("pool.", "say."))}
    return new.state_dict() | taught


def round_rows(values: Tensor) -> Tensor:
    """Vectors as they are after they were stored in 8 bits with a scale for each, as the package stores them."""
    scales = values.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return (values / scales).round() * scales


def _repeat_last(rows: Tensor, count: int) -> Tensor:
    return torch.cat([rows, rows[-1:].repeat(max(0, count - len(rows)), 1)])


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
