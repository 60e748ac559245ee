"""One-sentence statements as an encyclopaedia has them: "The author of Main Street is Jim Butcher."

Here the subject is everything before the verb and the object everything after it, so titles and names of many
words stay complete. Only a text of one short sentence is read this way.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from remanence.language.claim_extraction.predicate_rules import SINGLE_ROLES
from remanence.language.claim_extraction.verb_phrases import PREDICATE_NOUNS, verb_at
from remanence.language.lexicon.word_lists import (
    CALENDAR_WORDS,
    FUNCTION_WORDS,
    compile_pattern,
    load_pattern,
    load_words,
    word_set,
)
from remanence.language.named_entities.name_spans import NameSpan
from remanence.schema import Triple

MAX_STATEMENT_CHARS = 200
_MAX_NAME_WORDS = 12

_SEVERAL_SENTENCES = re.compile(r"\. (?<=[a-z]{3}\. )[A-Z]|\n")
_VERB = re.compile(rf" (?:{load_pattern('single_sentence_verbs')}) ")
_DEFINITION = compile_pattern("definition")
_LIST = re.compile(r",(?! (?:Duke|Duchess|Lord|Lady|Count|Earl|Baron|Prince|Princess|King|Queen|Inc|Ltd|Jr|Sr|\d))")
_PARTICLES = frozenset(" ".join(load_words("name_particles")).split()) | word_set("and a an von zu")
_TITLE_PARTICLES = _PARTICLES | word_set("in on for to with from at by as or")
_NOT_IN_NOUNS = FUNCTION_WORDS | CALENDAR_WORDS | load_words("not_in_nouns")
_DATE_PREDICATES = {"born_in": "born_on", "died_in": "died_on"}
_DATE = re.compile(rf"(?:(?:{load_pattern('months')}) )?\d+")
_PARTICIPLES = {"wrote": "written", "made": "produced", "built": "built"}


def find_single_sentence_claim(text: str, names: Sequence[NameSpan] = ()) -> Triple | None:
    """The one claim of a text of one sentence, if it has the form of such a statement.

    >>> str(find_single_sentence_claim("The author of Of Mice and Men is John Steinbeck."))
    'John Steinbeck —author_of→ Of Mice and Men'
    >>> str(find_single_sentence_claim("Drew Pearson plays the position of starting pitcher."))
    'Drew Pearson —position→ starting pitcher'
    """
    sentence = text.strip()
    if not sentence.endswith(".") or not (names or " of " in sentence) or sentence.startswith(("I ", "I'", "I’")):
        return None
    if "!" in sentence or "?" in sentence or _SEVERAL_SENTENCES.search(sentence):
        return None
    sentence = sentence[:-1]
    if sentence.startswith("The ") and (" is " in sentence or " was " in sentence):
        definition = _definition(sentence)
        if definition is not None:
            return definition
    match = _VERB.search(sentence)
    verb = verb_at(sentence, match.start()) if match else None
    if match is None or verb is None:
        return None
    end = match.start()
    subject, value = sentence[:end], sentence[verb.end :]
    is_name = bool(names) and (names[0].start, names[0].end) == (0, end)
    if is_name:
        subject = names[0].text  # "the user" has another name in claims
    is_name = is_name or (bool(names) and names[0].text == subject)
    if not is_name and not _is_subject(subject, allow_noun=sentence.endswith(" of ", end, verb.end)):
        return None
    if not _is_name(value, _PARTICLES) and not (verb.predicate in PREDICATE_NOUNS and _is_noun(value)):
        return None
    is_date = _DATE.fullmatch(value) is not None
    return Triple(subject, _DATE_PREDICATES.get(verb.predicate, verb.predicate) if is_date else verb.predicate, value)


def _definition(sentence: str) -> Triple | None:
    """The capital of Portugal is Lisbon; the company that produced iPhone 4 is Apple."""
    match = _DEFINITION.match(sentence)
    if match is None:
        return None
    value = match["value"]
    if match["role"] is not None:
        role, organization = match["role"].lower(), match["organization"]
        if organization.endswith(" government"):
            role, organization = f"{role} of government", organization.removesuffix(" government")
        if not (_is_name(organization) or _is_name_with_noun(organization)) or not _is_name(value):
            return None
        if match["joint"] == "for" and role.rpartition(" ")[2] not in SINGLE_ROLES:
            return None  # "The reason for Brexit is Farage" names no office
        return Triple(value, f"{role.replace(' ', '_').replace('-', '_')}_of", organization)
    if match["verb"] is not None:
        subject, predicate = match["product"], f"{_PARTICIPLES.get(match['verb'], match['verb'])}_by"
    elif match["noun"] is not None:
        subject, predicate = match["actor"], match["noun"].replace(" ", "_")
    else:
        subject, predicate = match["person"], f"{match['participle']}_at"
    return Triple(subject, predicate, value) if _is_name(subject) and (_is_name(value) or _is_noun(value)) else None


def _is_subject(phrase: str, allow_noun: bool) -> bool:
    """Whether this can be the subject of a statement."""
    first = phrase.partition(" ")[0]
    if _LIST.search(phrase) or (first.lower() in _NOT_IN_NOUNS and first not in ("The", "A", "An")):
        return False
    return _is_name(phrase) or _is_name_with_noun(phrase) or (allow_noun and _is_noun(phrase))


def _is_name_with_noun(phrase: str) -> bool:
    """A name followed by a plain noun: "Transcendental Meditation movement"."""
    return phrase[:1].isupper() and " " in phrase and _is_noun(phrase)


def _is_name(phrase: str, particles: frozenset[str] = _TITLE_PARTICLES) -> bool:
    """Whether every word has a capital or a digit, except particles inside: University of Porto."""
    first, *rest = phrase.split(" ")
    if len(rest) >= _MAX_NAME_WORDS:
        return False
    capital = first[:1].isupper() or first[:1].isdigit() or not first[:1].isascii()
    if not (capital or first[1:2].isupper() or first.startswith(('"', "'", "“", "al-"))):  # iPhone, "Heroes"
        return False
    return all(not word.islower() or word in particles for word in rest) and not (rest and rest[-1].islower())


def _is_noun(phrase: str) -> bool:
    """A few ordinary words that form a noun: "starting pitcher", "association football"."""
    words = phrase.lower().split(" ")
    return len(words) <= 5 and _NOT_IN_NOUNS.isdisjoint(words) and all(word[:1].isalnum() for word in words)
