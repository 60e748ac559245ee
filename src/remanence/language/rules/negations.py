"""What a sentence denies: which claims it says hold no longer, or not at all.

It reads sentences in the third person, as `third_person` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from remanence.language.rules.claim_rules import find_claims
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.third_person import conjugate
from remanence.schema import Triple


@dataclass(frozen=True, slots=True)
class Denial:
    """Claims that a sentence says do not hold: no longer, or not at all."""

    claims: tuple[Triple, ...]
    no_longer: bool


def find_denial(text: str, names: Sequence[NameSpan], speaker: str, claims: Sequence[Triple] = ()) -> Denial | None:
    """The claims that the text denies, besides those it makes: it is read once more without its "not".

    >>> from remanence.language.rules.name_rules import find_names
    >>> text = "Alice no longer lives in Porto."
    >>> [str(claim) for claim in find_denial(text, find_names(text), "me").claims]
    ['Alice —lives_in→ Porto']
    """
    for pattern, no_longer in _NEGATIONS:
        found = pattern.search(text)
        if found is None:
            continue
        verb = found["verb"]
        positive = conjugate(verb) if found.re in _BASE_FORM else _FROM_GERUND.get(verb, verb)
        plain = _ANY_MORE.sub("", text[: found.start()] + positive + text[found.end() :])
        later = _ANY_MORE.search(text) is not None
        shift = len(positive) - (found.end() - found.start())
        moved = [
            name if name.end <= found.start() else name._replace(start=name.start + shift, end=name.end + shift)
            for name in names
        ]
        denied = [claim for claim in find_claims(plain, moved, speaker) if claim not in claims]
        denied += [replace(claim, predicate="loves") for claim in denied if claim.predicate == "likes"]
        if denied:
            return Denial(tuple(denied), no_longer or later)
    return None


_ANY_MORE = re.compile(r",? (?:any ?more|any longer)\b")
_NOT_BASE = re.compile(r"\b(?:does not|doesn['’]t|do not|don['’]t) (?:really |actually |even )?(?P<verb>[a-z]+)\b")
_USED_TO = re.compile(r"\bused to (?P<verb>[a-z]+)\b")
_NO_LONGER = re.compile(r"\bno longer (?P<verb>[a-z]+)\b")
_IS_NOT = re.compile(r"\b(?P<verb>is|was|has)(?: not|n['’]t| no longer)\b(?: (?:really|actually))?")
_STOPPED = re.compile(r"\b(?:(?:has |have )?(?:stopped|quit|gave up|given up)) (?P<verb>[a-z]+ing)\b")
_NEGATIONS = ((_NO_LONGER, True), (_USED_TO, True), (_STOPPED, True), (_NOT_BASE, False), (_IS_NOT, False))
_BASE_FORM = (_NOT_BASE, _USED_TO)
_FROM_GERUND = {
    "using": "uses", "playing": "plays", "working": "works", "living": "lives", "studying": "studies",
    "driving": "drives", "liking": "likes", "learning": "is learning", "dating": "is dating",
}  # fmt: skip
