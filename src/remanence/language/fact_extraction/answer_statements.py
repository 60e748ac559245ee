"""The statements of short answers: "Where do you live?" "Porto" is "I live in Porto".

First the parts that all of them have in common, then answers to questions with a question word, then answers to
questions for yes or no: "Are you still at Siemens?" "No, Bosch." is "I work at Bosch".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from remanence.language.lexicon import word_lists
from remanence.language.lexicon.verb_forms import base_form, conjugate, past_tense
from remanence.language.lexicon.word_lists import compile_pattern, is_common_word, load_pattern, word_set


class ParsedAnswer(NamedTuple):
    """An answer in parts: whether it says yes or no, that something has ended, and what else it says."""

    is_yes: bool | None
    no_longer: bool
    never: bool
    rest: str


def to_first_person(phrase: str) -> str:
    """The phrase in the words of the person who answers: "you" is "I", "your sister" is "my sister"."""
    return _YOU.sub(lambda match: _FIRST_PERSON[match.group().lower()], phrase)


def agree(verb: str, subject: str) -> str:
    """The verb in the form for this subject."""
    return verb if subject in PLAIN_SUBJECTS or PLURAL.search(subject) else conjugate(verb)


def lower_first(phrase: str) -> str:
    """The phrase as in the middle of a sentence: an ordinary word loses its capital."""
    first = phrase.partition(" ")[0].strip(",.")
    lower = first.lower()
    known_name = lower in word_lists.FIRST_NAMES or lower in word_lists.PLACES or lower in word_lists.ORGANIZATIONS
    is_plain = (
        lower.endswith("ly")
        or is_common_word(lower)
        or _STATUS.fullmatch(lower)
        or lower in word_lists.DETERMINERS
        or lower in _NUMBERS
    )
    if first != "I" and (first[1:].islower() or len(first) == 1) and not known_name and is_plain:
        return phrase[:1].lower() + phrase[1:]
    return phrase


PLAIN_SUBJECTS = ("I", "we", "they")
_NUMBERS = word_set("one two three four five six seven eight nine ten a an my our his her their")
_STATUS = compile_pattern("status", re.IGNORECASE)
_FIRST_PERSON = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself"}
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
SUBJECT = load_pattern("asked_subject")
OWN_SENTENCE = compile_pattern("own_sentence", re.IGNORECASE)
DETERMINER = re.compile(r"^(?:an?|the|my|any|some|your) ", re.IGNORECASE)
COUNTED = re.compile(rf"(?:{load_pattern('counts')}|several|a few|a couple(?: of)?|some|lots of|no) ", re.IGNORECASE)
NUMBER_ONLY = compile_pattern("number_only", re.IGNORECASE)
PLURAL = re.compile(r"(?<!s)(?:s|children|people)$")
PREPOSITION = re.compile(r"(?:in|at|on|with|from|for|near|by|to|outside|around|next|as)\b", re.IGNORECASE)


def wh_statement(asked: str, answer: ParsedAnswer) -> str | None:
    """The statement of an answer to a question with a question word: "" if it settles nothing, None if this is another
    question. Only "how many" and "how often" are answered by "no"."""
    for pattern, build in _WH_FORMS:
        match = pattern.fullmatch(asked)
        if match:
            settles = answer.rest or (answer.is_yes is False and build in (_how_many, _how_often))
            return build(match, answer) if settles else ""
    return None


_Builder = Callable[[re.Match[str], ParsedAnswer], str]


def _fields(match: re.Match[str]) -> dict[str, str]:
    """The parts of a question in the first person, with the forms of "be", "have" and the verb for its subject."""
    fields = {name: lower_first(to_first_person(part or "").strip()) for name, part in match.groupdict().items()}
    subject = fields.get("subject", "")
    if subject == "I":
        fields |= {"be": "am", "have": "have"}
    fields["be"] = fields.get("be") or "is"
    if "verb" in fields:
        is_past = fields.get("helper", "").lower() == "did"
        fields["verb"] = past_tense(fields["verb"]) if is_past else agree(fields["verb"], subject)
    return fields


def _filled(statement: str, preposition: str = "") -> _Builder:
    """Makes a statement of the parts of a question and its answer; `preposition` stands before an answer that has
    none."""

    def build(match: re.Match[str], answer: ParsedAnswer) -> str:
        rest = answer.rest
        if OWN_SENTENCE.match(rest):
            return ""
        takes_preposition = _DAY_FIRST.match(rest) if preposition == "on" else not _NO_PREPOSITION.match(rest)
        if preposition and takes_preposition:
            rest = f"{preposition} {rest}"
        return statement.format(**_fields(match), answer=rest)

    return build


def _occupation(match: re.Match[str], answer: ParsedAnswer) -> str:
    subject = to_first_person(match["subject"])
    subject = "I" if subject == "my" else subject
    if OWN_SENTENCE.match(answer.rest):
        return answer.rest
    if PREPOSITION.match(answer.rest):
        return f"{subject} {agree('work', subject)} {answer.rest}"
    job = answer.rest[:1].lower() + answer.rest[1:]
    if not DETERMINER.match(job) and not job.endswith("ed"):
        job = f"{'an' if job[0] in 'aeiou' else 'a'} {job}"
    return f"{subject} {'am' if subject == 'I' else 'is'} {job}"


def _age(match: re.Match[str], answer: ParsedAnswer) -> str:
    number = answer.rest.removesuffix(" years old")
    return "{subject} {be} {0} years old".format(number, **_fields(match)) if NUMBER_ONLY.fullmatch(number) else ""


def _how_many(match: re.Match[str], answer: ParsedAnswer) -> str:
    number, noun = answer.rest[:1].lower() + answer.rest[1:], match["noun"]
    if answer.is_yes is False or number in ("none", "zero"):
        number = f"no {noun}"
    elif NUMBER_ONLY.fullmatch(number):
        number = f"{number} {noun}"
    elif not COUNTED.match(number):
        return ""
    return "{subject} {verb} {0}".format(number, **_fields(match))


def _how_many_do(match: re.Match[str], answer: ParsedAnswer) -> str:
    """How many people work in your team; how many are you."""
    number, _, more = answer.rest.partition(" ")
    return f"{number} {match['noun']} {to_first_person(match['rest'])} {more}" if _NUMBER_FIRST.match(number) else ""


def _how_often(match: re.Match[str], answer: ParsedAnswer) -> str:
    statement = "{subject} never {verb} {more}" if answer.is_yes is False else "{subject} {verb} {more} {0}"
    return statement.format(answer.rest, **_fields(match))


def _who(match: re.Match[str], answer: ParsedAnswer) -> str:
    still = _STILL_FIRST.match(answer.rest)
    name = answer.rest[still.end() :] if still else answer.rest
    if OWN_SENTENCE.match(name):
        return ""
    name = "I" if name.lower() in ("me", "i am", "i do") else name
    verb, rest, adverb = match["verb"].strip(), to_first_person(match["rest"]), "still " if still else ""
    if verb not in ("is", "'s", "’s"):
        return f"{name} {adverb}{base_form(verb) if name == 'I' else verb} {rest}"
    if rest.startswith("my "):
        return f"{rest} is {adverb}{name}"
    return f"{name} {'am' if name == 'I' else 'is'} {adverb}{rest}"


_OF_SUBJECT = r"(?P<subject>your(?: [\w-]+(?=['’]s))?)(?:['’]s)?"
_NUMBER_FIRST = re.compile(rf"(?:{load_pattern('counts')}|eleven|twelve|\w+teen|\w+ty|several|none)\b", re.IGNORECASE)
_STILL_FIRST = re.compile(r"(?:it['’]s )?still ", re.IGNORECASE)
_DAY_FIRST = re.compile(
    r"(?:the )?\d{1,2}(?:st|nd|rd|th)\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.IGNORECASE
)
_NO_PREPOSITION = re.compile(
    rf"{PREPOSITION.pattern}|(?:since|all|ever|here|there|abroad|home|nowhere|everywhere)\b", re.IGNORECASE
)
_NOUN = r"(?P<noun>(?:the [a-z]+ of )?(?:your|her|his|their) .+?)"
_WHAT = r"(?:[Ww]hat|[Ww]hich|[Ww]ho)(?: [\w' -]+?)?"
_VERB = rf"(?P<helper>[Dd]o|[Dd]oes|[Dd]id) {SUBJECT} (?P<verb>[a-z]+)(?P<more> .+)?"
_WHERE_IS = rf"[Ww]here(?: are| is|['’]s|['’]re) {SUBJECT}"
_WH_FORMS: tuple[tuple[re.Pattern[str], _Builder], ...] = tuple(
    (re.compile(pattern), build)
    for pattern, build in (
        (rf"[Ww]hat (?:do|does) {SUBJECT} do(?: for (?:a living|work))?", _occupation),
        (rf"(?:[Ww]hat(?: is|['’]s)|[Aa]nd) {_OF_SUBJECT} (?:job|profession|occupation)", _occupation),
        (r"[Ww]hat (?:should|shall|can|do|may) I call you", _filled("I am called {answer}")),
        (rf"[Ww]hat(?: is|['’]s| are) {_NOUN}(?: like|(?P<called> called))?", _filled("{noun} is {called} {answer}")),
        (rf"(?i:(?:your )?(?P<noun>{load_pattern('asked_attributes')}))", _filled("my {noun} is {answer}")),
        (rf"[Hh]ow old (?:are|is) {SUBJECT}(?: now)?", _age),
        (r"[Ww]here to(?: next| now)?", _filled("I am going {answer}", "to")),
        (rf"[Ww]here (?=.* work\b){_VERB}", _filled("{subject} {verb} {more} {answer}", "at")),
        (rf"[Ww]here {_VERB}", _filled("{subject} {verb} {more} {answer}", "in")),
        (rf"{_WHERE_IS}(?: [a-z]+ing| based)? from", _filled("{subject} {be} {answer}", "from")),
        (rf"{_WHERE_IS}(?: [a-z]+ing| based)?(?: at)?", _filled("{subject} {be} {answer}", "in")),
        (rf"[Hh]ow many (?P<noun>.+?) (?:do|does) {SUBJECT} (?P<verb>[a-z]+)(?: got)?", _how_many),
        (r"[Hh]ow many (?P<noun>[a-z]+) (?P<rest>(?!do\b|does\b|did\b|are you\b)[a-z]+ .*\byour\b.*)", _how_many_do),
        (rf"[Hh]ow often {_VERB}", _how_often),
        (
            rf"(?:[Hh]ow long|[Ss]ince when) (?P<have>have|has) {SUBJECT} (?P<rest>.+)",
            _filled("{subject} {have} {rest} {answer}", "for"),
        ),
        (rf"[Ww]hen {_VERB}", _filled("{subject} {verb} {more} {answer}", "on")),
        (r"[Ww]hen(?: (?P<be>is|was)|['’]s) (?P<subject>.+)", _filled("{subject} {be} {answer}", "on")),
        (rf"[Ww]hat time {_VERB}", _filled("{subject} {verb} {more} {answer}", "at")),
        (rf"{_WHAT} {_VERB}", _filled("{subject} {verb} {more} {answer}")),
        (rf"{_WHAT} (?P<be>are|is) {SUBJECT} (?P<rest>[a-z].*)", _filled("{subject} {be} {rest} {answer}")),
        (r"[Ww]ho(?P<verb>['’]s| is| [a-z]+s) (?P<rest>.+)", _who),
    )
)


class PolarQuestion(NamedTuple):
    """A question for yes or no, as the statement it asks about: subject, verb, and what follows the verb."""

    subject: str
    auxiliary: str
    """The verb that a negation follows; "" if it would take "do"."""
    verb: str
    """The main verb where there is no auxiliary."""
    base: str
    """Its base form."""
    complement: str
    is_still: bool
    is_past: bool

    @classmethod
    def of(cls, form: re.Match[str]) -> PolarQuestion:
        auxiliary, rest = form["auxiliary"].lower(), form["rest"]
        subject = to_first_person(form["subject"])
        is_still = form["still"] is not None
        is_past = auxiliary == "did"
        if auxiliary in ("do", "does", "did"):
            verb, _, complement = rest.partition(" ")
            spoken = past_tense(verb) if is_past else agree(verb, subject)
            return cls(subject, "", spoken, verb, to_first_person(complement), is_still, is_past)
        auxiliary = {"are": "am"}.get(auxiliary, auxiliary) if subject == "I" else auxiliary
        moved = _STILL_AT.match(rest) if is_still and auxiliary in ("am", "is", "are") else None
        if moved:  # to be still at a firm is to work there
            verb = "work" if moved[1] == "at" else "live"
            return cls(subject, "", agree(verb, subject), verb, rest, is_still, is_past)
        return cls(subject, auxiliary, "", "", to_first_person(rest), is_still, is_past)

    def affirmative_statement(self, complement: str) -> str:
        """The statement with this complement."""
        return " ".join(filter(None, (self.subject, self.auxiliary or self.verb, complement)))

    def negative_statement(self, *, no_longer: bool, never: bool) -> str:
        """The statement denied."""
        if self.auxiliary:
            negation = "no longer" if no_longer else "never" if never and self.auxiliary in ("have", "has") else "not"
            complement = _EVER.sub("", self.complement)
            return f"{self.subject} {self.auxiliary} {negation} {complement}"
        if no_longer:
            return f"{self.subject} no longer {self.verb} {self.complement}".rstrip()
        if never or self.complement.startswith("ever "):
            return f"{self.subject} never {self.verb} {_EVER.sub('', self.complement)}".rstrip()
        helper = "did" if self.is_past else "do" if self.subject in PLAIN_SUBJECTS else "does"
        return f"{self.subject} {helper} not {self.base} {self.complement}".rstrip()


def polar_statements(asked: PolarQuestion, answer: ParsedAnswer) -> list[str]:
    rest = answer.rest
    if asked.is_past and not _LASTING_PAST.match(asked.base):
        return []
    alternatives = _CHOICE.fullmatch(asked.complement)
    if answer.is_yes is False:
        if alternatives:
            denied = (
                [f"{asked.affirmative_statement('not ' + alternative)}" for alternative in alternatives.groups()]
                if asked.auxiliary
                else []
            )
        else:
            denied = [asked.negative_statement(no_longer=asked.is_still or answer.no_longer, never=answer.never)]
        if not rest:
            return denied
        if rest.lower().startswith("no "):
            return denied if asked.auxiliary else [asked.affirmative_statement(rest[:1].lower() + rest[1:])]
        if OWN_SENTENCE.match(rest):
            return [*denied, _with_object(rest, asked)]
        if answer.never and rest.endswith("ed"):
            return denied  # never learned
        if rest.lower().removeprefix("an ") == "only child":
            return [*denied, "I am an only child"]
        return [*([] if alternatives else denied), _replacement_statement(asked, rest)]
    if not rest:
        if alternatives:
            return []
        return [asked.affirmative_statement(_WITHOUT_ANY.sub("", asked.complement))]
    if alternatives:
        if rest.lower() == "both":
            return [asked.affirmative_statement(f"{alternatives[1]} and {alternatives[2]}")]
        named = _named_alternative(alternatives, rest)
        if named is None and asked.auxiliary in ("am", "is", "are") and not PREPOSITION.match(rest):
            return [asked.affirmative_statement(rest)] if len(rest.split()) == 1 else []
        return [asked.affirmative_statement(named) if named else _alternative_statement(asked, rest)]
    if OWN_SENTENCE.match(rest):
        own = _with_object(rest, asked)
        return [asked.affirmative_statement(_WITHOUT_ANY.sub("", asked.complement)), own] if answer.is_yes else [own]
    if _VERB_FIRST.match(rest):
        return [f"{asked.subject} {_with_object(rest[:1].lower() + rest[1:], asked)}"]
    if _ADVERBIAL.match(rest):
        return [f"{asked.affirmative_statement(_WITHOUT_ANY.sub('', asked.complement))} {rest}"]
    return [_replacement_statement(asked, rest)]


def _named_alternative(alternatives: re.Match[str], rest: str) -> str | None:
    """The alternative of a question that an answer names by a word: "a dog person or a cat person?" "Cat." """
    words = set(_WORDS.findall(rest.lower()))
    first, second = alternatives.groups()
    if first.endswith("-"):  # left- or right-handed
        first += second.rpartition("-")[2]
    by_words = [set(_WORDS.findall(phrase.lower())) for phrase in (first, second)]
    hits = [
        phrase
        for phrase, own, other in ((first, by_words[0], by_words[1]), (second, by_words[1], by_words[0]))
        if words & (own - other)
    ]
    return hits[0] if len(hits) == 1 and len(words) <= 2 and " " in hits[0].replace("-", " ") else None


def _replacement_statement(asked: PolarQuestion, rest: str) -> str:
    """The statement with `rest` in place of what the question leaves open."""
    complement = asked.complement
    have = asked.verb in ("have", "has", "own", "owns", "keep", "keeps") or _HAVE_GOT.match(complement)
    if have and _ALLERGIES.search(complement):
        return f"{asked.subject} {'am' if asked.subject == 'I' else 'is'} allergic to {rest}"
    if have:
        noun = _WITHOUT_ANY.sub("", _HAVE_GOT.sub("", complement))
        if NUMBER_ONLY.fullmatch(rest):
            things = DETERMINER.sub("", noun)
            plural = things if PLURAL.search(things) or rest.lower() in ("one", "a") else f"{things}s"
            return f"{asked.subject} {asked.verb or 'have'} {rest} {plural}"
        if COUNTED.match(rest) or not PLURAL.search(noun):
            return f"{asked.subject} {asked.verb or 'have'} {rest}"
        return f"{asked.subject} {asked.verb or 'have'} {noun}: {rest}"
    open_part = _OPEN_PART.search(complement)
    if PREPOSITION.match(rest):
        return _alternative_statement(asked, rest)
    if open_part:
        return asked.affirmative_statement(complement[: open_part.start()] + rest + complement[open_part.end() :])
    if asked.auxiliary in ("am", "is", "are", "was", "were") and not PREPOSITION.match(complement):
        if _IS_STATE_WITH_PREPOSITION.match(complement):
            return asked.affirmative_statement(_LAST_PHRASE.sub(lambda match: f"{match[1]} {rest}", complement))
        return asked.affirmative_statement(rest)
    return _alternative_statement(asked, rest)


def _alternative_statement(asked: PolarQuestion, rest: str) -> str:
    """The statement with `rest` in place of the last noun phrase: after a preposition, or all after the verb."""
    if PREPOSITION.match(rest):
        kept = _FIRST_PREPOSITION.split(asked.complement, maxsplit=1)[0].removesuffix("alone")
        return asked.affirmative_statement(f"{kept} {rest}".strip())
    first = asked.complement.split(" or ")[0]
    match = _LAST_PHRASE.fullmatch(first)
    return asked.affirmative_statement(f"{match[1]} {rest}" if match else rest)


def _with_object(sentence: str, asked: PolarQuestion) -> str:
    """An answer with what the question is about in place of its pronouns: "I sold it" is "I sold the car"."""
    complement = _HAVE_GOT.sub("", asked.complement)
    phrase = _LAST_PHRASE.fullmatch(complement)
    words = phrase[2] if phrase else complement
    thing = DETERMINER.sub("the ", words) if words else f"{asked.base.removesuffix('e')}ing" if asked.base else ""
    if len(thing.split()) > 4:
        return sentence
    together = re.fullmatch(r"(?:together )?with ([A-Z]\w+|my [a-z]+)", asked.complement)
    if together:  # still with Tom? We broke up
        sentence = re.sub(r"^[Ww]e\b", f"{together[1]} and I", sentence)
    about = asked.subject if asked.subject != "I" else thing
    sentence = re.sub(r"^(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey)(?=['’ ])", about, sentence)
    return _IT.sub(thing, sentence, count=1) if thing else sentence


POLAR = re.compile(
    rf"(?P<auxiliary>[Aa]re|[Ii]s|[Ww]as|[Ww]ere|[Dd]o|[Dd]oes|[Dd]id|[Hh]ave|[Hh]as|[Cc]an|[Ww]ill) {SUBJECT}"
    r"(?: (?P<still>still)| (?:also|already|actually|currently|now|both))* (?P<rest>.+)"
)
_IT = re.compile(r"\b(?:it|them|that one|him|her)\b")
_VERB_FIRST = compile_pattern("verb_first_answer", re.IGNORECASE)
_ADVERBIAL = compile_pattern("adverbial_answer", re.IGNORECASE)
_EVER = re.compile(r"^ever ")
_STILL_AT = re.compile(r"(at|in) (?:the )?[A-Z]")
_CHOICE = re.compile(r"(.+?),? or (.+)")
_HAVE_GOT = re.compile(r"^(?:got|have) ")
_ALLERGIES = re.compile(r"\ballerg(?:y|ies)\b")
_WITHOUT_ANY = re.compile(r"\bany (?:other )?|\bever ")
_OPEN_PART = re.compile(r"\b(?:anything|anyone|anybody|something|someone|anywhere|somewhere|any (?:other )?\w+)\b")
_FIRST_PREPOSITION = re.compile(r"\b(?:in|at|on|with|from|for|near|by|to)\b")
_LAST_PHRASE = re.compile(r"(.*\b(?:in|at|on|with|from|for|near|by|to|of)\b|[a-z]+(?:ing|er)\b(?= )|)(?: )?(.+)")
_IS_STATE_WITH_PREPOSITION = re.compile(
    r"(?:[a-z]+(?:ing|ed)|allergic|married|afraid|fluent|good) (?:in|at|on|with|from|for|to|of) "
)
_WORDS = re.compile(r"[^\W_]+")
_LASTING_PAST = compile_pattern("lasting_past_verb", re.IGNORECASE)
