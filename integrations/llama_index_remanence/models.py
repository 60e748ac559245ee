"""Models of LlamaIndex as parts of a space: one to find facts with, one to embed with.

`remanence.open` takes either as it is. These refuse anything else at once, and give an embedding a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms.llm import LLM

from remanence import InvalidInput

if TYPE_CHECKING:
    from remanence.models.llm_extractor import LLMExtractor

_NO_NAME = "unknown"


def extractor(llm: LLM, **options: Any) -> LLMExtractor:
    """A model as the extractor of a space: `remanence.open("./memory", extractor=extractor(llm))`.

    `options` are those of `LLMExtractor`, for example `timeout=30`.
    """
    from remanence.models.llm_extractor import LLMExtractor

    if not isinstance(llm, LLM):
        raise InvalidInput(f"llm={llm!r} is no LLM of LlamaIndex. Give for example Ollama(model='llama3').")
    return LLMExtractor(llm, **options)


def embedder(embed_model: BaseEmbedding, *, name: str | None = None) -> NamedEmbedding:
    """A model as the embedder of a space: `remanence.open("./memory", embedder=embedder(embed_model))`.

    A space remembers what its embedder is called, and refuses another. Give the `name` of the model where
    the object does not say it.
    """
    if not isinstance(embed_model, BaseEmbedding):
        raise InvalidInput(f"embed_model={embed_model!r} is no embedding of LlamaIndex.")
    said = embed_model.model_name if embed_model.model_name != _NO_NAME else embed_model.class_name()
    return NamedEmbedding(embed_model, name or said)


class NamedEmbedding:
    """An embedding of LlamaIndex that says what it is called."""

    def __init__(self, theirs: BaseEmbedding, name: str) -> None:
        self.theirs = theirs
        self.name = name

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text."""
        return self.theirs.get_text_embedding_batch(list(texts))

    def embed_query(self, text: str) -> list[float]:
        """A vector for a question."""
        return self.theirs.get_query_embedding(text)
