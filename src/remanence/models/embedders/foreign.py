"""Embedders of other people, known by the methods they have. No framework is imported.

Each answers the Embedder protocol and leaves all checking to `Checked`. None says a fingerprint: its
name and the dimension learned from its first answer are all that can be known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from remanence.errors import MissingExtra

if TYPE_CHECKING:
    from remanence.ports import Vector


class EmbedderAdapter:
    """An object with `embed` and `embed_query`, and nothing else that the protocol asks for."""

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs
        self.name = name_of(theirs)
        self.fingerprint = ""
        self.similarity_floor = 0.0
        self.dimension: int | None = None

    def embed(self, texts: Sequence[str]) -> Vector:
        """Their vectors for these texts."""
        return _whole(self.theirs.embed(list(texts)))

    def embed_query(self, text: str) -> Vector:
        """Their vector for a question."""
        return _whole(self.theirs.embed_query(text))


class LangChainEmbedder(EmbedderAdapter):
    """A LangChain `Embeddings`."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """Their `embed_documents`."""
        return _whole(self.theirs.embed_documents(list(texts)))


class LlamaIndexEmbedder(EmbedderAdapter):
    """A LlamaIndex `BaseEmbedding`."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """Their `get_text_embedding_batch`."""
        return _whole(self.theirs.get_text_embedding_batch(list(texts)))

    def embed_query(self, text: str) -> Vector:
        """Their `get_query_embedding`."""
        return _whole(self.theirs.get_query_embedding(text))


class FunctionEmbedder(EmbedderAdapter):
    """A function from a list of texts to a list of vectors."""

    def embed(self, texts: Sequence[str]) -> Vector:
        """What it gives for these texts."""
        return _whole(self.theirs(list(texts)))

    def embed_query(self, text: str) -> Vector:
        """What it gives for a list of one."""
        return self.embed([text])


class FastEmbedEmbedder(EmbedderAdapter):
    """A model of fastembed, which fetches its weights from a model hub when first used."""

    def __init__(self, model: str) -> None:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise MissingExtra(
                f"'fastembed:{model}' needs the package fastembed. Run: pip install \"remanence[fastembed]\""
            ) from error
        super().__init__(TextEmbedding(model))
        self.name = f"fastembed:{model}"

    def embed_query(self, text: str) -> Vector:
        """Its vector for a question, with the prefix the model wants."""
        return _whole(self.theirs.query_embed(text))


def name_of(embedder: object) -> str:
    """What an embedder calls itself or its model, else what its code is called.

    >>> class MyEmbeddings:
    ...     model = "text-embedding-3-small"
    >>> name_of(MyEmbeddings())
    'text-embedding-3-small'
    """
    candidates = (getattr(embedder, at, None) for at in ("name", "model", "model_name", "__name__"))
    said = next((name for name in candidates if isinstance(name, str) and name), type(embedder).__name__)
    return "function" if said == "<lambda>" else said


def _whole(answer: Any) -> Vector:
    """What they say are vectors; `Checked` looks. A generator is run here, inside the call it belongs to."""
    return cast("Vector", list(answer) if isinstance(answer, Iterator) else answer)
