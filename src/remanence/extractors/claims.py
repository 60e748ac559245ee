"""Which claims a text makes: a name, a verb phrase, and a name or a few plain words.

A claim is read only where a name opens its clause and the verb follows at once, so "the father of Alice
works at CERN" says nothing of Alice. Questions, conditions and wishes claim nothing. To read more, add a
line to `VERBS`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remanence.extractors.lexicon import KIN, words
from remanence.extractors.marked import Name
from remanence.model import Triple

NAME, WORDS = "name", "words"

VERBS: tuple[tuple[str, str, str], ...] = (
    # what stands in the text, predicate, what the object has to be
    (r"lives? in", "lives_in", NAME),
    (r"lived in", "lived_in", NAME),
    (r"(?:works?|am working|'m working|is working) (?:at|for)", "works_at", NAME),
    (r"worked (?:at|for)", "worked_at", NAME),
    (r"(?:moved|relocated) to", "moved_to", NAME),
    (r"(?:studies|study|studied) at", "studied_at", NAME),
    (r"graduated from", "graduated_from", NAME),
    (r"(?:is|was|am|'m|got) married to", "married_to", NAME),
    (r"married", "married_to", NAME),
    (r"(?:is|am|'m|comes?|came) (?:originally )?from", "is_from", NAME),
    (r"(?:was|were) born in", "born_in", NAME),
    (r"(?:was|were) born on", "born_on", WORDS),
    (r"(?:co-)?founded", "founded", NAME),
    (r"wrote", "wrote", NAME),
    (r"directed", "directed", NAME),
    (r"joined", "joined", NAME),
    (r"visited", "visited", NAME),
    (r"likes?", "likes", WORDS),
    (r"(?:loves?|adores?)", "loves", WORDS),
    (r"(?:hates?|dislikes?)", "hates", WORDS),
    (r"prefers?", "prefers", WORDS),
    (r"plays?", "plays", WORDS),
    (r"owns?", "owns", WORDS),
    (r"(?:has|have|'ve got|has got) (?=an? )", "has", WORDS),
    (r"(?:bought|adopted) (?=an? )", "has", WORDS),
)

_ADVERBS = (
    r"(?: (?:also|now|still|currently|just|recently|really|always|already|absolutely|actually|finally|both))?"
)
_SPACE = r"(?: (?=[^'’])|(?=['’]))"  # "I love", "I'm from"
_VERB = "|".join(f"({verb})" for verb, _, _ in VERBS).replace("'", "['’]")
_STATES = re.compile(rf"{_ADVERBS}{_SPACE}(?:{_VERB})\b ?(?:the )?")
_BEING = re.compile(
    r" (?:is|was|became)(?: now)?(?: (?:the|a|an))? ((?:[a-z][a-z-]+ )?(?:[a-z][a-z-]+|C[A-Z]O)) of (?:the )?"
)
_IS = re.compile(r" (?:is|was) ")
_MY = re.compile(r"my ([a-z]+)\b")
_WHOSE = re.compile(r"['’]s ([a-z]+)\b")
_WORDS = re.compile(
    r"(?:(?:a|an|the|my|his|her|their|our) )?((?:[\w'’&-]+ ){0,3}?[\w'’&-]+?)"
    r"(?: too| though| a lot| so much| very much)?"
    r"(?=[.;:!\n)]|$|,? (?:but|because|so|which|named|called|since)\b"
    r"|,? and (?:I|my|he|she|it|we|they|his|her)\b)"
)
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|would|could|might|(?-i:may)|maybe|perhaps|wish|hope|imagine|suppose|pretend|probably|not"
    r"|never|no longer|nobody|none|used to|dream(?:ed|t)?)\b|n['’]t\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?\n](?=\s|$|[\"”')])|\n")
_CLAUSE_START = re.compile(
    r"(?:^|[.!?;:\n,\"“(–—-]\s*|\b(?:and|but|that|because|so|since|now|yes|yeah|well|today|currently)\s+"
    rf"|\b(?:[Mm]y|[Oo]ur) (?:[a-z]+ )?(?:{'|'.join(sorted(KIN))}),? )$"
)
_BEFORE_VERB = frozenset(" '’")
_EMPTY_NOUNS = words("""
one part some kind sort type lot most because out all many none also considered located only known made
largest smallest biggest oldest north south east west instead
""")
_EMPTY_WORDS = words("""
it that this them him her you me us these those to how when what being lot lots bit few couple ton number all
some any every everything something nothing of if idea sound suggestion question feeling time chance way mr
mrs dr following also
""")


def find_claims(text: str, names: Sequence[Name], me: str) -> tuple[Triple, ...]:
    """What `text` says of its names, which are given in order; the first person among them is called `me`.

    >>> from remanence.extractors.names import find_names
    >>> text = "Alice lives in Porto. Lisbon is the capital of Portugal. Does Bob work at CERN?"
    >>> for claim in find_claims(text, find_names(text), "me"):
    ...     print(claim)
    Alice —lives_in→ Porto
    Lisbon —capital_of→ Portugal
    """
    starts = {name.start: name for name in names}
    found: dict[Triple, None] = {}
    for name in names:
        if text[name.end : name.end + 1] not in _BEFORE_VERB:
            continue
        claim = _claim(text, name, starts, me)
        if claim is not None and claim.subject != claim.object and _is_stated(text, name):
            found[claim] = None
    return tuple(found)


def _claim(text: str, subject: Name, starts: dict[int, Name], me: str) -> Triple | None:
    states = _STATES.match(text, subject.end)
    if states and states.lastindex:
        _, predicate, wanted = VERBS[states.lastindex - 1]
        target = _name_at(text, states, starts)
        if target is None and wanted == WORDS and subject.kind == "person":
            target = _words_at(text, states.end())
        return Triple(subject.text, predicate, target) if target else None
    being = _BEING.match(text, subject.end)
    if being:
        target = _name_at(text, being, starts)
        if target is None or not _EMPTY_NOUNS.isdisjoint(being[1].split()):
            return None
        return Triple(subject.text, being[1].lower().replace(" ", "_").replace("-", "_") + "_of", target)
    return _kinship(text, subject, starts, me)


def _kinship(text: str, subject: Name, starts: dict[int, Name], me: str) -> Triple | None:
    """Carol is my sister; Carol is Alice's sister."""
    verb = _IS.match(text, subject.end)
    if verb is None:
        return None
    owner = starts.get(verb.end())
    whose = (_WHOSE.match(text, owner.end) if owner else None) or _MY.match(text, verb.end())
    if whose is None or whose[1] not in KIN:
        return None
    return Triple(subject.text, f"{whose[1]}_of", me if whose.re is _MY or owner is None else owner.text)


