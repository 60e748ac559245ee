"""What changed: which claims a sentence ends, and which state an event leaves behind.

All here reads sentences in the third person, as `third_person` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remanence.extractors.claims import find_claims
from remanence.extractors.lexicon import TRADES
from remanence.extractors.marked import Name
from remanence.extractors.person import conjugated
from remanence.extractors.predicates import OPPOSITES, STATE_BEFORE
from remanence.model import Triple


@dataclass(frozen=True, slots=True)
class Change:
    """An event: what it claims, what it ends, and the state it leaves, in words and as a claim."""

    events: tuple[Triple, ...]
    ends: tuple[Triple, ...] = ()
    state: str | None = None
    claims: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """Claims that a sentence says do not hold: no longer, or not at all."""

    claims: tuple[Triple, ...]
    no_longer: bool


def find_change(text: str, names: Sequence[Name]) -> Change | None:
    """The first change that the text tells of one of its names.

    >>> text = "Alice left Google last May to join Anthropic."
    >>> from remanence.extractors.names import find_names
    >>> change = find_change(text, find_names(text))
    >>> [str(claim) for claim in change.ends], change.state
    (['Alice —works_at→ Google', 'Alice —studies_at→ Google'], 'Alice works at Anthropic')
    """
    starts = {name.start: name for name in names}
    for name in names:
        if name.kind == "person" and text[name.end : name.end + 1] == " ":
            for read in (_left, _moved, _switched, _joined, _wed, _parted, _promoted, _gave_up):
                change = read(text, name, starts)
                if change is not None:
                    return change
    return None


def find_denied(text: str, names: Sequence[Name], me: str) -> Denied | None:
    """The claims that the text denies: it is read once more without its "not".

    >>> from remanence.extractors.names import find_names
    >>> text = "Alice no longer lives in Porto."
    >>> [str(claim) for claim in find_denied(text, find_names(text), "me").claims]
    ['Alice —lives_in→ Porto']
    """
    for pattern, no_longer in _NEGATIONS:
        found = pattern.search(text)
        if found is None:
            continue
        verb = found["verb"]
        positive = conjugated(verb) if found.re in _BASE_FORM else _FROM_GERUND.get(verb, verb)
        plain = _ANY_MORE.sub("", text[: found.start()] + positive + text[found.end() :])
        later = _ANY_MORE.search(text) is not None
        shift = len(positive) - (found.end() - found.start())
        moved = [
            name
            if name.end <= found.start()
            else name._replace(start=name.start + shift, end=name.end + shift)
            for name in names
        ]
        claims = find_claims(plain, moved, me)
        if claims:
            return Denied(claims, no_longer or later)
    return None


def end_claims(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The states that these events put an end to."""
    return tuple(
        Triple(claim.subject, state, claim.object)
        for claim in claims
        for state in STATE_BEFORE.get(claim.predicate, ())
    )


