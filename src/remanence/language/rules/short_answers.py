"""A short answer and the question before it, as statements: "Any allergies?" "Peanuts." is "I am allergic to peanuts".

The statements are in the first person of whoever answers, and are then read like any other sentence. An answer that
settles nothing ("not sure yet"), an offer ("Shall I …?") and a question whose form is unknown give no statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from remanence.language.rules import lexicon
from remanence.language.rules.lexicon import compile_pattern, is_common_word, load_pattern, word_set
from remanence.language.rules.third_person import conjugate
from remanence.language.text import split_sentences

MAX_ANSWER_WORDS = 10
"""A longer answer says by itself what it is about."""


class Answer(NamedTuple):
    """An answer in parts: whether it says yes or no, that something has ended, and what else it says."""

    is_yes: bool | None
    no_longer: bool
    never: bool
    rest: str


def answer_statements(question: str, answer: str) -> list[str]:
    """What a short answer says together with its question, in the first person; [] if it settles nothing.

    >>> answer_statements("Are you allergic to anything?", "Yes, peanuts.")
    ['I am allergic to peanuts']
    >>> answer_statements("Nice! Are you still at Siemens?", "No, Bosch.")
    ['I no longer work at Siemens', 'I work at Bosch']
    >>> answer_statements("Where does your sister live?", "Porto"), answer_statements("Are you sure?", "who knows")
    (['My sister lives in Porto'], [])
    """
    asked = _last_question(question)
    if asked is None or len(answer.split()) > MAX_ANSWER_WORDS or "?" in answer or _UNSETTLED.search(answer):
        return []
    parsed = _parse_answer(answer)
    verbs = _VERB_CHOICE.fullmatch(asked)
    if verbs:
        chosen = [verb for verb in verbs.groups() if parsed.rest.lower().startswith(verb.lower())]
        return [f"I {parsed.rest}"] if chosen else []
    for pattern, build in _WH_FORMS:
        found = pattern.fullmatch(asked)
        if found:
            statement = build(found, parsed) if parsed.rest or parsed.is_yes is False else ""
            return [_upper_first(statement)] if statement else []
    form = _POLAR.fullmatch(asked)
    if form is None or _OFFER.match(asked):
        return _in_own_words(asked, answer, parsed)
    return [_upper_first(statement) for statement in _polar_statements(_PolarQuestion.of(form), parsed)]


def _in_own_words(asked: str, answer: str, parsed: Answer) -> list[str]:
    """Question and answer as they are, where the form of a personal question is unknown and the answer names
    something.

    >>> _in_own_words("How do you get to work", "By bike.", _parse_answer("By bike."))
    ['My answer to "How do you get to work" is "By bike"']
    """
    if not parsed.rest or _NOT_PERSONAL.search(asked) or not _PERSONAL.match(asked) or _OWN_SENTENCE.match(parsed.rest):
        return []
    return [f'My answer to "{asked}" is "{answer.strip(_EDGES)}"']


def answers_itself(answer: str) -> bool:
    """Whether an answer has a subject and a verb of its own, and nothing that only its question explains."""
    return _OWN_SENTENCE.match(answer) is not None and not _REFERS_BACK.search(answer)


class _PolarQuestion(NamedTuple):
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
    def of(cls, form: re.Match[str]) -> _PolarQuestion:
        auxiliary, rest = form["auxiliary"].lower(), form["rest"]
        subject = _own(form["subject"])
        is_still = form["still"] is not None
        is_past = auxiliary == "did"
        if auxiliary in ("do", "does", "did"):
            verb, _, complement = rest.partition(" ")
            spoken = past_tense(verb) if is_past else _agree(verb, subject)
            return cls(subject, "", spoken, verb, _own(complement), is_still, is_past)
        auxiliary = {"are": "am"}.get(auxiliary, auxiliary) if subject == "I" else auxiliary
        moved = _STILL_AT.match(rest) if is_still and auxiliary in ("am", "is", "are") else None
        if moved:  # to be still at a firm is to work there
            verb = "work" if moved[1] == "at" else "live"
            return cls(subject, "", _agree(verb, subject), verb, rest, is_still, is_past)
        return cls(subject, auxiliary, "", "", _own(rest), is_still, is_past)

    def says(self, complement: str) -> str:
        """The statement with this complement."""
        return " ".join(filter(None, (self.subject, self.auxiliary or self.verb, complement)))

    def denies(self, *, no_longer: bool, never: bool) -> str:
        """The statement denied."""
        if self.auxiliary:
            negation = "no longer" if no_longer else "never" if never and self.auxiliary in ("have", "has") else "not"
            complement = _EVER.sub("", self.complement)
            return f"{self.subject} {self.auxiliary} {negation} {complement}"
        if no_longer:
            return f"{self.subject} no longer {self.verb} {self.complement}".rstrip()
        if never or self.complement.startswith("ever "):
            return f"{self.subject} never {self.verb} {_EVER.sub('', self.complement)}".rstrip()
        helper = "did" if self.is_past else "do" if self.subject in _PLAIN_SUBJECTS else "does"
        return f"{self.subject} {helper} not {self.base} {self.complement}".rstrip()


def _polar_statements(asked: _PolarQuestion, answer: Answer) -> list[str]:
    rest = answer.rest
    if asked.is_past and not _LASTING_PAST.match(asked.base):
        return []
    alternatives = _CHOICE.fullmatch(asked.complement)
    if answer.is_yes is False:
        if alternatives:
            denied = [f"{asked.says('not ' + each)}" for each in alternatives.groups()] if asked.auxiliary else []
        else:
            denied = [asked.denies(no_longer=asked.is_still or answer.no_longer, never=answer.never)]
        if not rest:
            return denied
        if rest.lower().startswith("no "):
            return denied if asked.auxiliary else [asked.says(rest[:1].lower() + rest[1:])]
        if _OWN_SENTENCE.match(rest):
            return [*denied, _with_object(rest, asked)]
        if answer.never and rest.endswith("ed"):
            return denied  # never learned
        if rest.lower().removeprefix("an ") == "only child":
            return [*denied, "I am an only child"]
        return [*([] if alternatives else denied), _replaced(asked, rest)]
    if not rest:
        if alternatives:
            return []
        return [asked.says(_WITHOUT_ANY.sub("", asked.complement))]
    if alternatives:
        if rest.lower() == "both":
            return [asked.says(f"{alternatives[1]} and {alternatives[2]}")]
        named = _named_alternative(alternatives, rest)
        if named is None and asked.auxiliary in ("am", "is", "are") and not _PREPOSITION.match(rest):
            return [asked.says(rest)] if len(rest.split()) == 1 else []
        return [asked.says(named) if named else _chosen(asked, rest)]
    if _OWN_SENTENCE.match(rest):
        own = _with_object(rest, asked)
        return [asked.says(_WITHOUT_ANY.sub("", asked.complement)), own] if answer.is_yes else [own]
    if _VERB_FIRST.match(rest):
        return [f"{asked.subject} {_with_object(rest[:1].lower() + rest[1:], asked)}"]
    if _ADVERBIAL.match(rest):
        return [f"{asked.says(_WITHOUT_ANY.sub('', asked.complement))} {rest}"]
    return [_replaced(asked, rest)]


def _named_alternative(alternatives: re.Match[str], rest: str) -> str | None:
    """The alternative of a question that an answer names by a word: "a dog person or a cat person?" "Cat." """
    words = set(_WORDS.findall(rest.lower()))
    first, second = alternatives.groups()
    if first.endswith("-"):  # left- or right-handed
        first += second.rpartition("-")[2]
    by_words = [set(_WORDS.findall(each.lower())) for each in (first, second)]
    hits = [
        each
        for each, own, other in ((first, by_words[0], by_words[1]), (second, by_words[1], by_words[0]))
        if words & (own - other)
    ]
    return hits[0] if len(hits) == 1 and len(words) <= 2 and " " in hits[0].replace("-", " ") else None


def _replaced(asked: _PolarQuestion, rest: str) -> str:
    """The statement with `rest` in place of what the question leaves open."""
    complement = asked.complement
    have = asked.verb in ("have", "has", "own", "owns", "keep", "keeps") or _HAVE_GOT.match(complement)
    if have and _ALLERGIES.search(complement):
        return f"{asked.subject} {'am' if asked.subject == 'I' else 'is'} allergic to {rest}"
    if have:
        noun = _WITHOUT_ANY.sub("", _HAVE_GOT.sub("", complement))
        if _NUMBER_ONLY.fullmatch(rest):
            things = _DETERMINER.sub("", noun)
            plural = things if _PLURAL.search(things) or rest.lower() in ("one", "a") else f"{things}s"
            return f"{asked.subject} {asked.verb or 'have'} {rest} {plural}"
        if _COUNTED.match(rest) or not _PLURAL.search(noun):
            return f"{asked.subject} {asked.verb or 'have'} {rest}"
        return f"{asked.subject} {asked.verb or 'have'} {noun}: {rest}"
    open_part = _OPEN_PART.search(complement)
    if _PREPOSITION.match(rest):
        return _chosen(asked, rest)
    if open_part:
        return asked.says(complement[: open_part.start()] + rest + complement[open_part.end() :])
    if asked.auxiliary in ("am", "is", "are", "was", "were") and not _PREPOSITION.match(complement):
        if _IS_STATE_WITH_PREPOSITION.match(complement):
            return asked.says(_LAST_PHRASE.sub(lambda found: f"{found[1]} {rest}", complement))
        return asked.says(rest)
    return _chosen(asked, rest)


def _chosen(asked: _PolarQuestion, rest: str) -> str:
    """The statement with `rest` in place of the last noun phrase: after a preposition, or all after the verb."""
    if _PREPOSITION.match(rest):
        kept = _FIRST_PREPOSITION.split(asked.complement, maxsplit=1)[0].removesuffix("alone")
        return asked.says(f"{kept} {rest}".strip())
    first = asked.complement.split(" or ")[0]
    found = _LAST_PHRASE.fullmatch(first)
    return asked.says(f"{found[1]} {rest}" if found else rest)


def _with_object(sentence: str, asked: _PolarQuestion) -> str:
    """An answer with what the question is about in place of its pronouns: "I sold it" is "I sold the car"."""
    complement = _HAVE_GOT.sub("", asked.complement)
    phrase = _LAST_PHRASE.fullmatch(complement)
    words = phrase[2] if phrase else complement
    thing = _DETERMINER.sub("the ", words) if words else f"{asked.base.removesuffix('e')}ing" if asked.base else ""
    if len(thing.split()) > 4:
        return sentence
    together = re.fullmatch(r"(?:together )?with ([A-Z]\w+|my [a-z]+)", asked.complement)
    if together:  # still with Tom? We broke up
        sentence = re.sub(r"^[Ww]e\b", f"{together[1]} and I", sentence)
    about = asked.subject if asked.subject != "I" else thing
    sentence = re.sub(r"^(?:[Hh]e|[Ss]he|[Ii]t|[Tt]hey)(?=['’ ])", about, sentence)
    return _IT.sub(thing, sentence, count=1) if thing else sentence


# -- questions with a question word ----------------------------------------------------------------------


def _occupation(found: re.Match[str], answer: Answer) -> str:
    subject = _own(found["subject"])
    subject = "I" if subject == "my" else subject
    if _OWN_SENTENCE.match(answer.rest):
        return answer.rest
    if _PREPOSITION.match(answer.rest):
        return f"{subject} {_agree('work', subject)} {answer.rest}"
    job = answer.rest[:1].lower() + answer.rest[1:]
    if not _DETERMINER.match(job) and not job.endswith("ed"):
        job = f"{'an' if job[0] in 'aeiou' else 'a'} {job}"
    return f"{subject} {'am' if subject == 'I' else 'is'} {job}"


def _attribute(found: re.Match[str], answer: Answer) -> str:
    if _OWN_SENTENCE.match(answer.rest):
        return ""
    noun, called, _ = _own(found["noun"].removesuffix(" like")).partition(" called")
    return f"{noun} is{called} {answer.rest}"


def _own_attribute(found: re.Match[str], answer: Answer) -> str:
    return "" if _OWN_SENTENCE.match(answer.rest) else f"my {found['noun'].lower()} is {answer.rest}"


def _place(found: re.Match[str], answer: Answer) -> str:
    subject, verb = _own(found["subject"]), found["verb"]
    preposition = "" if _PREPOSITION.match(answer.rest) else "at " if verb == "work" else "in "
    if answer.rest.lower().startswith(_HERE):
        preposition = ""
    more = (found["more"] or "").strip()
    if found["did"]:
        return f"{subject} {past_tense(verb)} {more} {preposition}{answer.rest}".replace("  ", " ")
    return f"{subject} {_agree(verb, subject)} {more} {preposition}{answer.rest}".replace("  ", " ")


def _origin(found: re.Match[str], answer: Answer) -> str:
    subject = _own(found["subject"])
    be = "am" if subject == "I" else "is"
    joint = "" if _PREPOSITION.match(answer.rest) else f"{found['last'] or 'in'} "
    return f"{subject} {be} {joint}{answer.rest}"


def _age(found: re.Match[str], answer: Answer) -> str:
    subject = _own(found["subject"])
    if not _NUMBER_ONLY.fullmatch(answer.rest.removesuffix(" years old")):
        return ""
    return f"{subject} {'am' if subject == 'I' else 'is'} {answer.rest.removesuffix(' years old')} years old"


def _how_many(found: re.Match[str], answer: Answer) -> str:
    subject, verb, noun = _own(found["subject"]), found["verb"], found["noun"]
    if answer.is_yes is False or answer.rest.lower() in ("none", "zero"):
        return f"{subject} {_agree(verb, subject)} no {noun}"
    if not _COUNTED.match(answer.rest) and not _NUMBER_ONLY.fullmatch(answer.rest):
        return ""
    named = f"{answer.rest} {noun}" if _NUMBER_ONLY.fullmatch(answer.rest) else answer.rest
    return f"{subject} {_agree(verb, subject)} {named[:1].lower()}{named[1:]}"


def _how_many_do(found: re.Match[str], answer: Answer) -> str:
    """How many people work in your team; how many are you."""
    if not _NUMBER_FIRST.match(answer.rest):
        return ""
    number, _, more = answer.rest.partition(" ")
    return f"{number} {found['noun']} {_own(found['rest'])} {more}".strip()


def _called(found: re.Match[str], answer: Answer) -> str:
    return f"I am called {answer.rest}"


def _how_often(found: re.Match[str], answer: Answer) -> str:
    subject = _own(found["subject"])
    if answer.is_yes is False:
        return f"{subject} never {_agree(found['verb'], subject)} {_own(found['more'] or '').strip()}"
    return f"{subject} {_agree(found['verb'], subject)} {_own(found['more'] or '').strip()} {answer.rest}".replace(
        "  ", " "
    )


def _how_long(found: re.Match[str], answer: Answer) -> str:
    subject = _own(found["subject"])
    joint = "" if re.match(r"(?:since|for|about|over|almost|nearly|only|all|ever)\b", answer.rest, re.I) else "for "
    joint = "for " if re.match(r"(?:about|over|almost|nearly|only)\b", answer.rest, re.I) else joint
    return f"{subject} {found['have'] if subject != 'I' else 'have'} {_own(found['rest'])} {joint}{answer.rest}"


def _object(found: re.Match[str], answer: Answer) -> str:
    """What do you drink; which bank does your wife use; what did you study; who do you live with."""
    if _OWN_SENTENCE.match(answer.rest):
        return ""
    subject, words = _own(found["subject"]), found["rest"].split()
    verb = past_tense(words[0]) if found["helper"].lower() == "did" else _agree(words[0], subject)
    joint = ["at"] if found.group().lower().startswith("what time") and not _PREPOSITION.match(answer.rest) else []
    return " ".join([subject, verb, *words[1:], *joint, answer.rest])


def _ongoing(found: re.Match[str], answer: Answer) -> str:
    """What are you allergic to; what are you reading."""
    if _OWN_SENTENCE.match(answer.rest):
        return ""
    subject = _own(found["subject"])
    return f"{subject} {'am' if subject == 'I' else found['be']} {found['rest']} {answer.rest}"


def _who(found: re.Match[str], answer: Answer) -> str:
    still = _STILL_FIRST.match(answer.rest)
    name = answer.rest[still.end() :] if still else answer.rest
    if _OWN_SENTENCE.match(name):
        return ""
    name = "I" if name.lower() in ("me", "i am", "i do") else name
    verb, rest, adverb = found["verb"].strip(), _own(found["rest"]), "still " if still else ""
    if verb not in ("is", "'s", "’s"):
        return f"{name} {adverb}{base_form(verb) if name == 'I' else verb} {rest}"
    if rest.startswith("my "):
        return f"{rest} is {adverb}{name}"
    return f"{name} {'am' if name == 'I' else 'is'} {adverb}{rest}"


def _when(found: re.Match[str], answer: Answer) -> str:
    if _OWN_SENTENCE.match(answer.rest):
        return ""
    subject, words = _own(found["subject"]), found["rest"].split()
    verb = past_tense(words[0]) if found["helper"].lower() == "did" else _agree(words[0], subject)
    return " ".join([subject, verb, *words[1:], _DAY_FIRST.sub("on ", answer.rest)])


def _next_place(found: re.Match[str], answer: Answer) -> str:
    return f"I am going to {re.sub(r'^(?:to|in|at) ', '', answer.rest)}"


def _when_is(found: re.Match[str], answer: Answer) -> str:
    if _OWN_SENTENCE.match(answer.rest):
        return ""
    return f"{_own(found['subject'])} {found['be'] or 'is'} {_DAY_FIRST.sub('on ', answer.rest)}"


# -- words -----------------------------------------------------------------------------------------------


def past_tense(verb: str) -> str:
    """The past of a base form; only the frequent irregular verbs are known.

    >>> past_tense("move"), past_tense("study"), past_tense("go"), past_tense("stop")
    ('moved', 'studied', 'went', 'stopped')
    """
    if verb in _PAST:
        return _PAST[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1]}ed" if re.fullmatch(r"[^aeiou]*[aeiou][bdgmnpt]", verb) else f"{verb}ed"


def base_form(verb: str) -> str:
    """The base form of a third person or a past form that `_PolarQuestion` made.

    >>> base_form("has"), base_form("lives"), base_form("studies"), base_form("went"), base_form("eat")
    ('have', 'live', 'study', 'go', 'eat')
    """
    if verb in _BASE:
        return _BASE[verb]
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("shes", "ches", "xes", "zes", "oes", "sses")):
        return verb[:-2]
    if verb.endswith("s") and not verb.endswith("ss"):
        return verb[:-1]
    return verb


def _parse_answer(answer: str) -> Answer:
    text = _INTERJECTION.sub("", " ".join(answer.split()).strip(_EDGES))
    is_yes: bool | None = None
    no_longer = never = False
    for _ in range(3):
        yes, no = _YES.match(text), _NO.match(text)
        found = yes or no
        if found is None:
            break
        is_yes = yes is not None if is_yes is None else is_yes
        no_longer = no_longer or (no is not None and no["longer"] is not None)
        never = never or (no is not None and no["never"] is not None)
        text = text[found.end() :].lstrip(" ,.;:-–—!")
    rest = _DURATION.sub(lambda found: f"for {found[1].lower()}", _AND.sub("", _POLITE.sub("", text).strip(_EDGES)))
    if is_yes is None and _NO_NOUN.match(rest):
        is_yes = False
    return Answer(is_yes, no_longer, never, _lower_first(rest))


def _last_question(text: str) -> str | None:
    """The last question of a turn as a whole sentence, without its openers; "Any kids?" has its verb added."""
    questions = [sentence for sentence in split_sentences(text) if sentence.rstrip(' "”)').endswith("?")]
    if not questions:
        return None
    asked = _ASIDE.sub("", _OPENER.sub("", questions[-1].strip().rstrip(' ?!"”)')))
    asked = asked.strip(" ,")
    declared = _DECLARED.fullmatch(asked)
    if declared:  # you're still vegetarian?
        verb = declared["verb"]
        return (
            f"Are you {declared['rest']}"
            if declared["be"]
            else f"Do you {declared['still'] or ''}{verb} {declared['more']}"
        )
    for pattern, completed in _ELLIPSES:
        found = pattern.fullmatch(asked)
        if found:
            return completed.format(found[1][:1].lower() + found[1][1:])
    return asked


def _own(phrase: str) -> str:
    """What the one who answers calls it: "you" is "I", "your sister" is "my sister"."""
    return _YOU.sub(lambda found: _FIRST_PERSON[found.group().lower()], phrase)


def _agree(verb: str, subject: str) -> str:
    """The verb as it stands after this subject."""
    return verb if subject in _PLAIN_SUBJECTS or _PLURAL.search(subject) else conjugate(verb)


def _lower_first(phrase: str) -> str:
    """The phrase as it stands inside a sentence: only the capital of an ordinary word goes."""
    first = phrase.partition(" ")[0].strip(",.")
    lower = first.lower()
    known_name = lower in lexicon.FIRST_NAMES or lower in lexicon.PLACES or lower in lexicon.ORGANIZATIONS
    is_plain = (
        lower.endswith("ly")
        or is_common_word(lower)
        or _STATUS.fullmatch(lower)
        or lower in lexicon.DETERMINERS
        or lower in _NUMBERS
    )
    if first != "I" and (first[1:].islower() or len(first) == 1) and not known_name and is_plain:
        return phrase[:1].lower() + phrase[1:]
    return phrase


def _upper_first(statement: str) -> str:
    words = " ".join(statement.split())
    return words[:1].upper() + words[1:]


_PLAIN_SUBJECTS = ("I", "we", "they")
_NUMBERS = word_set("one two three four five six seven eight nine ten a an my our his her their")
_STATUS = compile_pattern("status", re.IGNORECASE)
_EDGES = " .!,;:()"
_FIRST_PERSON = {"you": "I", "your": "my", "yours": "mine", "yourself": "myself"}
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_SUBJECT = load_pattern("asked_subject")
_OF_SUBJECT = r"(?P<subject>your(?: [\w-]+(?=['’]s))?)(?:['’]s)?"
_POLAR = re.compile(
    rf"(?P<auxiliary>[Aa]re|[Ii]s|[Ww]as|[Ww]ere|[Dd]o|[Dd]oes|[Dd]id|[Hh]ave|[Hh]as|[Cc]an|[Ww]ill) {_SUBJECT}"
    r"(?: (?P<still>still)| (?:also|already|actually|currently|now|both))* (?P<rest>.+)"
)
_OFFER = compile_pattern("offered", re.IGNORECASE)
_UNSETTLED = compile_pattern("unsettled_answer", re.IGNORECASE)
_YES = compile_pattern("yes_answer", re.IGNORECASE)
_NO = compile_pattern("no_answer", re.IGNORECASE)
_INTERJECTION = compile_pattern("answer_interjection", re.IGNORECASE)
_OPENER = compile_pattern("question_opener", re.IGNORECASE)
_ASIDE = compile_pattern("question_aside", re.IGNORECASE)
_POLITE = re.compile(r",? ?\b(?:please|thanks|thank you|actually|unfortunately|luckily|lol|haha)\W*$", re.IGNORECASE)
_OWN_SENTENCE = compile_pattern("own_sentence", re.IGNORECASE)
_REFERS_BACK = re.compile(
    r"\b(?:it|them|one|that|there|so)\b|^i (?:do|am|did|have|was)(?:n['’]t| not)?\W*$", re.IGNORECASE
)
_IT = re.compile(r"\b(?:it|them|that one|him|her)\b")
_VERB_FIRST = compile_pattern("verb_first_answer", re.IGNORECASE)
_ADVERBIAL = compile_pattern("adverbial_answer", re.IGNORECASE)
_EVER = re.compile(r"^ever ")
_STILL_AT = re.compile(r"(at|in) (?:the )?[A-Z]")
_CHOICE = re.compile(r"(.+?),? or (.+)")
_NO_NOUN = re.compile(r"no [a-z]", re.IGNORECASE)
_HAVE_GOT = re.compile(r"^(?:got|have) ")
_ALLERGIES = re.compile(r"\ballerg(?:y|ies)\b")
_WITHOUT_ANY = re.compile(r"\bany (?:other )?|\bever ")
_DETERMINER = re.compile(r"^(?:an?|the|my|any|some|your) ", re.IGNORECASE)
_COUNTED = re.compile(rf"(?:{load_pattern('counts')}|several|a few|a couple(?: of)?|some|lots of|no) ", re.IGNORECASE)
_NUMBER_ONLY = compile_pattern("number_only", re.IGNORECASE)
_PLURAL = re.compile(r"(?<!s)(?:s|children|people)$")
_OPEN_PART = re.compile(r"\b(?:anything|anyone|anybody|something|someone|anywhere|somewhere|any (?:other )?\w+)\b")
_PREPOSITION = re.compile(r"(?:in|at|on|with|from|for|near|by|to|outside|around|next|as)\b", re.IGNORECASE)
_FIRST_PREPOSITION = re.compile(r"\b(?:in|at|on|with|from|for|near|by|to)\b")
_LAST_PHRASE = re.compile(r"(.*\b(?:in|at|on|with|from|for|near|by|to|of)\b|[a-z]+(?:ing|er)\b(?= )|)(?: )?(.+)")
_IS_STATE_WITH_PREPOSITION = re.compile(
    r"(?:[a-z]+(?:ing|ed)|allergic|married|afraid|fluent|good) (?:in|at|on|with|from|for|to|of) "
)
_AND = re.compile(r"^(?:and|but|so|just)\b,? ", re.IGNORECASE)
_DURATION = compile_pattern("duration_answer", re.IGNORECASE)
_DECLARED = compile_pattern("declared_question", re.IGNORECASE)
_VERB_CHOICE = re.compile(r"[Dd]o you ([a-z]+),? or (?:do you )?([a-z]+)")
_WORDS = re.compile(r"[^\W_]+")
_NUMBER_FIRST = re.compile(rf"(?:{load_pattern('counts')}|eleven|twelve|\w+teen|\w+ty|several|none)\b", re.IGNORECASE)
_PERSONAL = compile_pattern("personal_question", re.IGNORECASE)
_NOT_PERSONAL = compile_pattern("passing_question", re.IGNORECASE)
_LASTING_PAST = compile_pattern("lasting_past_verb", re.IGNORECASE)
_STILL_FIRST = re.compile(r"(?:it['’]s )?still ", re.IGNORECASE)
_DAY_FIRST = re.compile(
    r"^(?=(?:the )?\d{1,2}(?:st|nd|rd|th)\b|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)", re.IGNORECASE
)
_HERE = ("here", "there", "abroad", "home", "nowhere", "everywhere")
_HELPER = r"(?P<helper>[Dd]o|[Dd]oes|[Dd]id)"
_Builder = Callable[[re.Match[str], Answer], str]
_WH_FORMS: tuple[tuple[re.Pattern[str], _Builder], ...] = (
    (re.compile(rf"[Ww]hat (?:do|does) {_SUBJECT} do(?: for (?:a living|work))?"), _occupation),
    (re.compile(rf"(?:[Ww]hat(?: is|['’]s)|[Aa]nd) {_OF_SUBJECT} (?:job|profession|occupation)"), _occupation),
    (re.compile(r"[Ww]hat (?:should|shall|can|do|may) I call you"), _called),
    (re.compile(r"[Ww]hat(?: is|['’]s| are) (?P<noun>(?:the [a-z]+ of )?(?:your|her|his|their) .+)"), _attribute),
    (re.compile(rf"(?P<noun>{load_pattern('asked_attributes')})", re.IGNORECASE), _own_attribute),
    (re.compile(rf"[Hh]ow old (?:are|is) {_SUBJECT}(?: now)?"), _age),
    (re.compile(rf"[Ww]here (?:do|does|(?P<did>did)) {_SUBJECT} (?P<verb>[a-z]+)(?P<more> .+)?"), _place),
    (
        re.compile(rf"[Ww]here(?: are| is|['’]s|['’]re) {_SUBJECT}(?: [a-z]+ing| based)?(?: (?P<last>from|at))?"),
        _origin,
    ),
    (re.compile(r"[Ww]here to(?: next| now)?"), _next_place),
    (re.compile(rf"[Hh]ow many (?P<noun>.+?) (?:do|does) {_SUBJECT} (?P<verb>[a-z]+)(?: got)?"), _how_many),
    (
        re.compile(r"[Hh]ow many (?P<noun>[a-z]+) (?P<rest>(?!do\b|does\b|did\b|are you\b)[a-z]+ .*\byour\b.*)"),
        _how_many_do,
    ),
    (re.compile(rf"[Hh]ow often (?:do|does) {_SUBJECT} (?P<verb>[a-z]+)(?P<more> .+)?"), _how_often),
    (re.compile(rf"(?:[Hh]ow long|[Ss]ince when) (?P<have>have|has) {_SUBJECT} (?P<rest>.+)"), _how_long),
    (re.compile(rf"[Ww]hen {_HELPER} {_SUBJECT} (?P<rest>.+)"), _when),
    (re.compile(r"[Ww]hen(?: (?P<be>is|was)|(?P<short>['’]s)) (?P<subject>.+)"), _when_is),
    (re.compile(rf"(?:[Ww]hat|[Ww]hich|[Ww]ho)(?: [\w' -]+?)? {_HELPER} {_SUBJECT} (?P<rest>[a-z]+(?: .+)?)"), _object),
    (re.compile(rf"(?:[Ww]hat|[Ww]hich|[Ww]ho)(?: [\w' -]+?)? (?P<be>are|is) {_SUBJECT} (?P<rest>[a-z].*)"), _ongoing),
    (re.compile(r"[Ww]ho(?P<verb>['’]s| is| [a-z]+s) (?P<rest>.+)"), _who),
)
_ELLIPSES = tuple(
    (re.compile(pattern, re.IGNORECASE), completed)
    for pattern, completed in (
        (r"(still .+)", "Are you {}"),
        (rf"((?:already |now )?(?:{load_pattern('status')}).*)", "Are you {}"),
        (r"(?:got |have )?(any(?!one|thing|where|body)\b .+)", "Do you have {}"),
        (r"((?:ever )?been .+)", "Have you {}"),
        (r"((?:live|work|drink|smoke|eat|drive|play|speak|own|like|use) (?!you\b).+|smoke|drink|drive)", "Do you {}"),
        (
            r"((?:kids|children|pets|siblings|brothers or sisters|allergies|dogs|cats|hobbies|plans))",
            "Do you have any {}",
        ),
    )
)
_PAST = {
    "go": "went", "get": "got", "have": "had", "do": "did", "be": "was", "make": "made", "take": "took", "see": "saw",
    "come": "came", "leave": "left", "buy": "bought", "meet": "met", "begin": "began", "find": "found",
    "sell": "sold", "eat": "ate", "drink": "drank", "grow": "grew", "give": "gave", "break": "broke", "lose": "lost",
    "win": "won", "tell": "told", "say": "said", "know": "knew", "think": "thought", "feel": "felt", "keep": "kept",
    "bring": "brought", "hear": "heard", "hold": "held", "send": "sent", "spend": "spent", "speak": "spoke",
    "choose": "chose", "pay": "paid", "drive": "drove", "fall": "fell", "forget": "forgot", "ride": "rode",
    "sing": "sang", "swim": "swam", "wear": "wore", "put": "put", "cut": "cut", "let": "let", "hurt": "hurt",
    "set": "set", "build": "built", "catch": "caught", "write": "wrote", "read": "read", "sleep": "slept",
    "teach": "taught", "quit": "quit", "run": "ran", "fly": "flew",
}  # fmt: skip
_BASE = {past: base for base, past in _PAST.items()} | {"has": "have", "does": "do", "goes": "go", "is": "be"}
