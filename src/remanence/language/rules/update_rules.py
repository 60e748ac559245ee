"""What a new memory means for an older one, where that is certain by rule.

One value where there can be only one, a claim that the wording ends, the same claim told more fully, or the
same claim denied by somebody else: nothing else is decided here, so that no unrelated memory is retired.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from remanence.language.rules.predicate_rules import (
    EVENT_PREDICATES,
    IMMUTABLE_PREDICATES,
    STATE_AFTER_EVENT,
    claim_key,
    claim_value,
)
from remanence.language.rules.sentence_reading import parse_sentence
from remanence.language.rules.sentences import informative_sentences, is_hypothetical
from remanence.language.rules.state_changes import claims_ended_by, claims_opposed_to
from remanence.language.rules.third_person import speaker_label, to_third_person
from remanence.language.text import normalize_name, normalize_text
from remanence.schema import SELF, Memory, Triple, Verdict

Says = Literal["updates", "extends", "contradicts"]


def find_verdicts(new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
    """The verdicts on the memories in `old[n]` that the memory `new[n]` is certain to call for.

    >>> old = Memory("1", "main", "Alice lives in Porto.", triples=(Triple("Alice", "lives_in", "Porto"),))
    >>> new = Memory("2", "main", "Alice moved to Lisbon.", triples=(Triple("Alice", "moved_to", "Lisbon"),))
    >>> for verdict in find_verdicts([new], [[old]]):
    ...     print(verdict.effect, "-", verdict.why)
    updates - Alice lives in Lisbon now, not Porto
    """
    verdicts = []
    for number, (memory, others) in enumerate(zip(new, old, strict=True)):
        told = _Told.of(memory)
        for other in others:
            if other.id != memory.id:
                said = _verdict(told, _Told.of(other))
                if said is not None:
                    verdicts.append(Verdict(number, other.id, *said))
    return verdicts


@dataclass(frozen=True, slots=True)
class _Told:
    """What a memory says, as far as the rules can read it."""

    memory: Memory
    claims: tuple[Triple, ...]
    """What it says is so: its own triples and the states that its events leave behind."""
    ends: tuple[Triple, ...]
    """What it says is so no longer; an empty end stands for anyone or anything: "got divorced"."""
    denies: tuple[Triple, ...]
    """What it says is not so, or cannot be so if its claims are."""

    @classmethod
    def of(cls, memory: Memory) -> _Told:
        who = memory.observed_by or SELF
        claims = list(memory.triples)
        ends: list[Triple] = []
        denies: list[Triple] = []
        for sentence in informative_sentences(memory.text[:_LONGEST]):
            if is_hypothetical(sentence.text):
                continue
            reading = parse_sentence(to_third_person(sentence.text, speaker_label(who)), who)
            if not memory.triples:
                claims += reading.claims
            if reading.change is not None:
                ends += reading.change.ended_claims
                claims += reading.change.state_claims
            ends += reading.replaced_claims
            if reading.change is None and reading.denial is not None:
                (ends if reading.denial.no_longer else denies).extend(reading.denial.claims)
        left = [(claim, STATE_AFTER_EVENT[claim.predicate]) for claim in claims if claim.predicate in STATE_AFTER_EVENT]
        claims += [Triple(claim.subject, state, claim.object) for claim, state in left]
        return cls(
            memory,
            claims=tuple(dict.fromkeys(claims)),
            ends=(*ends, *claims_ended_by(claims)),
            denies=(*denies, *claims_opposed_to(claims)),
        )


_LONGEST = 2_000
_ALSO = re.compile(r"\b(?:also|too|as well|both|second|another|part[- ]time|in addition)\b", re.IGNORECASE)
_INSTANT = timedelta(seconds=1)


def _verdict(new: _Told, old: _Told) -> tuple[Says, str] | None:
    if normalize_text(new.memory.text) == normalize_text(old.memory.text) or _is_history(new.memory, old.memory):
        return None
    states = [claim for claim in old.claims if claim.predicate not in EVENT_PREDICATES]
    gone, why = _gone(new, states)
    if gone:
        return _weighed(new, old, states, gone, why)
    for denied in (*_shares(new.denies, states), *_shares(old.denies, new.claims)):
        return _denied(new, old, denied)
    return _extended(new, old)


def _gone(new: _Told, states: Sequence[Triple]) -> tuple[list[Triple], str]:
    """Those of the old states that hold no longer once the new memory does, and why."""
    gone: dict[Triple, None] = {}
    why = ""
    for ended in _shares(new.ends, states):
        gone[ended] = None
        why = f"it says that {_spoken(ended)} no longer holds"
    values = {key: claim for claim in new.claims if (key := claim_key(claim)) is not None}
    for claim in states:
        key = claim_key(claim)
        newer = values.get(key) if key is not None else None
        if newer is not None and not _alike(claim_value(newer), claim_value(claim)):
            gone[claim] = None
            why = why or f"{_spoken(newer)} now, not {_value(claim)}"
    return list(gone), why


def _weighed(
    new: _Told, old: _Told, states: Sequence[Triple], gone: Sequence[Triple], why: str
) -> tuple[Says, str] | None:
    """An update, unless it would take more with it than it replaces, or two people disagree."""
    if any(claim.predicate in IMMUTABLE_PREDICATES for claim in gone) and _others_word(new.memory, old.memory):
        return "contradicts", f"{why}, and two observers disagree on what cannot change"
    if _ALSO.search(new.memory.text) and not new.ends:
        return "extends", "it adds to the older one"
    rest = [claim for claim in states if claim not in gone and not _is_replaced(claim, new.claims)]
    if rest:
        return "extends", f"{why}; but the older one also says that {_spoken(rest[0])}"
    return "updates", why


def _denied(new: _Told, old: _Told, claim: Triple) -> tuple[Says, str]:
    if _others_word(new.memory, old.memory):
        return "contradicts", f"one observer says that {_spoken(claim)}, another that it is not so"
    return "updates", f"whether {_spoken(claim)} is told otherwise now"


def _extended(new: _Told, old: _Told) -> tuple[Says, str] | None:
    """More about the same: each thing the old one claims is claimed again, with something besides."""
    if not old.claims or len(new.memory.text) <= len(old.memory.text):
        return None
    again = [claim for claim in old.claims if any(_tells(other, claim) for other in new.claims)]
    if len(again) == len(old.claims):
        return "extends", f"it says more about that {_spoken(again[0])}"
    return None


def _is_history(new: Memory, old: Memory) -> bool:
    """Whether the new memory is about a time before the old one, or the old one about a time that is over."""
    begun, before = new.valid.start, old.valid.start
    if begun is not None and before is not None and begun < before:
        return True
    over = _ended(new)
    if over is not None and over <= (before or old.recorded_at):
        return True
    closed = _ended(old)
    return closed is not None and begun is not None and closed <= begun


def _ended(memory: Memory) -> datetime | None:
    """When it stopped being true; a moment, as chat turns have, says when it was told."""
    start, end = memory.valid.start, memory.valid.end
    instant = start is not None and end is not None and end - start <= _INSTANT
    return None if instant or memory.kind == "episode" else end


def _others_word(new: Memory, old: Memory) -> bool:
    return new.observed_by is not None and old.observed_by is not None and new.observed_by != old.observed_by


def _shares(claims: Iterable[Triple], among: Sequence[Triple]) -> Iterator[Triple]:
    """Those of `among` that one of the claims makes too."""
    for claim in claims:
        yield from (other for other in among if _same(claim, other))


def _same(one: Triple, other: Triple) -> bool:
    """Whether the two claim the same; an end that the first leaves empty is that of the second."""
    return (
        one.predicate == other.predicate
        and (not one.subject or normalize_name(one.subject) == normalize_name(other.subject))
        and (not one.object or normalize_name(one.object) == normalize_name(other.object))
    )


def _is_replaced(claim: Triple, by: Iterable[Triple]) -> bool:
    return any(_same(claim, other) for other in by) or any(_same(claim, other) for other in claims_opposed_to(by))


def _tells(new: Triple, old: Triple) -> bool:
    """Whether the new claim is the old one, or the old one with a fuller object."""
    if new.predicate != old.predicate or normalize_name(new.subject) != normalize_name(old.subject):
        return False
    return set(normalize_name(old.object).split()) <= set(normalize_name(new.object).split())


def _alike(one: str, other: str) -> bool:
    """Whether one value is the other with more words: Porto, and Porto in Portugal."""
    few, many = sorted((set(_WORDS.findall(one)), set(_WORDS.findall(other))), key=len)
    return few <= many


_WORDS = re.compile(r"\w+")


def _spoken(claim: Triple) -> str:
    return f"{claim.subject} {claim.predicate.replace('_', ' ')} {claim.object}"


def _value(claim: Triple) -> str:
    return claim.object if claim_value(claim) == normalize_name(claim.object) else claim.subject
