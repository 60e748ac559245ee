"""A sentence in the third person split into the clauses that are facts of their own.

1. Clauses with subjects of their own: "Ann's a pilot and Bob teaches maths".
2. Clauses that share the subject of the first one, where they make claims of their own: "Ann lived in Rome, then moved
   to Porto" is "Ann lived in Rome" and "Ann moved to Porto".
3. Of a sentence that is not a fact as a whole, the clauses that may be: "They want me to give a talk but I don't fly".
"""

from __future__ import annotations

import re

from remanence.language.fact_extraction.coordination import CONDITIONAL
from remanence.language.fact_extraction.fact_filter import classify_fact
from remanence.language.fact_extraction.sentence_reading import ParsedSentence, parse_sentence
from remanence.language.fact_extraction.third_person import speaker_label
from remanence.language.lexicon.topic_tags import tags_of
from remanence.language.lexicon.verb_forms import conjugate
from remanence.language.lexicon.word_lists import compile_pattern, word_set
from remanence.language.text import upper_first
from remanence.schema import Triple

_MAX_SPLITS = 6
"""A sentence with more clauses is a list."""


def split_clauses(text: str, speaker: str, *, is_certain: bool) -> list[ParsedSentence]:
    """The parts of a sentence where they are independent facts, otherwise the sentence.

    `is_certain` says that every clause is a fact, whatever it is about.

    >>> [clause.text for clause in split_clauses("Ann lived in Rome, then moved to Porto.", "Ann", is_certain=False)]
    ['Ann lived in Rome', 'Ann moved to Porto.']
    """
    return [
        clause
        for part in _with_own_subjects(text, speaker, is_certain)
        for clause in _with_shared_subject(part, speaker, _MAX_SPLITS)
    ]


def main_clauses(text: str, speaker: str) -> list[ParsedSentence]:
    """The clauses of a sentence that is not a fact as a whole, each with its own subject.

    Clauses that depend on a condition are excluded.
    """
    if CONDITIONAL.search(text) or not _MAIN_CONJUNCTION.search(text):
        return []
    label = speaker_label(speaker)
    parts = [part.strip(" ,") for part in _MAIN_CONJUNCTION.split(text)]
    parts = [upper_first(part) for part in parts if _OWN_SUBJECT.match(part) or part.startswith(label)]
    return [parse_sentence(part, speaker) for part in parts if not _YOU.search(part)]


def _with_own_subjects(text: str, speaker: str, is_certain: bool) -> list[ParsedSentence]:
    label = speaker_label(speaker)
    for conjunction in _CLAUSE_CONJUNCTION.finditer(text):
        left, right = text[: conjunction.start()], text[conjunction.end() :]
        if _ONLY_SUBJECT.fullmatch(left):
            continue  # "Alice's wife Ana" and Alice do something together
        halves = [parse_sentence(left, speaker), parse_sentence(upper_first(right), speaker)]
        if not _are_independent(*halves):
            continue
        facts = [half for half in halves if classify_fact(half, label, remember_requested=is_certain)]
        if halves[1] in facts and (halves[0] in facts or halves[1].claims):  # the first half may be small talk
            return [*facts[:-1], *_with_own_subjects(halves[1].text, speaker, is_certain)]
    return [parse_sentence(text, speaker)]


def _with_shared_subject(sentence: ParsedSentence, speaker: str, splits: int) -> list[ParsedSentence]:
    """The clauses with the subject of the first one, where a later one claims what the sentence as a whole does not."""
    text = sentence.text
    subject = _SHARED_SUBJECT.match(text)
    if subject is None or not splits or CONDITIONAL.search(text):
        return [sentence]
    if not any(name.kind == "person" and name.end == subject.end() for name in sentence.names):
        return [sentence]  # "Backups of the database are encrypted and shipped": these words are not a subject
    label, stated = speaker_label(speaker), set(_stated_claims(sentence))
    for conjunction in _SHARED_CONJUNCTION.finditer(text, subject.end()):
        verb = (
            conjugate(conjunction["verb"])
            if conjunction["now"] and conjunction["verb"] in _BASE_FORMS
            else conjunction["verb"]
        )
        left = parse_sentence(text[: conjunction.start()], speaker)
        right = parse_sentence(f"{subject.group()} {verb}{text[conjunction.end() :]}", speaker)
        if stated.issuperset(_all_claims(right)) or not _all_claims(left):
            continue
        if classify_fact(left, label) and classify_fact(right, label):
            return [left, *_with_shared_subject(right, speaker, splits - 1)]
    return [sentence]


def _are_independent(one: ParsedSentence, other: ParsedSentence) -> bool:
    subjects = [{claim.subject for claim in _all_claims(clause)} for clause in (one, other)]
    if all(subjects) and (subjects[0].isdisjoint(subjects[1]) or (one.denial is None) != (other.denial is None)):
        return True  # other subjects, or one clause denies: tea is liked, coffee is not
    starts = [clause.names[0] if clause.names and clause.names[0].start == 0 else None for clause in (one, other)]
    if starts[0] and starts[1] and starts[0].kind == starts[1].kind == "person" and starts[0].text != starts[1].text:
        return True
    tags = [set(tags_of(clause.text)) for clause in (one, other)]
    return all(tags) and tags[0].isdisjoint(tags[1])


def _stated_claims(clause: ParsedSentence) -> tuple[Triple, ...]:
    change = clause.change
    return (*clause.claims, *(change.event_claims or change.ended_claims if change else ()))


def _all_claims(clause: ParsedSentence) -> tuple[Triple, ...]:
    """The claims of a clause, and the claims that it denies."""
    return (*_stated_claims(clause), *(clause.denial.claims if clause.denial else ()))


_CLAUSE_CONJUNCTION = re.compile(r",? (?:and|but|while)(?: also| now)? (?=[A-Z]|the user\b)|; ")
_SHARED_SUBJECT = compile_pattern("shared_subject")
_SHARED_CONJUNCTION = compile_pattern("shared_subject_joint")
_BASE_FORMS = word_set("live work study play teach run own use drive speak")
_MAIN_CONJUNCTION = compile_pattern("main_clause_joint")
_ONLY_SUBJECT = compile_pattern("only_subject")
_OWN_SUBJECT = re.compile(r"(?:[Tt]he|[Tt]heir) [a-z]|[A-Z][\w.-]+(?: [A-Z][\w.-]+)*(?:['’]s)? [a-z]")
_YOU = re.compile(r"\byou(?:r|rs|['’]re)?\b", re.IGNORECASE)
