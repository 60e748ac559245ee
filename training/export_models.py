"""A trained reader as an 8-bit ONNX file, and how far its answers are from the floats.

python training/export.py FOLDER/out/small4.pt TARGET [--check FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from model import Reader
from train import load

INPUTS = ("input_ids", "attention_mask", "token_type_ids", "marks")
OUTPUTS = ("answers", "relation", "choice")


def export(reader: Reader, path: Path) -> None:
    """Fused where the runtime knows how, then 8 bits: weights by column, in seven bits of them so that processors
    without VNNI do not overflow; word vectors too."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    warnings.simplefilter("ignore")
    reader = reader.cpu().float().eval()
    example = torch.ones(2, 16, dtype=torch.long)
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {name: {0: "batch"} for name in OUTPUTS}
    axes["marks"] = axes["choice"] = {0: "batch", 1: "lines"}
    with tempfile.TemporaryDirectory() as folder:
        plain = str(Path(folder) / "plain.onnx")
        torch.onnx.export(
            reader,
            (example, example, example * 0, torch.zeros(2, 3, dtype=torch.long)),
            plain,
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        shape = reader.shape
        fused = optimizer.optimize_model(
            plain, model_type="bert", num_heads=shape["heads"], hidden_size=shape["width"], opt_level=0
        )
        fused.save_model_to_file(plain)
        quantize_dynamic(
            plain,
            str(path),
            per_channel=True,
            reduce_range=True,
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Attention", "Gemm", "Gather"],
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )
    pack_places(path)


def pack_places(path: Path) -> None:
    """Store the vectors of places in 8 bits too; they are the only large table that quantising leaves alone."""
    import onnx
    from onnx import helper, numpy_helper

    model = onnx.load(str(path))
    graph = model.graph
    (table,) = (tensor for tensor in graph.initializer if tensor.name == "places.weight")
    (cut,) = (node for node in graph.node if "places.weight" in node.input)
    values = numpy_helper.to_array(table)
    scale = np.float32(np.abs(values).max() / 127)
    packed = np.round(values / scale).astype(np.int8)
    graph.initializer.remove(table)
    graph.initializer.extend(
        [
            numpy_helper.from_array(packed, "places.weight_quantized"),
            numpy_helper.from_array(np.array(scale, np.float32), "places.weight_scale"),
        ]
    )
    cut.input[0] = "places.weight_quantized"
    whole, cut.output[0] = cut.output[0], "places_cut"
    unpack = helper.make_node("DequantizeLinear", ["places_cut", "places.weight_scale"], [whole], name="places_unpack")
    graph.node.insert(list(graph.node).index(cut) + 1, unpack)
    onnx.save(model, str(path))


def mean_of(readers: list[Reader]) -> Reader:
    """The reader whose weights are the means of these."""
    states = [reader.state_dict() for reader in readers]
    readers[0].load_state_dict({name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]})
    return readers[0]


def check(reader: Reader, path: Path, folder: Path, count: int = 400) -> None:
    """Print how far 8 bits and floats are apart on questions that took no part in training."""
    import onnxruntime
    from train import Data

    data = Data(folder)
    rng = np.random.default_rng(1)
    measured = np.flatnonzero(data.flags & 4)
    rows = np.array([rng.integers(data.begin[n], data.begin[n + 1]) for n in rng.choice(measured, count)])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    gaps = []
    for row in rows:
        batch = [part.cpu() for part in data.batch(data.question_of[row : row + 1], data.cands[row : row + 1])]
        keep = int(batch[1].sum())
        batch = [*(part[:, :keep] for part in batch[:3]), batch[3]]
        with torch.no_grad():
            exact = torch.sigmoid(reader(*batch)[0]).item()
        logit = session.run(["answers"], {name: part.numpy() for name, part in zip(INPUTS, batch, strict=True)})[0]
        gaps.append(abs(exact - 1 / (1 + np.exp(-logit.item()))))
    size = path.stat().st_size / 1e6
    print(f"{path.name}: {size:.1f} MB; probabilities differ by {np.mean(gaps):.4f}, at most {max(gaps):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", type=Path, nargs="+", help="of several that began as one, the mean is written")
    parser.add_argument("target", type=Path)
    parser.add_argument("--check", type=Path)
    options = parser.parse_args()
    trained = mean_of([load(path) for path in options.readers]).eval()
    export(trained, options.target)
    if options.check:
        check(trained.cpu(), options.target, options.check)
