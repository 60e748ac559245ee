"""Whether a sentence in the third person is a fact worth storing, and of which kind."""

from __future__ import annotations

import re
from dataclasses import dataclass

from remanence.language.fact_extraction.sentence_reading import ParsedSentence
from remanence.language.fact_extraction.sentences import STATUS_PATTERN, TIME_PHRASE_PATTERN
from remanence.language.lexicon.verb_forms import conjugate
from remanence.language.lexicon.word_lists import (
    PLURAL_RELATIONSHIP_NOUNS,
    compile_pattern,
    load_pattern,
    load_words,
    tags_of,
    word_set,
)
from remanence.language.named_entities.name_spans import NameSpan
from remanence.schema import MemoryKind

_SHORT = 4  # words


@dataclass(frozen=True, slots=True)
class FactClassification:
    """The kind of a fact, and the confidence in it."""

    kind: MemoryKind
    confidence: float
    is_future: bool = False
    is_minor: bool = False
    """Whether it is an everyday statement of low importance."""


def classify_fact(
    sentence: ParsedSentence, speaker: str, *, remember_requested: bool = False
) -> FactClassification | None:
    """The classification of a sentence, or None if it is not a fact.

    >>> from remanence.language.fact_extraction.sentence_reading import parse_sentence
    >>> classify_fact(parse_sentence("Alice went hiking with Bob.", "Alice"), "Alice")
    FactClassification(kind='episode', confidence=0.6, is_future=False, is_minor=False)
    >>> classify_fact(parse_sentence("It was fun.", "Alice"), "Alice") is None
    True
    """
    text = sentence.text
    if _ELLIPSIS.fullmatch(text) or _PUBLISHED.match(text):
        return None
    is_future = _FUTURE.search(text) is not None
    is_appointment = is_future and _EVENT.search(text) is not None and _TIME.search(text) is not None
    if sentence.change is not None:
        is_state = sentence.change.has_unspecified_end and _IS_STATUS.search(text) is not None
        is_count = any(claim.predicate == "has" for claim in sentence.change.state_claims)
        is_state = is_state or (is_count and not sentence.change.event_claims)
        return FactClassification("semantic" if is_state else "episode", 0.75)
    if sentence.denial is not None and not (sentence.claims and is_appointment):
        return FactClassification("semantic", 0.7)
    if sentence.claims:
        return FactClassification("episode" if is_appointment or _is_past(sentence) else "semantic", 0.8, is_future)
    if is_appointment and not _YOU.search(text):
        return FactClassification("episode", 0.7, True)
    classification = _classify_without_claim(sentence, speaker, is_future)
    if classification is None and remember_requested:
        return FactClassification("semantic", 0.7, is_future)
    return classification


def has_lasting_result(sentence: ParsedSentence) -> bool:
    """Whether an event has a lasting result: a marriage, a hobby taken up or given up."""
    if _LASTING_RESULT.search(sentence.text):
        return True
    return any(claim.predicate in ("married_to", "engaged_to") for claim in sentence.claims)


def _classify_without_claim(sentence: ParsedSentence, speaker: str, is_future: bool) -> FactClassification | None:
    """By the subject and the first verb."""
    text = sentence.text
    if (
        (len(text.split()) < _SHORT and not any(pattern.search(text) for pattern in (_IS_STATUS, _IS_AGED, _IS_OVER)))
        or _YOU.search(text)
        or len(text) > 600
    ):
        return None
    subject = _subject(sentence)
    classification = _classify_by_subject(sentence, subject, speaker, is_future) if subject is not None else None
    if classification is None and (subject is None or subject.start > 0 or subject.kind == "thing"):
        return _classify_impersonal(sentence, is_future)  # The report is due on Friday and Ana owns it
    return classification


