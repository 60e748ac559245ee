"""Second step of the write path: from checked input to versions with names, claims and times, without secrets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from remanence.errors import InvalidInput
from remanence.events import Remembered
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import content_digest, key_identity, new_id, turn_identity
from remanence.index.engine.inputs import check_window
from remanence.models.extractors import speaker_name
from remanence.models.readers import needs_turn_before
from remanence.remember.add_options import AddOptions, TurnOptions
from remanence.schema import Fact, Memory, Turn, Window, micros
from remanence.text.temporal import parse_moment
from remanence.text.temporal.calendar_spans import ONE_DAY, midnight, to_utc
from remanence.text.text import (
    MAX_PASSAGE,
    MAX_QUESTION_LENGTH,
    normalize_text,
    split_passages,
    split_ranges,
    split_turn,
    without_middle,
)

if TYPE_CHECKING:
    from remanence.ports import Extractor
    from remanence.text.redaction import Redactor

REDACTED_FIELD = "redacted"
"""The field of `meta` with how many secrets of each kind were removed."""


class PreparedVersion(NamedTuple):
    """A version to be written. Its memory id and the number of its turn become final under the write lock."""

    version: Remembered
    recorded_at: datetime
    repeat_key: str | None = None
    """The normalized text, if this may be a recalled text that is added again."""
    is_revision: bool = False
    """Whether this is a new version of the memory it names, with the same text."""
    has_extracted_names: bool = True
    """Whether registered names are looked for in its text: not if the caller gave its names."""
    may_set: frozenset[str] = frozenset()
    """Which of "kind" and "importance" nobody gave: they are found in what the text tells."""
    is_undated: bool = False
    """Whether it is a text that the caller gave, without a key, and neither text nor caller give a date."""


def prepare(engine: Engine, draft: AddOptions, now: datetime, extractor: Extractor | None = None) -> PreparedVersion:
    """The version of a memory as the caller gave it, without secrets if the engine has a redactor. `extractor` is used
    in place of that of the engine."""
    trust = engine.trust.trust_of(draft.source, draft.observed_by, draft.trust)
    if engine.redactor is not None:
        draft = redact_draft(draft, engine.redactor)
    if draft.now is not None:
        now = parse_moment(draft.now, now, argument="now")
    extractor = extractor or engine.extractor
    extraction = extractor.extract(draft.text, now=now, speaker=draft.observed_by)
    stated = check_window(draft.valid_from, draft.valid_until, now)
    dated_by_text = not stated.has_bound and extraction.valid is not None
    valid = extraction.valid if dated_by_text and extraction.valid is not None else stated
    expires = None if draft.expires_at is None else parse_moment(draft.expires_at, now, argument="expires_at")
    tags = tuple(dict.fromkeys(draft.tags))
    normalized = normalize_text(draft.text)
    # A text that is added again is known by these digests, which are in the ledger. So their values and the order of
    # them never change, here and below; a new value comes last, and only if it is not the default.
    version = Remembered(
        memory=new_id(),
        text=draft.text,
        identity=key_identity(draft.key)
        if draft.key is not None
        else content_digest("text", normalized, _bounds(valid)),
        content=content_digest(
            *(draft.text, draft.kind, _bounds(stated), draft.importance, draft.confidence, tags, draft.source),
            *(draft.observed_by, expires and micros(expires), draft.meta),
            draft.entities and [[m.name, m.kind] for m in draft.entities],
            draft.triples and [[t.subject, t.predicate, t.object] for t in draft.triples],
            *(() if draft.passages is None else [draft.passages]),
            *(() if draft.strength is None else [{"strength": draft.strength}]),
            *_trust_for_digest(trust),
        ),
        key=draft.key,
        kind=draft.kind or ("episode" if dated_by_text and not _lasts(valid, now) else "semantic"),
        valid=valid,
        importance=0.5 if draft.importance is None else draft.importance,
        confidence=1.0 if draft.confidence is None else draft.confidence,
        strength=1.0 if draft.strength is None else draft.strength,
        tags=tags,
        source=draft.source,
        observed_by=draft.observed_by,
        expires_at=expires,
        mentions=extraction.mentions if draft.entities is None else draft.entities,
        triples=extraction.triples if draft.triples is None else draft.triples,
        times=extraction.times,
        passages=split_passages(draft.text) if draft.passages is None else split_ranges(draft.text, draft.passages),
        meta=draft.meta,
        told_at=now if draft.now is not None else None,
        trust=trust,
    )
    repeat_key = _repeat_key(normalized, draft.key, stated.has_bound)
    undated = draft.key is None and not valid.has_bound
    given = {"kind": draft.kind, "importance": draft.importance}
    return PreparedVersion(
        version,
        now,
        repeat_key,
        has_extracted_names=draft.entities is None,
        may_set=frozenset(name for name, value in given.items() if value is None),
        is_undated=undated,
    )


def _lasts(valid: Window, now: datetime) -> bool:
    """Whether a text with this time tells a state and no event: it holds from now on, also if it says until when."""
    return valid.end is None or (valid.start == midnight(to_utc(now)) and valid.end - valid.start > ONE_DAY)


def prepare_turns(
    engine: Engine,
    turns: Iterable[TurnOptions],
    now: datetime,
    extractor: Extractor | None = None,
    repetitions: dict[str, int] | None = None,
) -> list[PreparedVersion]:
    """The versions of chat turns. The times in each are relative to its own time, and "I" is its speaker. `repetitions`
    counts the repeated turns earlier in the same batch."""
    extractor, redactor = extractor or engine.extractor, engine.redactor
    prepared: list[PreparedVersion] = []
    repetitions = {} if repetitions is None else repetitions
    for row, original in enumerate(turns, 1):
        turn = original if redactor is None else redact_turn(original, redactor)
        at = None if turn.time is None else parse_moment(turn.time, now, argument=f"row {row}: time")
        speaker = speaker_name(turn.speaker or turn.role)
        extraction = extractor.extract(read_by_rules(turn), now=at or now, speaker=speaker)
        expires = None
        if turn.expires_at is not None:
            expires = parse_moment(turn.expires_at, now, argument=f"row {row}: expires_at")
        trust = engine.trust.trust_of(turn.conversation, speaker, turn.trust)
        tags = tuple(dict.fromkeys(turn.tags))
        normalized = normalize_text(turn.content)
        # The same text twice in a batch is two turns: a counter tells them apart.
        turn_digest = content_digest(
            normalized, turn.conversation, speaker, at and micros(at), _bounds(extraction.valid or Window())
        )
        count = repetitions[turn_digest] = repetitions.get(turn_digest, -1) + 1
        version = Remembered(
            memory=new_id(),
            text=turn.content,
            identity=key_identity(turn.key) if turn.key is not None else turn_identity(turn_digest, count),
            content=content_digest(
                *(turn.content, turn.conversation, speaker, at and micros(at), tags, turn.meta),
                *([] if expires is None else [micros(expires)]),
                *_trust_for_digest(trust),
            ),
            key=turn.key,
            kind="episode",
            valid=extraction.valid or Window.from_moment(at or now),
            tags=tags,
            source=turn.conversation,
            observed_by=speaker,
            expires_at=expires,
            mentions=extraction.mentions,
            triples=extraction.triples,
            times=extraction.times,
            turn=Turn(turn.conversation, -1, speaker, at or now, _context(turn)),
            passages=split_turn(turn.content),
            meta=turn.meta,
            trust=trust,
        )
        undated = turn.key is None and at is None and extraction.valid is None
        repeat_key = _repeat_key(normalized, turn.key, at is not None)
        prepared.append(PreparedVersion(version, now, repeat_key, is_undated=undated))
    return prepared


def read_by_rules(turn: TurnOptions) -> str:
    """The part of a turn in which names, claims and times are looked for: all of it, or the beginning and the end of
    what is pasted."""
    return without_middle(turn.content, MAX_QUESTION_LENGTH)


def prepare_fact(fact: Fact, now: datetime, *, sources: Sequence[Memory]) -> PreparedVersion:
    """The version of a fact found in these sources. Its trust is the lowest trust of a source."""
    source = sources[0] if sources else None
    trust = min((source_memory.trust for source_memory in sources), default=1.0)
    version = Remembered(
        memory=new_id(),
        text=fact.text,
        identity=content_digest("fact", normalize_text(fact.text), _bounds(fact.valid)),
        content=content_digest(
            fact.text, fact.kind, _bounds(fact.valid), fact.importance, fact.tags, *_trust_for_digest(trust)
        ),
        source=None if source is None else source.source,
        observed_by=None if source is None else source.turn.speaker if source.turn is not None else source.observed_by,
        passages=split_passages(fact.text),
        told_at=max((source_memory.told_at for source_memory in sources), default=None),
        trust=trust,
    )
    return PreparedVersion(_with_fact(version, fact), now)


def prepare_revision(version: Remembered, fact: Fact, now: datetime) -> PreparedVersion:
    """A new version of a source that states only one fact, with the names, claims and times of the fact."""
    return PreparedVersion(_with_fact(version, fact), now, is_revision=True)


def _context(turn: TurnOptions) -> str | None:
    """The turn before, where the caller gives it and this turn may not be understood without it; of a long one the
    beginning and the end."""
    is_needed = turn.before and needs_turn_before(turn.content, turn.before)
    return without_middle(turn.before, MAX_PASSAGE) if turn.before and is_needed else None


def _with_fact(version: Remembered, fact: Fact) -> Remembered:
    return replace(
        version,
        kind=fact.kind,
        # A text that expires is true from now on: the date in it is the date of its end.
        valid=fact.valid if fact.valid.has_bound or fact.expires_at is not None else version.valid,
        importance=fact.importance,
        confidence=fact.confidence,
        tags=tuple(dict.fromkeys((*version.tags, *fact.tags))),
        expires_at=fact.expires_at or version.expires_at,
        mentions=fact.mentions or version.mentions,
        triples=fact.triples or version.triples,
    )


def _trust_for_digest(trust: float) -> list[float]:
    """The trust as part of a digest: nothing if it is full, so that digests of releases without trust stay the same."""
    return [] if trust == 1.0 else [trust]


def _repeat_key(normalized: str, key: str | None, dated: bool) -> str | None:
    """The text to compare with recently recalled ones; None if the caller gave a key or a date. With a date, the same
    text may be about another event."""
    # Shorter texts ("yes", "thank you") are often repeated.
    return normalized if key is None and not dated and len(normalized) >= 16 else None


def _bounds(window: Window) -> list[int | None]:
    return [None if window.start is None else micros(window.start), None if window.end is None else micros(window.end)]


def redact_draft(draft: AddOptions, redactor: Redactor) -> AddOptions:
    """A memory as given, without the secrets in its text, source, metadata, tags, names and claims."""
    counts: Counter[str] = Counter()
    text = _redact_text(draft.text, redactor, counts)
    meta = redact_value(draft.meta, redactor, counts)
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


def redact_turn(turn: TurnOptions, redactor: Redactor) -> TurnOptions:
    """A chat turn as given, without its secrets."""
    counts: Counter[str] = Counter()
    content, meta = _redact_text(turn.content, redactor, counts), redact_value(turn.meta, redactor, counts)
    tags = tuple(_redact_text(tag, redactor, counts) for tag in turn.tags)
    before = None if turn.before is None else _redact_text(turn.before, redactor, counts)
    update = {"content": content, "before": before, "tags": tags, "meta": _with_counts(meta, counts)}
    return turn.model_copy(update=update) if counts else turn


def _with_counts(meta: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    return {**meta, REDACTED_FIELD: dict(counts)} if counts else meta


def redact_value(value: Any, redactor: Redactor, counts: Counter[str]) -> Any:
    """A JSON value without the secrets in it: in texts, in the names of fields, and in values that a name marks as
    secret, as in {"password": "hunter2"}."""
    if isinstance(value, str):
        return _redact_text(value, redactor, counts)
    if isinstance(value, list):
        return [redact_value(item, redactor, counts) for item in value]
    if isinstance(value, dict):
        return {
            _redact_text(name, redactor, counts): _redact_field(name, item, redactor, counts)
            for name, item in value.items()
        }
    return value


def _redact_field(name: str, value: Any, redactor: Redactor, counts: Counter[str]) -> Any:
    """The value of a field, without secrets; if only its name says that it is one, without the value."""
    found, marked = Counter[str](), Counter[str]()
    redacted = redact_value(value, redactor, found)
    if not found and isinstance(value, str | int | float) and not isinstance(value, bool):
        _redact_text(f"{name}={value}", redactor, found)
        _redact_text(name, redactor, marked)
        found -= marked
        redacted = f"[redacted {next(iter(found))}]" if found else value
    counts.update(found)
    return redacted


def _redact_text(text: str, redactor: Redactor, counts: Counter[str]) -> str:
    if not text.strip():
        return text
    redaction = redactor(text)
    if not (
        isinstance(redaction, tuple) and len(redaction) == 2 and isinstance(redaction[0], str) and redaction[0].strip()
    ):
        raise InvalidInput(
            f"redact returned {type(redaction).__name__}. It has to return a text that is not blank, and the number of "
            "secrets of each kind: see remanence.text.redaction.Redaction."
        )
    counts.update(redaction[1])
    return redaction[0]
