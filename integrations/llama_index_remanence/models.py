"""LlamaIndex models as the extractor and the embedder of a space.

`remanence.open` also takes them directly. These functions check the type and can give an embedder a name.
"""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms.llm import LLM

from remanence import InvalidInput, LLMExtractor
from remanence.adapters import NamedEmbedder

_UNNAMED = "unknown"


def extractor(llm: LLM, **options: Any) -> LLMExtractor:
    """Make an LLM the extractor of a space: `remanence.open("./memory", extractor=extractor(llm))`.

    Args:
        **options: Options of `remanence.LLMExtractor`, for example `timeout=30`.

    Raises:
        InvalidInput: It is not an LLM of LlamaIndex.
    """
    if not isinstance(llm, LLM):
        raise InvalidInput(f"llm={llm!r} is not an LLM of LlamaIndex. Give for example Ollama(model='llama3').")
    return LLMExtractor(llm, **options)


def embedder(embed_model: BaseEmbedding, *, name: str | None = None) -> NamedEmbedder:
    """Make an embedding model the embedder of a space: `remanence.open("./memory", embedder=embedder(embed_model))`.

    Args:
        name: The name of the model. A space stores it and refuses an embedder of another name. Give it if
            the object has no `model_name`.

    Raises:
        InvalidInput: It is not an embedding model of LlamaIndex.
    """
    if not isinstance(embed_model, BaseEmbedding):
        raise InvalidInput(
            f"embed_model={embed_model!r} is not an embedding of LlamaIndex. Give for example OpenAIEmbedding()."
        )
    known = embed_model.model_name if embed_model.model_name != _UNNAMED else embed_model.class_name()
    return NamedEmbedder(name or known, embed_model.get_text_embedding_batch, embed_model.get_query_embedding)
