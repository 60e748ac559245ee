"""The effect of a new memory on an older one, where a rule makes it certain.

Four cases are decided: another value of a single-valued predicate, a claim that the new text ends, the same claim
in more detail, and a claim denied by another observer. In all other cases both memories stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal

from remanence.language.claim_extraction import predicate_rules
from remanence.language.claim_extraction.predicate_rules import STATE_AFTER_EVENT, claim_key, claim_value, claims_match
from remanence.language.claim_extraction.state_changes import claims_ended_by, claims_opposed_to
from remanence.language.fact_extraction.fact_attributes import NEWS
from remanence.language.fact_extraction.replacement_candidates import certainly_ends, remainder
from remanence.language.fact_extraction.sentence_reading import parse_sentence
from remanence.language.fact_extraction.sentences import informative_sentences, is_hypothetical
from remanence.language.fact_extraction.statements import split_statements
from remanence.language.fact_extraction.third_person import speaker_label, to_third_person
from remanence.language.text import normalize_name, normalize_text
from remanence.schema import SELF, Memory, Triple, Verdict

_Decision = tuple[Literal["updates", "extends", "contradicts"], str]
"""The effect on the older memory, and the reason."""

_MAX_CHARS = 2_000
_ALSO = re.compile(r"\b(?:also|too|as well|both|second|another|part[- ]time|in addition)\b", re.IGNORECASE)
_INSTANT = timedelta(seconds=1)
_STILL = re.compile(r"\b(?:since|for the (?:last|past)|now|currently|these days|nowadays)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_COUNTED = re.compile(r"(one|two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) (.+)")


def find_verdicts(new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
    """The certain verdicts of each memory `new[n]` on the memories in `old[n]`.

    >>> old = Memory("1", "main", "Alice lives in Porto.", triples=(Triple("Alice", "lives_in", "Porto"),))
    >>> new = Memory("2", "main", "Alice moved to Lisbon.", triples=(Triple("Alice", "moved_to", "Lisbon"),))
    >>> for verdict in find_verdicts([new], [[old]]):
    ...     print(verdict.effect, "-", verdict.why)
    updates - Alice lives in Lisbon now, not Porto
    """
    verdicts = []
    for number, (memory, others) in enumerate(zip(new, old, strict=True)):
        statement = _Statement.of(memory)
        for other in others:
            decision = _decide(statement, _Statement.of(other)) if other.id != memory.id else None
            if decision is not None:
                verdicts.append(Verdict(number, other.id, *decision))
    return verdicts


@dataclass(frozen=True, slots=True)
class _Statement:
    """The claims of a memory, as far as the rules can read it."""

    memory: Memory
    claims: tuple[Triple, ...]
    """Its triples, and the states that follow its events."""
    ended: tuple[Triple, ...]
    """The claims that it ends; an empty subject or object stands for any: "got divorced"."""
    denied: tuple[Triple, ...]
    """The claims that it denies, or that cannot hold together with its own."""

    @property
    def states(self) -> list[Triple]:
        """The claims that are no single events."""
        return [claim for claim in self.claims if claim.predicate not in predicate_rules.EVENT_PREDICATES]

    @classmethod
    def of(cls, memory: Memory) -> _Statement:
        stated, states, ended, denied = _read(memory.text[:_MAX_CHARS], memory.observed_by or SELF)
        claims = [*(memory.triples or stated), *states]
        claims += [
            Triple(claim.subject, STATE_AFTER_EVENT[claim.predicate], claim.object)
            for claim in claims
            if claim.predicate in STATE_AFTER_EVENT
        ]
        return cls(
            memory,
            claims=tuple(dict.fromkeys(claims)),
            ended=(*ended, *claims_ended_by(claims)),
            denied=(*denied, *claims_opposed_to(claims)),
        )


_Claims = tuple[Triple, ...]


@lru_cache(1024)  # an older memory is compared with every later one that is similar
def _read(text: str, observer: str) -> tuple[_Claims, _Claims, _Claims, _Claims]:
    """The claims that a text states, the states that follow its events, and the claims that it ends and denies."""
    stated: list[Triple] = []
    states: list[Triple] = []
    ended: list[Triple] = []
    denied: list[Triple] = []
    for sentence in informative_sentences(text):
        if is_hypothetical(sentence.text):
            continue
        parsed = parse_sentence(to_third_person(sentence.text, speaker_label(observer)), observer)
        stated += parsed.claims
        if parsed.change is not None:
            ended += parsed.change.ended_claims
            states += parsed.change.state_claims
        ended += parsed.replaced_claims
        if parsed.change is None and parsed.denial is not None:
            (ended if parsed.denial.no_longer else denied).extend(parsed.denial.claims)
    return tuple(stated), tuple(states), tuple(ended), tuple(denied)


def _decide(new: _Statement, old: _Statement) -> _Decision | None:
    if normalize_text(new.memory.text) == normalize_text(old.memory.text) or _is_history(new.memory, old.memory):
        return None
    if _are_namesakes(new, old):
        return None
    ended, why = _ended_states(new, old)
    if ended:
        return _decide_ended(new, old, ended, why)
    for claim in (*_matching(new.denied, old.states), *_matching(old.denied, new.claims)):
        if _observers_differ(new.memory, old.memory):
            return "contradicts", f"one observer says that {_as_text(claim)}, another that it is not so"
        return "updates", f"it changes whether {_as_text(claim)}"
    if certainly_ends(new.memory, old.memory):
        return "updates", "what it tells ends the older one"
    if not old.claims or len(new.memory.text) <= len(old.memory.text):
        return None
    if all(any(_includes(other, claim) for other in new.claims) for claim in old.claims):
        return "extends", f"it says more about that {_as_text(old.claims[0])}"
    return None


def _are_namesakes(new: _Statement, old: _Statement) -> bool:
    """Whether two people have this name: a brother is not also a cousin, a friend or a boss."""
    predicates = {(claim.subject, claim.object): claim.predicate for claim in old.claims}
    return any(
        predicate_rules.exclude_each_other(claim.predicate, predicates.get((claim.subject, claim.object), ""))
        for claim in new.claims
    )


def _counted(claim: Triple) -> tuple[str, str] | None:
    """A counted noun and its number: "cats" and "two"."""
    match = _COUNTED.fullmatch(claim.object) if claim.predicate == "has" else None
    return (f"{normalize_name(claim.subject)} {match[2]}", match[1]) if match else None


def _ended_states(new: _Statement, old: _Statement) -> tuple[list[Triple], str]:
    """The old states that no longer hold once the new memory does, and why."""
    states = old.states
    found: dict[Triple, None] = {}
    why = ""
    for ended in _matching(new.ended, states):
        found[ended] = None
        why = f"it says that {_as_text(ended)} no longer holds"
    values = {key: claim for claim in new.claims if (key := claim_key(claim)) is not None}
    for claim in states:
        key = claim_key(claim)
        newer = values.get(key) if key is not None else None
        if newer is not None and not _is_same_value(claim_value(newer), claim_value(claim)):
            found[claim] = None
            old_value = claim.object if claim_value(claim) == normalize_name(claim.object) else claim.subject
            why = why or f"{_as_text(newer)} now, not {old_value}"
    counts = dict(counted for claim in new.claims if (counted := _counted(claim)) is not None)
    for claim in states:
        counted = _counted(claim)
        if counted is not None and counts.get(counted[0], counted[1]) != counted[1]:
            found[claim] = None
            why = why or f"it is {counts[counted[0]]} now, not {counted[1]}"
    return list(found), why


def _decide_ended(new: _Statement, old: _Statement, ended: Sequence[Triple], why: str) -> _Decision:
    """An update, unless the old memory has other states that still hold, or two observers disagree."""
    if any(claim.predicate in predicate_rules.IMMUTABLE_PREDICATES for claim in ended) and _observers_differ(
        new.memory, old.memory
    ):
        return "contradicts", f"{why}, and two observers disagree on what cannot change"
    if _ALSO.search(new.memory.text) and not new.ended:
        return "extends", "it adds to the older one"
    replacements = (*new.claims, *claims_opposed_to(new.claims))
    for claim in old.states:
        if claim not in ended and not any(claims_match(claim, other) for other in replacements):
            if _statements_without(old.memory, ended):
                break  # what still holds is kept as a memory of its own
            return "extends", f"{why}; but the older one also says that {_as_text(claim)}"
    return "updates", why


def remaining_statements(new: Memory, old: Memory) -> list[str]:
    """What `old` states that is still valid after `new`, if that is only a part of it.

    >>> old = Memory("1", "main", "Alice works at Acme as a buyer.")
    >>> remaining_statements(Memory("2", "main", "Alice works at Bosch."), old)
    ['Alice works as a buyer.']
    >>> old = Memory("3", "main", "Alice is a vet, lives in Porto and plays chess.")
    >>> remaining_statements(Memory("4", "main", "Alice moved to Lisbon."), old)
    ['Alice is a vet.', 'Alice plays chess.']
    """
    ended, _ = _ended_states(_Statement.of(new), _Statement.of(old))
    if ended and (statements := _statements_without(old, ended)):
        return statements
    text = remainder(new, old)
    return [text] if text else []


def claims_ended_before_told(new: Memory, old: Memory) -> list[Triple]:
    """The claims of `old`, which has no date, that had ended when it was told, since `new` began before.

    >>> from remanence.schema import Window
    >>> told = datetime.fromisoformat("2026-05-01T00:00+00:00")
    >>> old = Memory("1", "main", "Alice lives in Porto.", told_at=told)
    >>> new = Memory("2", "main", "Alice lives in Lisbon.", valid=Window(told - timedelta(days=7)))
    >>> claims_ended_before_told(new, old)
    [Triple(subject='Alice', predicate='lives_in', object='Porto')]
    """
    begins = new.valid.start
    if begins is None or old.valid.start is not None or begins >= old.told_at:
        return []
    return _ended_states(_Statement.of(new), _Statement.of(old))[0]


def _statements_without(memory: Memory, ended: Sequence[Triple]) -> list[str]:
    """What a memory states beside these claims: fewer words, its other clauses, or whose relative it names."""
    shorter = _without_claims(memory, ended)
    return [shorter] if shorter else _other_clauses(memory, ended) or _relatives_named(memory, ended)


def _other_clauses(memory: Memory, ended: Sequence[Triple]) -> list[str]:
    """The clauses of a memory that state none of these claims, if some of them do."""
    observer = memory.observed_by or SELF
    clauses = split_statements(memory.text[:_MAX_CHARS])
    other = [clause for clause in clauses if not any(_matching(ended, _read(clause, observer)[0]))]
    return other if len(other) < len(clauses) else []


def _relatives_named(memory: Memory, ended: Sequence[Triple]) -> list[str]:
    """A sentence for each relative that a memory names: "Alice's wife Ana lives in Porto" says that Ana is her wife."""
    observer = memory.observed_by or SELF
    stated = _read(memory.text[:_MAX_CHARS], observer)[0]
    return [
        f"{speaker_label(observer) if claim.object == observer else claim.object}'s "
        f"{claim.predicate.removesuffix('_of').replace('_', ' ')} is {claim.subject}."
        for claim in stated
        if claim.predicate.endswith("_of") and claim not in ended
    ]


def _without_claims(memory: Memory, ended: Sequence[Triple]) -> str | None:
    """The text of a memory without the words of these claims; None if nothing certain is left."""
    text = memory.text
    for claim in ended:
        shorter = _without_claim(text, claim)
        if shorter is None:
            return None
        text = shorter
    observer = memory.observed_by or SELF
    stated, before = _read(text, observer)[0], _read(memory.text[:_MAX_CHARS], observer)[0]
    kept = [claim for claim in before if claim not in ended]
    roles = [claim for claim in kept if claim.predicate == "works_as" and f"works as a {claim.object}" in text]
    is_kept = all(any(claims_match(claim, other) for other in (*stated, *roles)) for claim in kept)
    return text if kept and is_kept and not any(_matching(ended, stated)) else None


def _without_claim(text: str, claim: Triple) -> str | None:
    """The text without the words for a claim: "The user's girlfriend Ana is a nurse", "works at Acme as a buyer",
    "plays chess and tennis"."""
    value = re.escape(claim.object)
    in_list = rf",? and {value}\b(?! (?:and|or)\b)|(?<= ){value}(?:, | and )"
    role = claim.predicate.removesuffix("_of").replace("_", "[ -]")
    patterns = {
        claim.predicate: rf"^[\w ]+['’]s (?:[a-z]+ )?{role},? (?={re.escape(claim.subject)}\b(?! ?['’(]))"
        if claim.predicate.endswith("_of")
        else "",
        "works_at": rf"(?<=works) (?:at|for|with) (?:the )?{value}(?= as )",
        "lives_in": rf"(?<=lives) in (?:the )?{value}(?= with )",
    }
    for pattern in filter(None, (patterns.get(claim.predicate), in_list)):
        shorter, count = re.subn(pattern, "", text, count=1)
        if count:
            return shorter
    return None


def _is_history(new: Memory, old: Memory) -> bool:
    """Whether the new memory is about a time before the old one, or the old one about a time that has ended."""
    new_start, old_start = new.valid.start, old.valid.start
    if new_start is not None and old_start is not None and new_start < old_start:
        return True
    if old_start is None and _begins_long_before(new, old.told_at):
        return True
    new_end, old_end = _end_of(new), _end_of(old)
    if new_end is not None and new_end <= (old_start or old.recorded_at):
        return True
    return old_end is not None and new_start is not None and old_end <= new_start


def _begins_long_before(memory: Memory, told_at: datetime) -> bool:
    """Whether a memory is older than another one without a date, which was told at this moment."""
    if memory.valid.start is None:
        return memory.told_at < told_at
    return memory.valid.start < told_at - NEWS and not _STILL.search(memory.text)


def _end_of(memory: Memory) -> datetime | None:
    """When it stopped being true. A window of one moment, as chat turns have, is when it was said."""
    start, end = memory.valid.start, memory.valid.end
    is_instant = start is not None and end is not None and end - start <= _INSTANT
    return None if is_instant or memory.kind == "episode" else end


def _observers_differ(new: Memory, old: Memory) -> bool:
    return new.observed_by is not None and old.observed_by is not None and new.observed_by != old.observed_by


def _matching(claims: Iterable[Triple], among: Sequence[Triple]) -> Iterator[Triple]:
    """The claims in `among` that match one of the claims."""
    for claim in claims:
        yield from (other for other in among if claims_match(claim, other))


def _includes(new: Triple, old: Triple) -> bool:
    """Whether the new claim is the old one, or the old one with a longer object."""
    if new.predicate != old.predicate or normalize_name(new.subject) != normalize_name(old.subject):
        return False
    return set(normalize_name(old.object).split()) <= set(normalize_name(new.object).split())


def _is_same_value(one: str, other: str) -> bool:
    """Whether one value is the other with more words: Porto, and Porto in Portugal."""
    fewer, more = sorted((set(_WORD.findall(one)), set(_WORD.findall(other))), key=len)
    return fewer <= more


def _as_text(claim: Triple) -> str:
    subject, value = ("the user" if name == SELF else name for name in (claim.subject, claim.object))
    return f"{subject} {claim.predicate.replace('_', ' ')} {value}"
