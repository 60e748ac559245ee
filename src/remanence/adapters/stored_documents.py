"""Documents and nodes of a framework as memories, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from remanence.adapters.chat_sessions import placeholder_text, storable_text
from remanence.errors import InvalidInput
from remanence.schema import DOCUMENT_FIELD

if TYPE_CHECKING:
    from remanence.schema import Memory
    from remanence.space.view import View


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document or node as it was added.

    `metadata` are the user's own, and `details` what the framework stores besides.
    """

    id: str
    text: str
    metadata: dict[str, Any]
    details: dict[str, Any]


def document_row(
    document_id: str,
    text: str,
    metadata: Mapping[str, Any],
    *,
    source: str | None = None,
    details: Mapping[str, Any] | None = None,
    per_source: bool = False,
) -> dict[str, Any]:
    """Return a document or node of a framework as a row for `add_many`.

    The id is its identity: the same id again is a new version, and the same text under two ids is two memories. The
    metadata are the `meta` of the memory, so that `recall(meta=...)` can filter by them.

    Args:
        document_id: The user's id.
        text: The text. One without a visible character is stored as "[no text]".
        metadata: The user's metadata. Times, ids, paths and the like become text.
        source: The document that this is a piece of. One of more than 512 characters is left out.
        details: What the framework needs to restore it.
        per_source: Whether the same id in another source is another memory.

    Raises:
        InvalidInput: The metadata cannot be written as JSON.

    Example:
        >>> row = document_row("d1", "Porto has six bridges.", {"page": 3}, source="porto.pdf")
        >>> row["key"], row["source"], row["meta"]["page"]
        ('document:d1', 'porto.pdf', 3)
    """
    if DOCUMENT_FIELD in metadata:
        raise InvalidInput(
            f"the metadata of document {document_id!r} have a field {DOCUMENT_FIELD!r}, which is reserved. Rename it."
        )
    ours: dict[str, Any] = {"id": document_id}
    if details:
        ours["details"] = _as_json(details, document_id)
    stored = storable_text(text)
    if not stored.strip():
        ours["text"], stored = stored, placeholder_text([], [])
    key = _document_key(f"{document_id}@{source}" if per_source and source else document_id)
    row = {"text": stored, "key": key, "meta": {**_as_json(metadata, document_id), DOCUMENT_FIELD: ours}}
    usable = source is not None and source.strip() and len(source) <= 512
    return row | ({"source": source} if usable else {})


def stored_document(memory: Memory) -> StoredDocument | None:
    """Return the document or node that a memory is, or None if it is not a document."""
    ours = memory.meta.get(DOCUMENT_FIELD)
    if not isinstance(ours, dict) or not isinstance(ours.get("id"), str):
        return None
    metadata = {name: value for name, value in memory.meta.items() if name != DOCUMENT_FIELD}
    return StoredDocument(ours["id"], ours.get("text", memory.text), metadata, ours.get("details", {}))


def find_documents(view: View, ids: Iterable[str]) -> list[Memory]:
    """Return the memories of the documents with these ids, in this order; those that do not exist are left out.

    An id may also be that of a memory which is not a document. Documents stored with `per_source` are not found.

    Raises:
        InvalidInput: `ids` is a text, each character of which would be an id.
    """
    check_ids(ids)
    found = (view.find(_document_key(id_)) or view.get(id_) for id_ in dict.fromkeys(ids))
    return [memory for memory in found if memory is not None]


def check_ids(ids: object) -> None:
    """Raise InvalidInput if ids are given as one text, each character of which would be an id."""
    if isinstance(ids, str):
        raise InvalidInput(f"{ids!r} is a text, not a list of ids. Give [{ids!r}].")


def _document_key(identity: str) -> str:
    """The key of the memory of a document. A long id is hashed."""
    if len(identity) > 480:  # a key has a maximum
        identity = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
    return f"document:{identity}"


def _as_json(value: Mapping[str, Any], document_id: str) -> dict[str, Any]:
    """A mapping with text in place of times, ids and paths."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        written: dict[str, Any] = to_jsonable_python(dict(value), fallback=_plain_number)
    except (PydanticSerializationError, ValueError) as error:
        raise InvalidInput(
            f"the metadata of document {document_id!r} cannot be written as JSON: {error}. Use only text, numbers, "
            "times, lists and dicts."
        ) from None
    return written


def _plain_number(value: Any) -> Any:
    """A numpy scalar as a Python number."""
    if callable(getattr(value, "item", None)) and getattr(value, "ndim", None) == 0:
        return value.item()
    raise ValueError(f"{value!r} is of type {type(value).__name__}")
