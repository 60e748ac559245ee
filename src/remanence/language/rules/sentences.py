"""A turn of talk, cut into sentences, and what a sentence is for: to tell, to ask, or to be polite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from remanence.language.rules.ellipsis import complete_sentence
from remanence.language.rules.language_detection import is_non_english
from remanence.language.rules.lexicon import MONTH_PATTERN, PROPER_ADJECTIVES
from remanence.language.text import split_sentences

LONGEST = 100_000  # characters of one turn that are read: beyond is a book, not talk

LONGEST_SENTENCE = 600  # characters: beyond is a table or a text without stops, not something somebody tells


class Sentence(NamedTuple):
    """A sentence without its openers ("Well, actually, …"), and what they said of it."""

    text: str
    is_correction: bool = False
    remember_requested: bool = False
    """Whether the speaker asked to remember it."""


def informative_sentences(text: str, *, to_assistant: bool = False) -> Iterator[Sentence]:
    """The sentences of a turn that tell something; questions, requests and small talk are left out.

    What is said `to_assistant` may wish for something that lasts: "Always answer in French".

    >>> [one.text for one in informative_sentences("Hi Bob! How are you? Well, actually, I live in St. Ives. Thanks!")]
    ['I live in St. Ives.']
    """
    for line in split_sentences(_CODE.sub("\n", text[:LONGEST])):
        written = _BULLET.sub("", line)
        if len(written) > LONGEST_SENTENCE or is_non_english(written):
            continue
        sentence = _opened(written, to_assistant)
        if sentence.text and (
            sentence.remember_requested or sentence.is_correction or not is_small_talk(sentence.text)
        ):
            yield sentence


def is_question(sentence: str) -> bool:
    """Whether it asks, with or without its mark.

    >>> is_question("Do you know Bob"), is_question("Where is it?!"), is_question("I know Bob.")
    (True, True, False)
    """
    return "?" in sentence[-4:] or _ASKS.match(sentence) is not None


def is_request(sentence: str) -> bool:
    """Whether it wants something done: "Please write a poem", "Tell me about it".

    >>> is_request("Help me plan a trip."), is_request("I help people plan trips.")
    (True, False)
    """
    return _REQUESTS.match(sentence) is not None


def is_small_talk(sentence: str) -> bool:
    """Whether it tells nothing: it asks, requests, greets, thanks, praises or agrees.

    >>> is_small_talk("I'm so happy for you!"), is_small_talk("I moved to Porto.")
    (True, False)
    """
    return (
        is_question(sentence)
        or is_request(sentence)
        or _POLITE.match(sentence) is not None
        or (len(sentence.split()) < 3 and not _STATUS.match(sentence))
    )


STATUS_PATTERN = (
    r"vegetarian|vegan|pescatarian|pregnant|diabetic|celiac|coeliac|single|married|divorced|widowed"
    r"|engaged|retired"
    r"|unemployed|self-employed|deaf|blind|colou?r-?blind|left-handed|autistic|dyslexic|gay|lesbian"
    r"|bisexual|trans"
    r"|an? (?:vegetarian|vegan)"
)
"""What somebody is, said in one word."""


def is_hypothetical(sentence: str) -> bool:
    """Whether it wishes, supposes or doubts rather than tells."""
    return _UNREAL.search(_RATHER.sub("", sentence)) is not None


def is_boilerplate(sentence: str) -> bool:
    """Whether an assistant says it for its own sake rather than about what it did."""
    return _DID.match(sentence) is None


_STATUS = re.compile(
    rf"(?:I['’]m|I am) (?:(?:{STATUS_PATTERN}|{'|'.join(sorted(map(str.title, PROPER_ADJECTIVES)))})\b"
    r"|[A-Z][a-z]+[.!]?$"
    r"|\d{1,3}[.!]?$)"
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*•>]+|\d{1,2}[.)])\s+")
_OPENERS = re.compile(
    r"(?:(?:well|oh|so|ok|okay|yeah|yes|yep|yup|no|nah|hey|hi|hello|hmm|um|uh|ah|wow|haha+|lol|anyway"
    r"|anyways|btw|by the way"
    r"|also|and|but|honestly|to be honest|tbh|luckily|unfortunately|fortunately|basically|finally|sure"
    r"|thanks|thank you"
    r"|of course|absolutely|definitely|exactly|right|great|cool|nice|plus|you know|i mean|fyi"
    r"|for the record|for your"
    r" information)(?:,|\s*[-–—:]|\.\.\.|…)?\s+(?:[A-Z][a-z]+[,!]\s+)?)+?(?=[A-Za-z\"'‘“])",
    re.IGNORECASE,
)
_OPENER_COMMA = re.compile(r"[,:–—…-]|\.\.\.")
_CORRECTS = re.compile(
    r"(?:(?:sorry|oops|no|wait|no wait|hold on),? )*(?:actually|no,? wait|wait,? no|correction"
    r"|i meant(?: to say)?|my mistake"
    r"|scratch that"
    r"|let me correct (?:that|myself)|i misspoke|i made a mistake|sorry,? (?=it['’]s|it is"
    r"|i meant)|(?:sorry,?|make (?:that|it))"
    rf"(?= (?:(?:on|in|at|the) )*(?:\d|(?:{MONTH_PATTERN})\b|\w+day\b)))[,:.;]?\s+",
    re.IGNORECASE,
)
_MARKED = re.compile(
    r"(?:please |pls |and )?(?:(?:remember|note|keep in mind|don['’]t forget|do not forget|make a note"
    r"|bear in mind"
    r"|save this|remember this|important|for future reference)(?: that\b|:|,)?)\s+(?!to\b|when\b|how\b"
    r"|the time\b|me\b)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:do|does|did|is|are|was|were|have|has|can|could|would|will|should|shall|may|might|am|don['’]t"
    r"|isn['’]t|aren['’]t)"
    r" (?:you|i|we|he|she|it|they|there|this|that|the|my|your)\b"
    r"|(?:what|where|when|why|who|whom|whose|which|how)(?:['’]s|['’]re)? (?!a\b|an\b"
    r"|much fun\b)[a-z]+ ?(?:.*\bdo you\b|.*\?)"
    r"|(?:any (?:idea|chance|plans|tips|suggestions|recommendations)|what about|how about|how come)\b",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"(?:please|pls|kindly|let['’]s|let me|let us|tell|give|show|help|write|explain|describe|summari[sz]e"
    r"|list|create"
    r"|generate|suggest|recommend|find|make|translate|compare|check|look|remind|keep|stay|enjoy|take care"
    r"|take it|send"
    r"|call me|feel free|don['’]t (?:worry|forget|hesitate)|try|think|imagine|consider|act as|pretend"
    r"|rewrite|provide|draft|edit|fix|calculate|convert)\b"
    r"(?! (?:is|are|was|were|has|had)\b)",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"(?:thank(?:s| you)|hi\b|hey\b|hello\b|bye\b|good(?:bye| morning| night| evening| afternoon| luck"
    r"| job| for you| idea)"
    r"|congrat|happy (?:birthday|new year|holidays)|welcome|you['’]re welcome|no problem|no worries"
    r"|my pleasure|see you"
    r"|talk (?:to you )?(?:soon|later)|take care|have (?:a|an|fun)\b|same here|me too|i agree|sounds?\b"
    r"|looks?\b"
    r"|that(?:['’]s| is| was| sounds| would| must| really)|this (?:is|was|sounds|looks)|it(?:['’]s| is"
    r"| was) (?:so|such|been|great"
    r"|nice|good|awesome|amazing|important|always|true|ok|okay|fine|all|not|a pleasure|really|pretty|kind"
    r"|like|hard|never)"
    r"|what a |how (?:nice|cool|great|exciting|lovely|wonderful|awful|sad)|wow|awesome|amazing|cool|great"
    r"|nice|glad|wonderful"
    r"|lovely|oh no|aww?|yay|haha|lol|omg|of course|sure\b|exactly|absolutely|definitely|totally|true\b"
    r"|right\b|ok(?:ay)?\b"
    r"|got it|i see\b|i know\b|i guess|i get (?:it|that|you)|i understand|i hear you|i hope|i wish"
    r"|i can['’]t wait"
    r"|i can['’]t believe|i can(?:not|['’]t) imagine|i bet|i appreciate|i(?:['’]m| am| feel| was) (?:so "
    r"|really |very |super |just |also |always |all |too |pretty |truly )*"
    r"(?:glad|happy|sorry|sure|good|fine|great|ok|okay|excited|curious|ears|here for|proud of you|jealous"
    r"|impressed|thrilled"
    r"|looking forward|lucky|grateful|thankful|honou?red|doing|wondering|not sure|with you|hoping|afraid"
    r"|down\b|in\b(?! [a-z]*\b[A-Z]))"
    r"|i(?:['’]d| would) (?:love|like) to (?:hear|know|see|help)|i['’]ll (?:let you|keep|try|check|think"
    r"|be there|see|do|definitely)"
    r"|i don['’]t (?:know|think so|mind)|i think (?:so|it|that['’]s|you|this|that would|we should)"
    r"|i need (?:help|you|some help|your)\b"
    r"|i want you|i love (?:it|that|this|you|how|your)\b|i like (?:it|that|this|how|your)\b|you(?:['’]re"
    r"| are| have|['’]ve| can|['’]ll| will| should| know| did| must)"
    r"|we should|one (?:moment|second)|as an ai|certainly|here (?:is|are)|hope )",
    re.IGNORECASE,
)
_UNREAL = re.compile(
    r"\b(?:if|unless|whether|would|could|might|maybe|perhaps|wish|imagine|suppose|pretend|probably"
    r"|possibly|hopefully"
    r"|supposedly|apparently|dreamed|dreamt|guess)\b|\w['’]d (?:love|like|rather|be|go|have)\b",
    re.IGNORECASE,
)
_RATHER = re.compile(r"(?:\bwould|['’]d) rather\b(?=.* than )")
_DID = re.compile(
    r"I(?:['’]ve| have)?(?: just| now| already)? (?:booked|scheduled|ordered|reserved|sent|created|added"
    r"|cancell?ed|saved"
    r"|moved|updated|set|bought|purchased|submitted|filed|deleted|emailed)\b"
)


def _opened(written: str, to_assistant: bool) -> Sentence:
    """The sentence behind its openers. An opener counts only where it is set off or nothing is lost."""
    text, corrects, marked = written, False, False
    for _ in range(4):
        begun = _MARKED.match(text)
        if begun:
            text, marked = text[begun.end() :], True
            continue
        begun = _CORRECTS.match(text)
        if begun:
            text, corrects = text[begun.end() :], True
            continue
        begun = _OPENERS.match(text)
        if begun is None:
            break
        text = text[begun.end() :]
    return Sentence(complete_sentence(text, to_assistant=to_assistant), corrects, marked)
