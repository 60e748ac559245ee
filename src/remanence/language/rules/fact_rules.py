"""What a conversation tells, by rule: each sentence that tells something, in words that stand on their own.

cut       a turn into sentences; questions, requests and small talk fall out
turn      the first person into the third
read      names, claims, changes, denials
tell      the fact: its kind, when it is true, how much it matters
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from remanence.language.rules.corrections import apply_correction
from remanence.language.rules.fact_dates import add_dates, find_expiry, find_fact_times
from remanence.language.rules.fact_filter import FactClassification, classify_fact
from remanence.language.rules.fact_importance import importance_of, tags_of
from remanence.language.rules.people_words import PLURAL_RELATIONSHIP_NOUNS, RELATIONSHIP_NOUNS
from remanence.language.rules.predicate_rules import OPINION_PREDICATES, claim_kind
from remanence.language.rules.sentence_reading import ParsedSentence, find_sentence_names, parse_sentence
from remanence.language.rules.sentences import Sentence, informative_sentences, is_boilerplate, is_hypothetical
from remanence.language.rules.state_changes import claims_ended_by, claims_opposed_to
from remanence.language.rules.third_person import speaker_label, to_third_person
from remanence.language.temporal import TimePhrase
from remanence.language.text import normalize_name, normalize_text
from remanence.schema import ASSISTANT, SELF, Fact, Mention, Triple, Utterance, Window


@dataclass(slots=True)
class _Turn:
    """One turn being read."""

    number: int
    who: str
    at: datetime
    dated: bool
    people: dict[str, str] = field(default_factory=dict)
    """Third persons named so far, by normal name: as long as there is one, "she" is that one."""
    last: Fact | None = None
    """The fact that the previous sentence told; a sentence such as "Her name is Luna" belongs to it."""
    withdrawn: list[Fact] = field(default_factory=list)
    """What was told before, and put right in this turn."""


def find_facts(utterances: Sequence[Utterance], speakers: Sequence[str], now: datetime) -> list[Fact]:
    """The facts that these turns tell, in order. `speakers` are what their speakers are called.

    >>> from datetime import timezone
    >>> now = datetime(2026, 5, 20, tzinfo=timezone.utc)
    >>> for fact in find_facts([Utterance("Hi! I moved from Porto to Lisbon last week.")], ["Alice"], now):
    ...     print(fact.kind, fact.text, [str(claim) for claim in fact.ended_claims])
    episode Alice moved from Porto to Lisbon last week (2026-05-11 to 2026-05-17). []
    semantic Alice lives in Lisbon. ['Alice —lives_in→ Porto']
    """
    found: dict[str, Fact] = {}
    recent: dict[str, list[Fact]] = {}
    for number, (one, who) in enumerate(zip(utterances, speakers, strict=True)):
        turn = _Turn(number, who, one.at or now, one.at is not None)
        facts = _facts_of(turn, one.text, recent.get(who, []))
        for fact in turn.withdrawn:
            found.pop(normalize_text(fact.text), None)
        for fact in facts:
            found.setdefault(normalize_text(fact.text), fact)
        recent[who] = [*recent.get(who, ()), *facts][-_RECENT:]
    return list(found.values())


def _facts_of(turn: _Turn, text: str, recent: Sequence[Fact]) -> list[Fact]:
    facts: list[Fact] = []
    for sentence in informative_sentences(text, to_assistant=turn.who == SELF):
        if turn.who == ASSISTANT and is_boilerplate(sentence.text):
            continue
        corrected = _corrected(sentence, turn, [*recent, *facts])
        if corrected:
            facts = [fact for fact in facts if fact not in turn.withdrawn] + corrected
            continue
        written = _resolved(to_third_person(sentence.text, speaker_label(turn.who)), turn)
        joined = _joined(written, turn)
        if joined is not None and turn.last in facts:
            facts[facts.index(turn.last)] = turn.last = joined
            continue
        turn.last = None
        for clause in _clauses(written, turn, sentence.remember_requested):
            facts += _told(clause, sentence, turn)
        _note_people(written, turn)
    return facts


def _told(reading: ParsedSentence, sentence: Sentence, turn: _Turn) -> list[Fact]:
    """The fact of one clause, and the state that follows if it is a change."""
    if is_hypothetical(reading.text) and not sentence.remember_requested:
        return []
    tells = classify_fact(reading, speaker_label(turn.who), remember_requested=sentence.remember_requested)
    if tells is None:
        return []
    timeless = _HABIT.search(reading.text) or any(claim.predicate in _YEARLY for claim in reading.claims)
    times = [] if timeless else find_fact_times(reading.text, turn.at, prefer_future=tells.is_future)
    fact = _fact(reading, tells, times, sentence, turn)
    change = reading.change
    if change is None or change.state_text is None:
        turn.last = fact
        return [fact]
    aside = _SUBORDINATE.match(reading.text) is not None
    started = times[0].window.start if times else turn.at if turn.dated and not aside else None
    viewed = any(claim.predicate in ("uses", *OPINION_PREDICATES) for claim in change.state_claims)
    state = Fact(
        text=f"{change.state_text}.",
        kind="viewpoint" if viewed else "semantic",
        mentions=_mentions(change.state_text, turn.who),
        triples=change.state_claims,
        valid=Window(started),
        importance=importance_of(
            change.state_text, change.state_claims, remember_requested=sentence.remember_requested
        ),
        confidence=0.75,
        tags=tags_of(change.state_text, preference=viewed),
        source_turns=(turn.number,),
        ended_claims=change.ended_claims,
    )
    turn.last = replace(fact, ended_claims=())  # it is the new state that ends the old one
    return [turn.last, state]


def _fact(
    reading: ParsedSentence, tells: FactClassification, times: list[TimePhrase], sentence: Sentence, turn: _Turn
) -> Fact:
    change, denied = reading.change, reading.denial
    claims = list(reading.claims)
    ends: tuple[Triple, ...] = ()
    if change is not None:
        claims = [*change.event_claims, *(claim for claim in claims if claim.predicate not in ("uses", "has"))]
        ends = change.ended_claims
    elif denied is not None:
        ends = denied.claims
        claims += [
            Triple(claim.subject, "dislikes", claim.object)
            for claim in denied.claims
            if claim.predicate in ("likes", "loves") and not denied.no_longer
        ]
    else:
        ends = (*reading.replaced_claims, *claims_ended_by(claims))
    kind = tells.kind
    if change is None and claims and not denied:
        told_of = [claim for claim in claims if not claim.predicate.endswith("_of")]
        kinds = {claim_kind(claim) for claim in told_of or claims}
        kind = "viewpoint" if kinds == {"viewpoint"} else "episode" if "episode" in kinds else kind
    if denied is not None and any(claim.predicate == "dislikes" for claim in claims):
        kind = "viewpoint"
    if kind == "episode" and tells.is_future:
        claims = [claim for claim in claims if claim.predicate != "has"]  # a meeting is no possession
    window = times[0].window if times else Window()
    aside = _SUBORDINATE.match(reading.text) is not None  # "Since I moved …" was some time ago
    if not window.has_bound and kind == "episode" and turn.dated and not (tells.is_future or aside):
        window = Window.from_moment(turn.at)
    others = [name.text for name in reading.names if name.kind == "person" and name.text != turn.who]
    text = _again(add_dates(reading.text, times), speaker_label(turn.who), others)
    return Fact(
        text=text if text[-1] in '.!?"”' else f"{text}.",
        kind=kind,
        mentions=_mentions(reading.text, turn.who),
        triples=tuple(dict.fromkeys(claims)),
        valid=window,
        importance=importance_of(
            reading.text, claims, remember_requested=sentence.remember_requested, is_minor=tells.is_minor and not times
        ),
        confidence=0.8 if claims and not tells.is_future else tells.confidence,
        tags=tags_of(reading.text, preference=kind == "viewpoint"),
        expires_at=find_expiry(reading.text, times, turn.at) if tells.is_future else None,
        source_turns=(turn.number,),
        ended_claims=tuple(dict.fromkeys([*ends, *claims_opposed_to(claims)])),
    )


def _clauses(written: str, turn: _Turn, marked: bool) -> list[ParsedSentence]:
    """The sentence whole, or in parts where they have nothing to do with each other."""
    for joint in _AND.finditer(written):
        left, right = written[: joint.start()], written[joint.end() :]
        if _WHO.fullmatch(left):
            continue  # "Alice's wife Ana" and Alice do something together
        halves = [parse_sentence(left, turn.who), parse_sentence(right[:1].upper() + right[1:], turn.who)]
        if _apart(*halves) and all(
            classify_fact(half, speaker_label(turn.who), remember_requested=marked) for half in halves
        ):
            return [halves[0], *_clauses(halves[1].text, turn, marked)]
    return [parse_sentence(written, turn.who)]


def _apart(one: ParsedSentence, other: ParsedSentence) -> bool:
    subjects = [{claim.subject for claim in _all_claims(reading)} for reading in (one, other)]
    if all(subjects) and subjects[0].isdisjoint(subjects[1]):
        return True
    if (one.denial is None) != (other.denial is None) and all(subjects):
        return True  # tea is liked, coffee is not
    tags = [set(tags_of(reading.text)) for reading in (one, other)]
    return all(tags) and tags[0].isdisjoint(tags[1])


def _all_claims(reading: ParsedSentence) -> Iterable[Triple]:
    yield from reading.claims
    if reading.change is not None:
        yield from reading.change.event_claims
    if reading.denial is not None:
        yield from reading.denial.claims


def _resolved(written: str, turn: _Turn) -> str:
    """The sentence with "he" or "she" called by name, where only one person can be meant."""
    reported = _REPORTED.match(written)
    if reported and len(turn.people) == 0:  # Bob told Alice that he moved
        return f"{reported[1]} {reported[2]}"
    found = _HE.match(written)
    if found and len(turn.people) == 1:
        name = next(iter(turn.people.values()))
        owns = "'s" if found[1] in ("His", "Her") else ""
        return f"{name}{owns}{_IS[found[2]] if found[2] else ''}{written[found.end() :]}"
    again = _AND_SHE.search(written)
    if again and not turn.people:
        others = [
            n
            for n in find_sentence_names(written[: again.start()], turn.who)
            if n.kind == "person" and n.text != turn.who
        ]
        if len(others) == 1:
            return f"{written[: again.start()]} and {others[0].text}{written[again.end() :]}"
    return written


def _note_people(written: str, turn: _Turn) -> None:
    """Remember who was named; what is said of several people leaves "she" open."""
    for name in find_sentence_names(written, turn.who):
        if name.kind == "person" and name.text != turn.who:
            turn.people.setdefault(normalize_name(name.text), written[name.start : name.end])


def _joined(written: str, turn: _Turn) -> Fact | None:
    """The last fact with this sentence behind it, where it goes on about the same thing."""
    last = turn.last
    if last is None or not _GOES_ON.match(written) or is_hypothetical(written) or len(last.text) > _LONGEST_JOINED:
        return None
    reading = parse_sentence(written, turn.who)
    if not (reading.names or any(character.isdigit() for character in written)):
        return None
    text = f"{last.text} {written if written[-1] in '.!?' else written + '.'}"
    mentions = dict.fromkeys([*last.mentions, *_mentions(written, turn.who)])
    return replace(last, text=text, mentions=tuple(mentions), triples=(*last.triples, *reading.claims))


def _again(text: str, speaker: str, others: Sequence[str]) -> str:
    """The text without the speaker's second "and Alice" where the first opens it, nor a second "Alice's"
    unless it could be taken for that of one of the `others`."""
    if not text.startswith(f"{speaker} ") or text.startswith(f"{speaker} and "):
        return text
    for name in dict.fromkeys((speaker, speaker.lower())):
        text = re.sub(rf"(?<!,) and {re.escape(name)} (?=[a-z]+\b)", " and ", text)
        owned = re.search(rf" {re.escape(name)}['’]s (?={_KIN})", text)
        while owned and not any(other in text[: owned.start()] for other in others):
            text = f"{text[: owned.start()]} their {text[owned.end() :]}"
            owned = re.search(rf" {re.escape(name)}['’]s (?={_KIN})", text)
    return text


def _corrected(sentence: Sentence, turn: _Turn, earlier: Sequence[Fact]) -> list[Fact]:
    """ "Sorry, I meant Lisbon, not Porto": what was told of Porto, told of Lisbon. The wrong word was never
    meant, so that nothing but the source keeps it."""
    right = apply_correction(sentence.text, earlier) if sentence.is_correction and earlier else None
    if right is None:
        return []
    told = _told(parse_sentence(right.text, turn.who), sentence, turn)
    wrong = [fact for fact in earlier if fact.source_turns == right.fact.source_turns and _same_news(fact, right.fact)]
    if told:
        turn.withdrawn += wrong
    taken_back = {claim for fact in wrong for claim in fact.triples} - {c for fact in told for c in fact.triples}
    said = tuple(dict.fromkeys((*right.fact.source_turns, turn.number)))
    return [
        replace(
            fact,
            source_turns=said,
            ended_claims=tuple(dict.fromkeys((*fact.ended_claims, *sorted(taken_back, key=str)))),
        )
        for fact in told
    ]


def _same_news(fact: Fact, other: Fact) -> bool:
    """Whether the two are one, or an event and the state that it leaves."""
    return fact == other or {claim_kind(claim) for claim in (*fact.triples, *other.triples)} == {"episode", "semantic"}


def _mentions(text: str, who: str) -> tuple[Mention, ...]:
    found: dict[str, Mention] = {}
    for name in find_sentence_names(text, who):
        found.setdefault(normalize_name(name.text), Mention(name.text, name.kind))
    return tuple(found.values())


_AND = re.compile(r",? (?:and|but|while)(?: also| now)? (?=[A-Z]|the user\b)|; ")
_KIN = rf"(?:[a-z]+ )?(?:{'|'.join(sorted(RELATIONSHIP_NOUNS | set(PLURAL_RELATIONSHIP_NOUNS) | {'family'}))})\b"
_WHO = re.compile(rf"(?:The user|[A-Z][\w.-]+(?: [A-Z][\w.-]+)*)(?:['’]s {_KIN}(?:,? [A-Z][\w.-]+)*,?)?")
_REPORTED = re.compile(
    r"([A-Z][\w.-]+) (?:told [^,.;]{1,30}?|said|mentioned)(?: that)? (?:he|she) (?!would|could|might|may)(.+)"
)
_AND_SHE = re.compile(r",? and (?:she|he)(?= [a-z])")
_HE = re.compile(r"(He|She|His|Her)\b(['’](?:s|ll|d))?(?= [a-z]|['’])")
_IS = {"'s": " is", "’s": " is", "'ll": " will", "’ll": " will", "'d": " would", "’d": " would"}
_GOES_ON = re.compile(
    r"(?:He|She|It|They|His|Her|Its|Their)\b(?! (?:was|is|were|are|looks?|sounds?) (?:so|really|such|very)\b)"
)
_HABIT = re.compile(r"\b(?:never|always|usually|often|every|each|sometimes|rarely|birthday|anniversary)\b")
_YEARLY = ("birthday", "born_on")
_SUBORDINATE = re.compile(r"(?:since|after|before|when|once) ", re.IGNORECASE)
_LONGEST_JOINED = 300
_RECENT = 8
"""How many facts back a correction may reach."""