def _classify_by_subject(
    sentence: ParsedSentence, subject: NameSpan, speaker: str, is_future: bool
) -> FactClassification | None:
    text = sentence.text
    insertion = _BETWEEN.match(text, subject.end)
    rest = text[insertion.end() if insertion else subject.end :]
    possession = _POSSESSION.match(rest)
    if possession:
        is_past = possession["verb"] in ("was", "were") and not is_future
        if _PASSING_STATE.search(rest, 0, 60):
            return None
        if possession["thing"] in _IDLE_THINGS or (possession["other"] and len(rest[possession.end() :].split()) < 2):
            return None
        return FactClassification("episode" if is_past else "semantic", 0.6, is_future)
    plural = text[: subject.end].endswith(" others") or subject.text.rpartition(" ")[2] in PLURAL_RELATIONSHIP_NOUNS
    if plural:  # the verb tables have singular forms
        rest = _PLURAL_VERB.sub(lambda match: f"{match[1]} {_SINGULAR.get(match[2]) or conjugate(match[2])}", rest)
    verb = _VERB.match(rest)
    if verb is None:
        return None
    alone = all(name is subject for name in sentence.names)
    after = rest[verb.end() :].lstrip()
    if verb[1] in _OPINION_VERBS and after.lower().startswith(speaker.lower()):
        return None  # I think I will …
    singular = verb[1].lower().replace("’", "'")
    return _classify_by_verb(_SINGULAR.get(singular, singular), after, is_future, alone=alone)


def _classify_by_verb(verb: str, after: str, is_future: bool, *, alone: bool) -> FactClassification | None:
    """By the verb and the words after it; `alone` says that the sentence has no name besides its subject."""
    first = _WORD.match(after)
    next_word = first.group().lower() if first else ""
    count = len(after.split())
    if next_word in ("either", "neither", "too") or not after.strip(" .!?"):
        return None
    if next_word in _EMPTY_WORDS and (count < _SHORT or verb in _VIEW_VERBS or verb in _OPINION_VERBS):
        return None
    if verb in _VIEW_VERBS:
        return FactClassification("viewpoint", 0.7, is_minor=alone and count < 2)
    if verb in _OPINION_VERBS:
        return FactClassification("viewpoint", 0.6) if count >= 4 else None
    if verb in _IDLE_VERBS:
        return FactClassification("semantic", 0.6) if verb == "gets" and "health" in tags_of(after) else None
    if verb in ("is", "isn't", "was", "were", "feels", "felt", "seems"):
        return _classify_being(verb, after, next_word, is_future, alone)
    if verb in ("has", "had"):
        return _classify_having(verb, after, next_word, is_future)
    if verb in ("will", "wants", "needs", "intends", "aims", "hopes"):
        if next_word in ("you", "help", "some", "your", "definitely", "it"):
            return None
        if verb == "will" and (not _WHEN.search(after) or _BE_IDLE.match(after)):
            return None
        return FactClassification("semantic", 0.6, True)
    if verb == "would":
        return FactClassification("viewpoint", 0.7) if _RATHER.match(after) else None
    if verb == "hasn't":
        return FactClassification("semantic", 0.6) if _HAS_NONE.match(after) or _STILL.search(after) else None
    if verb in ("can", "can't", "cannot", "doesn't", "does"):
        idle = (
            next_word in _IDLE_ABILITIES and not _HAS_NONE.match(after) and not _MAY_NOT_HAVE.match(f"{verb} {after}")
        )
        idle = idle or (count < 2 and verb.startswith("can") and next_word not in _SKILLS)
        return None if idle else FactClassification("semantic", 0.6)
    if _LASTING_RESULT.match(f"{verb} {after}"):
        return FactClassification("semantic", 0.6)
    if alone and (verb in _PASSING_EVENTS or _STUCK.match(f"{verb} {after}")) and not tags_of(after):
        return None
    if verb in _PAST_VERBS or verb.endswith("ed"):
        return FactClassification("episode", 0.6, is_future=_BOOKED.search(after) is not None, is_minor=alone)
    if not verb.endswith("s") or verb in _NOT_VERBS:
        return None
    return FactClassification("semantic", 0.55, is_future, alone and verb not in _OCCUPATION_VERBS)


def _classify_being(verb: str, after: str, next_word: str, is_future: bool, alone: bool) -> FactClassification | None:
    content = _DEGREE.sub("", after)
    word = _WORD.match(content)
    if word is None or next_word in _EMPTY_WORDS:
        return None
    if word.group().lower() in _FEELINGS and not _NO_FEELING.match(content):
        return None
    if verb in ("is", "isn't"):
        return FactClassification("semantic", 0.6, is_future or content.startswith("going to "))
    return FactClassification("episode", 0.55, is_minor=alone) if len(after.split()) >= 3 else None


