"""What the words of a chat message or a question say about it, in microseconds: whether a good answer needs what is
remembered about the speaker, whether the message itself tells something to remember, and whether a question refers to
the turns before it.

The files of `message_weights` have a weight for each word and each pair of neighbouring words, learned by
training/message_words.py from messages and questions that people labelled. What a message only quotes ("translate:
...") does not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from remanence.schema import EPOCH
from remanence.text.lexicon.word_lists import compile_pattern
from remanence.text.temporal import find_stated_times
from remanence.text.text import MAX_PASSAGE, split_sentences, tokens

if TYPE_CHECKING:
    from remanence.ports import Vector

CONSTANT = "<constant>"
_MAX_LENGTH = 4_000
"""Characters of a message that are read: the purpose of a long one shows early."""
# In quotation marks, after "this:", or long after a colon: but not "I'm at the doctor's: what am I allergic to?"
_QUOTATION = re.compile(
    r"[\"“”«»`][^\"“”«»`]*[\"“”«»`]|(?<!\w)['‘][^'‘’]+['’](?!\w)|\bthis(?: \w+)?:\s.+\Z|"
    r":\s(?!(?:wh\w+|how|any|do|does|did|is|are|am|can|could|should|was|were)\b[^.!?]*\?\s*\Z).{25,}\Z",
    re.DOTALL | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|\.{2,}|[?!,;:.]")
_NAME = re.compile(r"[a-z,] [A-Z][a-z]+")
_GREETING = compile_pattern("message_greeting", re.IGNORECASE)


@lru_cache(500)
def need_of_memory(message: str) -> float:
    """The probability that a good answer needs the memories of the speaker, by the words and the vector of a message.

    >>> need_of_memory("What did I say about the landlord?") > 0.9, need_of_memory("What is 2 + 2?") < 0.2
    (True, True)
    """
    from remanence.models.embedders import sentence_embedder  # here, as it takes long to load

    vector = sentence_embedder().embed_query(message[:_MAX_LENGTH])
    weights = _vector_weights("need_of_memory")
    return _sigmoid("need_of_memory", message_features(message), float(vector @ weights[:-1] + weights[-1]))


def tells_probability(message: str, before: str = "") -> float:
    """The probability that a message tells something worth remembering: it does not only ask, request or chat.

    Args:
        before: The turn before it, if there is one: "the second one" tells something after a question.

    >>> tells_probability("That locker code has gone clean out of my head.") < 0.2
    True
    >>> tells_probability("Guess who is a grandmother? Nina had the baby on Friday!") > 0.9
    True
    """
    return _sigmoid("tells", turn_features(message, before))


_MIN_TELLING, _MIN_TELLING_CLAUSE = 0.2, 0.5
"""The probability, by its words, that a sentence tells something, from which on it counts as telling; and the same for
one with a question mark and for each clause: more probable than not. Fitted on ../shared/chats, and on how much of the
evidence of public sets only asks then: 1% in LoCoMo and LongMemEval, 6% in BEAM."""
_CLAUSE_END = re.compile(r"[,;:–—]\s")


@lru_cache(4_000)
def telling_part(turn: str) -> str:
    """What a turn tells: its sentences without those that only ask, request, greet or thank; "" if there is no other.

    >>> telling_part("We moved to Graz in May. Do you know a good dentist there?")
    'We moved to Graz in May.'
    >>> telling_part("It's Monday 3 November. When's my dentist appointment again?")
    ''
    """
    if len(turn) > MAX_PASSAGE:  # it has several passages, and tells something
        return turn
    sentences = list(split_sentences(turn))
    telling = [sentence for sentence in sentences if _tells(sentence)]
    if len(telling) == len(sentences):
        return turn
    return " ".join(s for s in telling if _says_more_than_a_time(s) and not only_greets(s))


def only_greets(text: str) -> bool:
    """Whether a text only greets, thanks or agrees.

    >>> only_greets("Great, thanks a lot!"), only_greets("Thanks, I live in Graz.")
    (True, False)
    """
    return _GREETING.fullmatch(text) is not None


def _tells(sentence: str) -> bool:
    """Whether a sentence, or a clause of it, tells something."""
    least = _MIN_TELLING_CLAUSE if sentence.endswith(("?", "？")) else _MIN_TELLING
    if tells_probability(sentence) >= least:
        return True
    clauses = _CLAUSE_END.split(sentence)
    return len(clauses) > 1 and any(
        # "by the way" tells nothing.
        len(tokens(clause)) >= 3 and tells_probability(clause.strip(" ?")) >= _MIN_TELLING_CLAUSE
        for clause in clauses
    )


def _says_more_than_a_time(sentence: str) -> bool:
    """Whether a sentence has a word beside times and numbers."""
    rest = sentence
    for phrase in find_stated_times(sentence, EPOCH):
        rest = rest.replace(phrase.text, " ")
    return any(word.isalpha() for word in tokens(rest))


def follow_up_probability(question: str) -> float:
    """The probability that a question is understood only with the turns before it.

    >>> follow_up_probability("And what should she avoid?") > 0.8, follow_up_probability("How old is Anya?") < 0.4
    (True, True)
    """
    return _probability(question, "follow_up")


def evidence_words(message: str) -> list[str]:
    """The words of a message that are the strongest evidence for a need of memory.

    >>> evidence_words("Remind me what my sister is called.")[0]
    'my'
    """
    weights = _weights("need_of_memory")
    features = sorted(message_features(message), key=lambda feature: (-weights.get(feature, 0.0), feature))
    return [feature for feature in features[:3] if weights.get(feature, 0.0) > 0 and "<" not in feature]


def message_features(message: str) -> set[str]:
    """The words and pairs of words by which a message is judged.

    >>> sorted(message_features("My dog?"))
    ['<short>', '<start> my', '?', 'dog', 'dog ?', 'my', 'my dog']
    """
    head = message[:_MAX_LENGTH].replace("’", "'")
    own = _QUOTATION.sub(" <quotation> ", head)
    words = _WORD.findall(own.replace("<quotation>", "").lower())
    features: set[str] = set()
    before = "<start>"
    for word in words:
        if word == ".":
            before = "<start>"
            continue
        feature = "<number>" if word.isdigit() else word[:2] if word[0] == "." else word
        features.update((feature, f"{before} {feature}"))
        before = "<start>" if word in "?!" else feature
    if own != head:
        features.add("<quotation>")
    if len(words) < 4:  # the weights were learned with it
        features.add("<short>")
    if _NAME.search(own):
        features.add("<name>")
    return features


def turn_features(message: str, before: str = "") -> set[str]:
    """The features by which a turn is judged: its own, its length, and those of the end of the turn before it.

    >>> sorted(turn_features("Two.", "And how many cats?") - message_features("Two."))[:3]
    ['<answer>', '<words 0>', 'before <start> and']
    """
    features, count = message_features(message), len(message.split())
    features.add(f"<words {min(count, 40) // 4}>")  # the weights were learned with it
    if any(character.isdigit() for character in message):
        features.add("<digits>")
    if not before:
        return features | {"<first>"}
    # The weights were learned with it.
    features |= {f"before {feature}" for feature in message_features(" ".join(before.split()[-12:]))}
    if before.rstrip().endswith("?") and count < 8:  # the weights were learned with it
        features.add("<answer>")
    return features


def without_quotations(message: str) -> str:
    """A message without what it only quotes.

    >>> without_quotations("Say it politely: 'I told Ana on Monday that it is late.'")
    'Say it politely '
    """
    return _QUOTATION.sub(" ", message)


def weights_file(label: str) -> Path:
    """The file with the weights for a label."""
    return Path(__file__).with_name("message_weights") / f"{label}.txt"


def _probability(message: str, label: str) -> float:
    return _sigmoid(label, message_features(message))


def _sigmoid(label: str, features: set[str], log_odds: float = 0.0) -> float:
    """The probability by these features, and by the log odds that something else gives."""
    weights = _weights(label)
    return 1 / (1 + math.exp(-log_odds - weights[CONSTANT] - sum(weights.get(feature, 0.0) for feature in features)))


@cache
def _vector_weights(label: str) -> Vector:
    """The weight of each number of a vector, and last the constant."""
    import numpy as np  # here, as adapters import this module, and it takes long to load

    weights: Vector = np.load(weights_file(label).with_suffix(".npy"))
    return weights


@cache
def _weights(label: str) -> Mapping[str, float]:
    rows = (line.split("\t") for line in weights_file(label).read_text(encoding="utf-8").splitlines())
    return {feature: float(weight) for feature, weight in rows}
