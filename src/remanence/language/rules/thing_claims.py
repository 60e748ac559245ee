"""Claims about things: "Stripe uses PostgreSQL", "billing-api runs in eu-west-1", "the launch moved to May".

A sentence is read as subject, verb phrase and object. The subject is a name, an identifier or a definite description
(thing_phrases.py), the verb any of a general list (verb_forms.py), and the predicate is the verb with its preposition:
`uses`, `depends_on`, `owned_by`. Wordings of one relation that changes get one predicate, so that a later value
replaces an earlier one: where something is (`based_in`), when it is (`scheduled_for`), what it was switched to.

Precision comes first. A sentence that asks, denies, doubts, plans or depends on a condition makes no claim, and neither
does one whose words after the verb are not a plain noun phrase.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from remanence.language.rules.lexicon import load_pattern, load_words, word_set
from remanence.language.rules.name_spans import NameSpan
from remanence.language.rules.thing_phrases import (
    ADVERBS,
    BE,
    HAVE,
    PREPOSITIONS,
    PUNCTUATION,
    Phrase,
    Word,
    is_identifier,
    phrase_at,
    split_words,
    subject_at,
    time_at,
)
from remanence.language.rules.verb_forms import BASE_FORMS, GERUNDS, PARTICIPLES, PAST_FORMS, PRESENT_FORMS, participle_of
from remanence.language.text import sentence_breaks
from remanence.schema import Triple

_MAX_SENTENCES = 40
_MAX_SENTENCE_CHARS = 300
_MAX_VERBS = 3  # of one subject, joined by "and"
_UNCERTAIN = re.compile(rf"\b(?:{load_pattern('uncertain_words')})\b|n['’]t\b", re.IGNORECASE)
_NOT_TAIL = re.compile(r",? (?:and )?not (?:in |on |at |to |by |the )*[\w.+#-]+(?: [\w.+#-]+){0,2}(?=[.!]?$)")
_LABEL = re.compile(r"(?:[A-Za-z]+ ){0,2}[A-Za-z]+: (?=\S)")
_MAX_OPENER_WORDS = 7
_OPENERS = load_words("thing_openers")
_PARTICLES = word_set("back up over down out off forward away live")
_NAMING = word_set("called named renamed dubbed nicknamed")
_RELATING_ADJECTIVES = load_words("relating_adjectives")
_PLACING = word_set("run host deploy live sit locate base reside house situate situated stand lie operate be")
_CHANGING = load_words("changing_verbs")
_RESCHEDULING = load_words("rescheduling_verbs")
_DATE_PREDICATES: Mapping[str, str] = {
    **dict.fromkeys(("start", "begin", "kick", "open"), "starts_on"),
    **dict.fromkeys(("end", "finish", "close", "conclude"), "ends_on"),
    **dict.fromkeys(("expire", "lapse", "terminate"), "expires_on"),
    **dict.fromkeys(("launch", "release", "ship", "go"), "released_on"),
}
_REGION = re.compile(r"(?:[a-z]{2,}-)+[a-z]*\d+[a-z]?|[a-z]{2,4}\d{1,2}")
_PLACE_HEADS = load_words("place_heads")
_PRESENT_OF = {base: form for form, base in PRESENT_FORMS.items()}
_INTRANSITIVE = load_words("intransitive_verbs")
_LINKING = word_set("be become remain stay")
_RUNNING = word_set("run host deploy operate be base")
_SCHEDULING = word_set("be schedule set plan slate fix book happen occur take hold")
_PASSING = word_set("go come get have look start begin stop try leave become")
_REPEATED = re.compile(r"every\b|each\b|\w+days\b", re.IGNORECASE)
_CLAUSE_STARTS = word_set("and but because so which who that when where while since after before if as although though")
_MAX_PREPOSITIONS = 3
_Claim = tuple[str, str]
"""A predicate and an object."""
_GROUP_HEADS = word_set("team squad group department guild crew committee desk")


class _Verb(NamedTuple):
    """A verb phrase: the verb in its base form, the predicate without a preposition, and where the object may begin."""

    verb: str
    predicate: str
    next: int
    is_passive: bool = False


class _Statement(NamedTuple):
    """A sentence with its words and the kinds of its names by their text."""

    text: str
    words: Sequence[Word]
    kinds: Mapping[str, str]


def find_thing_claims(text: str, names: Sequence[NameSpan]) -> list[Triple]:
    """The claims of a text about things, in order.

    >>> for claim in find_thing_claims("billing-api runs on Kubernetes in eu-west-1. Our launch moved from March to May.", []):
    ...     print(claim)
    billing-api —runs_on→ Kubernetes
    billing-api —based_in→ eu-west-1
    launch —scheduled_for→ May
    """
    kinds = {name.text: name.kind for name in reversed(names)}
    found: dict[Triple, None] = {}
    begin = 0
    for number, (end, start) in enumerate([*sentence_breaks(text), (len(text), len(text))]):
        if number >= _MAX_SENTENCES:
            break
        if 8 < end - begin <= _MAX_SENTENCE_CHARS:
            found.update(dict.fromkeys(_claims_of_sentence(text, begin, end, kinds)))
        begin = start
    return list(found)


def _claims_of_sentence(text: str, begin: int, end: int, kinds: Mapping[str, str]) -> Iterator[Triple]:
    sentence = text[begin:end]
    if "?" in sentence:
        return
    tail = _NOT_TAIL.search(sentence)
    if tail is not None:
        sentence, end = sentence[: tail.start()], begin + tail.start()
    if _UNCERTAIN.search(sentence):
        return
    statement = _Statement(text, split_words(text, begin, end), kinds)
    yield from _claims_from(statement, _after_opener(statement))


def _after_opener(statement: _Statement) -> int:
    """The index of the word after "As of March," or "Update:"."""
    words = statement.words
    at = 0
    label = next((index for index, word in enumerate(words[:4]) if word.text == ":"), None)
    if label is not None and all(word.text.isalpha() for word in words[:label]):
        at = label + 1
    if at < len(words) and (words[at].lower in _OPENERS or time_at(words, at, statement.text) is not None):
        stop = next((i for i in range(at, min(at + _MAX_OPENER_WORDS, len(words))) if words[i].text == ","), None)
        if stop is not None:
            return stop + 1
        time = time_at(words, at, statement.text)
        return at + 1 if time is None else time.next
    return at


def _claims_from(statement: _Statement, at: int) -> Iterator[Triple]:
    """The claims of the clause that begins at a word, and of those joined to it."""
    words = statement.words
    subject = subject_at(words, at, statement.text)
    if subject is None or any(statement.kinds.get(name) == "person" for name in subject.names):
        return
    place = subject.verb
    for _ in range(_MAX_VERBS):
        claims, place = _claims_of_verb(statement, place)
        yield from (Triple(name, predicate, value) for predicate, value in claims for name in subject.names)
        if not claims or place >= len(words):
            return
        joint = place
        while joint < len(words) and words[joint].lower in (",", "and", "but", ";"):
            joint += 1
        if joint == place or joint >= len(words):
            return
        if not _continues(words, joint):
            yield from _claims_from(statement, joint)
            return
        place = joint


def _continues(words: Sequence[Word], at: int) -> bool:
    """Whether a further verb of the same subject stands here, perhaps after an adverb."""
    while at < len(words) and words[at].lower in ADVERBS:
        at += 1
    lower = words[at].lower if at < len(words) else ""
    return lower in PRESENT_FORMS or lower in PAST_FORMS or lower in BE or lower in HAVE


def _claims_of_verb(statement: _Statement, at: int) -> tuple[list[_Claim], int]:
    """The predicates and objects of the verb phrase at a word, and the index of the word after them."""
    words = statement.words
    verb = _verb_at(words, _skip_adverbs(words, at))
    if verb is None:
        return [], at
    claims, place = _direct_claims(statement, verb)
    has_object = bool(claims)
    if not has_object and verb.next < len(words) and words[verb.next].lower in _PARTICLES:
        place = verb.next + 1
    for _ in range(_MAX_PREPOSITIONS):
        place = _skip_adverbs(words, place)
        more, stop = _prepositional_claims(statement, verb, place, has_object=has_object, has_claims=bool(claims))
        if stop == place:
            break
        claims += more
        place = stop
    if _has_second_verb(words, place):
        return [], place
    return list(dict.fromkeys(claims)), place


def _verb_at(words: Sequence[Word], at: int) -> _Verb | None:
    """The verb phrase that begins with a finite verb."""
    if at >= len(words):
        return None
    lower = words[at].lower
    if lower in BE:
        return _passive_at(words, at + 1) or _Verb("be", "is", _skip_adverbs(words, at + 1))
    if lower in HAVE:
        after = _skip_adverbs(words, at + 1)
        following = words[after].lower if after < len(words) else ""
        if following == "been":
            return _passive_at(words, after + 1)
        if following in PARTICIPLES:
            return _Verb(PARTICIPLES[following], following, after + 1)
        return _Verb("have", "has" if lower != "had" else "had", at + 1)
    if lower in PRESENT_FORMS:
        return _Verb(PRESENT_FORMS[lower], lower, at + 1)
    if lower in PAST_FORMS:
        return _Verb(PAST_FORMS[lower], lower, at + 1)
    return _Verb(lower, _PRESENT_OF[lower], at + 1) if lower in BASE_FORMS else None


def _passive_at(words: Sequence[Word], at: int) -> _Verb | None:
    """What follows a form of "be": a participle ("owned"), a lasting activity ("using"), an adjective ("due")."""
    at = _skip_adverbs(words, at)
    lower = words[at].lower if at < len(words) else ""
    if lower in _RELATING_ADJECTIVES:
        return _Verb("be", lower, at + 1, is_passive=True)
    participle = participle_of(lower)
    if participle is not None:
        return _Verb(participle, lower, at + 1, is_passive=True)
    verb = GERUNDS.get(lower)
    if verb is None or verb in _CHANGING or verb in _RESCHEDULING or verb in _PASSING:
        return None
    return _Verb(verb, _PRESENT_OF[verb], at + 1)


def _direct_claims(statement: _Statement, verb: _Verb) -> tuple[list[_Claim], int]:
    """The claims with the objects that follow the verb without a preposition."""
    words, place = statement.words, _skip_adverbs(statement.words, verb.next)
    if (verb.is_passive and verb.predicate not in _NAMING) or verb.verb in _INTRANSITIVE:
        return [], verb.next
    time = time_at(words, place, statement.text)
    if time is not None:
        if verb.verb == "be":
            return [("scheduled_for", time.text)], time.next
        return ([(verb.predicate, time.text)], time.next) if _REPEATED.match(time.text) else ([], verb.next)
    phrases = _phrases_at(statement, place)
    if not phrases or (verb.verb in _LINKING and not _is_identity(statement, words, place, phrases)):
        return [], verb.next
    predicate = "is_a" if verb.verb in _LINKING and phrases[0].is_indefinite else verb.predicate
    return [(predicate, phrase.text) for phrase in phrases], phrases[-1].next


def _is_identity(statement: _Statement, words: Sequence[Word], at: int, phrases: Sequence[Phrase]) -> bool:
    """Whether what follows "is" names something: "is PostgreSQL", "is a queue", "is 8080", but not "is slow"."""
    first = words[at]
    if first.lower in ("a", "an", "the") or first.text[0] in "\"“`":
        return True
    value = phrases[0].text
    return value[0].isupper() or value[0].isdigit() or value[0] in "$€£" or is_identifier(value.partition(" ")[0])


def _prepositional_claims(
    statement: _Statement, verb: _Verb, at: int, *, has_object: bool, has_claims: bool
) -> tuple[list[_Claim], int]:
    """The claims with what follows a preposition, and the index after it: the same one if there is no preposition."""
    words, text = statement.words, statement.text
    if at >= len(words):
        return [], at
    preposition = words[at].lower
    if preposition not in PREPOSITIONS and preposition not in ("until", "till"):
        time = time_at(words, at, text)
        return [], at if time is None else time.next
    time = time_at(words, at + 1, text)
    if time is not None:
        predicate = None if has_claims else _date_predicate(verb, preposition)
        return ([] if predicate is None else [(predicate, time.text)]), time.next
    phrases = _phrases_at(statement, at + 1)
    if not phrases:
        return [], at
    stop = phrases[-1].next
    if has_object or (preposition == "from" and verb.verb in _CHANGING | _RESCHEDULING):
        return [], stop
    if verb.verb in ("start", "begin") and preposition == "using":
        return [("uses", phrase.text) for phrase in phrases], stop
    return [(_predicate(statement, verb, preposition, phrase.text), phrase.text) for phrase in phrases], stop


def _phrases_at(statement: _Statement, at: int) -> list[Phrase]:
    """The noun phrase at a word, or those of a list: "Redis, Kafka and S3"."""
    words, text = statement.words, statement.text
    first = phrase_at(words, at, text)
    if first is None:
        return []
    found, last = [first], first.next
    while last < len(words) and words[last].lower in (",", "and", "or"):
        joint = last
        while joint < len(words) and words[joint].lower in (",", "and", "or"):
            joint += 1
        is_last = any(words[index].lower in ("and", "or") for index in range(last, joint))
        following = None if _continues(words, joint) else phrase_at(words, joint, text)
        if following is None or subject_at(words, joint, text) is not None or time_at(words, joint, text) is not None:
            break
        found.append(following)
        last = following.next
        if is_last:
            return found
    return found[:1]


def _predicate(statement: _Statement, verb: _Verb, preposition: str, value: str) -> str:
    """The predicate of a verb with a preposition; one for all wordings of where something is."""
    if verb.verb in _CHANGING and preposition in ("to", "onto", "into"):
        if value.rpartition(" ")[2].lower() in _GROUP_HEADS or statement.kinds.get(value) == "person":
            return "assigned_to"
        return "based_in" if _is_place(statement, value) else "switched_to"
    if verb.verb in _PLACING and preposition in ("in", "at") and (verb.verb != "be" or _is_place(statement, value)):
        return "based_in"
    if verb.verb in _RUNNING and preposition == "on":
        return "runs_on"
    return f"{verb.predicate}_{preposition}"


def _is_place(statement: _Statement, value: str) -> bool:
    head = value.rpartition(" ")[2].lower()
    return statement.kinds.get(value) == "place" or head in _PLACE_HEADS or _REGION.fullmatch(value.lower()) is not None


def _date_predicate(verb: _Verb, preposition: str) -> str | None:
    """The predicate of a verb whose object is a time."""
    if verb.verb in _CHANGING or verb.verb in _RESCHEDULING:
        return "scheduled_for" if preposition in ("to", "until", "till", "for", "into") else None
    if preposition in ("since", "from", "by", "until", "till", "before", "after", "during"):
        return "due_on" if verb.predicate == "due" else None
    if verb.predicate == "due":
        return "due_on"
    if verb.verb in _SCHEDULING:
        return "scheduled_for"
    return _DATE_PREDICATES.get(verb.verb) or f"{verb.predicate}_{preposition}"


def _skip_adverbs(words: Sequence[Word], at: int) -> int:
    while at < len(words) and words[at].lower in ADVERBS:
        at += 1
    return at


def _has_second_verb(words: Sequence[Word], at: int) -> bool:
    """Whether a finite verb follows in the same clause, so that the first one was none: "the launch planned for May
    was cancelled"."""
    for word in words[at:]:
        if word.text in PUNCTUATION or word.lower in _CLAUSE_STARTS:
            return False
        if word.lower in BE or word.lower in HAVE:
            return True
    return False