def _classify_having(verb: str, after: str, next_word: str, is_future: bool) -> FactClassification | None:
    if verb == "had":
        return None if _MEAL.search(after) else FactClassification("episode", 0.6, is_future)
    if (next_word == "to" and not _EXACT.search(after)) or _IDLE_NEEDS.match(after):
        return None
    if _LASTING_RESULT.match(after):
        return FactClassification("semantic", 0.6)
    lasting = _HAS_BEEN_DOING.match(after) or _STILL.search(after)
    is_perfect = next_word in _PARTICIPLES or next_word.endswith("ed")
    return FactClassification("episode" if is_perfect and not lasting else "semantic", 0.6, is_future)


def _classify_impersonal(sentence: ParsedSentence, is_future: bool) -> FactClassification | None:
    """A statement about a thing: only with a name, a number or a due time, and never about "it" or "that"."""
    text = sentence.text
    exact = any(character.isdigit() for character in text) or any(name.kind != "handle" for name in sentence.names)
    exact = exact or (_DUE.search(text) is not None and _TIME.search(text) is not None)
    if _DONE_TO_SPEAKER.match(text) and any(name.kind == "person" for name in sentence.names):
        return FactClassification("episode", 0.5, is_future)
    exact = exact or _ENDS_FOR_GOOD.search(text) is not None
    if _VALUE_CHANGED.match(text) and any(name.kind == "person" for name in sentence.names):
        return FactClassification("semantic", 0.5, is_future)
    if not exact or _VAGUE_SUBJECT.match(text) or not _STATIVE_VERB.search(text):
        return None
    return FactClassification("episode" if _WAS.search(text) and not is_future else "semantic", 0.5, is_future)


def _subject(sentence: ParsedSentence) -> NameSpan | None:
    """The person at the start of the sentence, or after a time, a conjunction or a comma."""
    for name in sentence.names:
        before = sentence.text[: name.start]
        if name.kind == "thing" and not before:  # whatever is named first: Otis, or a cello
            return name
        if name.kind == "person" and (
            not before
            or (len(before) < 60 and _BEFORE_SUBJECT.search(before))
            or (_FRONTED.fullmatch(before) and not _AFTER_OBJECT.match(sentence.text, name.end))
            or _TIME_FIRST.fullmatch(before)
        ):
            return name
    return None


def _is_past(sentence: ParsedSentence) -> bool:
    """Whether the verb of the first acting person is a past form of what happens once."""
    if all(claim.predicate in _LASTING_PREDICATES for claim in sentence.claims):
        return False
    verbs = [_VERB.match(sentence.text, name.end) for name in sentence.names if name.kind == "person"]
    first = next((verb[1] for verb in verbs if verb is not None), "")
    return (first in _PAST_VERBS or first.endswith("ed")) and first not in ("was", "were")