def _name_at(text: str, match: re.Match[str], starts: dict[int, Name]) -> str | None:
    """The name that stands right behind the match, unless it goes on as "Bob's" or "Porto-based"."""
    name = starts.get(match.end())
    if name is None and text[match.end() : match.end() + 1] in ('"', "“", "'", "‘"):
        name = starts.get(match.end() + 1)
    if name is None or (text[name.end : name.end + 1] in ("'", "’", "-") and name.kind != "title"):
        return None
    return name.text


def _words_at(text: str, start: int) -> str | None:
    """A few plain words up to the end of the clause."""
    words = _WORDS.match(text, start)
    if words is None or len(words[1]) > 40 or not _EMPTY_WORDS.isdisjoint(words[1].lower().split()):
        return None
    return words[1]


def _is_stated(text: str, subject: Name) -> bool:
    """Whether the clause that `subject` opens is a plain statement."""
    begin = max(0, subject.start - 200)
    before = text[begin : subject.start]
    if not _CLAUSE_START.search(before[-40:] if len(before) > 40 else before):
        return False
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    stop = _SENTENCE_END.search(text, subject.end, subject.end + 300)
    sentence = text[begin + (ends[-1] if ends else 0) : stop.end() if stop else subject.end + 300]
    return "?" not in sentence and not _UNREAL.search(sentence)
