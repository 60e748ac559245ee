"""The first person, put in the third: "I live in Porto with my dog" said by Alice is "Alice lives in Porto
with their dog". The words stay as they are but for the pronouns and the verb behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from remanence.language.rules.lexicon import word_set
from remanence.language.rules.people_words import RELATIONSHIP_NOUNS
from remanence.schema import ASSISTANT, SELF

USER_LABEL = "The user"
"""What a text calls the person who says "I" and has no other name."""
ASSISTANT_LABEL = "The assistant"


def speaker_label(speaker: str | None) -> str:
    """How a text in the third person calls this speaker.

    >>> speaker_label("Alice"), speaker_label(SELF), speaker_label(None)
    ('Alice', 'The user', 'The user')
    """
    return USER_LABEL if speaker is None or speaker == SELF else ASSISTANT_LABEL if speaker == ASSISTANT else speaker


def to_third_person(sentence: str, speaker: str) -> str:
    """The sentence with its first person called `who`. "We" are `who` and others, since nobody knows which.

    >>> to_third_person("I'm a nurse and I love my job.", "Alice")
    'Alice is a nurse and Alice loves their job.'
    >>> to_third_person("I love jazz but hate opera.", "Alice")
    'Alice loves jazz but hates opera.'
    >>> to_third_person("My sister told me that we don't listen to my mom.", "Alice")
    "Alice's sister told Alice that Alice and others don't listen to Alice's mom."
    """
    pieces = _QUOTED.split(_STRETCH.sub(_agreed, sentence))
    said = _Said()
    for number in range(0, len(pieces), 2):  # what is quoted stands as it was said
        pieces[number] = _turned(pieces[number], speaker, said)
    out = "".join(pieces)
    return out[:1].upper() + out[1:] if out[:1].islower() and out[1:2].islower() and speaker[:1].isupper() else out


_KIN = "|".join(
    sorted(RELATIONSHIP_NOUNS | {"parents", "kids", "children", "siblings", "sisters", "brothers", "family"})
)
_TRAIT = r"favou?rite|birthday|name|phone number|email|address|native language"
r"|nationality"  # with a claim of its own
_QUOTED = re.compile(r"(\"[^\"]*\"|“[^”]*”)")
_FIRST_PERSON = re.compile(
    r"(?:(?<= )and )?\bI(?P<be>['’]m|['’]ve|['’]ll|['’]d)?(?![\w'’])"
    r"(?P<mid>(?: (?:no longer|also|really|just|still|now|always|never|usually|often|currently|recently"
    r"|already|actually|finally"
    r"|both|only|sometimes|rarely|even|[a-z]+ly))*)(?: (?P<verb>[A-Za-z]+(?:n['’]t)?)(?![\w'’]))?"
    rf"|\b(?P<my>[Mm]y)\b(?P<kin> (?:[a-z]+ )?(?:{_KIN})\b| (?:{_TRAIT})\b(?=(?: [a-z]+){{0,2}} (?:is"
    rf"|are)\b))?|\b(?P<me>me)\b|\b(?P<mine>mine)\b"
    rf"|\b(?P<self>myself)\b"
    r"|\b(?P<we>[Ww]e)(?P<are>['’]re|['’]ve|['’]ll|['’]d)?\b|\b(?P<our>[Oo]ur)\b"
)
_STRETCH = re.compile(  # what one "I" does
    r"(?<!and )(?<!or )\bI(?:['’](?:m|ve))? [^.;!?\"“]*?"
    r"(?=\b(?:I|we|you|he|she|they|this|it|there|who|which|that|because|if|when|while|so)\b|[.;!?\"“]|$)"
)
_NOT_FINITE = re.compile(  # "I want to cook and play" has one verb that changes
    r"^I (?:[a-z]+ly |also |just |still |never |always )*(?:can|could|will|would|should|shall|may|might"
    r"|must|do"
    r"|did|(?:ca|wo|do|did|could|would|should)n['’]t|cannot|let|make|help|see|watch|hear)\b"
    r"|\bto (?!(?:the|an?|my|work|school|bed|church|music|college|university|town)\b)[a-z]+\b"
)
_SECOND_VERB = re.compile(
    r"(?P<joint>(?:,? (?:and|but|or)|,) (?:(?:also|now|really|still|usually|often|never|always|currently) )*)"
    r"(?P<verb>(?:love|hate|(?<!, )like|prefer|enjoy|dislike|adore|own|speak|play|drive|use|study|want"
    r"|need|have"
    r"|teach|run"
    r"|go|eat|drink|cook|write|collect|don['’]t)(?= [\w'’])|live(?= (?:in|on|with|near|at|alone)\b)"
    r"|work(?= (?:at|for|as|in|from|with|on|part|full|remotely)\b))"
)
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|can|loves?|likes?|lives?|works?|went|got"
    r"|came|said|told)\b"
)
_AUXILIARY_BEFORE = re.compile(
    r"\b(?:do|did|am|was|were|have|had|will|would|can|could|should|shall|may|might|must|than|as|and)\s+$", re.IGNORECASE
)
_FORMS = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "go": "goes", "was": "was"}
_STAYS = word_set("""
been gone done seen neither nor
will would can could should shall may might must did had was were won't wouldn't can't cannot couldn't
shouldn't didn't
hadn't wasn't weren't mustn't ought to of or and but in on at for with from as is are has
became began bought broke brought built came caught chose cut did drew drank drove ate fell felt found
fought flew
forgot got gave went grew heard held hit hurt kept knew learnt led left lent let lost made meant met paid
put quit
read rode ran said saw sold sent set shot shut sang sat slept spoke spent stood stole swam took taught told
thought
threw understood woke wore won wrote bet bit burnt dealt dug hid hung laid lit rose shook shone spread stuck
struck
swore tore wept upset cost split broadcast sprained
""")
_PLURAL = {"re": " are", "ve": " have", "ll": " will", "d": " would"}
_CONTRACTED = {"m": "is", "ve": "has", "ll": "will", "d": "would"}


@dataclass(slots=True)
class _Said:
    """Whether the sentence has named the speaker so far, and as its subject."""

    named: bool = False
    subject: bool = False


def _turned(text: str, who: str, said: _Said) -> str:
    out = ""
    at = 0
    for found in _FIRST_PERSON.finditer(text):
        out += text[at : found.start()]
        at = found.end()
        if found["my"]:
            kin = found["kin"] or ""
            out += f"their{kin}" if said.named and not kin else f"{_placed(who, out)}'s{kin}"
            said.named = True
        elif found["we"]:
            out += f"{_placed(who, out)} and others{_PLURAL[found['are'][1:]] if found['are'] else ''}"
            said.named = True
        elif found["our"]:
            out += "their" if said.named else f"{_placed(who, out)}'s"
            said.named = True
        elif found["me"] or found["mine"]:
            out += _inside(who) + ("'s" if found["mine"] else "")
        elif found["self"]:
            out += "themselves"
        else:
            out += _subject(found, who, out, said.subject)
            said.named = said.subject = True
    return out + text[at:]


def _agreed(stretch: re.Match[str]) -> str:
    """Every verb of "I live here and work there" as it goes with he or she, but for the first."""
    said = stretch.group()
    if _NOT_FINITE.search(said):
        return said
    return _SECOND_VERB.sub(lambda found: f"{found['joint']}{conjugate(found['verb'])}", said)


def _subject(found: re.Match[str], who: str, before: str, again: bool) -> str:
    """Who does it, with the verb that goes with them: "and I" is one person only where "I" stood before."""
    joined = found.group().startswith("and ")
    name = f"and {_inside(who)}" if joined else _placed(who, before)
    singular = (again or _CLAUSE.search(before) is not None) if joined else not _AUXILIARY_BEFORE.search(before)
    be, middle, verb = found["be"], found["mid"] or "", found["verb"] or ""
    if be:
        return f"{name} {_CONTRACTED[be[1:]]}{middle} {verb}".rstrip()
    return f"{name}{middle} {conjugate(verb) if singular and verb else verb}".rstrip()


def conjugate(verb: str) -> str:
    """The form of a verb that goes with he or she; a past form stays.

    >>> conjugate("live"), conjugate("study"), conjugate("watch"), conjugate("moved"), conjugate("can't")
    ('lives', 'studies', 'watches', 'moved', "can't")
    """
    plain = verb.replace("’", "'")
    if plain in _FORMS:
        return _FORMS[plain]
    if plain.lower() in _STAYS or (plain.endswith("ed") and plain not in ("need", "feed", "speed", "breed")):
        return verb
    if plain.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if plain.endswith("y") and plain[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def _placed(who: str, before: str) -> str:
    """The name as it is written behind `before`: "The user" has its capital only at the start."""
    return who if before.rstrip()[-1:] in ("", ".", "!", "?", '"', "“") else _inside(who)


def _inside(who: str) -> str:
    return who.lower() if who in (USER_LABEL, ASSISTANT_LABEL) else who
