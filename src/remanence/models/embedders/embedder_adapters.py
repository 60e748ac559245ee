"""Embedders of other libraries, recognised by their methods. No framework is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from remanence.errors import MissingExtra

if TYPE_CHECKING:
    from remanence.ports import Vector


class EmbedderAdapter:
    """Another library's embedder as an `Embedder`. `CheckedEmbedder` checks what it returns.

    It has no fingerprint: only its name and the dimension of its first vectors are known.
    """

    def __init__(self, name: str, embed: Callable[[list[str]], Any], embed_query: Callable[[str], Any]) -> None:
        self.name = name
        self.fingerprint = ""
        self.similarity_floor = 0.0
        self.dimension: int | None = None
        self._embed, self._embed_query = embed, embed_query

    def embed(self, texts: Sequence[str]) -> Vector:
        """The vectors of these texts."""
        return _consume(self._embed(list(texts)))

    def embed_query(self, text: str) -> Vector:
        """The vector of a question."""
        return _consume(self._embed_query(text))


def adapt_embedder(embedder: Any) -> EmbedderAdapter | None:
    """The adapter for a LangChain or LlamaIndex embedding, a function, or an object with our two methods.

    None for anything else.
    """
    name = embedder_name(embedder)
    for methods in (
        ("embed", "embed_query"),
        ("embed_documents", "embed_query"),  # LangChain
        ("get_text_embedding_batch", "get_query_embedding"),  # LlamaIndex
    ):
        embed, embed_query = (getattr(embedder, method, None) for method in methods)
        if callable(embed) and callable(embed_query):
            return EmbedderAdapter(name, embed, embed_query)
    return EmbedderAdapter(name, embedder, lambda text: embedder([text])) if callable(embedder) else None


def fastembed_embedder(model: str) -> EmbedderAdapter:
    """A fastembed model. fastembed downloads the weights from a model hub at first use."""
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise MissingExtra(
            f"'fastembed:{model}' needs the package fastembed. Run: pip install \"remanence[fastembed]\""
        ) from error
    embedding = TextEmbedding(model)
    return EmbedderAdapter(f"fastembed:{model}", embedding.embed, embedding.query_embed)


def embedder_name(embedder: object) -> str:
    """The name of an embedder or of its model, else of its code.

    >>> class MyEmbeddings:
    ...     model = "text-embedding-3-small"
    >>> embedder_name(MyEmbeddings())
    'text-embedding-3-small'
    """
    candidates = (getattr(embedder, attribute, None) for attribute in ("name", "model", "model_name", "__name__"))
    name = next((name for name in candidates if isinstance(name, str) and name), type(embedder).__name__)
    return "function" if name == "<lambda>" else name


def _consume(answer: Any) -> Vector:
    """The answer, with a generator run to its end, so that its errors occur inside the call."""
    return cast("Vector", list(answer) if isinstance(answer, Iterator) else answer)
