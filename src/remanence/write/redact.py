"""Secrets are removed from input before it is stored. `meta` records how many of each kind were removed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.write.validate import Draft, TurnDraft

if TYPE_CHECKING:
    from remanence.language.redaction import Redactor

REDACTED_FIELD = "redacted"
"""The field of `meta` with how many secrets of each kind were removed."""


def redact_draft(draft: Draft, redactor: Redactor) -> Draft:
    """A memory as given, without the secrets in its text, source, metadata, tags, names and claims."""
    counts: Counter[str] = Counter()
    text = _redact_text(draft.text, redactor, counts)
    meta = _redact_value(draft.meta, redactor, counts)
    update: dict[str, Any] = {
        "text": text,
        "source": None if draft.source is None else _redact_text(draft.source, redactor, counts),
        "tags": tuple(_redact_text(tag, redactor, counts) for tag in draft.tags),
        "meta": _with_counts(meta, counts),
    }
    if text != draft.text:
        # Names, claims and ranges that the caller gave are about the text as it was.
        update |= {"entities": None, "triples": None, "passages": None}
    return draft.model_copy(update=update) if counts else draft


def redact_turn(turn: TurnDraft, redactor: Redactor) -> TurnDraft:
    """A chat turn as given, without its secrets."""
    counts: Counter[str] = Counter()
    content, meta = _redact_text(turn.content, redactor, counts), _redact_value(turn.meta, redactor, counts)
    tags = tuple(_redact_text(tag, redactor, counts) for tag in turn.tags)
    update = {"content": content, "tags": tags, "meta": _with_counts(meta, counts)}
    return turn.model_copy(update=update) if counts else turn


def _with_counts(meta: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    return {**meta, REDACTED_FIELD: dict(counts)} if counts else meta


def _redact_value(value: Any, redactor: Redactor, counts: Counter[str]) -> Any:
    """A JSON value with every text in it redacted, the names of fields too."""
    if isinstance(value, str):
        return _redact_text(value, redactor, counts)
    if isinstance(value, list):
        return [_redact_value(item, redactor, counts) for item in value]
    if isinstance(value, dict):
        return {
            _redact_text(name, redactor, counts): _redact_value(item, redactor, counts) for name, item in value.items()
        }
    return value


def _redact_text(text: str, redactor: Redactor, counts: Counter[str]) -> str:
    if not text.strip():
        return text
    redaction = redactor(text)
    if not (
        isinstance(redaction, tuple) and len(redaction) == 2 and isinstance(redaction[0], str) and redaction[0].strip()
    ):
        raise InvalidInput(
            f"redact returned {type(redaction).__name__}. It has to return a text that is not blank, and the number of "
            "secrets of each kind: see remanence.language.redaction.Redaction."
        )
    counts.update(redaction[1])
    return redaction[0]
