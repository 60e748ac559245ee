"""Whether a sentence in the third person tells something worth keeping, and of which kind it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from remanence.language.rules.ellipsis import EVENT_NOUN_PATTERN, TIME_PHRASE_PATTERN
from remanence.language.rules.lexicon import MONTH_PATTERN, word_set
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.people_words import PLURAL_RELATIONSHIP_NOUNS
from remanence.language.rules.sentence_reading import ParsedSentence
from remanence.language.rules.sentences import STATUS_PATTERN
from remanence.schema import MemoryKind

_FEW_WORDS = 4


@dataclass(frozen=True, slots=True)
class FactClassification:
    """What sort of fact a sentence is: its kind, how sure that is, whether it looks `ahead`, and whether it
    is a `plain` one that nobody would miss."""

    kind: MemoryKind
    confidence: float
    is_future: bool = False
    is_minor: bool = False


def classify_fact(
    sentence: ParsedSentence, speaker: str, *, remember_requested: bool = False
) -> FactClassification | None:
    """What sort of fact it is, or None if it is not one.

    >>> from remanence.language.rules.sentence_reading import parse_sentence
    >>> classify_fact(parse_sentence("Alice went hiking with Bob.", "Alice"), "Alice")
    FactClassification(kind='episode', confidence=0.6, is_future=False, is_minor=False)
    >>> classify_fact(parse_sentence("It was fun.", "Alice"), "Alice") is None
    True
    """
    text = sentence.text
    ahead = _AHEAD.search(text) is not None
    if sentence.change is not None:
        state = sentence.change.has_unspecified_end and _IS_STATE.search(text) is not None
        return FactClassification("semantic" if state else "episode", 0.75)
    if sentence.denial is not None and not (sentence.claims and _is_event(text, ahead)):
        return FactClassification("semantic", 0.7)
    if sentence.claims:
        past = _is_past(sentence)
        return FactClassification("episode" if past or _is_event(text, ahead) else "semantic", 0.8, ahead)
    if _is_event(text, ahead) and not _YOU.search(text):
        return FactClassification("episode", 0.7, True)
    sort = _sort(sentence, speaker, ahead)
    if sort is None and remember_requested:
        return FactClassification("semantic", 0.7, ahead)
    return sort


def _sort(reading: ParsedSentence, speaker: str, ahead: bool) -> FactClassification | None:
    """Of a sentence without a claim: by its subject and its first verb."""
    text = reading.text
    few = len(text.split()) < _FEW_WORDS
    if (few and not _IS_STATE.search(text)) or _YOU.search(text) or len(text) > 600:
        return None
    subject = _subject(reading)
    if subject is None:
        return _impersonal(reading, ahead)
    rest = text[subject.end :]
    own = _OWN.match(rest)
    if own:
        happened = own[2] in ("was", "were") and not ahead
        return None if own[1] in _IDLE_THINGS else FactClassification("episode" if happened else "semantic", 0.6, ahead)
    plural = text[: subject.end].endswith(" others") or subject.text.rpartition(" ")[2] in PLURAL_RELATIONSHIP_NOUNS
    if plural:  # they have the verb in its plain form
        rest = _PLURAL.sub(lambda found: " is" if found[1] == "are" else f" {found[1]}s", rest)
    verb = _VERB.match(rest)
    if verb is None:
        return None
    others = [name for name in reading.names if name is not subject]
    behind = rest[verb.end() :].lstrip()
    if verb[1] in _OPINION_VERBS and behind.lower().startswith(speaker.lower()):
        return None  # I think I will …
    does = verb[1].lower().replace("’", "'")
    sort = _by_verb(_SINGULAR.get(does, does), behind, ahead, plain=not others)
    vague = plural and not others and not any(character.isdigit() for character in text)
    return None if vague and sort is not None and sort.kind == "semantic" else sort


def _by_verb(verb: str, behind: str, ahead: bool, *, plain: bool) -> FactClassification | None:
    next_word = _WORD.match(behind)
    follows = next_word.group().lower() if next_word else ""
    vague = follows in _EMPTY and len(behind.split()) < _FEW_WORDS
    if vague or follows in ("either", "neither", "too") or not behind.strip(" .!?"):
        return None
    if verb in _VIEW_VERBS:
        return (
            None
            if follows in _EMPTY
            else FactClassification("viewpoint", 0.7, is_minor=plain and len(behind.split()) < 2)
        )
    if verb in _OPINION_VERBS:
        return None if follows in _EMPTY or len(behind.split()) < 4 else FactClassification("viewpoint", 0.6)
    if verb in _IDLE_VERBS:
        return None
    if verb in ("is", "was", "were", "feels", "felt", "seems"):
        return _being(verb, follows, behind, ahead, plain)
    if verb in ("has", "had"):
        return _having(verb, follows, behind, ahead)
    if verb in ("will", "wants", "needs", "intends", "aims", "hopes"):
        idle = follows in ("you", "help", "some", "your", "definitely", "it") or (
            verb == "will" and (not _WHEN.search(behind) or _BE_IDLE.match(behind))
        )
        return None if idle else FactClassification("semantic", 0.6, True)
    if verb == "would":
        return FactClassification("viewpoint", 0.7) if _RATHER.match(behind) else None
    if verb == "isn't":
        return _being("is", follows, behind, ahead, plain)
    if verb == "hasn't":
        return FactClassification("semantic", 0.6) if _HAS_NONE.match(behind) else None
    if verb in ("can", "can't", "cannot", "doesn't", "does"):
        idle = follows in _IDLE_ABILITIES and not _HAS_NONE.match(behind)
        return None if idle else FactClassification("semantic", 0.6)
    if verb in _PAST or verb.endswith("ed"):
        return FactClassification("episode", 0.6, is_future=_BOOKED.search(behind) is not None, is_minor=plain)
    plain = plain and verb not in _OCCUPIED
    return FactClassification("semantic", 0.55, ahead, plain) if verb.endswith("s") and verb not in _NOT_VERBS else None


def _being(verb: str, follows: str, behind: str, ahead: bool, plain: bool) -> FactClassification | None:
    content = _DEGREE.sub("", behind)
    word = _WORD.match(content)
    feeling = word is not None and word.group().lower() in _FEELINGS and not _NO_FEELING.match(content)
    if word is None or feeling or follows in _EMPTY:
        return None
    if verb == "is":
        return FactClassification("semantic", 0.6, ahead or content.startswith("going to "))
    return FactClassification("episode", 0.55, is_minor=plain) if len(behind.split()) >= 3 else None


def _having(verb: str, follows: str, behind: str, ahead: bool) -> FactClassification | None:
    if verb == "has" and (follows == "to" or _IDLE_NEEDS.match(behind)):
        return None
    if verb == "has" and (_HAS_BEEN_DOING.match(behind) or _STILL.search(behind)):
        return FactClassification("semantic", 0.6, ahead)
    if verb == "has" and (follows in _PARTICIPLES or follows.endswith("ed")):
        return FactClassification("episode", 0.6, ahead)
    return FactClassification("semantic" if verb == "has" else "episode", 0.6, ahead)


def _impersonal(reading: ParsedSentence, ahead: bool) -> FactClassification | None:
    """A statement about a thing: only with something exact in it, and never about "it" or "that"."""
    text = reading.text
    exact = any(character.isdigit() for character in text) or any(name.kind != "handle" for name in reading.names)
    exact = exact or (_DUE.search(text) is not None and _TIME.search(text) is not None)
    if not exact or _VAGUE.match(text) or not _STATES.search(text):
        return None
    return FactClassification("episode" if _WAS.search(text) and not ahead else "semantic", 0.5, ahead)


def _subject(reading: ParsedSentence) -> NameSpan | None:
    """The person whom the sentence is about: who opens it, or opens it behind a time or a comma."""
    for name in reading.names:
        before = reading.text[: name.start]
        if name.kind == "person" and (
            not before or (len(before) < 60 and _OPENS.search(before) is not None) or _TIME_FIRST.fullmatch(before)
        ):
            return name
    return None


def _is_past(reading: ParsedSentence) -> bool:
    """Whether the verb of the first one who does something is a past form, of what happens once."""
    if all(claim.predicate in _LASTING for claim in reading.claims):
        return False
    verbs = [_VERB.match(reading.text, name.end) for name in reading.names if name.kind == "person"]
    first = next((verb[1] for verb in verbs if verb is not None), "")
    return (first in _PAST or first.endswith("ed")) and first not in ("was", "were")


def _is_event(text: str, ahead: bool) -> bool:
    """Whether it is bound to the time at which it takes place, which is still to come."""
    found = _EVENT.search(text)
    return found is not None and ahead and _TIME.search(text) is not None


_SINGULAR = {"are": "is", "have": "has", "were": "was", "don't": "doesn't"}
_PLURAL = re.compile(r"^ (are|ha(?=ve)|live|plan|want|play|own|love|like|prefer)(?:ve)?\b")
_VERB = re.compile(
    r"(?: and (?:the user|[A-Z]\w+|(?:his|her|their) [a-z]+))?"
    r"(?: (?:also|really|just|still|now|always|never|usually|often|currently|recently"
    r"|already|actually|finally|both|only|sometimes|rarely|even|[a-z]+ly))* ([a-z]+?n['’]t|[a-z]+)\b"
)
_OWN = re.compile(
    r"['’]s (?:[a-z-]+ ){0,2}?([a-z-]+) (is|are|was|were|has|have|starts|ends|takes|costs|likes|loves|works"
    r"|lives|uses|plays|hates|needs|speaks|goes|studies|prefers|enjoys|runs|drives|expires|leaves"
    r"|arrives|begins|opens|closes|belongs)\b"
)
_WORD = re.compile(r"[\w'’-]+")
_DEGREE = re.compile(r"^(?:(?:so|really|very|super|just|also|always|all|too|pretty|truly|still|quite|a bit|not) )+")
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
    rf"\b(?:(?:is|are) (?:[a-z]+ )?[a-z]+ing\b[^.;]*\b(?:in|on|by) (?:the )?(?:{MONTH_PATTERN}|\d|\w+day\b)|will"
    rf"|going to|plan(?:s|ning)? to|tomorrow|tonight|next (?:week|weekend|month|year|summer|spring"
    r"|fall|winter|\w+day)"
    r"|upcoming|(?:is|are) (?:due|(?:on|from) (?:the )?(?:\d|[A-Z])|at (?:\d|noon))|(?:starts?|begins?"
    r"|leaves?|departs?|arrives?"
    r"|takes place|opens?|expires?) (?:at|on|in|tomorrow|today|this|next)|(?:is|are) (?:getting"
    r"|travell?ing|flying|leaving|visiting|starting|moving|meeting|having)|(?:meeting|appointment"
    r"|interview|flight|deadline|exam"
    r"|call|reservation)s? (?:is|at|on|with|in|tomorrow|today|this)|has an? (?:[a-z]+ )?(?:meeting"
    r"|appointment|interview|flight|exam"
    r"|call|deadline|reservation)|(?:booked|scheduled|reserved|arranged) .*\bfor|for the next|until"
    r"|due (?:on|by|in|tomorrow|today)|this (?:weekend|evening|afternoon))\b",
    re.IGNORECASE,
)
_LASTING = word_set("grew_up_in born_in born_on is_from lived_in worked_at studied_at")
_BOOKED = re.compile(r"\b(?:tickets?|vacation|holiday|leave|table|seats?|room)\b.*\b(?:for|on)\b")
_DUE = re.compile(r"\b(?:is|are) due\b")
_IS_STATE = re.compile(rf" (?:is|are)(?: (?:now|currently|also|still|not))* (?:{STATUS_PATTERN})\b")
_EVENT = re.compile(
    rf"(?:^(?:The|[A-Z]\w+['’]s|The user['’]s)|, (?:the|their)|\b(?:has|have|have got|is having"
    rf"|['’]s)(?: an?| the)?|\bbooked an?)"
    rf" (?:[\w'’-]+ ){{0,2}}?(?:{EVENT_NOUN_PATTERN})\b(?!['’])"
)
_TIME = re.compile(rf"\b(?:{TIME_PHRASE_PATTERN})", re.IGNORECASE)
_BE_IDLE = re.compile(r"be (?!in\b|at\b|on\b|away\b|out\b|[a-z]+ing\b)")
_STILL = re.compile(
    r" (?:since (?!then)|for (?:\d+|an?|many|some|two|three|four|five|six|seven|eight|nine|ten|over"
    r"|almost)\b.*"
    r"(?:years?|months?|weeks?|days?|decades?))"
)
_HAS_BEEN_DOING = re.compile(r"(?:[a-z]+ )?been (?:[a-z]+ly )?[a-z]+ing\b")
_WHEN = re.compile(r"\b(?:tomorrow|tonight|next|this|on|at|in (?:[A-Z]|\d|an?\b|two|three)|\d+)\b")
_VAGUE = re.compile(
    r"(?:the weather|it|that|this|there|these|those|they|he|she|we|you|what|here|one|some|which|who|such"
    r"|can|been|man)\b",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|starts?|ends?|costs?|opens?|closes?|runs?|uses?|takes?|lives?"
    r"|works?|[a-z]+ed)\b"
)
_WAS = re.compile(r"\b(?:was|were|had|[a-z]{3,}ed)\b")
_VIEW_VERBS = word_set(
    "likes loves enjoys prefers hates dislikes adores favors despises misses loved hated enjoyed liked"
)
_OPINION_VERBS = word_set("thinks believes feels finds considers thought believed")
_IDLE_VERBS = word_set("""
knows guesses means sees understands agrees wonders supposes appreciates bets hears gets says tells promises
swears
thanks tries looks hopes wishes wished hoped wondered meant guessed knew said told asked heard saw thought
understood
agreed appreciated needs must should may might seems sounds looked sounded tried seemed wanted figured
supposes assumes
""")
_OCCUPIED = word_set("works teaches runs studies manages leads owns lives drives speaks")
_NOT_VERBS = word_set("is was has does as its this his hers yes us thus plus perhaps always sometimes besides")
_PAST = word_set("""
became began bought broke brought built came caught chose did drew drank drove ate fell found fought flew
forgot got
gave went grew held hit hurt kept learnt led left lent lost made met paid quit read rode ran sold sent shot
sang sat
slept spoke spent stood stole swam took taught threw woke wore won wrote had
""")
_PARTICIPLES = word_set("""
been become begun bought broken brought built come caught chosen done drawn driven eaten fallen found flown
forgotten
gotten given gone grown had held kept learnt led left lost made met paid read ridden run seen sold sent
spoken spent
taken taught won written just already recently finally
""")
_EMPTY = word_set("it that this you so them him her these those there what how such too your")
_RATHER = re.compile(r"rather (?!not\b|be\b).* than \w")
_HAS_NONE = re.compile(r"(?:have|got) (?:any |an? )(?!idea|clue|question|problem|time|plans|doubt)")
_IDLE_ABILITIES = word_set("""
wait believe help imagine decide figure find remember see tell understand relate agree know think mind care
even really
want have be get seem mean
""")
_IDLE_NEEDS = re.compile(
    r"(?:an? |some |one |another |no )?(?:quick |few |good |bad |great |fun |nice )?(?:questions?|idea"
    r"|clue|problem|favou?r|request|doubt|time"
    r"|choice|way|plans|words|fun|feeling|feelings|chance|reason)\b"
)
_IDLE_THINGS = word_set(
    "point question idea bad pleasure goodness god mind thoughts heart condolences apologies guess answer"
)
_NO_FEELING = re.compile(r"(?:doing|getting) (?:an?|my|their|married|engaged|divorced)\b")
_FEELINGS = word_set("""
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
