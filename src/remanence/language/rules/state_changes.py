"""What changed: which claims a sentence ends, and which state an event leaves behind.

All here reads sentences in the third person, as `third_person` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from remanence.language.rules.ended_claims import (
    ADVERB_PATTERN,
    StateChange,
    claims_ended_by,
    claims_opposed_to,
    find_breakup,
    find_discontinued,
    find_unspecified_ending,
)
from remanence.language.rules.fact_importance import tags_of
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.people_words import PROFESSIONS
from remanence.language.rules.subjects import coordinated_subjects
from remanence.schema import Triple

__all__ = ["StateChange", "claims_ended_by", "claims_opposed_to", "find_state_change"]


def find_state_change(text: str, names: Sequence[NameSpan]) -> StateChange | None:
    """The first change that the text tells of one of its names.

    >>> text = "Alice left Google last May to join Anthropic."
    >>> from remanence.language.rules.name_rules import find_names
    >>> change = find_state_change(text, find_names(text))
    >>> [str(claim) for claim in change.ended_claims], change.state_text
    (['Alice —works_at→ Google', 'Alice —studies_at→ Google'], 'Alice works at Anthropic')
    """
    starts = {name.start: name for name in names}
    for name in names:
        if name.kind == "person" and text[name.end : name.end + 1] == " ":
            for read in (
                *(_left, _moved, _renamed, _switched, _replaced, _joined, _wed, find_breakup, _promoted),
                *(find_discontinued, find_unspecified_ending),
            ):
                change = read(text, name, starts)
                if change is not None:
                    return _for_all(text, name, names, change)
    return None


_OWN = r"(?:(?:my|their|his|her|a|an|the) (?:old |new )?(?:job|position|role) (?:at|with) )?(?:the )?"
_LEFT = re.compile(
    rf"{ADVERB_PATTERN} (?:has )?(?:left|quit|resigned from|retired from|departed|(?:was|got|been) (?:laid off"
    rf"|fired|let go)"
    rf" (?:from|by)) {_OWN}"
)
_TO_JOIN = re.compile(
    r"\b(?:to (?:join|work (?:at|for)|start (?:at|working at))|and (?:has )?(?:joined|went to"
    r"|started(?: working)? at"
    rf"|(?:is )?now (?:works? (?:at|for)|at))|for (?=[A-Z])|for (?:a|an) (?:new )?(?:job|role"
    rf"|position) (?:at|with)) {_OWN}"
)
_MOVED = re.compile(rf"{ADVERB_PATTERN} (?:has )?(?:moved|relocated)\b(?: back| over| out(?! of))?")
_AND_MOVED = re.compile(r"[^.;]{0,30}? (?:and (?:then )?(?:moved|relocated)|to move) to (?:the )?")
_FROM = re.compile(r" (?:from|out of) (?:the )?")
_TO = re.compile(r"(?: with [^,.;]{1,30})? (?:back )?to (?:the )?")
_SWITCHED = re.compile(
    rf"{ADVERB_PATTERN} (?:has )?(?:switched|changed|migrated|converted)(?: over| back| completely| everything)*"
    r"(?: from (?P<old>[^,.;]{1,40}?))? to (?P<new>[^,.;!]{1,40}?)"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|a|an|two|three|yesterday|today|recently"
    r"|from|and|as)\b)"
    r"(?: from (?P<older>[^,.;!]{1,40}?)(?=[.,;!]|$))?"
)
_REPLACED = re.compile(
    rf"{ADVERB_PATTERN} (?:has )?(?:replaced|swapped|traded|traded in|ditched|dropped) (?P<own>their (?:old )?"
    rf"|the )?(?P<old>[^,.;]{{1,40}}?)"
    r" (?:with|for|in favou?r of) (?P<article>an? (?:new )?|the )?(?P<new>[^,.;!]{1,40}?)(?=[.,;!]|$"
    r"| (?:last|this|in|on"
    r"|because|since)\b)"
)
_JOINED = re.compile(
    rf"{ADVERB_PATTERN} (?:has )?(?:joined|(?:got|was|been) hired (?:by|at)|(?:got|accepted|took|started"
    rf"|landed) an?(?: new)?"
    rf" (?:job|position|role|offer) (?:at|with|from)|started(?: working)? at) (?:the )?"
)
_CLUBS = re.compile(
    r"\b(?:club|team|gym|choir|band|group|class|society|association|league|discord|server)\b", re.IGNORECASE
)
_WED = re.compile(rf"{ADVERB_PATTERN} (?:has )?(?:got married to|married|tied the knot with|wed) ")
_PROMOTED = re.compile(
    rf"{ADVERB_PATTERN} (?:has |have )?(?:became|become|(?:was|got|been) promoted to|started as) (?:an? |the )?"
    rf"(?P<job>(?:[a-z-]+ ){{0,3}}(?:{'|'.join(sorted(PROFESSIONS))}|lead|head|vp))\b(?! of\b)"
)
_RENAMED = re.compile(
    rf"{ADVERB_PATTERN} (?:has )?changed (?:my|their|his|her|[\w ]{{2,30}}['’]s) (?P<what>name|email|phone number"
    rf"|address|job title) to "
    r"(?P<new>[^,;!]{1,40}?)(?=[,;!]|\.?$| (?:last|this|in|on|because|after|when)\b)"
)


def _for_all(text: str, who: NameSpan, names: Sequence[NameSpan], change: StateChange) -> StateChange:
    """The change for all, where others do the same: "Ana and Bob moved to Porto"."""
    others = coordinated_subjects(text, who, {name.end: name for name in names})
    there = {claim.object for claim in (*change.event_claims, *change.ended_claims)}
    if not others or change.has_unspecified_end or any(other.text in there for other in others):
        return change
    state = change.state_text
    if state is not None:
        rest = state[len(_written(text, who)) + 1 :]
        before = ", ".join(text[other.start : other.end] for other in others)
        state = f"{_capital(before)} and {text[who.start : who.end]} {_in_plural(rest)}"
    events, ends, claims = (
        _of_all(given, who, others) for given in (change.event_claims, change.ended_claims, change.state_claims)
    )
    return StateChange(events, ends, state, claims)


def _of_all(claims: tuple[Triple, ...], who: NameSpan, others: Sequence[NameSpan]) -> tuple[Triple, ...]:
    own = [claim for claim in claims if claim.subject == who.text]
    return (*claims, *(replace(claim, subject=other.text) for other in others for claim in own))


def _left(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    left = _LEFT.match(text, who.end)
    old = starts.get(left.end()) if left else None
    if old is None or old.kind == "person":
        return None
    way = _AND_MOVED.match(text, old.end)
    home = starts.get(way.end()) if way else None
    if home is not None and home.kind != "person":
        lives = (Triple(who.text, "lives_in", home.text),)
        moved = (Triple(who.text, "moved_to", home.text),)
        return StateChange(
            moved, (Triple(who.text, "lives_in", old.text),), _state(text, who, f"lives in {home.text}"), lives
        )
    events: tuple[Triple, ...] = (Triple(who.text, "left", old.text),)
    if old.kind == "place":
        return None
    ends = claims_ended_by(events)
    for way in _TO_JOIN.finditer(text, old.end):
        new = starts.get(way.end())
        if new is not None and new.kind not in ("person", "place"):
            works = Triple(who.text, "works_at", new.text)
            events = (*events, Triple(who.text, "joined", new.text))
            return StateChange(events, ends, _state(text, who, f"works at {new.text}"), (works,))
    return StateChange(events, ends)


def _moved(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    moved = _MOVED.match(text, who.end)
    if moved is None:
        return None
    at, old = moved.end(), None
    source = _FROM.match(text, at)
    if source:
        old = starts.get(source.end())
        if old is None:
            return None
        at = old.end
    way = _TO.match(text, at)
    new = starts.get(way.end()) if way else None
    if new is not None and old is None:
        source = _FROM.match(text, new.end)
        old = starts.get(source.end()) if source else None
    ends = (Triple(who.text, "lives_in", old.text),) if old else ()
    if new is None or new.kind == "person":
        return None if old is None else StateChange((), ends)
    claims = (Triple(who.text, "lives_in", new.text),)
    event = (Triple(who.text, "moved_to", new.text),)
    return StateChange(event, ends, _state(text, who, f"lives in {new.text}"), claims)


def _switched(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    found = _SWITCHED.match(text, who.end)
    old = (found["old"] or found["older"]) if found else None
    if found is None:
        return None
    new = found["new"].strip()
    events = [Triple(who.text, "switched_to", new)]
    if old:
        events.append(Triple(who.text, "switched_from", old))
    uses = Triple(who.text, "uses", new)
    prefers = _state(text, who, f"uses {new}") + (f" and prefers it to {old}" if old else "")
    claims: tuple[Triple, ...] = (uses, Triple(who.text, "prefers", new)) if old else (uses,)
    if old and "food" in tags_of(f"{old}, {new}"):  # nobody uses tea
        prefers, claims = _state(text, who, f"prefers {new} to {old}"), claims[1:]
    return StateChange(tuple(events), claims_ended_by(events), prefers, claims)


def _replaced(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    """Their old Honda with a Tesla, Slack with Zulip: a thing is had, what has a name is used."""
    found = _REPLACED.match(text, who.end)
    if found is None:
        return None
    old, new = found["old"], found["new"].strip()
    events = (Triple(who.text, "switched_to", new), Triple(who.text, "switched_from", old))
    had = tuple(Triple(who.text, predicate, old) for predicate in ("has", "owns", "drives"))
    if found["own"] is None:
        claims = (Triple(who.text, "uses", new), Triple(who.text, "prefers", new))
        return StateChange(
            events, claims_ended_by(events), _state(text, who, f"uses {new} and prefers it to {old}"), claims
        )
    has = _state(text, who, f"has {(found['article'] or '').replace('new ', '')}{new}")
    return StateChange(events, (*had, *claims_ended_by(events)), has, (Triple(who.text, "has", new),))


def _renamed(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    found = _RENAMED.match(text, who.end)
    if found is None:
        return None
    what, new = found["what"], found["new"]
    claim = Triple(who.text, what.replace(" ", "_"), new)
    return StateChange((), (), f"{_written(text, who)}'s {what} is {new}", (claim,))


def _joined(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    found = _JOINED.match(text, who.end)
    new = starts.get(found.end()) if found else None
    if new is None or new.kind in ("person", "place", "title") or _CLUBS.search(text, new.start, new.end + 12):
        return None
    works = Triple(who.text, "works_at", new.text)
    joined = (Triple(who.text, "joined", new.text),)
    return StateChange(joined, (), _state(text, who, f"works at {new.text}"), (works,))


def _wed(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    found = _WED.match(text, who.end)
    other = starts.get(found.end()) if found else None
    if other is None:
        return None
    married = Triple(who.text, "married_to", other.text)
    return StateChange((married,), (), _state(text, who, f"is married to {other.text}"), (married,))


def _promoted(text: str, who: NameSpan, starts: dict[int, NameSpan]) -> StateChange | None:
    found = _PROMOTED.match(text, who.end)
    if found is None:
        return None
    job = found["job"]
    article = "an" if job[0] in "aeiou" else "a"
    works = Triple(who.text, "works_as", job)
    return StateChange((), (), _state(text, who, f"works as {article} {job}"), (works,))


def _state(text: str, who: NameSpan, rest: str) -> str:
    """Who is in this state; "and others" have the verb in its plain form."""
    written = _written(text, who)
    return f"{written} {_in_plural(rest) if written.endswith(' others') else rest}"


def _in_plural(rest: str) -> str:
    verb, _, behind = rest.partition(" ")
    return f"{_PLURAL.get(verb, verb[:-1])} {behind}"


_PLURAL = {"is": "are", "has": "have"}


def _written(text: str, who: NameSpan) -> str:
    """How the text writes this name, with a capital to start a sentence."""
    return _capital(text[who.start : who.end])


def _capital(written: str) -> str:
    return written[:1].upper() + written[1:] if written.startswith("the user") else written
