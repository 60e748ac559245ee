"""Whether a sentence in the third person tells something worth keeping, and of which kind it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from remanence.extractors.lexicon import words
from remanence.extractors.marked import Name
from remanence.extractors.reading import Reading
from remanence.model import Kind

_FEW_WORDS = 4


@dataclass(frozen=True, slots=True)
class Told:
    """What sort of fact a sentence is: its kind, how sure that is, whether it looks `ahead`, and whether it
    is a `plain` one that nobody would miss."""

    kind: Kind
    confidence: float
    ahead: bool = False
    plain: bool = False


def told(reading: Reading, speaker: str, *, marked: bool = False) -> Told | None:
    """What sort of fact it is, or None if it is not one.

    >>> from remanence.extractors.reading import read
    >>> told(read("Alice went hiking with Bob.", "Alice"), "Alice")
    Told(kind='episode', confidence=0.6, ahead=False, plain=False)
    >>> told(read("It was fun.", "Alice"), "Alice") is None
    True
    """
    text = reading.text
    ahead = _AHEAD.search(text) is not None
    if reading.change is not None:
        return Told("episode", 0.75)
    if reading.denied is not None:
        return Told("semantic", 0.7)
    if reading.claims:
        past = _is_past(text, reading.names)
        return Told("episode" if past or (ahead and _APPOINTMENT.search(text)) else "semantic", 0.8, ahead)
    sort = _sort(reading, speaker, ahead)
    if sort is None and marked:
        return Told("semantic", 0.7, ahead)
    return sort


def _sort(reading: Reading, speaker: str, ahead: bool) -> Told | None:
    """Of a sentence without a claim: by its subject and its first verb."""
    text = reading.text
    if len(text.split()) < _FEW_WORDS or _YOU.search(text) or len(text) > 600:
        return None
    subject = _subject(reading)
    if subject is None:
        return _impersonal(reading, ahead)
    rest = text[subject.end :]
    own = _OWN.match(rest)
    if own:
        return None if own[1] in _IDLE_THINGS else Told("semantic", 0.6, ahead)
    plural = text[: subject.end].endswith(" others")
    if plural:  # they have the verb in its plain form
        rest = _PLURAL.sub(lambda found: " is" if found[1] == "are" else f" {found[1]}s", rest)
    verb = _VERB.match(rest)
    if verb is None:
        return None
    others = [name for name in reading.names if name is not subject]
    behind = rest[verb.end() :].lstrip()
    if verb[1] in _OPINION_VERBS and behind.lower().startswith(speaker.lower()):
        return None  # I think I will …
    sort = _by_verb(verb[1].lower().replace("’", "'"), behind, ahead, plain=not others)
    vague = plural and not others and not any(character.isdigit() for character in text)
    return None if vague and sort is not None and sort.kind == "semantic" else sort


def _by_verb(verb: str, behind: str, ahead: bool, *, plain: bool) -> Told | None:
    next_word = _WORD.match(behind)
    follows = next_word.group().lower() if next_word else ""
    if follows in _EMPTY and len(behind.split()) < _FEW_WORDS:
        return None
    if verb in _VIEW_VERBS:
        return None if follows in _EMPTY else Told("viewpoint", 0.7, plain=plain and len(behind.split()) < 2)
    if verb in _OPINION_VERBS:
        return None if follows in _EMPTY or len(behind.split()) < 4 else Told("viewpoint", 0.6)
    if verb in _IDLE_VERBS:
        return None
    if verb in ("is", "was", "were", "feels", "felt", "seems"):
        return _being(verb, follows, behind, ahead, plain)
    if verb in ("has", "had"):
        return _having(verb, follows, behind, ahead)
    if verb in ("will", "wants", "needs", "intends", "aims", "hopes"):
        idle = follows in ("you", "help", "some", "your", "be", "definitely", "it") or (
            verb == "will" and not _WHEN.search(behind)
        )
        return None if idle else Told("semantic", 0.6, True)
    if verb in ("can", "can't", "cannot", "doesn't", "does"):
        return None if follows in _IDLE_ABILITIES else Told("semantic", 0.6)
    if verb in _PAST or verb.endswith("ed"):
        return Told("episode", 0.6, plain=plain)
    return Told("semantic", 0.55, ahead, plain) if verb.endswith("s") and verb not in _NOT_VERBS else None


def _being(verb: str, follows: str, behind: str, ahead: bool, plain: bool) -> Told | None:
    content = _DEGREE.sub("", behind)
    word = _WORD.match(content)
    if word is None or word.group().lower() in _FEELINGS or follows in _EMPTY:
        return None
    if verb == "is":
        return Told("semantic", 0.6, ahead or content.startswith("going to "))
    return Told("episode", 0.55, plain=plain) if len(behind.split()) >= 3 else None


def _having(verb: str, follows: str, behind: str, ahead: bool) -> Told | None:
    if verb == "has" and follows in ("to", "no"):
        return None
    if verb == "has" and _HAS_BEEN_DOING.match(behind):
        return Told("semantic", 0.6, ahead)
    if verb == "has" and (follows in _PARTICIPLES or follows.endswith("ed")):
        return Told("episode", 0.6, ahead)
    return Told("semantic" if verb == "has" else "episode", 0.6, ahead)


def _impersonal(reading: Reading, ahead: bool) -> Told | None:
    """A statement about a thing: only with something exact in it, and never about "it" or "that"."""
    text = reading.text
    exact = any(character.isdigit() for character in text) or any(
        name.kind != "handle" for name in reading.names
    )
    if not exact or _VAGUE.match(text) or not _STATES.search(text):
        return None
    return Told("episode" if _WAS.search(text) and not ahead else "semantic", 0.5, ahead)


def _subject(reading: Reading) -> Name | None:
    """The person whom the sentence is about: who opens it, or opens it behind a time or a comma."""
    for name in reading.names:
        before = reading.text[: name.start]
        if name.kind == "person" and (
            not before
            or (len(before) < 60 and _OPENS.search(before) is not None)
            or _TIME_FIRST.fullmatch(before)
        ):
            return name
    return None


def _is_past(text: str, names: tuple[Name, ...]) -> bool:
    if not names:
        return False
    verb = _VERB.match(text[names[0].end :])
    return (
        verb is not None and (verb[1] in _PAST or verb[1].endswith("ed")) and verb[1] not in ("was", "were")
    )


_PLURAL = re.compile(r"^ (are|ha(?=ve)|live|plan|want|play|own|love|like|prefer)(?:ve)?\b")
_VERB = re.compile(
    r"(?: and (?:the user|[A-Z]\w+))?(?: (?:also|really|just|still|now|always|never|usually|often"
    r"|currently|recently"
    r"|already|actually|finally|both|only|sometimes|rarely|even|[a-z]+ly))* ([a-z]+(?:n['’]t)?)\b"
)
_OWN = re.compile(
    r"['’]s (?:[a-z]+ ){0,2}?([a-z]+) (?:is|are|was|were|has|starts|ends|takes|costs|likes|loves|works"
    r"|lives)\b"
)
_WORD = re.compile(r"[\w'’-]+")
_DEGREE = re.compile(
    r"^(?:(?:so|really|very|super|just|also|always|all|too|pretty|truly|still|quite|a bit|not) )+"
)
_OPENS = re.compile(r"(?:, |\b(?:and|but|that|because|when|since|so) )$")
_TIME_FIRST = re.compile(
    r"(?:(?:yesterday|today|tonight|tomorrow|recently|lately|now|last|this|next|in|on|two|three|a|few"
    r"|\w+day|\w+ ago|week"
    r"|weekend|month|year|night|morning|evening|afternoon|summer|winter|spring|fall|\d+|ago|couple|of|days"
    r"|weeks|months|years"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|[(),-]) ?)+",
    re.IGNORECASE,
)
_YOU = re.compile(r"\b(?:you|your|yours|you['’]re|yourself)\b", re.IGNORECASE)
_AHEAD = re.compile(
    r"\b(?:will|going to|plan(?:s|ning)? to|tomorrow|tonight|next (?:week|weekend|month|year|summer|spring"
    r"|fall|winter|\w+day)"
    r"|upcoming|is (?:flying|leaving|visiting|starting|moving|meeting|having)|(?:meeting|appointment"
    r"|interview|flight|deadline|exam"
    r"|call|reservation)s? (?:is|at|on|with|in|tomorrow|today|this)|has an? (?:[a-z]+ )?(?:meeting"
    r"|appointment|interview|flight|exam"
    r"|call|deadline|reservation)|(?:booked|scheduled|reserved|arranged) .*\bfor|for the next|until"
    r"|due (?:on|by|in|tomorrow|today)|this (?:weekend|evening|afternoon))\b",
    re.IGNORECASE,
)
_APPOINTMENT = re.compile(
    r"\b(?:meeting|appointment|interview|flight|exam|call|reservation|table)\b.*\b(?:at|on|tomorrow|today"
    r"|for)\b"
)
_HAS_BEEN_DOING = re.compile(r"(?:[a-z]+ )?been (?:[a-z]+ly )?[a-z]+ing\b")
_WHEN = re.compile(r"\b(?:tomorrow|tonight|next|this|on|at|in (?:[A-Z]|\d|an?\b|two|three)|\d+)\b")
_VAGUE = re.compile(
    r"(?:it|that|this|there|these|those|they|he|she|we|you|what|here|one|some|which|who|such|can|been|man)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|starts?|ends?|costs?|opens?|closes?|runs?|uses?|takes?|lives?"
    r"|works?|[a-z]+ed)\b"
)
_WAS = re.compile(r"\b(?:was|were|had|[a-z]{3,}ed)\b")
_VIEW_VERBS = words(
    "likes loves enjoys prefers hates dislikes adores favors despises misses loved hated enjoyed liked"
)
_OPINION_VERBS = words("thinks believes feels finds considers thought believed")
_IDLE_VERBS = words("""
knows guesses means sees understands agrees wonders supposes appreciates bets hears gets says tells promises
swears
thanks tries looks hopes wishes wished hoped wondered meant guessed knew said told asked heard saw thought
understood
agreed appreciated needs must should may might seems sounds looked sounded tried seemed wanted figured
supposes assumes
""")
_NOT_VERBS = words("is was has does as its this his hers yes us thus plus perhaps always sometimes besides")
_PAST = words("""
became began bought broke brought built came caught chose did drew drank drove ate fell found fought flew
forgot got
gave went grew held hit hurt kept learnt led left lent lost made met paid quit read rode ran sold sent shot
sang sat
slept spoke spent stood stole swam took taught threw woke wore won wrote had
""")
_PARTICIPLES = words("""
been become begun bought broken brought built come caught chosen done drawn driven eaten fallen found flown
forgotten
gotten given gone grown had held kept learnt led left lost made met paid read ridden run seen sold sent
spoken spent
taken taught won written just already recently finally
""")
_EMPTY = words("it that this you so them him her these those there what how such too your")
_IDLE_ABILITIES = words("""
wait believe help imagine decide figure find remember see tell understand relate agree know think mind care
even really
want have be get seem mean
""")
_IDLE_THINGS = words(
    "point question idea bad pleasure goodness god mind thoughts heart condolences apologies guess answer"
)
_FEELINGS = words("""
glad happy sorry sure good fine great ok okay excited curious proud jealous impressed thrilled looking lucky
grateful
thankful honored honoured doing wondering hoping afraid here back done ready trying thinking feeling amazing
awesome
nice fun tired bored hungry busy nervous anxious sad stressed overwhelmed surprised shocked interested
inspired
motivated better well right wrong wonderful incredible hard tough difficult true cool interested considering
sure
getting enjoying loving liking
""")
