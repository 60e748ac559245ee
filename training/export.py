"""Writes the files of src/remanence/models/text_models: reader and embedder in 8 bits, and the word vectors of both.

    python -m training.export OUT --start START.pt --readers reader1.pt reader2.pt reader3.pt --embedder embedder.pt

Of several readers that began as one, the mean of the weights is written. START.pt has the word vectors. The tokenizer
stays as it is. Prints the checksums for `remanence.models.text_model`. Needs onnx and onnxruntime.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer
from torch import Tensor, nn
from training.embedder.model import HEADS, WIDTH, Embedder
from training.reader.model import ListReader
from training.word_steps import in_steps, write_steps

LINE_OUTPUTS = ("choice", "answers", "holds", "replaced")
TOKENS, LINES = 16, 3
"""How long the example is with which a model is traced."""


class ReadsVectors(nn.Module):
    """A model that is given the vectors of word pieces, not their numbers."""

    def __init__(self, model: ListReader | Embedder) -> None:
        super().__init__()
        self.m = model

    def forward(self, vectors: Tensor, mask: Tensor, kinds: Tensor, *marks: Tensor) -> tuple[Tensor, ...]:
        outputs: tuple[Tensor, ...] = self.m.read(vectors, mask, kinds, *marks)
        return outputs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--readers", type=Path, nargs="+", required=True)
    parser.add_argument("--embedder", type=Path, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.out.mkdir(parents=True, exist_ok=True)
    export_reader(mean_of(options.readers), options.out / "reader.onnx")
    export_embedder(mean_of([options.embedder]), options.out / "embedder.onnx")
    write_word_vectors(torch.load(options.start, map_location="cpu")["words.weight"], options.out / "word_vectors.npz")
    for path in sorted(options.out.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {hashlib.sha256(path.read_bytes()).hexdigest()}")


def mean_of(files: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of the weights in some files."""
    states = [torch.load(path, map_location="cpu") for path in files]
    return {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}


def export_reader(state: dict[str, Tensor], path: Path) -> None:
    """Write the reader. It reads one text at a time."""
    model = ListReader()
    model.load_state_dict(state, strict=False)
    marks = torch.zeros(1, LINES, dtype=torch.long)
    axes = {name: {1: "tokens"} for name in ("vectors", "mask", "kinds")}
    axes |= {name: {1: "lines"} for name in ("marks", *LINE_OUTPUTS)}
    _export(model, (*_example(1), marks), LINE_OUTPUTS, axes, path)


def export_embedder(state: dict[str, Tensor], path: Path) -> None:
    """Write the embedder."""
    model = Embedder()
    model.load_state_dict(state, strict=False)
    axes = {name: {0: "batch", 1: "tokens"} for name in ("vectors", "mask", "kinds")}
    axes |= {name: {0: "batch"} for name in ("vector", "classes")}
    _export(model, _example(2), ("vector", "classes"), axes, path)


def _example(count: int) -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(count, TOKENS, WIDTH), torch.ones(count, TOKENS), torch.zeros(count, TOKENS, dtype=torch.long)


def _export(
    model: ListReader | Embedder,
    example: tuple[Tensor, ...],
    outputs: Sequence[str],
    axes: dict[str, dict[int, str]],
    path: Path,
) -> None:
    """Fused where the runtime knows how, then 8 bits: weights by column, in seven bits of them so that processors
    without VNNI do not overflow."""
    with tempfile.TemporaryDirectory() as folder:
        plain = str(Path(folder) / "plain.onnx")
        torch.onnx.export(
            ReadsVectors(model).eval(),
            example,
            plain,
            input_names=["vectors", "mask", "kinds", "marks"][: len(example)],
            output_names=list(outputs),
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        fused = optimizer.optimize_model(plain, model_type="bert", num_heads=HEADS, hidden_size=WIDTH, opt_level=0)
        fused.save_model_to_file(plain)
        quantize_dynamic(
            plain,
            str(path),
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Attention", "Gemm"],
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )


def write_word_vectors(vectors: Tensor, path: Path) -> None:
    """Write the word vectors in 8 bits, with a scale for each."""
    scales = vectors.abs().amax(1).clamp(min=1e-12) / 127
    rounded = (vectors / scales[:, None]).round().to(torch.int8)
    counted, steps = in_steps(rounded.numpy())
    write_steps(path, counted, steps, scales.numpy().astype(np.float16))


if __name__ == "__main__":
    main()
