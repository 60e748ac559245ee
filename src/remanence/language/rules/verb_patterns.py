"""The verb phrases that make a claim, looked up by their first words so that a longer table costs nothing.

To read more, add a line to `VERBS`.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from remanence.language.rules.lexicon import word_set

NAME, PLACE, PERSON, PLAIN_WORDS, DOING, LANGUAGE, PROFESSION, COUNTED, NUMBER, WORK_FIELD, WORKPLACE = (
    *("name", "place", "person", "words", "doing", "language", "trade", "counted", "number", "field"),
    "house",
)
"""What has to stand behind the verb: a name, a name of no person, that of a person, a few plain words,
something to do, a language, a profession, something counted ("two kids"), a number of years, a line of
work, a kind of place to work at."""

VERBS: tuple[tuple[str, str, str], ...] = (
    # what stands in the text ("/" between alternatives), predicate, what the object has to be
    ("live/lives/reside/resides + in", "lives_in", NAME),
    ("am/'m/is/'s/are/'re + living/based + in", "lives_in", NAME),
    ("lived/was living/were living + in", "lived_in", NAME),
    ("live/lives + with", "lives_with", PERSON),
    ("am/'m/is/'s/are/'re + living + with", "lives_with", PERSON),
    ("work/works + at/for", "works_at", NAME),
    ("am/'m/is/'s/are/'re + working + at/for", "works_at", NAME),
    ("work/works + with", "works_with", PERSON),
    ("work/works/am working/'m working/is working + in", "works_in", WORK_FIELD),
    ("work/works/am working/'m working/is working + in/at/for + a/an/the", "works_in", WORKPLACE),
    ("has/have/'ve + lived + in", "has_lived_in", NAME),
    ("has/have/'ve + worked + at/for", "has_worked_at", NAME),
    ("has been/have been/'ve been/'s been + working + at/for", "works_at", NAME),
    ("has been/have been/'ve been/'s been + living + in", "lives_in", NAME),
    ("has been/have been/'ve been/'s been + a/an", "works_as", PROFESSION),
    ("has been/have been/'ve been/'s been + married to", "married_to", NAME),
    ("has been/have been/'ve been/'s been + dating", "dating", PERSON),
    ("am/'m/is/'s/are/'re + employed + by/at", "works_at", NAME),
    ("started/started working/got a job/got a new job/got hired/was hired + at", "works_at", NAME),
    ("got hired/was hired + by", "works_at", NAME),
    ("worked + at/for", "worked_at", NAME),
    ("moved/relocated + to/back to", "moved_to", NAME),
    ("am/'m/is/'s/are/'re + moving/relocating + to/back to", "moving_to", PLACE),
    ("study/studies + at", "studies_at", NAME),
    ("am/'m/is/'s/are/'re + studying + at", "studies_at", NAME),
    ("studied + at", "studied_at", NAME),
    ("graduated + from", "graduated_from", NAME),
    ("majored + in", "studied", PLAIN_WORDS),
    ("have/has/'ve got/graduated with + a degree/a bachelor's/a bachelor's degree + in", "studied", PLAIN_WORDS),
    ("have/has/'ve got/graduated with + a master's/a master's degree/a PhD + in", "studied", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + majoring + in", "studies", PLAIN_WORDS),
    ("teach/teaches + at", "teaches_at", NAME),
    ("volunteer/volunteers + at/for/with", "volunteers_at", NAME),
    ("is/was/am/'m/'s/are/got + married to", "married_to", NAME),
    ("married", "married_to", NAME),
    ("is/am/'m/'s/got + engaged to", "engaged_to", NAME),
    ("am/'m/is/'s + dating", "dating", PERSON),
    ("am/'m/is/'s/are/'re/became + friends/best friends/good friends + with", "friend_of", PERSON),
    ("met", "met", PERSON),
    ("is/am/'m/'s/are/'re/is originally/am originally/'m originally/come/comes/came + from", "is_from", NAME),
    ("grew up/was raised/was brought up + in", "grew_up_in", NAME),
    ("was/were + born in/born and raised in", "born_in", NAME),
    ("was/were + born on", "born_on", PLAIN_WORDS),
    ("am/is + called", "called", NAME),
    ("founded/co-founded", "founded", NAME),
    ("wrote", "wrote", NAME),
    ("directed", "directed", NAME),
    ("joined", "joined", PLACE),
    ("left/quit/resigned from/retired from", "left", PLACE),
    ("broke up/split up + with", "broke_up_with", NAME),
    ("visited", "visited", NAME),
    ("went/travelled/traveled/flew + to", "visited", PLACE),
    ("like/likes/enjoy/enjoys", "likes", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + into/fond of/keen on/passionate about/a fan of/a big fan of", "likes", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + a huge fan of/big fans of/huge fans of/fans of", "likes", PLAIN_WORDS),
    ("love/loves/adore/adores", "loves", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + obsessed with/crazy about/in love with", "loves", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + afraid of/scared of/terrified of", "fears", PLAIN_WORDS),
    ("hate/hates/can't stand/despise/despises", "hates", PLAIN_WORDS),
    ("dislike/dislikes", "dislikes", PLAIN_WORDS),
    ("prefer/prefers", "prefers", PLAIN_WORDS),
    ("play/plays + for", "plays_for", NAME),
    ("play/plays", "plays", PLAIN_WORDS),
    ("own/owns", "owns", PLAIN_WORDS),
    ("drive/drives/ride/rides + a/an", "drives", PLAIN_WORDS),
    ("collect/collects", "collects", PLAIN_WORDS),
    ("use/uses/am using/'m using/is using", "uses", PLAIN_WORDS),
    ("switched + to", "switched_to", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + allergic to", "allergic_to", PLAIN_WORDS),
    ("am/'m/is/'s/was/got/has been/have been/'ve been + diagnosed with", "diagnosed_with", PLAIN_WORDS),
    ("speak/speaks/speak fluent/speaks fluent", "speaks", LANGUAGE),
    ("am/'m/is/'s/are/'re + fluent in", "speaks", LANGUAGE),
    ("study/studies/am studying/'m studying/is studying", "studies", PLAIN_WORDS),
    ("am/'m/is/'re/are + learning", "learns", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + training for", "trains_for", PLAIN_WORDS),
    ("am/'m/is/'s/are/'re + reading", "reads", NAME),
    ("plan/plans/intend/intends/aim/aims + to", "plans_to", DOING),
    ("am/'m/is/are/'re + planning/going + to", "plans_to", DOING),
    ("am/'m/is/'s/work as/works as/became/become + a/an", "works_as", PROFESSION),
    ("was/used to be/worked as + a/an", "worked_as", PROFESSION),
    ("have/has/'ve got/have got/has got/'s got", "has", COUNTED),
    ("bought/adopted/got", "has", COUNTED),
    ("am/'m/is/turned", "age", NUMBER),
    # encyclopaedias
    ("is/was/became + a citizen of", "citizen_of", NAME),
    ("died + in", "died_in", NAME),
    ("died + on", "died_on", PLAIN_WORDS),
    ("was + created/founded/developed/produced/manufactured/performed/written/directed + by", "{}_by", NAME),
    ("was + composed/painted/designed/built/published/invented/discovered + by", "{}_by", NAME),
    ("is + developed/produced/manufactured/published/owned + by", "{}_by", NAME),
    ("was + created/founded/established + in", "{}_in", NAME),
    ("is + located/situated + in", "located_in", NAME),
    ("is + headquartered + in", "headquartered_in", NAME),
    ("is/was + famous/known/best known + for", "famous_for", NAME),
)

PREDICATE_NOUNS = word_set(
    "religion sport continent position language field genre party league profession occupation instrument"
)
"""In "plays the position of center" or "is located in the continent of Asia" this noun is the predicate."""

PLACE_CLASSES = word_set("city town village country state island county province region municipality")
"""In "was born in the city of Porto" this noun adds nothing."""

_OF_CLASS = re.compile(
    r" (?:(?:is|was|are|were) [a-z]+ (?:with|in|to|for)|plays?|speaks?|works? in|practi[cs]es|was written in)"
    rf" the ({'|'.join(sorted(PREDICATE_NOUNS))}) of "
)
_CITY = rf"(?: the (?:{'|'.join(sorted(PLACE_CLASSES))}) of(?= )| the(?= ))?"
_WORK_CITY = re.compile(r" work(?:s|ed) in the city of ")
CONTINUATION_PATTERN = (
    r"(?:also |now |really |still |currently )*(?:(?:hates?|loves?|likes?|prefers?|enjoys?|dislikes?|adores?"
    r"|owns?|speaks?|plays?|drives?|uses?|stud(?:y|ies)|wants?|needs?|has|have) (?=[\w'’])|lives? in"
    r"|works? (?:at"
    r"|for|as|in|from|on)|am|is|was|can['’]t|don['’]t|doesn['’]t|never|moved)"
)
"""The words with which a second claim about one subject begins: "loves tea and *hates* coffee"."""
ADVERBS = word_set("""
also now still currently just recently really always already absolutely actually finally both usually often
simply
truly totally definitely only
""")
_ADVERB = rf"(?: (?:{'|'.join(sorted(ADVERBS))}))?"
_MIDDLE = r"(?: (?:currently|now|also|still|originally|really)(?= ))?"  # is currently living in
_SECOND = re.compile(rf"{_MIDDLE} ([A-Za-z][\w'’-]*)")
_CLASS_STARTS = word_set("is was are were play plays speak speaks work works worked practices practises")
_FIRST = re.compile(rf"{_ADVERB}(?: (?=[^'’])|(?=['’]))((?:['’])?[a-z]+(?:[-'’][a-z]+)?)")


class VerbMatch(NamedTuple):
    """A verb phrase that was found: what it claims, what it wants behind it, and where that begins."""

    predicate: str
    object_type: str
    end: int


def may_open_claim(text: str, start: int) -> bool:
    """Whether the word behind a subject that ends at `start` can open a claim. Cheap: most cannot."""
    if text[start] != " ":
        return True
    stop = text.find(" ", start + 1)
    return text[start + 1 : stop if stop > 0 else None] in _OPENING


def verb_at(text: str, start: int) -> VerbMatch | None:
    """The verb phrase that stands at `start`, which is where a subject ends.

    >>> verb_at("Alice now lives in Porto.", 5)
    VerbMatch(predicate='lives_in', object_type='name', end=19)
    >>> verb_at("Thomas Kyd was born in the city of London.", 10)
    VerbMatch(predicate='born_in', object_type='name', end=35)
    """
    first = _FIRST.match(text, start)
    if first is None:
        return None
    known = _TABLE.get(first[1].replace("’", "'"))
    if known is None:
        return None
    if first[1] in _CLASS_STARTS and " of " in text:
        classed = _OF_CLASS.match(text, start)
        if classed:
            return VerbMatch(classed[1], PLAIN_WORDS, classed.end())
        working = _WORK_CITY.match(text, start)
        if working:
            return VerbMatch("work_city", NAME, working.end())
    second = _SECOND.match(text, first.end())
    for word in (second[1], "") if second else ("",):
        found = known.get(word)
        rest = found[0].match(text, first.end()) if found else None
        if found and rest is not None and rest.lastindex is not None:
            predicate, wants = found[1][rest.lastindex - 1]
            return VerbMatch(predicate, wants, rest.end())
    return None


_Pattern = tuple[re.Pattern[str], list[tuple[str, str]]]
"""What may stand behind a verb's first word, and what each of its groups means."""