_ELLIPSIS = compile_pattern("ellipsis")
_PUBLISHED = compile_pattern("published")
_SINGULAR = {"are": "is", "have": "has", "were": "was", "don't": "doesn't"}
_PLURAL_VERB = re.compile(rf"^((?: (?:{load_pattern('adverbs_before_verb')}))*) ([a-z]+)\b(?!['’])")
_VERB = compile_pattern("first_verb")
_LASTING_RESULT = compile_pattern("lasting_result")
_DONE_TO_SPEAKER = compile_pattern("done_to_somebody")
_EXACT = re.compile(r"\d| [A-Z]\w|^to (?:avoid|take|eat|inject|wear|use|carry|follow|stick|watch)\b")
_POSSESSION = compile_pattern("possession")
_WORD = re.compile(r"[\w'’-]+")
_DEGREE = re.compile(r"^(?:(?:so|really|very|super|just|also|always|all|too|pretty|truly|still|quite|a bit|not) )+")
_BEFORE_SUBJECT = re.compile(r"(?:, |\b(?:and|but|that|because|when|since|so) )$")
_AFTER_OBJECT = re.compile(r"\W*$|[,.;]| (?:to|in|at|on|from|with|for|by|of|and|or|as|into)\b")
_BETWEEN = compile_pattern("between_subject_and_verb")  # Biscuit, our old beagle, has to lose weight
_FRONTED = compile_pattern("fronted_phrase", re.IGNORECASE)
_TIME_FIRST = re.compile(rf"(?:(?:{load_pattern('time_words')}) ?)+", re.IGNORECASE)
_YOU = re.compile(r"\b(?:you|your|yours|you['’]re|yourself)\b", re.IGNORECASE)
_FUTURE = re.compile(rf"\b(?:{load_pattern('future_phrases')})\b", re.IGNORECASE)
_EVENT = compile_pattern("scheduled_event")
_TIME = re.compile(rf"\b(?:{TIME_PHRASE_PATTERN})", re.IGNORECASE)
_BOOKED = re.compile(r"\b(?:tickets?|vacation|holiday|leave|table|seats?|room)\b.*\b(?:for|on)\b")
_DUE = compile_pattern("due_statement", re.IGNORECASE)
_IS_STATUS = re.compile(rf" (?:is|are)(?: (?:now|currently|also|still|not))* (?:{STATUS_PATTERN})\b")
_IS_AGED = compile_pattern("is_aged")
_IS_OVER = re.compile(r"^[A-Z].* (?:is|are) (?:off|over|cancelled|canceled|gone|dead|history|sold|closed|finished)\b")
_VALUE_CHANGED = compile_pattern("value_changed")  # they put the user's rent up to 900
_ENDS_FOR_GOOD = compile_pattern("ends_for_good")
_BE_IDLE = re.compile(r"be (?!in\b|at\b|on\b|away\b|out\b|[a-z]+ing\b)")
_PASSING_STATE = compile_pattern("passing_state")
_STILL = compile_pattern("lasting_until_now")
_HAS_BEEN_DOING = re.compile(r"(?:[a-z]+ )?been (?:[a-z]+ly )?[a-z]+ing\b")
_WHEN = re.compile(r"\b(?:tomorrow|tonight|next|this|on|at|in (?:[A-Z]|\d|an?\b|two|three)|\d+)\b")
_VAGUE_SUBJECT = re.compile(rf"(?:{load_pattern('vague_subjects')})\b", re.IGNORECASE)
_STATIVE_VERB = re.compile(rf"\b(?:{load_pattern('stative_verbs')})\b")
_WAS = re.compile(r"\b(?:was|were|had|[a-z]{3,}ed)\b")
_RATHER = re.compile(r"rather (?!not\b|be\b).* than \w")
_HAS_NONE = re.compile(r"(?:have|got) (?:any |an? )(?!idea|clue|question|problem|time|plans|doubt)")
_MAY_NOT_HAVE = re.compile(r"can(?:['’]t|not) have (?!it\b|that\b|this\b|been\b|done\b|a\b|an\b|[a-z]+ed\b)\w")
_IDLE_NEEDS = compile_pattern("idle_needs")
_NO_FEELING = compile_pattern("no_feeling")
_LASTING_PREDICATES = word_set(
    "married_to engaged_to relationship_status diet grew_up_in born_in born_on is_from lived_in worked_at studied_at"
)
_VIEW_VERBS = load_words("view_verbs")
_OPINION_VERBS = word_set("thinks believes feels finds considers thought believed")
_IDLE_VERBS = load_words("idle_verbs")
_OCCUPATION_VERBS = word_set("works teaches runs studies manages leads owns lives drives speaks")
_NOT_VERBS = word_set("is was has does as its this his hers yes us thus plus perhaps always sometimes besides")
_PAST_VERBS = load_words("irregular_past")
_PARTICIPLES = load_words("participles")
_EMPTY_WORDS = word_set("it that this you so them him her these those there what how such too your")
_IDLE_ABILITIES = load_words("idle_abilities")
_IDLE_THINGS = load_words("idle_things")
_PASSING_EVENTS = load_words("passing_events")
_STUCK = re.compile(r"got (?:stuck|up|home|wet|lost|soaked|bored|distracted)\b")
_MEAL = re.compile(r"\bfor (?:lunch|dinner|breakfast|tea)\b")
_SKILLS = load_words("skills")
_FEELINGS = load_words("feelings")
