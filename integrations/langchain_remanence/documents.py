"""LangChain documents as memories, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.documents import Document

from remanence import InvalidInput, Memory, Recall, Space
from remanence.adapters import dated_text, document_row, stored_document


def store_documents(
    space: Space,
    documents: Sequence[Document],
    ids: Sequence[str | None] | None,
    *,
    progress: bool | Callable[[int, int], None] = False,
) -> list[str]:
    """Store documents and return their ids.

    A document without an id gets one made of its text and metadata, so that adding it again changes nothing. The
    `source` in its metadata is the source of the memory.
    """
    if ids is not None and len(ids) != len(documents):
        raise InvalidInput(f"there are {len(ids)} ids for {len(documents)} documents. Give one for each.")
    rows, assigned = list[dict[str, Any]](), list[str]()
    for document, given in zip(documents, ids or [None] * len(documents), strict=True):
        if not document.page_content.strip():
            raise InvalidInput(
                f"document {len(rows) + 1} has no text: {document!r}. Leave it out, or give a text to find it by."
            )
        document_id = given or document.id or _content_id(document)
        source = document.metadata.get("source")
        rows.append(
            document_row(
                document_id,
                document.page_content,
                document.metadata,
                source=source if isinstance(source, str) else None,
            )
        )
        assigned.append(document_id)
    space.add_many(rows, progress=progress)
    return assigned


def as_document(memory: Memory) -> Document:
    """Return a memory as a document: one that was stored as it was given, any other with its `meta` as metadata."""
    stored = stored_document(memory)
    if stored is None:
        return Document(memory.text, id=memory.id, metadata=dict(memory.meta))
    return Document(stored.text, id=stored.id, metadata=stored.metadata)


def as_documents(recall: Recall, *, dated: bool = False) -> list[Document]:
    """Return the hits of a recall as documents; with `dated`, the text of what was said or noted begins with its day
    and its speaker.

    The metadata contain those that the user gave and the fields of the memory and of the hit; a field of the user's
    takes precedence. They can be written as JSON; times are ISO text in UTC. The id is that of the document, or of the
    memory if it is not a document.
    """
    found = []
    for hit, fields in zip(recall, recall.to_dicts(), strict=True):
        document = as_document(hit.memory)
        if dated and stored_document(hit.memory) is None:
            document.page_content = dated_text(hit.memory)
        memory = {name: value for name, value in fields.pop("memory").items() if name not in ("id", "text")}
        memory["meta"] = document.metadata
        document.metadata = {"memory_id": hit.memory.id, **memory, **fields, **document.metadata}
        found.append(document)
    return found


def _content_id(document: Document) -> str:
    written = json.dumps([document.page_content, document.metadata], sort_keys=True, default=str)
    return hashlib.blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def recall_options(filter: Any, **options: Any) -> dict[str, Any]:
    """The options of `recall` for LangChain's `filter`, which has to be a dict."""
    if filter is not None and callable(filter):
        raise InvalidInput(
            f"filter={filter!r} is a function. Give a dict such as {{'page': {{'$gte': 3}}}}, which is applied before "
            "documents are ranked."
        )
    return {"meta": filter, **options}