def _by_words() -> dict[str, dict[str, _Pattern]]:
    """The table as small patterns by the first two words; the second is "" where there need be none."""
    phrases: dict[str, dict[str, list[tuple[str, str, str]]]] = {}
    for written, predicate, wants in VERBS:
        for chosen in product(*(slot.split("/") for slot in written.split(" + "))):
            first, _, rest = " ".join(chosen).partition(" ")
            beginning = phrases.setdefault(first, {}).setdefault(rest.partition(" ")[0], [])
            beginning.append((rest, predicate.format(*chosen[1:2]), wants))
    return {
        first: {second: _pattern(rests) for second, rests in by_second.items()} for first, by_second in phrases.items()
    }


def _pattern(rests: list[tuple[str, str, str]]) -> _Pattern:
    ordered = sorted(rests, key=lambda rest: -len(rest[0]))  # "is a fan of" before "is a"
    options = [f"( {rest})" if rest else "()" for rest, _, _ in ordered]
    return (
        re.compile(rf"{_MIDDLE}(?:{'|'.join(options)})\b{_CITY} ?"),
        [(predicate, wants) for _, predicate, wants in ordered],
    )


_TABLE = _by_words()
_OPENING = frozenset(_TABLE) | ADVERBS | word_set("is are was were am became named broke split")
