"""The floats of an exported reader, so that training can go on from it.

    python training/from_onnx.py src/remanence/models/small_reader/model.onnx FOLDER/out/small6.pt
    python training/from_onnx.py src/remanence/models/large_reader/model.onnx FOLDER/out/large.pt --base FOLDER/base.npz

With --base, a reader of short texts gets the base model's vectors for the places it lacks, and can read timelines.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np
import onnx
import torch
from model import Reader
from onnx import numpy_helper
from weights import unpack


def reader_of(path: Path, base: Path | None = None) -> Reader:
    """A reader as `export.py` wrote it; answers it lacks begin anew, places it lacks as in the base model."""
    graph = onnx.load(str(path)).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    state = {name: value for name, value in held.items() if re.match(r"[a-z]", name) and value.dtype == np.float32}
    state = {name: value for name, value in state.items() if name.endswith((".weight", ".bias"))}
    for node in graph.node:
        stored = next((name for name in node.input if name.endswith("_quantized") and name in held), None)
        if stored is None:
            continue
        stem = stored.removesuffix("_quantized")
        zero = held.get(f"{stem}_zero_point", np.zeros((), np.int8)).astype(np.float32)
        value = (held[stored].astype(np.float32) - zero) * held[f"{stem}_scale"]
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
    if base is not None:
        places = unpack(base)["places.weight"]
        state["places.weight"] = np.concatenate([state["places.weight"], places[len(state["places.weight"]) :]])
    layers = 1 + max(int(found[1]) for name in state if (found := re.match(r"layers\.(\d+)\.", name)))
    reader = Reader(layers=layers, words=len(state["words.weight"]), places=len(state["places.weight"]))
    floats = {name: torch.from_numpy(np.array(value, np.float32)) for name, value in state.items()}
    print("not in the file:", reader.load_state_dict(floats, strict=False).missing_keys)
    return reader.eval()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--base", type=Path)
    options = parser.parse_args()
    trained = reader_of(options.reader, options.base)
    state = {name: value.half() for name, value in trained.state_dict().items()}
    torch.save({"shape": trained.shape, "state": state}, options.target)
