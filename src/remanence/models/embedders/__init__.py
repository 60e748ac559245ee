"""Text to vectors: the built-in table, small transformers by name, or the embedder of another library.

Embedders of other libraries are recognised by their methods; no framework is imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from remanence.errors import InvalidInput, MissingExtra
from remanence.ports import Embedder

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Vector

ACCEPTED = (
    "Give a name, a folder with model.onnx and tokenizer.json, an object with embed and embed_query, "
    "a LangChain or LlamaIndex embedding, or a function from a list of texts to a list of vectors"
)
_METHODS = (
    ("embed", "embed_query"),
    ("embed_documents", "embed_query"),  # LangChain
    ("get_text_embedding_batch", "get_query_embedding"),  # LlamaIndex
)


def resolve_embedder(embedder: object = None, timeout: float | None = None) -> CheckedEmbedder:
    """The embedder for a value that a caller passed, inside the wrapper that checks its vectors. An object of the
    caller's may take `timeout` seconds for one call.

    Nothing is downloaded, except by `fastembed:` models.
    """
    # Imported here, so that `import remanence` stays fast.
    from remanence.models.embedders.checked import CheckedEmbedder

    if isinstance(embedder, CheckedEmbedder):
        return embedder
    if embedder is None or isinstance(embedder, (str, Path)):
        return CheckedEmbedder(_embedder_by_name("default" if embedder is None else str(embedder)))
    return CheckedEmbedder(_embedder_from_object(embedder), timeout)


def _embedder_by_name(name: str) -> Embedder:
    from remanence.models.catalogue import model_names
    from remanence.models.embedders.static import StaticEmbedder
    from remanence.models.onnx_models import OnnxEmbedder, open_session

    if name in ("default", StaticEmbedder.name):
        return StaticEmbedder()
    if name.startswith("fastembed:"):
        return _fastembed_embedder(name)
    if name in model_names("embedder") or Path(name).expanduser().is_dir():
        return OnnxEmbedder(open_session(name, "embedder"))
    known = ", ".join([f"{StaticEmbedder.name} (or default)", *model_names("embedder"), "fastembed:<model>"])
    raise InvalidInput(f"No embedder is called {name!r}. Known: {known}; and no such folder exists. {ACCEPTED}.")


def _fastembed_embedder(name: str) -> EmbedderAdapter:
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise MissingExtra(f'{name!r} needs the package fastembed. Run: pip install "remanence[fastembed]"') from error
    embedding = TextEmbedding(name.removeprefix("fastembed:"))  # downloads the weights at first use
    return EmbedderAdapter(name, embedding.embed, embedding.query_embed)


def _embedder_from_object(embedder: Any) -> Embedder:
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
    for methods in _METHODS:
        embed, embed_query = (getattr(embedder, method, None) for method in methods)
        if callable(embed) and callable(embed_query):
            return EmbedderAdapter(_embedder_name(embedder), embed, embed_query)
    if callable(embedder):
        return EmbedderAdapter(_embedder_name(embedder), embedder, lambda text: embedder([text]))
    raise InvalidInput(f"This cannot embed: {embedder!r} ({type(embedder).__name__}). {ACCEPTED}.")


class EmbedderAdapter:
    """Another library's embedder as an `Embedder`. `CheckedEmbedder` checks what it returns.

    It has no fingerprint: only its name and the dimension of its first vectors are known.
    """

    fingerprint = ""
    similarity_floor = 0.0
    dimension: int | None = None

    def __init__(self, name: str, embed: Callable[[list[str]], Any], embed_query: Callable[[str], Any]) -> None:
        self.name, self._embed, self._embed_query = name, embed, embed_query

    def embed(self, texts: Sequence[str]) -> Vector:
        return _consume(self._embed(list(texts)))

    def embed_query(self, text: str) -> Vector:
        return _consume(self._embed_query(text))


def _embedder_name(embedder: object) -> str:
    """The name of an embedder or of its model, else of its code."""
    candidates = (getattr(embedder, attribute, None) for attribute in ("name", "model", "model_name", "__name__"))
    name = next((name for name in candidates if isinstance(name, str) and name), type(embedder).__name__)
    return "function" if name == "<lambda>" else name


def _consume(answer: Any) -> Vector:
    """The answer, with a generator run to its end, so that its errors occur inside the call."""
    return cast("Vector", list(answer) if isinstance(answer, Iterator) else answer)
