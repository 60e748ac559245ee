"""What a chat turn states, without what it asks: questions must not take the place of facts in a prompt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise, product

from remanence.language.fact_extraction.sentences import (
    is_question,
    is_request,
    is_small_talk,
    spell_contractions,
    split_parts,
    without_opener,
)
from remanence.language.lexicon.word_lists import compile_pattern, word_set
from remanence.language.text import split_sentences, split_words

_MAX_SMALL_TALK_CHARS = 400  # a longer turn states something
_MAX_KNOWN = 8_192
_known: dict[str, bool] = {}


def has_statement(text: str) -> bool:
    """Whether a chat turn states something; one that only asks, requests, greets, thanks or agrees does not.

    >>> has_statement("Hi! What am I allergic to?"), has_statement("I keep kosher, so what can I eat?")
    (False, True)
    """
    if len(text) > _MAX_SMALL_TALK_CHARS:
        return True
    known = _known.get(text)
    return next(_statements(text), None) is not None if known is None else known


def add_known_statements(known: Mapping[str, bool]) -> None:
    """Add results of `has_statement` that another process has found, until `clear_known_statements`."""
    if len(_known) > _MAX_KNOWN:
        _known.clear()
    _known.update(known)


def clear_known_statements() -> None:
    """Forget what `add_known_statements` has added."""
    _known.clear()


def stated_text(text: str) -> str:
    """What a chat turn states, without its questions, requests, greetings and thanks.

    >>> stated_text("Hi! I'm at the airport, what am I allergic to? They ask everybody.")
    "I'm at the airport They ask everybody."
    """
    return text if len(text) > _MAX_SMALL_TALK_CHARS else " ".join(_statements(text))


def also_asks(text: str) -> bool:
    """Whether a chat turn that states something also asks or requests something, or says that the speaker lacks it:
    "I need the number", "I forgot the code".

    >>> also_asks("I'm at the airport, what am I allergic to?"), also_asks("I'm allergic to nuts. Thanks!")
    (True, False)
    """
    if len(text) > _MAX_SMALL_TALK_CHARS:
        return False
    for line in split_sentences(text):
        sentence = without_opener(spell_contractions(line))
        if is_question(sentence) or is_request(sentence) or _LACK.search(sentence):
            return True
        if _without_unmarked_question(sentence)[1]:
            return True
    return False


def _statements(text: str) -> Iterator[str]:
    """The sentences of a chat turn that state something, or the parts of them that do."""
    for line in split_sentences(text):
        sentence = without_opener(spell_contractions(line))
        asks = sentence.rstrip().endswith(("?", "?!"))
        if not asks:
            sentence, asks = _without_unmarked_question(sentence)
        if not asks and (_ASKS_WITHOUT_MARK.match(sentence) or _ASKS_TO_DO.match(sentence)):
            continue
        for part in split_parts(sentence, True) if asks else (sentence,):
            if not is_small_talk(part) and not _ASKS_INDIRECTLY.match(part) and not (asks and _has_no_clause(part)):
                yield part


def _without_unmarked_question(sentence: str) -> tuple[str, bool]:
    """A sentence without the question at its end that has no question mark, and whether there was one.

    >>> _without_unmarked_question("I had something at 10:40 what was it")
    ('I had something at 10:40', True)
    """
    if not _may_ask(sentence):  # the next patterns take several times as long
        return sentence, False
    if _NOUN_PLEASE.fullmatch(sentence) and not _CLAUSE_WORD.search(sentence):
        return "", True  # the date of my flight, please
    question = _UNMARKED_QUESTION.search(sentence)
    return (sentence, False) if question is None else (sentence[: question.start()], True)


def _may_ask(sentence: str) -> bool:
    """Whether a sentence has words of a question. Sets of words tell so in a third of the time of the pattern."""
    if sentence.isascii() and "_" not in sentence:
        words = split_words(sentence.replace("'", " "))
        if not _ASKING_WORDS.isdisjoint(words):
            return True
        if _ASKING_PAIRS.isdisjoint(pairwise(words)):
            return False
    return _MAY_ASK.search(sentence) is not None


def _has_no_clause(part: str) -> bool:
    """Whether what stands before a question is only what, when or for what it is asked: "My plane", "For the form",
    "Before you go"."""
    part = _LAST_QUESTION_WORD.sub("", part)
    return _ONLY_WHEN.match(part) is not None or (_ONLY_TOPIC.match(part) is not None and not _CLAUSE_WORD.search(part))


# "what was my allergy again", but not "What I love is jazz", "What a day" or "When I was young I lived in Rome".
_ASKS_WITHOUT_MARK = re.compile(
    r"(?:what|which|who|whose)(?:['’]s)? (?!(?:a|an|i|we|he|she|they|you|it)\b)|"
    r"(?:where|when|why|how)(?:['’]s| (?:do|does|did|is|are|was|were|am|can|could|should|would|will|has|have|had|many|"
    r"much|old|long|often|far|big|tall)) (?!(?:i|we|he|she|they|you|it)\b [^,]*,)|"
    r"(?:do|does|did|is|are|am|was|were|can|could|should|would|will|have|has) "
    r"(?:i|we|you|he|she|they|it|my|our|the|there|any)\b",
    re.IGNORECASE,
)
# "on which day", "by when", and a question after a statement: its verb stands before its subject.
_UNMARKED_QUESTION = compile_pattern("unmarked_question", re.IGNORECASE)
# "The vet asks what ...", "I forgot where ...": the clause is a question. "I don't know how to swim" is a statement.
_ASKS_INDIRECTLY = compile_pattern("indirect_question", re.IGNORECASE)
_LACK = re.compile(
    r"\b(?:i|we) (?:(?:really|just|also|still) )?(?:need(?: to \w+)?|forg[eo]t|(?:can(?:no|['’])t|don['’]t) "
    r"(?:find|remember|recall|know)) (?:(?:me|him|her|them|my \w+) )?(?:the|my|our|that|this)\b|"
    r"\bhelp(?: me)?(?: out)?\W*$",
    re.IGNORECASE,
)
_MAY_ASK = re.compile(
    r"\b(?:wh(?:at|ich|om?|ose|ere|en|y)|how|any|or|please|pls|plz|remind me|tell me|is (?:that|this|it)"
    r"|(?:can|could|should|shall|do|did|am|may|will|would) i)\b",
    re.IGNORECASE,
)
# Every match of `_MAY_ASK` has one of these words, or begins with one of these pairs.
_ASKING_WORDS = word_set("what which who whom whose where when why how any or please pls plz")
_ASKING_PAIRS = frozenset(
    [("remind", "me"), ("tell", "me"), *product(("is",), ("that", "this", "it"))]
    + [(verb, "i") for verb in "can could should shall do did am may will would".split()]
)
_NOUN_PLEASE = re.compile(r"(?!no\b|not\b)(?:[\w'’-]+ ){0,8}[\w'’-]+,? (?:please|pls|plz)\W*", re.IGNORECASE)
# "Name the thing", "Book me a flight": verbs whose past has another form, as "Read a book" may mean "I read a book".
_ASKS_TO_DO = re.compile(
    r"(?:name|book|plan|order|repeat|compose|search|recall|spell|guess|count|choose|prepare|schedule|summon|solve|answer|"
    r"bring|do) (?:me|us|it|this|that|the|a|an|my|our|some|all|one|any|every|for)\b",
    re.IGNORECASE,
)
_LAST_QUESTION_WORD = re.compile(r",? (?:what|which|who|where|when|why|how)$", re.IGNORECASE)
_ONLY_WHEN = re.compile(r"(?:before|after|while|until|once|as soon as) (?:you|we|i)\b[^,]*$", re.IGNORECASE)
# A word without which there is hardly a clause: a pronoun as subject, an auxiliary, a past tense.
_CLAUSE_WORD = compile_pattern("clause_word", re.IGNORECASE)
_ONLY_TOPIC = re.compile(
    r"(?:for|about|regarding|concerning|on|in|at|with|to|as|the|this|that|these|those|my|our|his|her|their"
    r"|quick one)\b",
    re.IGNORECASE,
)
