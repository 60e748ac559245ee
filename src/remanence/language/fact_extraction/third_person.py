"""Turns the first person into the third: "I live in Porto with my dog", said by Alice, becomes "Alice lives in
Porto with their dog". Only the pronouns and the verbs after them change."""

from __future__ import annotations

import re

from remanence.language.lexicon.verb_forms import conjugate
from remanence.language.lexicon.word_lists import compile_pattern, load_pattern
from remanence.language.text import upper_first
from remanence.schema import ASSISTANT, SELF

USER_LABEL = "The user"
"""The label of the person who says "I" and has no other name."""
ASSISTANT_LABEL = "The assistant"


def speaker_label(speaker: str | None) -> str:
    """The label of this speaker in a text in the third person.

    >>> speaker_label("Alice"), speaker_label(SELF), speaker_label(None)
    ('Alice', 'The user', 'The user')
    """
    return USER_LABEL if speaker is None or speaker == SELF else ASSISTANT_LABEL if speaker == ASSISTANT else speaker


def to_third_person(sentence: str, speaker: str) -> str:
    """The sentence with its first person called `speaker`. "We" becomes the speaker "and others".

    >>> to_third_person("I'm a nurse and I love my job.", "Alice")
    'Alice is a nurse and Alice loves their job.'
    >>> to_third_person("I love jazz but hate opera.", "Alice")
    'Alice loves jazz but hates opera.'
    >>> to_third_person("My sister told me that we don't listen to my mom.", "Alice")
    "Alice's sister told Alice that Alice and others don't listen to Alice's mom."
    """
    sentence = _OWN_RELATIVE.sub(lambda match: f"My {match[1].lower()}", sentence)
    spelled_out = _CONTRACTED_HAS.sub(" has ", _CONTRACTED_IS.sub(" is ", _RELATIVE_IS.sub(r"\1 \2 is ", sentence)))
    pieces = _QUOTED.split(_PREDICATE_OF_I.sub(_conjugate_further_verbs, spelled_out))
    replacer = _PronounReplacer(speaker)
    for number in range(0, len(pieces), 2):  # quoted text stays as it is
        pieces[number] = replacer.replace(pieces[number])
    text = "".join(pieces)
    starts_small = text[:1].islower() and text[1:2].islower() and not _STARTS_WITH_IDENTIFIER.match(text)
    return upper_first(text) if starts_small and speaker[:1].isupper() else text


_STARTS_WITH_IDENTIFIER = re.compile(r"(?!\w+-in-law\b)\w+[-_./:@]\w|[a-z]+\d")  # billing-api, node7
_QUOTED = re.compile(r"(\"[^\"]*\"|“[^”]*”)")
_CONTRACTED_IS = compile_pattern("contracted_is")
_CONTRACTED_HAS = compile_pattern("contracted_has")
_RELATIVE_IS = compile_pattern("relative_is")  # my husband's deaf
_OWN_RELATIVE = compile_pattern(
    "own_relative_first", re.IGNORECASE
)  # "Mum's 70", "Wife works nights", "The twins are six"
_FIRST_PERSON = compile_pattern("first_person")
_PREDICATE_OF_I = compile_pattern("predicate_of_i")
_NOT_FINITE = compile_pattern("not_finite")  # "I want to cook and play" has one finite verb
_FURTHER_VERB = compile_pattern("further_verb")
_CLAUSE = re.compile(rf"\b(?:{load_pattern('clause_verbs')})\b")
_AUXILIARY_BEFORE = re.compile(rf"\b(?:{load_pattern('auxiliaries')})\s+$", re.IGNORECASE)
_PLURAL = {"re": " are", "ve": " have", "ll": " will", "d": " would"}
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}


class _PronounReplacer:
    """Replaces the pronouns of one sentence, piece by piece."""

    def __init__(self, speaker: str) -> None:
        self.speaker = speaker
        self.is_named = False  # whether the sentence has named the speaker so far
        self.is_subject = False  # and as a subject

    def replace(self, text: str) -> str:
        output = ""
        at = 0
        for match in _FIRST_PERSON.finditer(text):
            output += text[at : match.start()]
            output += self._third_person(match, output)
            at = match.end()
        return output + text[at:]

    def _third_person(self, match: re.Match[str], before: str) -> str:
        starts_sentence = before.rstrip()[-1:] in ("", ".", "!", "?", '"', "“")
        name = self.speaker if starts_sentence else _inside_sentence(self.speaker)
        if match["me"] or match["mine"]:
            return _inside_sentence(self.speaker) + ("'s" if match["mine"] else "")
        if match["us"]:
            return f"{_inside_sentence(self.speaker)} and others"
        if match["self"]:
            return "themselves"
        was_named, self.is_named = self.is_named, True
        if match["my"]:
            noun = match["noun"] or ""
            return f"their{noun}" if was_named and not noun else f"{name}'s{noun}"
        if match["we"]:
            self.is_subject = True
            return f"{name} and others{_PLURAL[match['are'][1:]] if match['are'] else ''}"
        if match["our"]:
            return "their" if was_named else f"{name}'s"
        was_subject, self.is_subject = self.is_subject, True
        joined = match.group().startswith("and ")  # "and I" is one person only after an earlier "I" or clause
        singular = not _AUXILIARY_BEFORE.search(before)
        if joined:
            name = f"and {_inside_sentence(self.speaker)}"
            singular = was_subject or _CLAUSE.search(before) is not None or before.rstrip().endswith(",")
        be, adverbs, verb = match["be"], match["adverbs"] or "", match["verb"] or ""
        if be:
            return f"{name} {_CONTRACTED[be[1:]]}{adverbs} {verb}".rstrip()
        return f"{name}{adverbs} {conjugate(verb) if singular and verb else verb}".rstrip()


def _conjugate_further_verbs(predicate: re.Match[str]) -> str:
    """Conjugates every verb of "I live here and work there" except the first."""
    text = predicate.group()
    if _NOT_FINITE.search(text):
        return text
    return _FURTHER_VERB.sub(lambda match: f"{match['joint']}{conjugate(match['verb'])}", text)


def _inside_sentence(speaker: str) -> str:
    """ "The user" has its capital only at the start of a sentence."""
    return speaker.lower() if speaker in (USER_LABEL, ASSISTANT_LABEL) else speaker
