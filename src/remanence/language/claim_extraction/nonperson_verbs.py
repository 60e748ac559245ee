"""Predicates and objects of claims about anything but people, by a verb phrase.

The predicate is the verb with its preposition: `uses`, `depends_on`, `owned_by`. Wordings of one relation that changes
get one predicate, so that a later value replaces an earlier one: where something is (`based_in`), when it is
(`scheduled_for`), what it was switched to (`switched_to`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remanence.language.claim_extraction.nonperson_phrases import (
    BE,
    EQUALS,
    GET,
    HAVE,
    PREPOSITIONS,
    PUNCTUATION,
    Phrase,
    Word,
    names_something,
    phrase_at,
    skip_adverbs,
    subject_at,
    time_at,
)
from remanence.language.lexicon.verb_forms import (
    BASE_FORMS,
    GERUNDS,
    PARTICIPLES,
    PAST_FORMS,
    PRESENT_FORMS,
    participle_of,
)
from remanence.language.lexicon.word_lists import load_words, word_set

_Claim = tuple[str, str]
"""A predicate and an object."""

CHANGING = load_words("changing_verbs")
"""Verbs of a change to another place, time or tool."""
RESCHEDULING = load_words("rescheduling_verbs")
PRESENT_OF = {base: form for form, base in PRESENT_FORMS.items()}
_PARTICLES = word_set("back up over down out off forward away live")
_WITH_RECIPIENT = word_set("cost charge save")
_RECIPIENTS = [phrase.split() for phrase in ("the user", "we", "us", "me", "them", "you", "everyone")]
_NAMING = word_set("called named renamed dubbed nicknamed")
_RELATING_ADJECTIVES = load_words("relating_adjectives")
_INTRANSITIVE = load_words("intransitive_verbs")
_LINKING = word_set("be become remain stay")
_PLACING = word_set("run host deploy live sit locate base reside house situate stand lie operate serve be")
_RUNNING = word_set("run host deploy operate base")
_SCHEDULING = word_set("be schedule set plan slate fix book happen occur take hold leave depart meet")
_LASTING = word_set("run last extend continue stay remain")
_PASSING = word_set("go come get have look start begin stop try leave become")
_DATE_PREDICATES: Mapping[str, str] = {
    **dict.fromkeys(("start", "begin", "kick", "open"), "starts_on"),
    **dict.fromkeys(("end", "finish", "close", "conclude"), "ends_on"),
    **dict.fromkeys(("expire", "lapse", "terminate"), "expires_on"),
    **dict.fromkeys(("launch", "release", "ship", "go"), "releases_on"),
}
_DURATION = re.compile(
    r"(?:\d[\d.,]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|several|many|a few)"
    r" (?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|quarters?|years?|decades?)"
)
_REPEATED = re.compile(r"every\b|each\b|\w+days\b", re.IGNORECASE)
_REGION = re.compile(r"(?:[a-z]{2,}-)+[a-z]*\d+[a-z]?|[a-z]{2,4}\d{1,2}")
_PLACE_HEADS = load_words("place_heads")
_GROUP_HEADS = word_set("team squad group department guild crew committee desk")
_CLAUSE_STARTS = word_set(
    "and but because so which who that when where while since after before if as although though rather than then"
)
_DATES = frozenset(("scheduled_for", "due_on", *_DATE_PREDICATES.values()))
_PLAIN_OBJECT = re.compile(r"[a-z][a-z-]*(?: [a-z-]+){0,2}")
_ROLE_OF = re.compile(r"(?P<noun>[a-z-]+(?: [a-z-]+)?) of (?:the |our )?(?P<value>.+)")
_SPACE = re.compile(r"\W+")
_COMPOUNDING = word_set("in on at to into for with from within")
"""Prepositions after an object in plain words that make it specific: "has offices in Lyon", "drops support for X"."""
_MAX_PREPOSITIONS = 3
_IN_FAVOUR_OF = "in_favour_of"


class Statement(NamedTuple):
    """A sentence with its words, and the kinds of its names by their text."""

    text: str
    words: Sequence[Word]
    kinds: Mapping[str, str]


class VerbPhrase(NamedTuple):
    """The verb in its base form, the predicate without a preposition, and the index where the object may begin."""

    verb: str
    predicate: str
    next: int
    is_passive: bool = False


def claims_of_verb(statement: Statement, at: int, *, is_passive: bool = False) -> tuple[list[_Claim], int]:
    """The predicates and objects of the verb phrase at a word, and the index of the word after them.

    With `is_passive`, what begins there is what could follow "is": "written in Elixir".
    """
    words = statement.words
    at = skip_adverbs(words, at)
    verb = _after_be(words, at) if is_passive else _verb_at(words, at)
    if verb is None:
        return [], at
    claims, i = _direct_claims(statement, verb)
    compound = _compound_claim(statement, verb, claims, i)
    if compound is not None:
        return compound
    has_object = bool(claims)
    if not has_object:
        i = _skip_particle(words, i)
    more, i = _claims_after_prepositions(statement, verb, i, has_object=has_object)
    claims += more
    if claims and i < len(words) and words[i].lower in GERUNDS:  # a VM sitting on pve-03
        gerund = VerbPhrase(GERUNDS[words[i].lower], PRESENT_OF[GERUNDS[words[i].lower]], i + 1)
        more, stop = _prepositional_claims(statement, gerund, i + 1, has_object=False, has_claims=False)
        claims, i = claims + more, max(i, stop)
    if _has_second_verb(words, i):
        return [], i
    return list(dict.fromkeys(claims)), i


def _compound_claim(
    statement: Statement, verb: VerbPhrase, claims: Sequence[_Claim], at: int
) -> tuple[list[_Claim], int] | None:
    """A claim with an object after plain words: "opened a second site in Tampere", "reaches end of life on 1 May",
    "reads its data from Prometheus"."""
    objects = [text for _, text in claims]
    if not objects and (own := _own_object(statement, verb)) is not None:
        objects, at = [own.text], own.next
    if len(objects) != 1 or verb.verb == "be" or not _PLAIN_OBJECT.fullmatch(objects[0]):
        return None
    preposition, after = _preposition_at(statement.words, at)
    if preposition not in _COMPOUNDING:
        return None
    time = time_at(statement.words, after, statement.text)
    targets = [time] if time is not None else phrases_at(statement, after)
    if not targets or not (time is not None or all(names_something(target.text) for target in targets)):
        return None
    predicate = f"{verb.predicate}_{_SPACE.sub('_', objects[0].lower())}_{preposition}"
    return [(predicate, target.text) for target in targets], targets[-1].next


def _own_object(statement: Statement, verb: VerbPhrase) -> Phrase | None:
    """What the subject has of its own, after the verb: "its data"."""
    words, at = statement.words, skip_adverbs(statement.words, verb.next)
    is_own = at < len(words) and words[at].lower == "its" and not verb.is_passive
    return phrase_at(words, at + 1, statement.text) if is_own else None


def passive_claims(statement: Statement, verb: str, participle: str, at: int) -> list[_Claim]:
    """The claims about the object of an action: "moved X *to pve-05*"."""
    phrase = VerbPhrase(verb, participle, at, is_passive=True)
    return _claims_after_prepositions(statement, phrase, _skip_particle(statement.words, at), has_object=False)[0]


def _claims_after_prepositions(
    statement: Statement, verb: VerbPhrase, at: int, *, has_object: bool
) -> tuple[list[_Claim], int]:
    """The claims with what follows prepositions. A second one belongs to the verb only if that tells where something
    is or by whom something is done: in "signed a deal for ships in Porto" it belongs to the noun."""
    claims: list[_Claim] = []
    words, first = statement.words, _preposition_at(statement.words, skip_adverbs(statement.words, at))[0]
    for _ in range(_MAX_PREPOSITIONS):
        at = skip_adverbs(words, at)
        if claims and words[at : at + 1] and words[at].lower == "and" and _preposition_at(words, at + 1)[0] == first:
            more, at = _prepositional_claims(statement, verb, at + 1, has_object=has_object, has_claims=True)
            claims += more  # "by PostNord in Sweden and by GLS in Denmark"
            continue
        found, stop = _prepositional_claims(
            statement, verb, at, has_object=has_object, has_claims=has_object or bool(claims)
        )
        if stop == at:
            break
        is_first = not claims or claims[0][0] in _DATES or claims[0][0].endswith(("_every", "_on"))
        if is_first or verb.verb in _PLACING or (verb.is_passive and statement.words[at].lower == "by"):
            claims += found
        at = stop
    return claims, at


def _verb_at(words: Sequence[Word], at: int) -> VerbPhrase | None:
    """The verb phrase that begins with a finite verb."""
    if at >= len(words):
        return None
    lower = words[at].lower
    if lower in EQUALS:
        return VerbPhrase("be", "is", at + 1)
    if lower == "can":  # can be found in
        return _after_be(words, at + 2)
    if lower in ("it's", "it’s"):
        return _after_be(words, at + 1) or VerbPhrase("be", "is", skip_adverbs(words, at + 1))
    if lower == "will":
        return _future_at(words, at + 1)
    if lower in BE:
        predicate = "is" if lower in ("is", "are") else "was"
        return _after_be(words, at + 1) or VerbPhrase("be", predicate, skip_adverbs(words, at + 1))
    if lower in HAVE or lower in GET:
        after = skip_adverbs(words, at + 1)
        following = words[after].lower if after < len(words) else ""
        if following == "been" or (lower in GET and following in PARTICIPLES):
            return _after_be(words, after + (following == "been"))
        if lower in GET:
            return None
        if following in PARTICIPLES:
            return VerbPhrase(PARTICIPLES[following], following, after + 1)
        return VerbPhrase("have", "had" if lower == "had" else "has", at + 1)
    if lower in ("takes", "take", "took") and at + 1 < len(words) and words[at + 1].lower == "place":
        return VerbPhrase("occur", f"{lower}_place", at + 2)
    if lower in PRESENT_FORMS:
        return VerbPhrase(PRESENT_FORMS[lower], lower, at + 1)
    if lower in PAST_FORMS:
        return VerbPhrase(PAST_FORMS[lower], lower, at + 1)
    return VerbPhrase(lower, PRESENT_OF[lower], at + 1) if lower in BASE_FORMS else None


def _future_at(words: Sequence[Word], at: int) -> VerbPhrase | None:
    """The claims after "will" about the time or place of an event. An announced event counts as a fact."""
    lower = words[at].lower if at < len(words) else ""
    if lower == "be":
        return _after_be(words, at + 1) or VerbPhrase("be", "is", at + 1)
    if lower == "take":
        return VerbPhrase("occur", "takes_place", at + 2)
    return VerbPhrase(lower, PRESENT_OF[lower], at + 1)


def _after_be(words: Sequence[Word], at: int) -> VerbPhrase | None:
    """The claims after a form of "be": a participle ("owned"), a lasting activity ("using"), an adjective ("due")."""
    at = skip_adverbs(words, at)
    lower = words[at].lower if at < len(words) else ""
    if lower in _RELATING_ADJECTIVES:
        return VerbPhrase("be", lower, at + 1, is_passive=True)
    if lower == "last":  # was last revised on
        at += 1
        lower = words[at].lower if at < len(words) else ""
    participle = participle_of(lower)
    if participle is not None:
        return VerbPhrase(participle, lower, at + 1, is_passive=True)
    verb = GERUNDS.get(lower)
    if verb is None or verb in CHANGING or verb in RESCHEDULING or verb in _PASSING:
        return None
    return VerbPhrase(verb, PRESENT_OF[verb], at + 1)


def _direct_claims(statement: Statement, verb: VerbPhrase) -> tuple[list[_Claim], int]:
    """The claims with the objects that follow the verb without a preposition."""
    words, i = statement.words, skip_adverbs(statement.words, verb.next)
    if verb.predicate == "due" and (time := time_at(words, i, statement.text)) is not None:
        return [("due_on", time.text)], time.next
    if (verb.is_passive and verb.predicate not in _NAMING) or verb.verb in _INTRANSITIVE:
        return [], verb.next
    time = time_at(words, i, statement.text)
    if time is not None:
        if verb.verb == "be":  # what was on a day is not a plan
            return ([("scheduled_for", time.text)] if verb.predicate == "is" else []), time.next
        is_date = _REPEATED.match(time.text) or verb.verb in ("renew", "reopen")
        return ([(verb.predicate, time.text)], time.next) if is_date else ([], verb.next)
    if verb.verb in _WITH_RECIPIENT:
        i = _after_recipient(words, i)
    if _is_part_of(words, i):
        verb, i = verb._replace(verb="be", predicate="part_of"), i + 2
    phrases = phrases_at(statement, i)
    if not phrases or (verb.verb in _LINKING and verb.predicate != "part_of" and not _is_identity(words, i, phrases)):
        return [], verb.next
    if verb.predicate == "was":
        verb = verb._replace(predicate="is")
    predicate = "is_a" if verb.predicate == "is" and phrases[0].is_indefinite else verb.predicate
    if verb.verb in _LINKING:
        phrases = phrases[:1]  # what follows a comma is an apposition
    role = _ROLE_OF.fullmatch(phrases[0].text)
    if role is not None and names_something(role["value"]):
        noun = _SPACE.sub("_", role["noun"].lower())
        if verb.predicate == "is":  # the publisher of Addiction
            return [(f"{noun}_of", role["value"])], phrases[0].next
        if verb.verb == "have":  # an orbital period of 12 days
            return [(noun, role["value"])], phrases[0].next
    return [(predicate, phrase.text) for phrase in phrases], phrases[-1].next


def _after_recipient(words: Sequence[Word], at: int) -> int:
    """The index after "us" in "costs us 40 euros"; facts have "the user" and "we" there."""
    lowers = [word.lower for word in words[at : at + 2]]
    size = next((len(some) for some in _RECIPIENTS if lowers[: len(some)] == some), 0)
    return at + size if at + size < len(words) else at


def _is_part_of(words: Sequence[Word], at: int) -> bool:
    return at + 1 < len(words) and words[at].lower == "part" and words[at + 1].lower == "of"


def _is_identity(words: Sequence[Word], at: int, phrases: Sequence[Phrase]) -> bool:
    """Whether what follows "is" names something: "is PostgreSQL", "is a queue", "is 8080", but not "is slow"."""
    first = words[at]
    return first.lower in ("a", "an", "the") or first.text[0] in '"“`' or names_something(phrases[0].text)


def _prepositional_claims(
    statement: Statement, verb: VerbPhrase, at: int, *, has_object: bool, has_claims: bool
) -> tuple[list[_Claim], int]:
    """The claims with what follows a preposition, and the index after it: the same one if there is no preposition."""
    words, text = statement.words, statement.text
    if at >= len(words):
        return [], at
    preposition, after = _preposition_at(words, at)
    if preposition == "every" and not has_claims:
        phrase = phrase_at(words, after, text)
        return ([], at) if phrase is None else ([(f"{verb.predicate}_every", phrase.text)], phrase.next)
    if not preposition:
        time = time_at(words, at, text)
        return [], at if time is None else time.next
    if preposition == "to" and after < len(words) and words[after].text in BASE_FORMS and verb.verb not in CHANGING:
        return [], at  # "is to raise money"
    time = time_at(words, after, text)
    if time is not None:
        predicate = None if has_claims else _date_predicate(verb, preposition)
        return ([] if predicate is None else [(predicate, time.text)]), time.next
    phrases = phrases_at(statement, after)
    if not phrases:
        return [], at
    stop = phrases[-1].next
    is_duration = preposition in ("for", "in", "within", "over") and _DURATION.fullmatch(phrases[0].text)
    if has_object or is_duration or (preposition in ("at", "for") and phrases[0].text.isdigit()):
        return [], stop
    if preposition in ("from", "out_of"):  # from A to B, out of A and into B
        is_joined = stop < len(words) and words[stop].lower == "and"
        if _preposition_at(words, stop + is_joined)[0] in ("to", "into", "onto"):
            return [], stop + is_joined
        if verb.verb in CHANGING or verb.verb in RESCHEDULING:
            return [], stop
    if verb.verb in ("start", "begin") and preposition == "using":
        return [("uses", phrase.text) for phrase in phrases], stop
    return [(_predicate(statement, verb, preposition, phrase.text), phrase.text) for phrase in phrases], stop


def _skip_particle(words: Sequence[Word], at: int) -> int:
    if at >= len(words) or words[at].lower not in _PARTICLES or _preposition_at(words, at)[0] == "out_of":
        return at
    following = words[at + 1].lower if at + 1 < len(words) else ""
    # "chosen over Datadog" has a preposition, "cut over to Fastly" a particle.
    return at if words[at].lower in PREPOSITIONS and following and not _preposition_at(words, at + 1)[0] else at + 1


def _preposition_at(words: Sequence[Word], at: int) -> tuple[str, int]:
    """The preposition at a word and the index after it; "out of" and "in favour of" are such."""
    lower = words[at].lower if at < len(words) else ""
    if lower == "in" and [word.lower for word in words[at + 1 : at + 3]] in (["favour", "of"], ["favor", "of"]):
        return _IN_FAVOUR_OF, at + 3
    if lower == "out" and at + 1 < len(words) and words[at + 1].lower == "of":
        return "out_of", at + 2
    if lower in PREPOSITIONS or lower in ("until", "till"):
        return lower, at + 1
    return "", at


def phrases_at(statement: Statement, at: int) -> list[Phrase]:
    """The noun phrase at a word, or all noun phrases of a list: "Redis, Kafka and S3"."""
    words, text = statement.words, statement.text
    first = phrase_at(words, at, text)
    if first is None:
        return []
    phrases, last = [first], first.next
    while last < len(words) and words[last].lower in (",", "and", "or"):
        conjunction = last
        while conjunction < len(words) and words[conjunction].lower in (",", "and", "or"):
            conjunction += 1
        is_last = any(words[index].lower in ("and", "or") for index in range(last, conjunction))
        following = None if continues(words, conjunction) else phrase_at(words, conjunction, text)
        if (
            following is None
            or subject_at(words, conjunction, text) is not None
            or time_at(words, conjunction, text) is not None
        ):
            break
        phrases.append(following)
        last = following.next
        if is_last:
            return phrases
    return phrases[:1]


def continues(words: Sequence[Word], at: int, *, is_plural: bool = False) -> bool:
    """Whether a further verb of the same subject stands here, perhaps after an adverb."""
    at = skip_adverbs(words, at)
    lower = words[at].lower if at < len(words) else ""
    if lower in BE or lower in HAVE:
        return True
    if lower in PRESENT_FORMS:  # "laptops come from Framework, monitors from Dell" has no second verb
        return not is_plural
    if lower in PAST_FORMS or participle_of(lower) is not None:
        return at + 1 < len(words) and (
            words[at + 1].lower in PREPOSITIONS or words[at + 1].lower in ("the", "a", "an")
        )
    return is_plural and (lower in BASE_FORMS or lower in GET)


def _predicate(statement: Statement, verb: VerbPhrase, preposition: str, value: str) -> str:
    """The predicate of a verb with a preposition; one for all wordings of where something is."""
    if verb.verb in CHANGING and preposition in ("to", "onto", "into"):
        if value.rpartition(" ")[2].lower() in _GROUP_HEADS or statement.kinds.get(value) == "person":
            return "assigned_to"
        return "based_in" if _is_place(statement, value) else "switched_to"
    if preposition == _IN_FAVOUR_OF and verb.is_passive:  # was dropped in favour of
        return "replaced_by"
    if verb.predicate == "was":
        return f"was_{preposition}"
    tells_place = verb.verb not in ("be", "serve") or _is_place(statement, value)
    if tells_place and verb.verb in _PLACING and preposition in ("in", "at", "out_of"):
        return "based_in"
    if verb.verb in ("sit", "live", "reside") and preposition == "on":
        return "based_in"
    if verb.verb in _RUNNING and preposition == "on":
        return "runs_on"
    return f"{verb.predicate}_{preposition}"


def _is_place(statement: Statement, value: str) -> bool:
    head = value.rpartition(" ")[2].lower()
    return statement.kinds.get(value) == "place" or head in _PLACE_HEADS or _REGION.fullmatch(value.lower()) is not None


def _date_predicate(verb: VerbPhrase, preposition: str) -> str | None:
    """The predicate of a verb whose object is a time."""
    if verb.predicate == "due":
        return "due_on"
    if verb.verb in CHANGING or verb.verb in RESCHEDULING:
        return "scheduled_for" if preposition in ("to", "until", "till", "for", "into") else None
    if preposition in ("until", "till") and (verb.verb in _LASTING or verb.predicate in _RELATING_ADJECTIVES):
        return f"{verb.predicate}_until"
    if preposition in ("since", "from", "by", "until", "till", "before", "after", "during", "as"):
        return None
    if verb.verb in _SCHEDULING:
        return None if verb.predicate == "was" else "scheduled_for"
    # "Closes on 3 May" is a date that may be moved; "was closed on 3 May" is an event, and there may be others.
    is_past = verb.predicate not in PRESENT_FORMS and (verb.predicate in PAST_FORMS or verb.predicate in PARTICIPLES)
    return (None if is_past else _DATE_PREDICATES.get(verb.verb)) or f"{verb.predicate}_{preposition}"


def _has_second_verb(words: Sequence[Word], at: int) -> bool:
    """Whether a finite verb follows in the same clause, so that the first one was none: "the launch planned for May
    was cancelled"."""
    for word in words[at:]:
        if word.text in PUNCTUATION or word.lower in _CLAUSE_STARTS:
            return False
        if word.lower in BE or word.lower in HAVE or word.lower in GET:
            return True
    return False
