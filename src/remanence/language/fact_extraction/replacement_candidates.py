"""Whether a later statement may replace an earlier one in other words: the check before a reader compares them.

A reader takes statements on one topic for replacements. So it is asked only where both are about the same person or
thing, the later one names a change or a present state, and it is not about something temporary. Where both make
claims, the claims have been compared already (verdict_rules.py).
"""

from __future__ import annotations

import re
from itertools import pairwise

from remanence.language.claim_extraction.claim_rules import LEFT_FOR_THE_DAY
from remanence.language.fact_extraction.fact_attributes import NEWS, without_past_times
from remanence.language.fact_extraction.sentence_reading import find_sentence_names
from remanence.language.lexicon.word_lists import (
    FUNCTION_WORDS,
    PLURAL_RELATIONSHIP_NOUNS,
    compile_pattern,
    is_common_word,
    load_pattern,
    tags_of,
    word_set,
)
from remanence.language.text import STOP_WORDS, normalize_name
from remanence.schema import SELF, Memory

_END = compile_pattern("end_marker", re.IGNORECASE)
_LEFT = re.compile(r"\bleft (?:the )?[\w'’.-]+(?: [A-Z][\w'’.-]+)*")
_TODAY = compile_pattern("this_time_only", re.IGNORECASE)
_TEMPORARY = compile_pattern("temporary_marker", re.IGNORECASE)
_ADDITION = re.compile(
    r"\b(?:also|too(?=\W*$)|as well|another|besides|in addition|other|alongside|on the side|on top(?! of)|"
    r"an? (?:second|third|fourth|fifth)(?! time))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_NO_TOPIC = word_set("user others every still")
_GOES_ON = re.compile(
    r"\b(?:still|stay(?:s|ed)?|same|kept|carr(?:y|ies) on|as before|as ever|unchanged)\b", re.IGNORECASE
)
_STAYS = re.compile(
    r"(?:it|that|this|they) (?:still )?(?:stays?|remains?|goes on)(?: (?:as it is|put|the same))?", re.IGNORECASE
)
_CLAUSE = re.compile(r"[.,;!?–—]| (?:and|but|so|though|while|because) ", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d+(?:[:.]\d+)*\b")
_SUBJECT_CHARS = 60
_MIN_NAME = 4
_STEM = 5
_DEAD = compile_pattern("dead")
_FIRST_WORDS = re.compile(r"[^.!?]{0,60}\b(?:is|are|has|lives?|loves?|likes?|hates?|works?|[a-z]+s)\b")
_ENDINGS = tuple(
    (compile_pattern(f"{name}_before"), compile_pattern(f"{name}_after"))
    for name in ("birth", "job_search", "learning", "studies", "employment", "renting", "leading")
)
"""A state, and what ends it; what their groups have found has to be the same."""
_LEADING = _ENDINGS[-1][0]
_EXPECTING = compile_pattern("birth_before")
_GAVE_UP = compile_pattern("gave_up")
_DOES = compile_pattern("does")
_OBJECT = re.compile(r" (?:an?|the|their|his|her|[A-Z])\b")
_BORN = re.compile(r"[^.,;]{0,60}\b(?:was|were) born\b")
_KIN = re.compile(rf"[\w ]+['’]s (?:[a-z]+ )?({load_pattern('relationship')}),? ([A-Z]\w+)")
_GENERATIONS = (
    (("", *"wife girlfriend partner fiancée fiancee spouse".split()), "son daughter child baby boy girl twins".split()),
    ("sister brother sister-in-law brother-in-law".split(), "nephew niece".split()),
    ("daughter son daughter-in-law son-in-law".split(), "grandson granddaughter grandchild".split()),
)
"""Who is expecting, as a relative of the speaker or "" for the speaker, and what their child is to the speaker."""
_FAMILY = re.compile(r"(?P<owner>The user|[A-ZÀ-Þ][\w-]+)(?:['’]s (?:(?!wife|sister)[a-z]+ )?(?P<kin>[a-zé-]+))?\b")
_NAME = r"[A-ZÀ-Þ][\w'’-]+"
_NAME_CONJUNCTION = re.compile(r", (?:and )?| and ")
_COUNTS = ("one", "two", "three", "four", "five")
_NAME_LIST = re.compile(
    rf"(?:\b(?P<count>two|three|four|five|six) (?P<noun>[a-z]+)(?P<joint>,? (?:called |named )?|: ))?"
    rf"(?<![\w.] (?=The))\b(?P<names>{_NAME}(?:, {_NAME})*(?:,)? and {_NAME})\b"
)
_GONE = re.compile(
    r"\b(?:died|dead|gone|left|no longer|not|doesn['’]t|isn['’]t|ran away|passed|rehomed|only)\b|n['’]t\b"
)
_PLACE = re.compile(rf" (?P<at>in|at) (?P<place>{_NAME}(?: {_NAME})*)(?P<end>\.?)$")
_DOES_SOMETHING = re.compile(r"\b(?!lives|moved|stays|is|was)[a-z]+s (?:as |an? |the )?[a-z]+ ?[a-z]*")
_ONLY_PLACE = re.compile(r"^(?:The user|[A-Z][\w'’ ]*?) (?:is|lives|moved|works|stays)(?: now| back| to)? (?:in|at) ")
_WHOSE = re.compile(r"['’]s (?:[a-z-]+ )?(?!is )[a-z-]+,? ")
_WHOSE_IS = re.compile(r"['’]s (?:[a-z-]+ ){1,2}is ")  # "Alice's tutor is Bob" is about both
_DONE_TO = compile_pattern("done_to_somebody")


def may_replace(new: Memory, old: Memory) -> bool:
    """Whether `new` may replace or end `old`, so that a reader should compare them.

    >>> old = Memory("1", "main", "Alice hates olives.", observed_by="Alice")
    >>> new = Memory("2", "main", "Alice eats olives by the bowl now.", observed_by="Alice")
    >>> may_replace(new, old), may_replace(Memory("3", "main", "Bob eats olives now.", observed_by="Alice"), old)
    (True, False)
    """
    if _ADDITION.search(new.text) or not _temporary_words(new.text) <= _temporary_words(old.text):
        return False
    if (_TODAY.search(new.text) and not _states_end(new.text)) or _leaves_for_the_day(new.text):
        return False
    kin, other_kin = _KIN.match(new.text), _KIN.match(old.text)
    if kin and other_kin and kin[2] == other_kin[2] and kin[1] != other_kin[1]:
        return False  # a sister Lena and a cousin Lena
    return _subjects_agree(new, old)


def _temporary_words(text: str) -> set[str]:
    """The words by which a text is about something temporary or wished for. Of two wishes one may replace the other."""
    return {match.group().lower() for match in _TEMPORARY.finditer(text)}


def says_it_goes_on(text: str, old: str) -> bool:
    """Whether a clause of a text says that something of `old` goes on, and no number of `old` has changed.

    >>> says_it_goes_on("I moved out of the office, but I stay at Airbus", "Alice is at Airbus in Varel.")
    True
    >>> says_it_goes_on("850 of the metformin now, still twice a day", "Alice takes metformin, 500 twice a day.")
    False
    """
    if not _GOES_ON.search(text):
        return False
    numbers, now = set(_NUMBER.findall(old)), set(_NUMBER.findall(text))
    if numbers and now and not numbers & now:
        return False
    return any(
        _STAYS.fullmatch(clause.strip()) or (_GOES_ON.search(clause) and share_short_word(clause, old))
        for clause in _CLAUSE.split(text)
    )


def certainly_ends(new: Memory, old: Memory) -> bool:
    """Whether `new` tells what ends `old` whatever its words: a death, a birth, a job found, something learned, the
    end of studies, a rented home bought, a successor, a habit given up.

    >>> old = Memory("1", "main", "Alice's dog Bella is 12.", observed_by="Alice")
    >>> certainly_ends(Memory("2", "main", "Alice had to put Bella down.", observed_by="Alice"), old)
    True
    """
    if (new.observed_by or SELF) != (old.observed_by or SELF) or (
        old.kind == "episode" and not _EXPECTING.search(old.text)
    ):
        return False
    dead = _DEAD.search(new.text)
    if dead:
        who = normalize_name(next(name for name in dead.groups() if name))
        return _FIRST_WORDS.match(old.text) is not None and _names_subject(old, who)
    for before, after in _ENDINGS:
        state, end = before.search(old.text), after.search(new.text)
        if state and end and set(filter(None, state.groups())) == set(filter(None, end.groups())):
            return _subjects_agree(new, old) or before is _LEADING
    if _gives_up(without_past_times(new.text, new.told_at, old.told_at - NEWS), old.text):
        return _subjects_agree(new, old)
    return _BORN.match(new.text) is not None and _EXPECTING.search(old.text) is not None and _is_child_of(new, old)


def _gives_up(new: str, old: str) -> bool:
    """Whether `new` says that somebody stopped doing what `old` says that somebody does: "quit smoking" and "smokes
    ten a day". What else it names has to be in `old` as well.

    >>> _gives_up("Alice quit smoking.", "Alice smokes ten a day.")
    True
    >>> _gives_up("Alice stopped playing chess.", "Alice plays tennis.")
    False
    """
    end = _GAVE_UP.match(new)
    state = _DOES.match(old) if end else None
    if end is None or state is None or end["verb"] not in (state["gerund"], *_gerunds(state["verb"] or "")):
        return False
    named = _topic_words(end["rest"], 3)
    if named:
        return named <= _topic_words(old, 3)
    return state["gerund"] is not None or not _OBJECT.match(old, state.end())  # to stop running, and to run a bakery


def _gerunds(verb: str) -> set[str]:
    """The -ing forms that a verb in the third person may have: smokes, runs, studies."""
    stem = verb.removesuffix("s")
    stems = {stem, f"{stem}{stem[-1:]}", stem.removesuffix("e"), f"{verb.removesuffix('ies')}y"}
    return {f"{each}ing" for each in stems if each}


def _is_child_of(new: Memory, old: Memory) -> bool:
    """Whether the first words of `new` are a child of the first words of `old`: "the user's son" of "the user's wife",
    "the user's niece" of "the user's sister"."""
    child, parent = _FAMILY.match(new.text), _FAMILY.match(old.text)
    if child is None or parent is None or child["owner"] != parent["owner"]:
        return False
    return any(child["kin"] in children and (parent["kin"] or "") in parents for parents, children in _GENERATIONS)


def remainder(new: Memory, old: Memory) -> str | None:
    """The text of `old` without the part that `new` changes: one name of a list, or a place. None if there is no such
    part.

    >>> old = Memory("1", "main", "Alice shares a flat with Bojan and Terese in Leeds.")
    >>> remainder(Memory("2", "main", "Terese moved out in January."), old)
    'Alice shares a flat with Bojan in Leeds.'
    >>> old = Memory("3", "main", "Alice's sister Hanne works as a midwife in Odense.")
    >>> remainder(Memory("4", "main", "Hanne is in Esbjerg."), old)
    "Alice's sister Hanne works as a midwife."
    """
    listed = _NAME_LIST.search(old.text)
    if listed:
        first_clause = re.split(r"[,;]| so | but ", new.text, maxsplit=1)[0]
        names = _NAME_CONJUNCTION.split(listed["names"])
        ended = [name for name in names if re.search(rf"\b{re.escape(name)}\b", first_clause)]
        left = [name for name in names if name not in ended]
        if not ended or not left or not _states_loss(new):
            return None
        joined = " and ".join(filter(None, (", ".join(left[:-1]), left[-1])))
        counted = f"{_count_of(len(left))} {_one_of(listed['noun'], len(left))}" if listed["count"] else ""
        joint = "" if not counted else f"{listed['joint']}"
        return f"{old.text[: listed.start()]}{counted}{joint}{joined}{old.text[listed.end() :]}"
    place, other = _PLACE.search(old.text), _PLACE.search(new.text)
    if place is None or other is None or place["place"] == other["place"] or place["at"] != other["at"]:
        return None
    kept = old.text[: place.start()]
    return f"{kept}{place['end']}" if _DOES_SOMETHING.search(kept) and _ONLY_PLACE.search(new.text) else None


def _states_loss(memory: Memory) -> bool:
    return _states_end(memory.text) or _GONE.search(memory.text) is not None


def _count_of(number: int) -> str:
    return _COUNTS[number - 1] if number <= len(_COUNTS) else str(number)


def _one_of(noun: str, number: int) -> str:
    """The noun as it stands after this number."""
    return PLURAL_RELATIONSHIP_NOUNS.get(noun, noun.removesuffix("s")) if number == 1 else noun


def _names_subject(memory: Memory, name: str) -> bool:
    """Whether a text begins with this name: "Bella is 12", "Alice's dog Bella is 12", "the user's grandmother is"."""
    return (
        re.match(rf"(?:[\w ]+['’]s )?(?:[\w-]+ )?{re.escape(name)}\b(?!['’]s)", normalize_name(memory.text)) is not None
    )


def _states_end(text: str) -> bool:
    return (_LEFT.search(text) is not None and not _leaves_for_the_day(text)) or _END.search(text) is not None


def _leaves_for_the_day(text: str) -> bool:
    """Whether somebody left a place and will be back: "left the office at six"."""
    left = _LEFT.search(text)
    return left is not None and LEFT_FOR_THE_DAY.match(text, left.end()) is not None


def share_topic(one: str, other: str) -> bool:
    """Whether two texts share a tag, or the beginning of a topic word."""
    return share_word(one, other) or not set(tags_of(one)).isdisjoint(tags_of(other))


def share_short_word(one: str, other: str) -> bool:
    """Whether two texts share a topic word of at least three letters, or a number: "dad", "7:12"."""
    return not (_topic_words(one, 3) | set(_NUMBER.findall(one))).isdisjoint(
        _topic_words(other, 3) | set(_NUMBER.findall(other))
    )


def share_word(one: str, other: str) -> bool:
    """Whether two texts share the beginning of a topic word."""
    return not _topic_words(one).isdisjoint(_topic_words(other))


def _subjects_agree(new: Memory, old: Memory) -> bool:
    """Whether they are about the same person, or one of them names the other's subject; a text without a person in
    front is about whoever says it."""
    if (new.observed_by or SELF) != (old.observed_by or SELF):
        return False
    first, second = _subjects(new), _subjects(old)
    if _share_name(first, second):
        return True
    speaker = normalize_name(new.observed_by or SELF)
    if speaker in first and (_share_name(second, _all_names(new)) or any(_is_named(name, new.text) for name in second)):
        return True
    return speaker in second and _share_name(first, _all_names(old))


def _is_named(person: str, text: str) -> bool:
    """Whether a text names a person in any case, or the speaker's relative without "my": "Dad's home"."""
    name = person.removeprefix("my ")
    if "'s " in name or (name == person and (len(name) < _MIN_NAME or is_common_word(name))):
        return False
    return re.search(rf"(?<!['’]s )(?<!\bhis )(?<!\bher )\b{re.escape(name)}\b", text, re.IGNORECASE) is not None


def _share_name(some: set[str], others: set[str]) -> bool:
    """Whether a name is in both sets, or a part of a longer one: "Lindqvist" of "Prof. Lindqvist"."""
    if not some.isdisjoint(others):
        return True
    longer = [set(name.split()) for name in others]
    return any(words <= other or other <= words for name in some for other in longer if (words := set(name.split())))


def _subjects(memory: Memory) -> set[str]:
    """The people named in the first words. "The user's son Anton" is Anton."""
    speaker = memory.observed_by or SELF
    names = [name for name in find_sentence_names(memory.text, speaker) if name.start < _SUBJECT_CHARS]
    people = [name for name in names if name.kind == "person"]
    if not people or people[0].start > _SUBJECT_CHARS // 2:  # a statement about a thing is attributed to the speaker
        things = {normalize_name(name.text) for name in names if name.start == 0 or memory.text[: name.start] == "The "}
        return {*things, normalize_name(speaker)}
    subjects = {normalize_name(people[0].text)}
    if _DONE_TO.match(memory.text) and len(people) > 1:  # the boss fired Alice
        subjects.add(normalize_name(people[1].text))
    for last, name in pairwise(name for name in names if name.kind in ("person", "thing")):
        between = memory.text[last.end : name.start]
        if between == " " or _WHOSE.fullmatch(between):
            subjects = {normalize_name(name.text)}
        elif between in (" and ", ", ") or _WHOSE_IS.fullmatch(between):
            subjects.add(normalize_name(name.text))
        else:
            break
    return subjects


def _all_names(memory: Memory) -> set[str]:
    return {normalize_name(mention.name) for mention in memory.mentions}


def _topic_words(text: str, length: int = 4) -> set[str]:
    words = (word.lower() for word in _WORD.findall(text) if len(word) >= length)
    return {word[:_STEM] for word in words if not (word in _NO_TOPIC or word in FUNCTION_WORDS or word in STOP_WORDS)}
