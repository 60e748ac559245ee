"""Sentences as an encyclopaedia has them, read whole: "The author of Main Street is Jim Butcher."

Here the subject is all that stands before the verb and the object all that stands behind it, so that titles
and names of many words are kept as they are written. Only a text of one short sentence is read this way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remanence.language.rules.lexicon import CALENDAR_WORDS, FUNCTION_WORDS, MONTH_PATTERN, NAME_PARTICLES, word_set
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.predicate_rules import SINGLE_ROLES
from remanence.language.rules.verb_patterns import PREDICATE_NOUNS, verb_at
from remanence.schema import Triple

MAX_STATEMENT_CHARS = 200
_MOST_WORDS = 12  # of a name

_SEVERAL = re.compile(r"\. (?<=[a-z]{3}\. )[A-Z]|\n")
_FRAME = re.compile(
    r" (?:(?:is|was) (?:a citizen of|married to|employed by|famous for|born (?:in|on)|(?:located"
    r"|headquartered) in"
    r"|[a-z]+ed (?:by|in the|with the)|written (?:by|in the)|built by)|died (?:in|on)"
    r"|(?:plays?|speaks?|works? in|worked in) the [a-z]+ of) "
)
_THE = re.compile(
    r"The (?:name of the )?(?:current |present |new )?"
    r"(?:(?P<maker>[a-z]+) (?:that|who|which) (?P<made>[a-z]+) (?P<thing>.+?)"
    r"|(?P<what>[a-z]+(?: of [a-z]+)?) (?:that|which) (?P<doer>.+?) [a-z]+s"
    r"|[a-z]+ where (?P<pupil>.+?) was (?P<done>[a-z]+ed)"
    r"|(?P<role>head of (?:state|government)|(?:[A-Za-z-]+ ){0,3}?[A-Za-z-]+) (?P<joint>of|in|for) (?:the )?"
    r"(?P<of>.+?))"
    r" (?:is|was) (?:located in )?(?:the (?:city|town|country"
    r"|state) of )?(?P<value>[^,;:!?]+(?:, [^;:!?]+)?)$"
)
_LISTED = re.compile(r",(?! (?:Duke|Duchess|Lord|Lady|Count|Earl|Baron|Prince|Princess|King|Queen|Inc|Ltd|Jr|Sr|\d))")
_GOVERNMENT = " government"
_SMALL = frozenset(word for joint in NAME_PARTICLES for word in joint.split()) | word_set("and a an von zu")
_SMALL_IN_TITLES = _SMALL | word_set("in on for to with from at by as or")
_SUBJECT_BARS = (
    FUNCTION_WORDS
    | CALENDAR_WORDS
    | word_set("my our your his her their its today yesterday tomorrow now currently some many most every each that")
)
_ON = {"born_in": "born_on", "died_in": "died_on"}
_YEARLY = re.compile(rf"(?:(?:{MONTH_PATTERN}) )?\d+")
_PARTICIPLES = {"wrote": "written", "made": "produced", "built": "built"}


def find_encyclopedic_claim(text: str, names: Sequence[NameSpan] = ()) -> Triple | None:
    """The one claim that a text of one sentence makes, if it has the form of such a statement.

    >>> str(find_encyclopedic_claim("The author of Of Mice and Men is John Steinbeck."))
    'John Steinbeck —author_of→ Of Mice and Men'
    >>> str(find_encyclopedic_claim("Drew Pearson plays the position of starting pitcher."))
    'Drew Pearson —position→ starting pitcher'
    """
    sentence = text.strip()
    if (
        not sentence.endswith(".")
        or not (names or " of " in sentence)
        or sentence.startswith(("I ", "I'", "I’"))
        or "!" in sentence
        or "?" in sentence
        or _SEVERAL.search(sentence)
    ):
        return None
    sentence = sentence[:-1]
    if sentence.startswith("The ") and (" is " in sentence or " was " in sentence):
        defined = _defined(sentence)
        if defined is not None:
            return defined
    frame = _FRAME.search(sentence)
    if frame is None:
        return None
    verb = verb_at(sentence, frame.start())
    if verb is None:
        return None
    subject, value = sentence[: frame.start()], sentence[verb.end :]
    whole = bool(names) and (names[0].start, names[0].end) == (0, frame.start())
    if whole:
        subject = names[0].text  # "the user" has another name in claims
    known = whole or (bool(names) and names[0].text == subject)
    if not known and not _is_subject(subject, strong=sentence.endswith(" of ", frame.start(), verb.end)):
        return None
    if not _is_named(value, _SMALL) and not (verb.predicate in PREDICATE_NOUNS and _is_plain(value)):
        return None
    return Triple(
        subject, _ON.get(verb.predicate, verb.predicate) if _YEARLY.fullmatch(value) else verb.predicate, value
    )


def _defined(sentence: str) -> Triple | None:
    """The capital of Portugal is Lisbon; the company that produced iPhone 4 is Apple; and their like."""
    found = _THE.match(sentence)
    if found is None:
        return None
    value = found["value"]
    if found["role"] is not None:
        role, of = found["role"].lower(), found["of"]
        if of.endswith(_GOVERNMENT):
            role, of = f"{role} of government", of.removesuffix(_GOVERNMENT)
        if not (_is_named(of) or _is_kind_of(of)) or not _is_named(value):
            return None
        if found["joint"] == "for" and role.rpartition(" ")[2] not in SINGLE_ROLES:
            return None  # "The reason for Brexit is Farage" names no office
        return Triple(value, f"{role.replace(' ', '_').replace('-', '_')}_of", of)
    if found["made"] is not None:
        made = _PARTICIPLES.get(found["made"], found["made"])
        return _of_named(found["thing"], f"{made}_by", value)
    if found["what"] is not None:
        return _of_named(found["doer"], found["what"].replace(" ", "_"), value)
    return _of_named(found["pupil"], f"{found['done']}_at", value)


def _of_named(subject: str, predicate: str, value: str) -> Triple | None:
    plain = _is_named(value) or _is_plain(value)
    return Triple(subject, predicate, value) if _is_named(subject) and plain else None


def _is_subject(written: str, strong: bool) -> bool:
    """Whether this is something to make a statement of. After a `strong` frame it may be a plain noun."""
    first = written.partition(" ")[0]
    if _LISTED.search(written) or (first.lower() in _SUBJECT_BARS and first not in ("The", "A", "An")):
        return False
    return _is_named(written) or _is_kind_of(written) or (strong and _is_plain(written))


def _is_kind_of(written: str) -> bool:
    """A name with a plain noun behind it: "Transcendental Meditation movement"."""
    return written[:1].isupper() and " " in written and _is_plain(written)


def _is_named(written: str, small: frozenset[str] = _SMALL_IN_TITLES) -> bool:
    """Whether every word has its capital or a digit, but for small ones inside: University of Porto."""
    parts = written.split(" ")
    head, rest = parts[0], parts[1:]
    begins = head[:1].isupper() or head[:1].isdigit() or not head[:1].isascii()
    odd = head[1:2].isupper() or head.startswith(('"', "'", "“", "al-"))  # iPhone, "Heroes"
    if len(parts) > _MOST_WORDS or not (begins or odd):
        return False
    return all(not part.islower() or part in small for part in rest) and not (rest and rest[-1].islower())


def _is_plain(written: str) -> bool:
    """A few ordinary words that are a noun: "starting pitcher", "association football"."""
    parts = written.lower().split(" ")
    return len(parts) <= 5 and _SUBJECT_BARS.isdisjoint(parts) and all(part[:1].isalnum() for part in parts)