def opposed(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The claims that cannot hold together with these."""
    return tuple(
        Triple(claim.subject, other, claim.object)
        for claim in claims
        for other in OPPOSITES.get(claim.predicate, ())
    )


_ADVERBS = r"(?: (?:just|recently|finally|already|also|actually|then|officially))*"
_OWN = r"(?:(?:my|their|his|her|a|an|the) (?:old |new )?(?:job|position|role) (?:at|with) )?(?:the )?"
_LEFT = re.compile(
    rf"{_ADVERBS} (?:has )?(?:left|quit|resigned from|retired from|departed|(?:was|got|been) (?:laid off"
    rf"|fired|let go)"
    rf" (?:from|by)) {_OWN}"
)
_TO_JOIN = re.compile(
    r"\b(?:to (?:join|work (?:at|for)|start (?:at|working at))|and (?:has )?(?:joined|went to"
    r"|started(?: working)? at"
    rf"|(?:is )?now (?:works? (?:at|for)|at))|for (?=[A-Z])|for (?:a|an) (?:new )?(?:job|role"
    rf"|position) (?:at|with)) {_OWN}"
)
_MOVED = re.compile(rf"{_ADVERBS} (?:has )?(?:moved|relocated)\b(?: back| over| out)?")
_FROM = re.compile(r" (?:from|out of) (?:the )?")
_TO = re.compile(r"(?: with [^,.;]{1,30})? (?:back )?to (?:the )?")
_SWITCHED = re.compile(
    rf"{_ADVERBS} (?:has )?(?:switched|changed|migrated|converted)(?: over| back| completely| everything)*"
    r"(?: from (?P<old>[^,.;]{1,40}?))? to (?P<new>[^,.;!]{1,40}?)"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|a|an|two|three|yesterday|today|recently"
    r"|from|and|as)\b)"
    r"(?: from (?P<older>[^,.;!]{1,40}?)(?=[.,;!]|$))?"
)
_REPLACED = re.compile(
    rf"{_ADVERBS} (?:has )?(?:replaced|swapped|traded|ditched|dropped) (?:their "
    rf"|the )?(?P<old>[^,.;]{{1,40}}?)"
    r" (?:with|for|in favou?r of) (?:a |an |the )?(?P<new>[^,.;!]{1,40}?)(?=[.,;!]|$| (?:last|this|in|on"
    r"|because|since)\b)"
)
_JOINED = re.compile(
    rf"{_ADVERBS} (?:has )?(?:joined|(?:got|was|been) hired (?:by|at)|(?:got|accepted|took|started"
    rf"|landed) an?(?: new)?"
    rf" (?:job|position|role|offer) (?:at|with|from)|started(?: working)? at) (?:the )?"
)
_CLUBS = re.compile(
    r"\b(?:club|team|gym|choir|band|group|class|society|association|league|discord|server)\b", re.IGNORECASE
)
_WED = re.compile(rf"{_ADVERBS} (?:has )?(?:got married to|married|tied the knot with|wed) ")
_PARTED = re.compile(
    rf"{_ADVERBS} (?:has )?(?:broke(?:n)? up with|split(?: up)? with|(?:got |is )?divorced(?: from)?"
    rf"|separated from) "
)
_PROMOTED = re.compile(
    rf"{_ADVERBS} (?:has |have )?(?:became|become|(?:was|got|been) promoted to|started as) (?:an? |the )?"
    rf"(?P<job>(?:[a-z-]+ ){{0,3}}(?:{'|'.join(sorted(TRADES))}|lead|head|vp))\b(?! of\b)"
)
_GAVE_UP = re.compile(
    rf"{_ADVERBS} (?:has )?(?:(?P<sold>sold|gave away|returned|lost) (?:my|their|his"
    rf"|her) (?P<thing>[\w' -]{{2,30}}?)"
    r"|(?:stopped|quit|gave up) (?P<habit>[a-z]+ing(?: [\w' -]{1,30}?)??))"
    r"(?=[.,;!]|$| (?:last|this|in|on|because|since|for|after|when|to|a|two|three|yesterday|today|recently"
    r"|at)\b)"
)
_ANY_MORE = re.compile(r",? (?:any ?more|any longer)\b")
_NOT_BASE = re.compile(
    r"\b(?:does not|doesn['’]t|do not|don['’]t) (?:really |actually |even )?(?P<verb>[a-z]+)\b"
)
_USED_TO = re.compile(r"\bused to (?P<verb>[a-z]+)\b")
_NO_LONGER = re.compile(r"\bno longer (?P<verb>[a-z]+)\b")
_IS_NOT = re.compile(r"\b(?P<verb>is|was|has)(?: not|n['’]t| no longer)\b(?: (?:really|actually))?")
_STOPPED = re.compile(r"\b(?:stopped|quit|gave up) (?P<verb>[a-z]+ing)\b")
_NEGATIONS = ((_NO_LONGER, True), (_USED_TO, True), (_STOPPED, True), (_NOT_BASE, False), (_IS_NOT, False))
_BASE_FORM = (_NOT_BASE, _USED_TO)
_FROM_GERUND = {
    "using": "uses", "playing": "plays", "working": "works", "living": "lives", "studying": "studies",
    "driving": "drives", "liking": "likes", "learning": "is learning", "dating": "is dating",
}  # fmt: skip


def _left(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    left = _LEFT.match(text, who.end)
    old = starts.get(left.end()) if left else None
    if old is None or old.kind in ("person", "place"):
        return None
    events: tuple[Triple, ...] = (Triple(who.text, "left", old.text),)
    ends = end_claims(events)
    for way in _TO_JOIN.finditer(text, old.end):
        new = starts.get(way.end())
        if new is not None and new.kind not in ("person", "place"):
            works = Triple(who.text, "works_at", new.text)
            events = (*events, Triple(who.text, "joined", new.text))
            return Change(events, ends, f"{_written(text, who)} works at {new.text}", (works,))
    return Change(events, ends)


def _moved(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
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
        return None if old is None else Change((), ends)
    claims = (Triple(who.text, "lives_in", new.text),)
    event = (Triple(who.text, "moved_to", new.text),)
    return Change(event, ends, f"{_written(text, who)} lives in {new.text}", claims)


def _switched(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _SWITCHED.match(text, who.end)
    old = (found["old"] or found["older"]) if found else None
    if found is None:
        found = _REPLACED.match(text, who.end)
        old = found["old"] if found else None
    if found is None:
        return None
    new = found["new"].strip()
    events = [Triple(who.text, "switched_to", new)]
    if old:
        events.append(Triple(who.text, "switched_from", old))
    uses = Triple(who.text, "uses", new)
    prefers = f"{_written(text, who)} uses {new}" + (f" and prefers it to {old}" if old else "")
    claims = (uses, Triple(who.text, "prefers", new)) if old else (uses,)
    return Change(tuple(events), end_claims(events), prefers, claims)


def _joined(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _JOINED.match(text, who.end)
    new = starts.get(found.end()) if found else None
    if (
        new is None
        or new.kind in ("person", "place", "title")
        or _CLUBS.search(text, new.start, new.end + 12)
    ):
        return None
    works = Triple(who.text, "works_at", new.text)
    return Change(
        (Triple(who.text, "joined", new.text),), (), f"{_written(text, who)} works at {new.text}", (works,)
    )


def _wed(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _WED.match(text, who.end)
    other = starts.get(found.end()) if found else None
    if other is None:
        return None
    married = Triple(who.text, "married_to", other.text)
    return Change((married,), (), f"{_written(text, who)} is married to {other.text}", (married,))


def _parted(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _PARTED.match(text, who.end)
    other = starts.get(found.end()) if found else None
    if other is None:
        return None
    events = (Triple(who.text, "broke_up_with", other.text),)
    kin = [
        Triple(other.text, f"{role}_of", who.text)
        for role in ("girlfriend", "boyfriend", "wife", "husband", "partner")
    ]
    return Change(events, (*end_claims(events), *kin))


def _promoted(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _PROMOTED.match(text, who.end)
    if found is None:
        return None
    job = found["job"]
    article = "an" if job[0] in "aeiou" else "a"
    works = Triple(who.text, "works_as", job)
    return Change((), (), f"{_written(text, who)} works as {article} {job}", (works,))


def _gave_up(text: str, who: Name, starts: dict[int, Name]) -> Change | None:
    found = _GAVE_UP.match(text, who.end)
    if found is None:
        return None
    if found["sold"]:
        return Change(
            (), tuple(Triple(who.text, predicate, found["thing"]) for predicate in ("has", "owns", "drives"))
        )
    doing, _, rest = found["habit"].partition(" ")
    denied = find_denied(text, sorted(starts.values(), key=_start), who.text)
    ends = denied.claims if denied else (Triple(who.text, "does", f"{doing} {rest}".strip()),)
    return Change((), ends)


def _start(name: Name) -> int:
    return name.start


def _written(text: str, who: Name) -> str:
    """How the text writes this name, with a capital to start a sentence."""
    written = text[who.start : who.end]
    return written[:1].upper() + written[1:] if written == "the user" else written
