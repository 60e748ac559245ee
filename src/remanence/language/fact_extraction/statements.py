"""A sentence in the third person split into its statements: "Ann is 34, lives in Graz and works at Siemens" is three.

Each statement has its subject, so that it can be a fact of its own: a later fact may replace one of them, and the
others stay valid. Statements about the past are split where the second one claims something: "Ann lived in Rome, then
moved to Porto" is two, "Ann stopped and looked" is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import NamedTuple

from remanence.language.fact_extraction.sentences import MAX_SENTENCE_CHARS
from remanence.language.lexicon.verb_forms import BASE_FORMS, PRESENT_FORMS, conjugate
from remanence.language.lexicon.word_lists import FIRST_NAMES, compile_pattern, load_pattern, word_set
from remanence.language.text import upper_first

CONDITIONAL = re.compile(
    r"\b(?:if|unless|whether|wish|imagine|suppose|pretend|dream(?:ed|t)?|in case)\b", re.IGNORECASE
)
"""Words of a sentence that does not say what is so."""


class CoordinatedStatement(NamedTuple):
    """A statement as a sentence of its own, and whether it shares its subject with the one before or after it."""

    text: str
    shares_subject: bool = False


def split_statements(text: str) -> list[str]:
    """The statements of a sentence, in their order; the text itself if it is only one.

    >>> split_statements("Ann is 34, lives in Graz and works at Siemens.")
    ['Ann is 34.', 'Ann lives in Graz.', 'Ann works at Siemens.']
    >>> split_statements("Ann's son Tim, who runs sales, is vegan and allergic to nuts; her dog is Bob.")
    ["Ann's son Tim runs sales.", "Ann's son Tim is vegan.", "Ann's son Tim is allergic to nuts.", 'Her dog is Bob.']
    >>> split_statements("Ann and Bob have cats and dogs.")
    ['Ann and Bob have cats and dogs.']
    """
    return [statement.text for statement in find_statements(text)]


class ListedParts(NamedTuple):
    """A text with a list: its topic or subject, and its parts; the first of them begins with the topic or subject."""

    head: str
    is_topic: bool
    parts: list[str]

    @property
    def statements(self) -> list[str]:
        """Each part as a statement of its own."""
        return [f"{self.parts[0]}.", *(f"{self.head}: {part}." for part in self.parts[1:])]

    def without(self, changed: Container[int]) -> str | None:
        """The text without the parts at these indexes; None if only they can be stated."""
        kept = [part for number, part in enumerate(self.parts) if number not in changed]
        if not kept or (0 in changed and not self.is_topic):
            return None
        return f"{self.head}: {', '.join(kept)}." if 0 in changed else f"{', '.join(kept)}."


def listed_parts(text: str) -> ListedParts | None:
    """The parts of a text that lists several things.

    >>> parts = listed_parts("Plot notes: number 17, clay soil, no shade.")
    >>> parts.statements, parts.without([0])
    (['Plot notes: number 17.', 'Plot notes: clay soil.', 'Plot notes: no shade.'], 'Plot notes: clay soil, no shade.')
    >>> listed_parts("Ann's calendar is in CET, and always Zoom.").without([1])
    "Ann's calendar is in CET."
    """
    parts = _LIST_JOINT.split(text.rstrip(".!"))
    topic = _LIST_TOPIC.match(parts[0])
    head = topic or _LIST_SUBJECT.match(parts[0])
    return ListedParts(head[1], topic is not None, parts) if head and len(parts) > 1 else None


def find_statements(
    text: str,
    is_fact: Callable[[str], bool] = lambda _: True,
    makes_claim: Callable[[str], bool] = lambda _: False,
    adds_claim: Callable[[str, str], bool] = lambda *_: False,
    *,
    split_shared: bool = True,
    possessor: str | None = "",
) -> list[CoordinatedStatement]:
    """The same, with whether each statement shares its subject.

    Args:
        text: The sentence.
        is_fact: Whether a text is a fact. A statement with a subject of its own is split off only where the texts
            before and after the conjunction are: "so sorry, I'm late" is one statement.
        makes_claim: Whether a text claims something. Before a claim about another person there may be small talk.
        adds_claim: Whether the second of two texts claims what the sentence as a whole does not. A statement about the
            past that shares its subject is split off only there.
        split_shared: Whether statements that share their subject are split. A change and its details are not: "Ann left
            Bosch and joined Acme".
        possessor: Whom "their" at the beginning of a statement means: "" for the subject before it, None if that is not
            known; then the statement is not split off.

    Returns:
        The statements in their order.
    """
    if len(text) > MAX_SENTENCE_CHARS or CONDITIONAL.search(text) or _QUOTATION.search(text):
        return [CoordinatedStatement(text)]
    subject = _first_subject(text)
    statements: list[CoordinatedStatement] = []
    inserted = _INSERTION.fullmatch(text, len(subject)) if subject and split_shared else None
    if inserted and all(_starts_with_verb(inserted[part], subject) for part in ("clause", "rest")):
        statements.append(CoordinatedStatement(f"{subject} {inserted['clause']}", shares_subject=True))
        text = f"{subject} {inserted['rest']}"
    is_shared, opening, start, predicate_start = False, "", 0, len(subject)
    for conjunction in _CONJUNCTION.finditer(text):
        if conjunction.start() <= predicate_start:
            continue  # "Ann and Bob" do something together
        left = opening + text[start : conjunction.start()]
        is_now = conjunction["adverb"] in _NOW
        begun = _begin_statement(subject, left, text[conjunction.end() :], conjunction["word"], is_now, possessor)
        if begun is None or (begun.is_shared and not split_shared):
            continue
        right = begun.opening + text[conjunction.end() + begun.skipped :]
        if begun.needs_claim and not adds_claim(_as_sentence(left), _as_sentence(right)):
            continue
        if begun.is_past and not makes_claim(_as_sentence(right)):
            continue
        if not begun.is_shared and _THERE.search(right):
            continue  # "moved to Graz, and Emil goes to school there"
        if not begun.is_shared:
            about_another = bool(subject) and subject != begun.subject and _is_person(begun.subject)
            may_be_small_talk = about_another and conjunction["word"] != "," and makes_claim(_as_sentence(right))
            is_statement = is_shared or may_be_small_talk or is_fact(_as_sentence(left))
            if not is_statement or not is_fact(_as_sentence(right)):
                continue
        statements.append(CoordinatedStatement(left, is_shared or begun.is_shared))
        is_shared, subject, opening = begun.is_shared, begun.subject, begun.opening
        start = conjunction.end() + begun.skipped
        predicate_start = start + (0 if opening else len(subject))
    statements.append(CoordinatedStatement(opening + text[start:], is_shared))
    if len(statements) == 1:
        return [CoordinatedStatement(text)]
    return [statement._replace(text=_as_sentence(statement.text)) for statement in statements]


def main_clauses(text: str, label: str) -> list[str]:
    """The clauses of a sentence that is not a fact as a whole, each with its own subject: "They want me to give a talk
    but I don't fly". Clauses that depend on a condition are excluded. `label` is what the speaker is called.
    """
    if CONDITIONAL.search(text) or not _MAIN_CONJUNCTION.search(text):
        return []
    parts = [part.strip(" ,") for part in _MAIN_CONJUNCTION.split(text)]
    parts = [upper_first(part) for part in parts if _OWN_SUBJECT.match(part) or part.startswith(label)]
    return [part for part in parts if not _YOU.search(part)]


def _first_subject(text: str) -> str:
    """The user, a name, or somebody or something of theirs, if a verb follows; otherwise an empty text."""
    subjects = [text[: match.end()] for pattern in _SUBJECTS if (match := pattern.match(text))]
    rests = {subject: _WHO.sub("", text[len(subject) :]).lstrip() for subject in subjects}
    with_verb = (name for name, rest in rests.items() if _starts_with_verb(rest, name) or _PAST_VERB.match(rest))
    default = "The user" if text.startswith("The user ") else ""
    return next(with_verb, default).rstrip(",")


class _Beginning(NamedTuple):
    """How a statement begins: its subject, the words to put before the text, how many characters of it to skip,
    whether it has the subject of the statement before it, whether it is one only if it claims something that the
    sentence does not, and whether it is about the past, so that it is one only if it claims something."""

    subject: str
    opening: str = ""
    skipped: int = 0
    is_shared: bool = False
    needs_claim: bool = False
    is_past: bool = False


def _begin_statement(
    subject: str, left: str, right: str, conjunction: str, is_now: bool, possessor: str | None
) -> _Beginning | None:
    """How the text after a conjunction begins a statement of its own; None if it does not."""
    own = _own_subject(right)
    is_past = not own
    if is_past:
        own = _own_subject(right, _PAST_VERB)
    if own.startswith("their ") and possessor is None:
        return None
    owner = possessor or (subject if _is_person(subject) and not subject.endswith("others") else "")
    if own.startswith("their ") and owner:
        return _Beginning(own.replace("their", f"{owner}'s", 1), f"{owner}'s ", len("their "), is_past=is_past)
    if own and (not is_past or _is_person(own)):
        return _Beginning(own, is_past=is_past)
    pronoun = _PRONOUN.match(right)
    if pronoun and _names_somebody(subject) and _starts_with_verb(right[pronoun.end() :], subject):
        return _Beginning(subject, f"{subject} ", pronoun.end(), is_shared=True)
    if not subject or conjunction not in (",", ";", "and", "but"):
        return None
    if conjunction != ";" and _starts_with_verb(right, subject):
        return _Beginning(subject, f"{subject} ", is_shared=True)
    if _PAST_VERB.match(right) and _is_person(subject):
        return _Beginning(subject, f"{subject} ", is_shared=True, needs_claim=True)
    base = _WORD.match(right) if is_now else None  # "used to live in Rome, now live in Paris"
    if base and base.group() in BASE_FORMS and _is_person(subject):
        opening = f"{subject} {conjugate(base.group())}"
        return _Beginning(subject, opening, base.end(), is_shared=True, needs_claim=True)
    verb = _shared_verb(left.removeprefix(subject), right, conjunction)
    return _Beginning(subject, f"{subject} {verb} ", is_shared=True) if verb else None


def _shared_verb(predicate: str, right: str, conjunction: str) -> str | None:
    """The verb of a predicate that also belongs to the text after it: "is vegan and" "allergic to nuts"."""
    shared = _SHARED_VERB.fullmatch(predicate)
    if shared is None:
        return None
    verb, value = shared["verb"], shared["value"]
    if verb in ("is", "are") and _NAME_OR_AGE.fullmatch(value):
        return verb  # "is Ann, 34, a nurse"
    if conjunction != "and" or _PREPOSITION.search(value):
        return None
    is_adjective = verb in ("is", "are") and " " not in value and value.islower()
    return verb if is_adjective or (_COUNTED.match(value) and _COUNTED.match(right)) else None


def _own_subject(text: str, past_verb: re.Pattern[str] | None = None) -> str:
    """The subject at the beginning of a text after which a verb follows, or a `past_verb`; otherwise an empty text."""
    as_first = upper_first(text) if text.startswith("the user") else text
    for pattern in (*_SUBJECTS, *_OTHER_SUBJECTS):
        match = pattern.match(as_first if pattern in _SUBJECTS else text)
        if match is None:
            continue
        rest = text[match.end() :].lstrip()
        if past_verb is not None and past_verb.match(rest):
            return match.group().rstrip(",")
        if _starts_with_verb(rest, match.group()) or (match.group() == "The user" and _USER_VERB.match(rest)):
            return match.group().rstrip(",")
    return ""


def _starts_with_verb(text: str, subject: str) -> bool:
    match = _WORD.match(text)
    if match is None or _AUXILIARY.match(text, match.end()) or _QUESTION.match(text):
        return False  # "rent is 950", "is that too late"
    word = match.group()
    if _is_plural(subject):
        return word in BASE_FORMS or word in _PLURAL_VERBS
    return word in _VERBS


def _is_plural(subject: str) -> bool:
    if " and " in subject or not subject.endswith("s"):
        return " and " in subject
    before, _, noun = subject.rpartition(" ")
    return noun.islower() or (not before and noun.lower() not in FIRST_NAMES)  # "Invoices", but not "my son Otis"


def _names_somebody(subject: str) -> bool:
    """Whether "he" or "she" can mean this subject: it ends with a name or with a relationship."""
    return not subject.endswith(("user", "others")) and _SOMEBODY.search(subject) is not None


def _is_person(subject: str) -> bool:
    return subject.endswith(("user", "others")) or (_names_somebody(subject) and not subject.isupper())  # not "SMS"


def _as_sentence(statement: str) -> str:
    statement = upper_first(statement.strip(" ,;"))
    return statement if statement.endswith((".", "!", "?")) else f"{statement}."


_NO_NAME = "The|A|An|My|Our|Their|His|Her|This|That|These|It|There|In|On|At|From|Since|After|Before|When"
_NAME = rf"(?!(?:{_NO_NAME})\b)[A-Z][\w.-]+"
_NAMES = rf"{_NAME}(?: {_NAME})*"
_AND = rf"(?: and (?:others|the user|{_NAMES}))?"
_AGE = r"(?: \(\d{1,3}\))?"
_OWNER = rf"(?:The user|{_NAMES})['’]s "
_SUBJECTS = (
    re.compile(rf"(?:The user|{_NAMES}){_AND}(?= [a-z])"),
    *(
        re.compile(rf"{_OWNER}(?:[a-z-]+ ){{{words}}}[a-z-]+(?:,? {_NAMES},?{_AGE})?{_AND}(?=,? [a-z])")
        for words in range(3)
    ),
)
"""What the first statement, and others, may begin with: who, or whose relatives and things."""
_NO_NOUN = "which|that|this|it|there|what|who|he|she|they|you|all|not|never|always|then|here|others"
_OTHER_SUBJECTS = (
    *(
        re.compile(rf"(?:their|his|her|the) (?:[a-z-]+ ){{{words}}}[a-z-]+(?: {_NAMES}{_AGE})?(?= [a-z])")
        for words in range(3)
    ),
    re.compile(rf"(?!(?:{_NO_NOUN})\b)[a-z][a-z0-9-]*(?= (?:is|are) )"),
)
"""What later statements may begin with, besides."""
_SOMEBODY = re.compile(rf"(?:\b[A-Z][\w.-]+|['’]s (?:[a-z]+ )?(?:{load_pattern('relationship')}))$")
_PRONOUN = re.compile(r"(?:he|she|they) (?=[a-z])")
_WHO = re.compile(r"^,? who\b")
_INSERTION = re.compile(r",? who (?P<clause>[^,]+), (?P<rest>.+)", re.DOTALL)
_CONJUNCTION = re.compile(
    r"(?:,? (?=and|but|so|while)|(?=[,;])| (?=[-–—]))(?P<word>and|but|so|while|[,;]|[-–—]+)"
    r"(?: (?P<adverb>also|now|currently|these days|still|then,?|later|afterwards|after that|eventually|finally"
    r"|since then,?))? (?=\w)"
)
_NOW = ("now", "currently", "these days")
_PAST_VERB = compile_pattern("past_verb")
_SHARED_VERB = re.compile(r" (?P<verb>is|are|has|have)(?: also| now| got)? (?P<value>.+)")
_NAME_OR_AGE = re.compile(rf"{_NAMES}|\d{{1,3}}")
_COUNTED = re.compile(rf"(?:another|{load_pattern('counts')}) ")
_PREPOSITION = re.compile(r"\b(?:of|in|on|at|to|from|with|for|by|about|between|than)\b")
_QUOTATION = re.compile('["“”]')
_WORD = re.compile(r"[a-z][a-z'’]*")
_THERE = re.compile(r" there(?! (?:is|are|was|were)\b)\b")
_AUXILIARY = re.compile(r" (?:is|are|was|were|has|have)\b")
_QUESTION = re.compile(r"(?:is|are|does|do|can|will|was) (?:that|it|this|there|he|she|they|you|the user)\b")
_USER_VERB = re.compile(r"(?!(?:and|or|of|in|at|on|to|from|with|for|by|as|the|an?)\b)[a-z]+ [a-z0-9]")
_VERBS = frozenset(PRESENT_FORMS) | word_set(
    "is has was does can will isn't hasn't doesn't can't cannot won't likes loves hates enjoys adores prefers studies "
    "lives drives eats drinks goes wants needs sings cooks swims bakes rents wears sees sits banks takes cycles"
)
_PLURAL_VERBS = word_set(
    "are have were can will aren't haven't don't can't cannot won't do go live practise practice meet wear eat drink "
    "sing love like hate want need prefer rent"
)
_MAIN_CONJUNCTION = compile_pattern("main_clause_joint")
_OWN_SUBJECT = re.compile(r"(?:[Tt]he|[Tt]heir) [a-z]|[A-Z][\w.-]+(?: [A-Z][\w.-]+)*(?:['’]s)? [a-z]")
_YOU = re.compile(r"\byou(?:r|rs|['’]re)?\b", re.IGNORECASE)
_LIST_JOINT = re.compile(r", (?:and )?|; ")
_LIST_TOPIC = re.compile(r"([A-Z][^:,.]{2,40}): ")
_LIST_SUBJECT = re.compile(r"([A-Z][\w'’-]*(?: [\w'’-]+){0,3}?) (?:is|are|has|have|uses?) ")
