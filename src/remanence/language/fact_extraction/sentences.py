"""A turn split into sentences: which state something, which ask, request or are small talk.

Sentences without a subject are completed: "Meeting at 3pm with Bob" becomes "I have a meeting at 3pm with Bob".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from remanence.language.fact_extraction.embedded_statements import (
    Presupposition,
    find_presuppositions,
    without_introduction,
)
from remanence.language.lexicon.languages import ENGLISH, language_of
from remanence.language.lexicon.verb_forms import conjugate
from remanence.language.lexicon.word_lists import (
    FIRST_NAMES,
    ORGANIZATIONS,
    PLACES,
    PRODUCTS,
    PROPER_ADJECTIVES,
    compile_pattern,
    is_common_word,
    load_pattern,
    load_words,
    word_set,
)
from remanence.language.text import split_sentences, split_words

MAX_TURN_CHARS = 100_000  # a longer turn is a book, not talk; the rest is not read
MAX_SENTENCE_CHARS = 600  # a longer sentence is a table or a text without full stops

STATUS_PATTERN = load_pattern("status")
"""A property of a person, in one word."""

TIME_PHRASE_PATTERN = load_pattern("time_phrases")
"""Words for a time that is, or may be, in the future."""


class Sentence(NamedTuple):
    """A sentence without its openers ("Well, actually, …"), and what the openers mean."""

    text: str
    is_correction: bool = False
    remember_requested: bool = False
    """Whether the speaker asks to remember it."""
    is_answer: bool = False
    """Whether it was made of a question and a short answer."""
    presupposed_of: str = ""
    """The person about whom other sentences take it for granted; it is of use where nothing else is told of them."""


def informative_sentences(text: str, *, to_assistant: bool = False, with_short: bool = False) -> Iterator[Sentence]:
    """The sentences of a turn that state something; questions, requests and small talk are excluded.

    In a turn addressed `to_assistant` a lasting wish counts too: "Always answer in French". A sentence of one or two
    words counts only `with_short`: "Dad's home!"

    >>> [one.text for one in informative_sentences("Hi Bob! How are you? Well, actually, I live in St. Ives. Thanks!")]
    ['I live in St. Ives.']
    """
    prose = _DENIED_AFTER.sub(" NOT", _CODE.sub("\n", text[:MAX_TURN_CHARS]))
    if '"' in prose or "“" in prose:
        prose = _QUOTED_PASSAGE.sub("…", prose)
    presupposed: list[Presupposition] = []
    for line in split_sentences(prose):
        unbulleted, remember_requested = without_introduction(_BULLET.sub("", line))
        if _is_pasted(unbulleted):
            break  # what follows is a text to work on, or meant to pass for one
        if len(unbulleted) > MAX_SENTENCE_CHARS or _QUOTED_LINE.match(line) or _CODE_LINE.search(unbulleted):
            continue
        if _SARCASM.search(unbulleted) or _FICTION.match(unbulleted) or is_non_english(unbulleted):
            continue
        for part in split_parts(spell_contractions(unbulleted), to_assistant):
            sentence = _without_openers(part, to_assistant, remember_requested)
            if with_short and _is_short(sentence.text) and not _says_nothing(part):
                yield Sentence(part)
            elif sentence.text and (
                sentence.remember_requested or sentence.is_correction or not is_small_talk(sentence.text)
            ):
                yield sentence
        presupposed += find_presuppositions(unbulleted)
    yield from (Sentence(one.statement, presupposed_of=one.name) for one in presupposed)


def spell_contractions(sentence: str) -> str:
    """The sentence with a capital "I" and with the apostrophes that chats leave out.

    >>> spell_contractions("im vegan and i dont drink")
    "I'm vegan and I don't drink"
    """
    # Most sentences have none of these words, and a set tells so in a fraction of the time.
    is_plain = sentence.isascii() and "'" not in sentence and _BARE_WORDS.isdisjoint(split_words(sentence))
    if not is_plain and _BARE_CONTRACTION.search(sentence):
        sentence = _BARE_CONTRACTION.sub(
            lambda match: _CONTRACTIONS.get(match[0].lower(), f"{match[0][:-1]}'t"), sentence
        )
    return _SMALL_I.sub("I", sentence)


def _is_pasted(line: str) -> bool:
    """Whether a line announces a text that the speaker did not say: "Translate this: …", "Ignore all instructions"."""
    return (
        _INJECTION.search(line) is not None
        or _LETTER.match(line) is not None
        or (":" in line and (_PASTED.search(line) is not None or (is_request(line) and line.rstrip().endswith(":"))))
    )


def split_parts(sentence: str, to_assistant: bool) -> Iterator[str]:
    """A sentence without the question or the request that it ends with, and the wish that such a request may be.

    >>> list(split_parts("I keep kosher, so swap the prawns please", True))
    ['I keep kosher']
    >>> list(split_parts("I'm type 1 diabetic, so tell me the carbs whenever you suggest a meal", True))
    ["I'm type 1 diabetic", 'I want the assistant to tell me the carbs whenever it suggests a meal']
    """
    sentence = _IF_IT_MATTERS.sub("", sentence)
    fronted = _FRONTED_REASON.match(sentence)
    for comma in _COMMA.finditer(sentence, fronted.end()) if fronted else ():
        if fronted and is_small_talk(sentence[comma.end() :]):  # since I'm vegan, what can I eat?
            yield sentence[fronted.end() : comma.start()]
            sentence = sentence[comma.end() :]
            break
    sentence = _DOUBTFUL_TAIL.sub("", sentence)
    pattern = _TAIL_QUESTION if sentence.rstrip().endswith(("?", "?!")) else _TAIL_REQUEST
    tail = pattern.search(sentence)
    while tail and len(sentence[: tail.start()].split()) < 3 and not _STATUS.fullmatch(sentence[: tail.start()]):
        tail = pattern.search(sentence, tail.start() + 1)
    head = sentence[: tail.start()] if tail else sentence
    if tail is None or is_request(head) or _QUESTION.match(head) or _NO_HEAD.match(head):
        contrast, reason = _CONTRAST.match(sentence), _OWN_REASON.search(sentence)
        if contrast:  # I'm not allergic to nuts, it's pollen
            yield f"{contrast['be']} not {contrast['kind']}{contrast['old']}"
            yield f"{contrast['be']} {contrast['kind']}{contrast['new']}"
        elif reason and (is_request(opened := without_opener(sentence)) or _QUESTION.match(opened)):
            # keep it eggless, I've been vegan for years
            if to_assistant and _LASTING.search(sentence, 0, reason.start()):
                yield sentence[: reason.start()]
            if not _ASKED_WORD.search(sentence, reason.end()):  # When I was in Rome, I met whom?
                yield sentence[reason.end() :].rstrip("? ")
        else:
            yield sentence
        return
    yield head
    if to_assistant and _GIVEN_ADDRESS.match(tail["request"] or ""):
        yield tail["request"]
    elif to_assistant and tail["request"] and _LASTING.search(tail["request"]):
        yield f"I want the assistant to {_YOU.sub(_as_assistant, _AGREED.sub('', tail['request']))}"


def _as_assistant(you: re.Match[str]) -> str:
    """ "You suggest" as said of the assistant."""
    return f"it {conjugate(you[1])}" if you[1] else "it"


def is_question(sentence: str) -> bool:
    """Whether it is a question, with a question mark or without.

    >>> is_question("Do you know Bob"), is_question("Where is it?!"), is_question("I know Bob.")
    (True, True, False)
    """
    return "?" in sentence[-4:] or _QUESTION.match(sentence) is not None


def is_request(sentence: str) -> bool:
    """Whether it asks to do something: "Please write a poem", "Tell me about it".

    >>> is_request("Help me plan a trip."), is_request("I help people plan trips.")
    (True, False)
    """
    return _REQUEST.match(sentence) is not None


def is_hypothetical(sentence: str) -> bool:
    """Whether it is a wish, a supposition or a doubt, not a statement."""
    return _HYPOTHETICAL.search(_RATHER.sub("", sentence)) is not None


def is_boilerplate(sentence: str) -> bool:
    """Whether a sentence of an assistant does not say what the assistant did."""
    return _ASSISTANT_ACTION.match(sentence) is None


def is_non_english(sentence: str) -> bool:
    """Whether a sentence has at least as many short words of another language as of English, or is in another language
    by its other words.

    The rules read English. In Italian, "I miei genitori" does not begin with the first person, nor does "I morgon" in
    Swedish.

    >>> is_non_english("I miei genitori vivono a Milano."), is_non_english("I ate tacos al pastor in Los Angeles.")
    (True, False)
    >>> is_non_english("I morgon kommer snickaren."), is_non_english("I adore gnocchi.")
    (True, False)
    """
    words = _LETTERS.findall(sentence)
    foreign = sum(word in _FOREIGN_WORDS for word in words)  # with its capitals: Las Vegas is a name
    if not foreign:
        return _is_in_another_language(sentence, words)
    foreign += words[0].lower() in _FOREIGN_WORDS and words[0] not in _FOREIGN_WORDS
    return foreign >= sum(word in _ENGLISH_WORDS for word in words)


def _is_in_another_language(sentence: str, words: Sequence[str]) -> bool:
    """Whether a sentence of several words, which has no short word of English after the first, is in another language:
    the second word is none of English, and neither are most of the others."""
    plain = [word for word in words[1:] if word.islower()]
    if len(plain) < 3 or not _ENGLISH_WORDS.isdisjoint(words[1:]):
        return False
    known = [word in _PAST_FORMS or is_common_word(word) for word in plain]
    return not known[0] and 2 * sum(known) < len(plain) and language_of(sentence) != ENGLISH


def complete_sentence(sentence: str, *, to_assistant: bool = False) -> str:
    """The sentence with the "I" or the "I have" that it omits; a lasting wish becomes a statement.

    >>> complete_sentence("Went hiking yesterday.")
    'I went hiking yesterday.'
    >>> complete_sentence("Dentist appointment tomorrow at 9am.")
    'I have a dentist appointment tomorrow at 9am.'
    >>> complete_sentence("Call me Ben."), complete_sentence("Remind me to call Bob.", to_assistant=True)
    ('I am called Ben.', 'I want to be reminded to call Bob.')
    """
    first, _, rest = sentence.partition(" ")
    if (first.title() in _SUBJECTLESS_VERBS or _PAST_FIRST.match(sentence)) and rest and not _OBJECT.match(rest):
        return f"I {first.lower()} {rest}"
    for pattern, statement in _FRAGMENTS:
        fragment = pattern.match(sentence)
        if fragment and rest:
            return statement.format(first.lower()) + sentence[len(first) :]
    choice = _CHOICE.fullmatch(sentence)
    if choice:
        return f"I go for {choice[1][:1].lower()}{choice[1][1:]} now"
    several = _OF_US.match(sentence)
    if several:
        return f"We are {several[1]}{sentence[several.end() :]}"
    newest = _NEW_VALUE.match(sentence)
    if newest:
        noun = newest[1].lower()
        return f"My {'phone number' if noun == 'number' else noun} is {sentence[newest.end() :]}"
    arrival = _ARRIVAL.match(sentence)
    if arrival:
        return f"I now have a {arrival['ordinal'].lower()} {arrival['noun']}"
    nickname = _CALL_ME.match(sentence)
    if nickname:
        return f"I am called {sentence[nickname.end() :]}"
    if to_assistant:
        wish = _wish(sentence)
        if wish:
            return wish
    event = _EVENT.match(sentence)
    if event and _TIME.search(sentence, event.end()) and not _FINITE_VERB.search(sentence):
        proper = first.lower() in _PROPER_WORDS or not first[1:].islower()  # French lesson, IT training
        phrase = sentence if proper else first.lower() + sentence[len(first) :]
        article = "" if event["noun"].lower() in _UNCOUNTED_EVENTS else "an " if phrase[0].lower() in "aeiou" else "a "
        return f"I have {article}{phrase}"
    return sentence


def _wish(sentence: str) -> str | None:
    """How the assistant is to answer from now on, as a statement; None if it is asked for only once.

    >>> _wish("I'd rather you didn't use emojis with me")
    'I want the assistant to not use emojis with me'
    >>> _wish("Show me the code first when I ask about an error."), _wish("Show me the code.")
    ('I want the assistant to show me the code first when I ask about an error.', None)
    """
    address = _GIVEN_ADDRESS.match(sentence)
    if address:
        return f"My email is {address['address']}"
    for pattern, statement in _WISHES:
        wish = pattern.match(sentence)
        if wish:
            return statement + _YOU.sub(_as_assistant, sentence[wish.end() :])
    request = _POLITE.sub("", sentence)
    if _REQUEST.match(request) and _LASTING.search(request) and not _NO_WISH.match(request):
        return f"I want the assistant to {_YOU.sub(_as_assistant, request[:1].lower() + request[1:])}"
    return None


def is_small_talk(sentence: str) -> bool:
    """Whether it states nothing: it asks, requests, greets, thanks, praises or agrees."""
    return _says_nothing(sentence) or (_is_short(sentence) and not _STATUS.match(sentence))


def _says_nothing(sentence: str) -> bool:
    return is_question(sentence) or is_request(sentence) or _SMALL_TALK.match(sentence) is not None


def _is_short(sentence: str) -> bool:
    return len(sentence.split()) < 3


def without_opener(sentence: str) -> str:
    """The sentence without its first opener. Only the beginning is read: looking for openers everywhere took a third of
    the time of adding a memory."""
    opener = _OPENERS.match(sentence)
    return sentence if opener is None else sentence[opener.end() :]


def _without_openers(sentence: str, to_assistant: bool, remember_requested: bool) -> Sentence:
    text, is_correction = _RETRACTED.sub(r"\g<who>\g<rest>", sentence), False
    for _ in range(4):
        opener = _REMEMBER.match(text)
        if opener:
            remember_requested = True
        else:
            opener = _CORRECTION.match(text)
            if opener:
                is_correction = True
            else:
                opener = _OPENERS.match(text)
        if opener is None:
            break
        text = text[opener.end() :]
    return Sentence(complete_sentence(text, to_assistant=to_assistant), is_correction, remember_requested)


_FOREIGN_WORDS = load_words("foreign_words")
_PAST_FORMS = load_words("irregular_past")
_ENGLISH_WORDS = load_words("english_words")
# A part of eu-west-1 or acme.io is no word.
_LETTERS = re.compile(r"(?<![\w.@/-])[^\W\d_]+(?:['’][^\W\d_]+)?(?![\w@/-]|\.\w)")
_STATUS = compile_pattern("own_status")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINE = compile_pattern("code_line")
_BULLET = re.compile(r"^\s*(?:[-*•]+|\d{1,2}[.)])\s+")
# Whether the passage ends with a closing quote is looked up once, not after each of its sentences.
_QUOTED_PASSAGE = re.compile(r"(?<!\w)[\"“](?=\S)(?=[^\"“”]*(?:[\"”]|\Z))[^\"“”]{10,}?[.!?…]\s[^\"“”]{2,}(?:[\"”]|\Z)")
_QUOTED_LINE = re.compile(r"\s*(?:>|[\"“][^\"”]{20,}[\"”]?\W*(?:$|[-–—(]|(?:wrote|writes|said|says|by)\b))")
_INJECTION = compile_pattern("injection", re.IGNORECASE)
_LETTER = compile_pattern("letter", re.IGNORECASE)
_PASTED = compile_pattern("pasted", re.IGNORECASE)
_FICTION = compile_pattern("fiction", re.IGNORECASE)
_CONTRACTIONS = {"im": "I'm", "ive": "I've", "hes": "he's", "shes": "she's", "theyre": "they're", "weve": "we've"}
_CONTRACTIONS |= {f"{word}s": f"{word}'s" for word in ("what", "who", "where", "when", "how")}
_BARE_WORDS = frozenset(_CONTRACTIONS) | {
    f"{verb}nt" for verb in "do does did is are was were has have had ca wo could should would".split()
}
_BARE_CONTRACTION = re.compile(rf"\b(?:{'|'.join(sorted(_BARE_WORDS))})\b(?!['’])", re.IGNORECASE)
# What comes before is looked at last: a pattern that begins with a letter is searched for several times faster.
_SMALL_I = re.compile(r"i(?=['’](?:m|ve|ll|d)\b| [a-z])(?<![\w.'’-]i)")
_DENIED_AFTER = re.compile(r"(?:(?<!\.)\.{2,}|…)\s*(?:NOT|not)(?=[.!]*(?:\n|$))")
_SARCASM = compile_pattern("sarcasm")
_TAIL_QUESTION = compile_pattern("tail_question", re.IGNORECASE)
_TAIL_REQUEST = compile_pattern("tail_request", re.IGNORECASE)
_IF_IT_MATTERS = compile_pattern("if_it_matters", re.IGNORECASE)
_DOUBTFUL_TAIL = compile_pattern("doubtful_tail", re.IGNORECASE)
_YOU = re.compile(r"\byou(?: ([a-z]+))?\b", re.IGNORECASE)
_CONTRAST = compile_pattern("contrast", re.IGNORECASE)
_NO_HEAD = compile_pattern("no_statement_head", re.IGNORECASE)
_LASTING = compile_pattern("lasting_request", re.IGNORECASE)
_AGREED = re.compile(r",? (?:ok(?:ay)?|please|thanks|right|yeah)\W*$|\W+$", re.IGNORECASE)
_OPENERS = compile_pattern("opener", re.IGNORECASE)  # only where something follows
_RETRACTED = compile_pattern(
    "retracted"
)  # "I told you Ana was in Rome, that's wrong, she's in Pisa" is "Ana's in Pisa"
_CORRECTION = compile_pattern("correction_opener", re.IGNORECASE)
_REMEMBER = compile_pattern("remember", re.IGNORECASE)
_QUESTION = re.compile(load_pattern("questions"), re.IGNORECASE)
_REQUEST = re.compile(rf"(?:{load_pattern('requests')})\b(?! (?:is|are|was|were|has|had)\b)", re.IGNORECASE)
_SMALL_TALK = re.compile(load_pattern("small_talk"), re.IGNORECASE)
_HYPOTHETICAL = compile_pattern("hypothetical", re.IGNORECASE)
_RATHER = re.compile(r"(?:\bwould|['’]d) rather\b(?=.* than )")
_ASSISTANT_ACTION = compile_pattern("assistant_action")
_SUBJECTLESS_VERBS = load_words("subjectless_verbs")
_PROPER_WORDS = FIRST_NAMES | PROPER_ADJECTIVES | ORGANIZATIONS | PLACES | PRODUCTS
_UNCOUNTED_EVENTS = word_set("lunch dinner breakfast brunch training practice surgery")
_OBJECT = re.compile(r"(?:me|us|it)\b|(?:that|this|you|them)(?:[.,!]|$)")
_PAST_FIRST = compile_pattern("past_first", re.IGNORECASE)
_CHOICE = re.compile(
    r"((?!(?:oh|so|what|how|as|like|that|this|the way)\b)[\w-]+(?: [\w-]+){0,2}) it is(?: then| now)?[.!]*",
    re.IGNORECASE,
)
_GIVEN_ADDRESS = compile_pattern("given_address", re.IGNORECASE)
_OF_US = re.compile(r"there(?:['’]s| are) ((?:\w+) of us)\b", re.IGNORECASE)
_NEW_VALUE = re.compile(
    r"(?:my |our )?new (number|phone number|address|email|phone|boss|manager|name|surname|car|job)(?: is|['’]s|:) ",
    re.IGNORECASE,
)
_ARRIVAL = compile_pattern("arrival", re.IGNORECASE)
_CALL_ME = compile_pattern("call_me", re.IGNORECASE)
_OWN_REASON = compile_pattern("own_reason", re.IGNORECASE)
_COMMA = re.compile(r", ")
_ASKED_WORD = re.compile(r"\b(?:who|whom|whose|what|which|where|why|how)\b.*\?", re.IGNORECASE)
_FRONTED_REASON = compile_pattern("fronted_reason", re.IGNORECASE)
_POLITE = re.compile(r"^(?:(?:please|pls|kindly|and|also|can you|could you|so)\b,? )+", re.IGNORECASE)
_NO_WISH = re.compile(r"(?:let|look|stay|enjoy|take|feel|imagine|pretend|think|consider|remind|call)\b", re.IGNORECASE)
_ANSWER_VERB = rf"(?=(?:{load_pattern('answer_verbs')})\b)"
_FROM_NOW = r"(?:please )?(?:from now on,? |in (?:the )?future,? )(?:please )?"
_NEVER = rf"(?:{_FROM_NOW}don['’]t (?:ever )?|(?:please )?never |(?:please )?don['’]t ever ){_ANSWER_VERB}"
_ALWAYS = rf"(?:{_FROM_NOW}(?:always )?|(?:please )?always ){_ANSWER_VERB}"
_WISHES = (
    (re.compile(r"(?:please |pls )?remind me to ", re.IGNORECASE), "I want to be reminded to "),
    (re.compile(_NEVER, re.IGNORECASE), "I want the assistant to never "),
    (compile_pattern("rather_not", re.IGNORECASE), "I want the assistant to not "),
    (compile_pattern("rather_do", re.IGNORECASE), "I want the assistant to "),
    (re.compile(_ALWAYS, re.IGNORECASE), "I want the assistant to always "),
)
_FRAGMENTS = (  # each with the words that stand before its first word
    (compile_pattern("ordinal_fragment", re.IGNORECASE), "I am in my {}"),
    (compile_pattern("duration_fragment", re.IGNORECASE), "I have had {}"),
    (compile_pattern("participle_fragment", re.IGNORECASE), "I have {}"),
    (compile_pattern("state_fragment", re.IGNORECASE), "I am {}"),
    (compile_pattern("passive_fragment", re.IGNORECASE), "I was {}"),
    (compile_pattern("being_fragment", re.IGNORECASE), "I am {}"),
    (compile_pattern("negated_fragment", re.IGNORECASE), "I {}"),
    (compile_pattern("wish_fragment", re.IGNORECASE), "I want {}"),
)
_EVENT = compile_pattern("event_phrase", re.IGNORECASE)
_TIME = re.compile(rf"\b(?:{TIME_PHRASE_PATTERN})", re.IGNORECASE)
_FINITE_VERB = re.compile(rf"\b(?:{load_pattern('finite_verbs')})\b|['’](?:s|m|re|ll|ve|d) ", re.IGNORECASE)
