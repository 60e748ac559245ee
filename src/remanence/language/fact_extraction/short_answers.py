"""A short answer and the question before it, as statements: "Any allergies?" "Peanuts." is "I am allergic to peanuts".

The statements are in the first person of the person who answers, and are then read like any other sentence. An answer
that settles nothing ("not sure yet"), an offer ("Shall I …?") and a question whose form is unknown give no statement.
"""

from __future__ import annotations

import re

from remanence.language.fact_extraction.answer_statements import (
    OWN_SENTENCE,
    POLAR,
    ParsedAnswer,
    PolarQuestion,
    lower_first,
    polar_statements,
    wh_statement,
)
from remanence.language.lexicon.word_lists import compile_pattern, load_pattern
from remanence.language.text import split_sentences, upper_first

MAX_ANSWER_WORDS = 10
"""A longer answer does not depend on its question."""


def answer_statements(question: str, answer: str) -> list[str]:
    """The statements of a short answer together with its question, in the first person; [] if it settles nothing.

    >>> answer_statements("Are you allergic to anything?", "Yes, peanuts.")
    ['I am allergic to peanuts']
    >>> answer_statements("Nice! Are you still at Siemens?", "No, Bosch.")
    ['I no longer work at Siemens', 'I work at Bosch']
    >>> answer_statements("Where does your sister live?", "Porto"), answer_statements("Are you sure?", "who knows")
    (['My sister lives in Porto'], [])
    """
    asked = _last_question(question)
    if asked is None or len(answer.split()) > MAX_ANSWER_WORDS or "?" in answer or _UNSETTLED.search(answer):
        return []
    parsed = _parse_answer(answer)
    verbs = _VERB_CHOICE.fullmatch(asked)
    if verbs:
        chosen = [verb for verb in verbs.groups() if parsed.rest.lower().startswith(verb.lower())]
        return [f"I {parsed.rest}"] if chosen else []
    statement = wh_statement(asked, parsed)
    if statement is not None:
        return [_with_single_spaces(statement)] if statement else []
    form = POLAR.fullmatch(asked)
    if form is None or _OFFER.match(asked):
        return _in_own_words(asked, answer, parsed)
    return [_with_single_spaces(statement) for statement in polar_statements(PolarQuestion.of(form), parsed)]


def _with_single_spaces(statement: str) -> str:
    return upper_first(" ".join(statement.split()))


def _in_own_words(asked: str, answer: str, parsed: ParsedAnswer) -> list[str]:
    """Question and answer as they are, where the form of a personal question is unknown and the answer names
    something.

    >>> _in_own_words("How do you get to work", "By bike.", _parse_answer("By bike."))
    ['My answer to "How do you get to work" is "By bike"']
    """
    if not parsed.rest or _NOT_PERSONAL.search(asked) or not _PERSONAL.match(asked) or OWN_SENTENCE.match(parsed.rest):
        return []
    return [f'My answer to "{asked}" is "{answer.strip(_EDGES)}"']


def answers_itself(answer: str) -> bool:
    """Whether an answer has a subject and a verb of its own, and nothing that only its question explains."""
    return OWN_SENTENCE.match(answer) is not None and not _REFERS_BACK.search(answer)


def _parse_answer(answer: str) -> ParsedAnswer:
    text = _INTERJECTION.sub("", " ".join(answer.split()).strip(_EDGES))
    is_yes: bool | None = None
    no_longer = never = False
    for _ in range(3):
        yes, no = _YES.match(text), _NO.match(text)
        answer_word = yes or no
        if answer_word is None:
            break
        is_yes = yes is not None if is_yes is None else is_yes
        no_longer = no_longer or (no is not None and no["longer"] is not None)
        never = never or (no is not None and no["never"] is not None)
        text = text[answer_word.end() :].lstrip(" ,.;:-–—!")
    rest = _DURATION.sub(
        lambda answer_word: f"for {answer_word[1].lower()}", _AND.sub("", _POLITE.sub("", text).strip(_EDGES))
    )
    if is_yes is None and _NO_NOUN.match(rest):
        is_yes = False
    return ParsedAnswer(is_yes, no_longer, never, lower_first(rest))


def _last_question(text: str) -> str | None:
    """The last question of a turn as a whole sentence, without its openers; "Any kids?" has its verb added."""
    questions = [sentence for sentence in split_sentences(text) if sentence.rstrip(' "”)').endswith("?")]
    if not questions:
        return None
    asked = _ASIDE.sub("", _OPENER.sub("", questions[-1].strip().rstrip(' ?!"”)')))
    asked = asked.strip(" ,")
    declared = _DECLARED.fullmatch(asked)
    if declared:  # you're still vegetarian?
        verb = declared["verb"]
        return (
            f"Are you {declared['rest']}"
            if declared["be"]
            else f"Do you {declared['still'] or ''}{verb} {declared['more']}"
        )
    for pattern, completed in _ELLIPSES:
        match = pattern.fullmatch(asked)
        if match:
            return completed.format(match[1][:1].lower() + match[1][1:])
    return asked


_EDGES = " .!,;:()"
_OFFER = compile_pattern("offered", re.IGNORECASE)
_UNSETTLED = compile_pattern("unsettled_answer", re.IGNORECASE)
_YES = compile_pattern("yes_answer", re.IGNORECASE)
_NO = compile_pattern("no_answer", re.IGNORECASE)
_INTERJECTION = compile_pattern("answer_interjection", re.IGNORECASE)
_OPENER = compile_pattern("question_opener", re.IGNORECASE)
_ASIDE = compile_pattern("question_aside", re.IGNORECASE)
_POLITE = re.compile(r",? ?\b(?:please|thanks|thank you|actually|unfortunately|luckily|lol|haha)\W*$", re.IGNORECASE)
_REFERS_BACK = re.compile(
    r"\b(?:it|them|one|that|there|so)\b|^i (?:do|am|did|have|was)(?:n['’]t| not)?\W*$", re.IGNORECASE
)
_NO_NOUN = re.compile(r"no [a-z]", re.IGNORECASE)
_AND = re.compile(r"^(?:and|but|so|just)\b,? ", re.IGNORECASE)
_DURATION = compile_pattern("duration_answer", re.IGNORECASE)
_DECLARED = compile_pattern("declared_question", re.IGNORECASE)
_VERB_CHOICE = re.compile(r"[Dd]o you ([a-z]+),? or (?:do you )?([a-z]+)")
_PERSONAL = compile_pattern("personal_question", re.IGNORECASE)
_NOT_PERSONAL = compile_pattern("passing_question", re.IGNORECASE)
_ELLIPSES = tuple(
    (re.compile(pattern, re.IGNORECASE), completed)
    for pattern, completed in (
        (r"(still .+)", "Are you {}"),
        (rf"((?:already |now )?(?:{load_pattern('status')}).*)", "Are you {}"),
        (r"(?:got |have )?(any(?!one|thing|where|body)\b .+)", "Do you have {}"),
        (r"((?:ever )?been .+)", "Have you {}"),
        (r"((?:live|work|drink|smoke|eat|drive|play|speak|own|like|use) (?!you\b).+|smoke|drink|drive)", "Do you {}"),
        (
            r"((?:kids|children|pets|siblings|brothers or sisters|allergies|dogs|cats|hobbies|plans))",
            "Do you have any {}",
        ),
    )
)
