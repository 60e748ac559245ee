"""Text to vectors: the built-in table, small transformers by name, or the embedder of another library."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput
from remanence.ports import Embedder

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder

__all__ = ["resolve_embedder"]

ACCEPTED = (
    "Give a name, a folder with model.onnx and tokenizer.json, an object with embed and embed_query, "
    "a LangChain or LlamaIndex embedding, or a function from a list of texts to a list of vectors"
)


def resolve_embedder(embedder: object = None) -> CheckedEmbedder:
    """The embedder for a value that a caller passed, inside the wrapper that checks its vectors.

    Nothing is downloaded, except by `fastembed:` models.

    >>> resolve_embedder(None).name, resolve_embedder("default").dimension
    ('wordllama-256', 256)
    >>> resolve_embedder(lambda texts: [[3.0, 4.0] for _ in texts]).embed_query("hello").tolist()
    [0.6000000238418579, 0.800000011920929]
    >>> resolve_embedder("word2vec")
    Traceback (most recent call last):
        ...
    remanence.errors.InvalidInput: No embedder is called 'word2vec'. Known: wordllama-256 (or default), ...
    """
    # Imported here, so that `import remanence` stays fast.
    from remanence.models.embedders.checked import CheckedEmbedder

    if isinstance(embedder, CheckedEmbedder):
        return embedder
    if embedder is None or isinstance(embedder, (str, Path)):
        return CheckedEmbedder(_embedder_by_name("default" if embedder is None else str(embedder)))
    return CheckedEmbedder(_embedder_from_object(embedder))


def _embedder_by_name(name: str) -> Embedder:
    from remanence.models.catalogue import model_names

    if name in ("default", "wordllama-256"):
        from remanence.models.embedders.static import StaticEmbedder

        return StaticEmbedder()
    if name.startswith("fastembed:"):
        from remanence.models.embedders.embedder_adapters import fastembed_embedder

        return fastembed_embedder(name.removeprefix("fastembed:"))
    from remanence.models.embedders.onnx import OnnxEmbedder

    if name in model_names("embedder"):
        return OnnxEmbedder.from_catalogue(name)
    if (place := Path(name).expanduser()).is_dir():
        return OnnxEmbedder.from_folder(place)
    known = ", ".join(["wordllama-256 (or default)", *model_names("embedder"), "fastembed:<model>"])
    raise InvalidInput(f"No embedder is called {name!r}. Known: {known}; and no such folder exists. {ACCEPTED}.")


def _embedder_from_object(embedder: object) -> Embedder:
    from remanence.models.embedders.embedder_adapters import adapt_embedder

    if isinstance(embedder, type):
        raise InvalidInput(f"The embedder is the class {embedder.__name__}, not an instance of it. {ACCEPTED}.")
    if isinstance(embedder, Embedder):
        return embedder
    if all(hasattr(embedder, name) for name in ("embed", "embed_query", "name", "fingerprint", "dimension")):
        raise InvalidInput(
            f"The embedder {embedder!r} has no 'similarity_floor': see remanence.ports.Embedder. Set it to 0.0 if "
            "you do not know it."
        )
    if inspect.iscoroutinefunction(embedder):
        raise InvalidInput(f"The embedder {embedder!r} is async; it is called from a thread. {ACCEPTED}.")
    if (adapter := adapt_embedder(embedder)) is None:
        raise InvalidInput(f"This cannot embed: {embedder!r} ({type(embedder).__name__}). {ACCEPTED}.")
    return adapter
