"""LangChain's models as parts of a space: one to find facts with, one to embed with.

`remanence.open` takes either as it is. These say so with types, and refuse anything else at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from remanence import InvalidInput

if TYPE_CHECKING:
    from remanence.models.llm_extractor import LLMExtractor


def extractor(chat_model: Runnable[Any, Any], **options: Any) -> LLMExtractor:
    """A chat model as the extractor of a space: `remanence.open("./memory", extractor=extractor(model))`.

    It is asked for structured output first and for JSON in text second; what it writes stays out of the
    token stream of an agent that is running. `options` are those of `LLMExtractor`.
    """
    from remanence.models.llm_extractor import LLMExtractor

    if not isinstance(chat_model, Runnable):
        raise InvalidInput(f"{chat_model!r} is no chat model of LangChain. Give for example init_chat_model(…).")
    return LLMExtractor(chat_model, **options)


def embedder(embeddings: Embeddings, *, name: str | None = None) -> NamedEmbeddings:
    """An embedding model as the embedder of a space: `remanence.open("./memory", embedder=embedder(model))`.

    A space remembers what its embedder is called, and refuses another. Give the `name` of the model where
    the object does not say it, as one that caches does not.
    """
    if not isinstance(embeddings, Embeddings):
        raise InvalidInput(f"{embeddings!r} is no Embeddings of LangChain.")
    given = name or getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
    return NamedEmbeddings(embeddings, given if isinstance(given, str) else type(embeddings).__name__)


class NamedEmbeddings(Embeddings):
    """Embeddings that say what they are called."""

    def __init__(self, inner: Embeddings, name: str) -> None:
        self.inner = inner
        self.name = name

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As the inner ones do it."""
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """As the inner ones do it."""
        return self.inner.embed_query(text)
