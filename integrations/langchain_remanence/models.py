"""LangChain models as the extractor and the embedder of a space.

`remanence.open` also takes them directly. These functions check the type and can give an embedder a name.
"""

from __future__ import annotations

from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from remanence import InvalidInput, LLMExtractor
from remanence.adapters import NamedEmbedder


def extractor(chat_model: Runnable[Any, Any], **options: Any) -> LLMExtractor:
    """Make a chat model the extractor of a space: `remanence.open("./memory", extractor=extractor(model))`.

    The model is asked for structured output first, and for JSON in text if that fails. Its tokens do not
    appear in the stream of a running agent.

    Args:
        chat_model: A chat model, or a chain that ends in one.
        **options: Options of `remanence.LLMExtractor`, for example `timeout=30`.

    Raises:
        InvalidInput: It is not a LangChain model.
    """
    if not isinstance(chat_model, Runnable):
        raise InvalidInput(f"{chat_model!r} is not a chat model of LangChain. Give for example init_chat_model(…).")
    return LLMExtractor(chat_model, **options)


def embedder(embeddings: Embeddings, *, name: str | None = None) -> NamedEmbedder:
    """Make an embedding model the embedder of a space: `remanence.open("./memory", embedder=embedder(model))`.

    Args:
        name: The name of the model. A space stores it and refuses an embedder of another name. Give it if
            the object has no attribute `model` or `model_name`, as a cache around a model has not.

    Raises:
        InvalidInput: It is not a LangChain embedding model.
    """
    if not isinstance(embeddings, Embeddings):
        raise InvalidInput(f"{embeddings!r} is not an Embeddings of LangChain. Give for example OpenAIEmbeddings().")
    known = name or getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
    model_name = known if isinstance(known, str) else type(embeddings).__name__
    return NamedEmbedder(model_name, embeddings.embed_documents, embeddings.embed_query)
