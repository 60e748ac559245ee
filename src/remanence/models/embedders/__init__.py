"""Text to vectors: the one inside, small transformers by name, or whatever you already use.

static.py    the default: a table of word vectors, no model to run
onnx.py      small transformers through onnxruntime
foreign.py   embedders of LangChain, LlamaIndex, fastembed, and plain functions
checked.py   what stands around each of them, so that only vectors come out
"""

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
    """The embedder that was meant, behind the wrapper that checks what it answers.

    Nothing is downloaded, but by the `fastembed:` ones, whose way it is.

    >>> resolve_embedder(None).name, resolve_embedder("default").dimension
    ('wordllama-256', 256)
    >>> resolve_embedder(lambda texts: [[3.0, 4.0] for _ in texts]).embed_query("hello").tolist()
    [0.6000000238418579, 0.800000011920929]
    >>> resolve_embedder("word2vec")
    Traceback (most recent call last):
        ...
    remanence.errors.InvalidInput: No embedder is called 'word2vec'. Known: wordllama-256 (or default), ...
    """
    # Imported here: `import remanence` loads no numpy engine for those who only look.
    from remanence.models.embedders.checked import CheckedEmbedder

    if isinstance(embedder, CheckedEmbedder):
        return embedder
    if embedder is None:
        return CheckedEmbedder(_named("default"))
    if isinstance(embedder, (str, Path)):
        return CheckedEmbedder(_named(str(embedder)))
    return CheckedEmbedder(_given(embedder))


def _named(name: str) -> Embedder:
    from remanence.models.catalogue import model_names

    if name in ("default", "wordllama-256"):
        from remanence.models.embedders.static import StaticEmbedder

        return StaticEmbedder()
    if name.startswith("fastembed:"):
        from remanence.models.embedders.foreign import FastEmbedEmbedder

        return FastEmbedEmbedder(name.removeprefix("fastembed:"))
    if name in model_names("embedder") or Path(name).expanduser().is_dir():
        from remanence.models.embedders.onnx import OnnxEmbedder

        return (
            OnnxEmbedder.from_catalogue(name)
            if name in model_names("embedder")
            else OnnxEmbedder.from_folder(Path(name).expanduser())
        )
    known = ", ".join(["wordllama-256 (or default)", *model_names("embedder"), "fastembed:<model>"])
    raise InvalidInput(f"No embedder is called {name!r}. Known: {known}; and no such folder exists. {ACCEPTED}.")


def _given(embedder: object) -> Embedder:
    from remanence.models.embedders.foreign import (
        EmbedderAdapter,
        FunctionEmbedder,
        LangChainEmbedder,
        LlamaIndexEmbedder,
    )

    def has(*methods: str) -> bool:
        return all(callable(getattr(embedder, method, None)) for method in methods)

    if isinstance(embedder, type):
        raise InvalidInput(f"The embedder is the class {embedder.__name__}, not one made of it. {ACCEPTED}.")
    if has("embed", "embed_query"):
        if isinstance(embedder, Embedder):
            return embedder
        if all(hasattr(embedder, name) for name in ("name", "fingerprint", "dimension")):
            raise InvalidInput(
                f"The embedder {embedder!r} has no 'similarity_floor': see remanence.ports.Embedder. Set it to 0.0 if "
                "you do not know it."
            )
        return EmbedderAdapter(embedder)
    if has("embed_documents", "embed_query"):
        return LangChainEmbedder(embedder)
    if has("get_text_embedding_batch", "get_query_embedding"):
        return LlamaIndexEmbedder(embedder)
    if inspect.iscoroutinefunction(embedder):
        raise InvalidInput(f"The embedder {embedder!r} is async; it is called from a thread. {ACCEPTED}.")
    if callable(embedder):
        return FunctionEmbedder(embedder)
    raise InvalidInput(f"This cannot embed: {embedder!r} ({type(embedder).__name__}). {ACCEPTED}.")
