"""Rule-based facts of a conversation: each informative sentence, in words that need no context.

1. A turn is split into sentences; questions, requests and small talk are excluded (sentences.py).
2. The first person becomes the third (third_person.py).
3. Names, claims, state changes and denials are found (sentence_reading.py).
4. The fact gets its kind, time, tags and importance (fact_filter.py, fact_attributes.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from remanence.language.claim_extraction.predicate_rules import OPINION_PREDICATES, claim_kind
from remanence.language.claim_extraction.state_changes import claims_ended_by, claims_opposed_to
from remanence.language.fact_extraction import fact_attributes
from remanence.language.fact_extraction.fact_attributes import importance_of, times_in_clause
from remanence.language.fact_extraction.fact_filter import FactClassification, classify_fact, has_lasting_result
from remanence.language.fact_extraction.sentence_reading import ParsedSentence, find_sentence_names, parse_sentence
from remanence.language.fact_extraction.sentences import (
    Sentence,
    informative_sentences,
    is_boilerplate,
    is_hypothetical,
)
from remanence.language.fact_extraction.short_answers import MAX_ANSWER_WORDS, answer_statements, answers_itself
from remanence.language.fact_extraction.statements import find_statements, main_clauses
from remanence.language.fact_extraction.third_person import speaker_label, to_third_person
from remanence.language.fact_extraction.turn_statements import has_statement
from remanence.language.lexicon.word_lists import compile_pattern, load_pattern, tags_of
from remanence.language.named_entities.name_spans import NameSpan
from remanence.language.temporal import TimePhrase, find_stated_times
from remanence.language.text import normalize_name, normalize_text, split_sentences, upper_first
from remanence.schema import ASSISTANT, SELF, Fact, Mention, Triple, Utterance, Window


@dataclass(slots=True)
class _Turn:
    """One turn, and what its sentences have stated so far."""

    number: int
    speaker: str
    at: datetime
    is_dated: bool
    times: list[TimePhrase]
    """The times that the turn states; its clauses share them."""
    people: dict[str, str] = field(default_factory=dict)
    """Third persons named so far, by normalized name. If there is one, "she" means that person."""
    relatives: dict[str, str] = field(default_factory=dict)
    """Relatives of the speaker that the turn names, also in its questions."""
    places: list[str] = field(default_factory=list)
    """The places in the last sentence that names any. If there is one, "there" means that place."""
    last: Fact | None = None
    """The fact of the previous sentence; "Her name is Luna" is appended to it."""
    withdrawn: list[Fact] = field(default_factory=list)
    """Earlier facts that this turn corrects."""


def find_facts(utterances: Sequence[Utterance], speakers: Sequence[str], now: datetime) -> list[Fact]:
    """The facts of these turns, in order. `speakers` has the name of the speaker of each turn.

    >>> from datetime import timezone
    >>> now = datetime(2026, 5, 20, tzinfo=timezone.utc)
    >>> for fact in find_facts([Utterance("Hi! I moved from Porto to Lisbon last week.")], ["Alice"], now):
    ...     print(fact.kind, fact.text, [str(claim) for claim in fact.ended_claims])
    episode Alice moved from Porto to Lisbon last week (2026-05-11 to 2026-05-17). []
    semantic Alice lives in Lisbon. ['Alice —lives_in→ Porto']
    """
    facts_by_text: dict[str, Fact] = {}
    recent: dict[str, list[Fact]] = {}
    is_play = False  # the speakers have taken roles
    for number, (utterance, speaker) in enumerate(zip(utterances, speakers, strict=True)):
        is_play = (is_play and not _PLAY_ENDS.search(utterance.text)) or _PLAY_BEGINS.search(utterance.text) is not None
        if is_play:
            continue
        at = utterance.at or now
        turn = _Turn(number, speaker, at, utterance.at is not None, find_stated_times(utterance.text, at))
        asked = utterances[number - 1].text if number and speakers[number - 1] != speaker else ""
        facts = _facts_of_turn(turn, utterance.text, asked, recent.get(speaker, []))
        for fact in turn.withdrawn:
            facts_by_text.pop(normalize_text(fact.text), None)
        for fact in facts:
            facts_by_text.setdefault(normalize_text(fact.text), fact)
        recent[speaker] = [*recent.get(speaker, ()), *facts][-_MAX_RECENT:]
    return list(facts_by_text.values())


def turns_as_statements(
    utterances: Sequence[Utterance], speakers: Sequence[str], extracted: Sequence[Fact]
) -> list[Fact]:
    """Each short turn without a fact, as one statement in the third person without its questions and requests.

    Whether such a turn is worth keeping cannot be told by rule. It is if it changes an older fact.

    >>> for fact in turns_as_statements([Utterance("paid Ben back, all of it! what's next?")], ["Alice"], []):
    ...     print(fact.text)
    Paid Ben back, all of it!
    """
    with_facts = {number for fact in extracted for number in fact.source_turns}
    statements = []
    for number, (utterance, speaker) in enumerate(zip(utterances, speakers, strict=True)):
        if number in with_facts or speaker == ASSISTANT or len(utterance.text.split()) > _MAX_STATEMENT_WORDS:
            continue
        sentences = informative_sentences(utterance.text, to_assistant=speaker == SELF, with_short=True)
        told = " ".join(sentence.text for sentence in sentences if _may_tell(sentence.text))
        text = to_third_person(told, speaker_label(speaker)).strip()
        if text:
            text = upper_first(text)
            statements.append(
                Fact(text=text, mentions=_mentions(text, speaker), confidence=0.6, source_turns=(number,))
            )
    return statements


def _may_tell(sentence: str) -> bool:
    return not is_hypothetical(sentence) and (len(sentence.split()) < _MIN_ASKING_WORDS or has_statement(sentence))


def _facts_of_turn(turn: _Turn, text: str, asked: str, recent: Sequence[Fact]) -> list[Fact]:
    """The facts of a turn; `asked` is what another speaker said right before."""
    facts: list[Fact] = []
    stated_text: str | None = None
    for named in _MY_RELATIVE.finditer(text):
        turn.relatives.setdefault(normalize_name(named[1]), f"{speaker_label(turn.speaker)}'s {named[1]}")
    relative = _asked_relative(asked)
    if relative:
        turn.people[normalize_name(relative)] = f"{speaker_label(turn.speaker)}'s {relative}"
    asked_name = _HOW_IS.search(asked)
    if asked_name and not relative:
        turn.people[normalize_name(asked_name[1])] = asked_name[1]
    for sentence in _sentences_of_turn(turn, _split_off_others(_spell_out_note(text), turn.speaker), asked):
        if turn.speaker == ASSISTANT and is_boilerplate(sentence.text):
            continue
        if sentence.presupposed_of:  # these come last
            stated_text = stated_text if stated_text is not None else " ".join(fact.text for fact in facts)
            if sentence.presupposed_of in stated_text:
                continue
        corrected = _corrected_facts(sentence, turn, [*recent, *facts])
        if corrected:
            facts = [fact for fact in facts if fact not in turn.withdrawn] + corrected
            continue
        resolved = _resolve_pronoun(to_third_person(sentence.text, speaker_label(turn.speaker)), turn)
        if len(turn.places) == 1:
            resolved = _THERE.sub(lambda match: f"{match[1]} in {turn.places[0]}", resolved)
        extended = _extended_fact(resolved, turn)
        if extended is not None and turn.last in facts:
            facts[facts.index(turn.last)] = turn.last = extended
            continue
        turn.last = None
        facts += _facts_of_clauses([resolved], sentence, turn) or _facts_of_clauses(
            main_clauses(resolved, speaker_label(turn.speaker)), sentence, turn
        )
        for person in _other_people(resolved, turn.speaker):
            turn.people.setdefault(normalize_name(person.text), resolved[person.start : person.end])
        names = find_sentence_names(resolved, turn.speaker)
        turn.places = list({name.text: None for name in names if name.kind == "place"}) or turn.places
    return facts


def _sentences_of_turn(turn: _Turn, text: str, asked: str) -> Iterator[Sentence]:
    """The informative sentences; a short answer is completed by the question before it."""
    rest = text
    if "?" in asked and turn.speaker != ASSISTANT:
        first = text if len(text.split()) <= MAX_ANSWER_WORDS else next(iter(split_sentences(text)), text)
        statements = [] if answers_itself(first) else answer_statements(asked, first)
        yield from (Sentence(statement, is_answer=True) for statement in statements)
        if statements:
            rest = text.replace(first, "", 1)
    yield from informative_sentences(rest, to_assistant=turn.speaker == SELF)


def _spell_out_note(text: str) -> str:
    """A note under a heading as sentences: "Project Kestrel. Owner: Ann. Due 3 May" is "Kestrel's owner is Ann".

    >>> _spell_out_note("Project Kestrel. Owner: Ann. Due 3 May.")
    "Project Kestrel. Kestrel's owner is Ann. Kestrel is due 3 May."
    """
    heading = _HEADING.match(text)
    if heading is None:
        return text
    topic = heading["topic"]
    notes = _NOTE_FIELD.sub(lambda match: f"{topic}'s {match[1].lower()} is ", text[heading.end() :])
    notes = _NOTE_DUE.sub(f"{topic} is due ", notes)
    return heading.group() + _NOTE_NOUN.sub(lambda match: f"{topic}'s {match[1].lower()}", notes)


def _split_off_others(text: str, speaker: str) -> str:
    """A text in which what is added about somebody else is a sentence of its own.

    >>> _split_off_others("Had a call with Alex, now a PM at Stripe; he likes mornings.", "me")
    'Had a call with Alex. Alex is now a PM at Stripe. He likes mornings.'
    """
    text = _APPOSITION.sub(lambda match: f"{match['name']}. {match['name']} is {match['what']}", text)
    parts = _BEFORE_PRONOUN.split(text) if ";" in text else [text]
    for before in range(len(parts) - 1):
        # Where several are named, the pronoun may mean any of them.
        people = {normalize_name(person.text) for person in _other_people(parts[before], speaker)}
        parts[before] += ". " if len(people) == 1 else "; "
        parts[before + 1] = upper_first(parts[before + 1]) if len(people) == 1 else parts[before + 1]
    return "".join(parts)


def _asked_relative(asked: str) -> str | None:
    """Whom of the next speaker's relatives a question is about: "How's your mum?" is about one "she"."""
    relatives = {match[1] for match in _YOUR_RELATIVE.finditer(asked)} if "?" in asked else set()
    return relatives.pop() if len(relatives) == 1 else None


def _facts_of_clause(clause: ParsedSentence, sentence: Sentence, turn: _Turn, times: list[TimePhrase]) -> list[Fact]:
    """The fact of one clause, and the new state if it is a state change."""
    has_value = bool(clause.names) or any(character.isdigit() for character in clause.text)
    is_certain = sentence.is_answer or (
        sentence.remember_requested and has_value
    )  # not "don't forget, every step counts"
    if is_hypothetical(clause.text) and not is_certain:
        return []
    classification = classify_fact(clause, speaker_label(turn.speaker), remember_requested=is_certain)
    if classification is None:
        return []
    fact = _build_fact(clause, classification, times, sentence, turn)
    change = clause.change
    if change is None or change.state_text is None:
        turn.last = fact
        return [fact]
    is_background = _SUBORDINATE.match(clause.text) is not None
    start = times[0].window.start if times else turn.at if turn.is_dated and not is_background else None
    is_view = any(claim.predicate in ("uses", *OPINION_PREDICATES) for claim in change.state_claims)
    text, claims = change.state_text, change.state_claims
    state = Fact(
        text=f"{text}.",
        kind="viewpoint" if is_view else "semantic",
        mentions=_mentions(text, turn.speaker),
        triples=claims,
        valid=Window(start),
        importance=importance_of(text, claims, remember_requested=sentence.remember_requested),
        confidence=0.75,
        tags=tags_of(text, preference=is_view),
        source_turns=(turn.number,),
        ended_claims=change.ended_claims,
    )
    turn.last = replace(fact, ended_claims=())  # the new state ends the old one
    return [turn.last, state]


def _build_fact(
    clause: ParsedSentence, classification: FactClassification, times: list[TimePhrase], sentence: Sentence, turn: _Turn
) -> Fact:
    claims, ended = _claims_and_ended(clause)
    kind, is_future, is_minor = classification.kind, classification.is_future, classification.is_minor
    if clause.change is None and clause.denial is None and claims:
        kinds = {claim_kind(claim) for claim in claims if not claim.predicate.endswith("_of")}
        kinds = kinds or {claim_kind(claim) for claim in claims}
        kind = "viewpoint" if kinds == {"viewpoint"} else "episode" if "episode" in kinds else kind
    if clause.denial is not None and any(claim.predicate == "dislikes" for claim in claims):
        kind = "viewpoint"
    if kind == "episode" and is_future:
        claims = [claim for claim in claims if claim.predicate != "has"]  # a meeting is not a possession
    window = times[0].window if times else Window()
    is_background = _SUBORDINATE.match(clause.text) is not None  # "Since I moved …" was some time ago
    expires = fact_attributes.find_expiry(clause.text, times, turn.at) if is_future else None
    if kind == "semantic" and window.start is not None:
        if window.start > turn.at and _DUE.search(clause.text):  # a deadline is an event to come
            kind = "episode"
        elif window.start <= turn.at:
            is_over = window.end is not None and window.end <= turn.at
            if has_lasting_result(clause) or (is_over and _HOLDS_NOW.search(clause.text)):
                window = Window(window.start)  # what holds now began then
    if not window.has_bound and kind == "episode" and turn.is_dated and not (is_future or is_background):
        window = Window.from_moment(turn.at)
    others = [person.text for person in _other_people(clause.text, turn.speaker)]
    text = _drop_repeated_speaker(fact_attributes.add_dates(clause.text, times), speaker_label(turn.speaker), others)
    return Fact(
        text=text if text[-1] in '.!?"”' else f"{text}.",
        kind=kind,
        mentions=_mentions(clause.text, turn.speaker),
        triples=tuple(dict.fromkeys(claims)),
        valid=window,
        importance=importance_of(
            clause.text, claims, remember_requested=sentence.remember_requested, is_minor=is_minor and not times
        ),
        confidence=0.8 if claims and not is_future else classification.confidence,
        tags=tags_of(clause.text, preference=kind == "viewpoint"),
        expires_at=expires,
        source_turns=(turn.number,),
        ended_claims=tuple(dict.fromkeys([*ended, *claims_opposed_to(claims)])),
    )


def _claims_and_ended(clause: ParsedSentence) -> tuple[list[Triple], tuple[Triple, ...]]:
    """The claims of a clause, and the claims that it ends."""
    change, denial, claims = clause.change, clause.denial, list(clause.claims)
    if change is not None:
        lasting = (claim for claim in claims if claim.predicate not in ("uses", "has"))
        return [*change.event_claims, *lasting], change.ended_claims
    if denial is None:
        return claims, (*clause.replaced_claims, *claims_ended_by(claims))
    if not denial.no_longer:
        liked = [claim for claim in denial.claims if claim.predicate in ("likes", "loves")]
        claims += [Triple(claim.subject, "dislikes", claim.object) for claim in liked]
    return claims, denial.claims


def _facts_of_clauses(clauses: Iterable[str], sentence: Sentence, turn: _Turn) -> list[Fact]:
    facts: list[Fact] = []
    for text in clauses:
        clause = parse_sentence(text, turn.speaker)
        whole = _facts_of_clause(clause, sentence, turn, times_in_clause(clause.text, turn.times))
        facts += (_facts_of_statements(clause, sentence, turn) if whole else []) or whole
    return facts


def _facts_of_statements(clause: ParsedSentence, sentence: Sentence, turn: _Turn) -> list[Fact]:
    """The facts of the statements of a clause that is a fact as a whole; none if it has only one statement.

    A statement that shares its subject is as certain as the clause. Others may be small talk.
    """
    label = speaker_label(turn.speaker)

    def is_fact(text: str) -> bool:
        return classify_fact(parse_sentence(text, turn.speaker), label) is not None

    def makes_claim(text: str) -> bool:
        return bool(_all_claims(parse_sentence(text, turn.speaker)))

    def adds_claim(left: str, right: str) -> bool:
        added = not stated.issuperset(_all_claims(parse_sentence(right, turn.speaker)))
        return added and makes_claim(left) and is_fact(left) and is_fact(right)

    stated = set(_stated_claims(clause))
    statements = find_statements(
        clause.text,
        is_fact,
        makes_claim,
        adds_claim,
        split_shared=clause.change is None,
        # Where the speaker did not say "their", it stands for "my" or "our" (third_person.py).
        possessor=None if _THEIR.search(sentence.text) else label,
    )
    if len(statements) < 2:
        return []
    certain = sentence._replace(is_answer=True)
    return [
        fact
        for text, shares_subject in statements
        for fact in _facts_of_clause(
            parse_sentence(text, turn.speaker),
            certain if shares_subject else sentence,
            turn,
            times_in_clause(text, turn.times),
        )
    ]


def _stated_claims(clause: ParsedSentence) -> tuple[Triple, ...]:
    change = clause.change
    return (*clause.claims, *(change.event_claims or change.ended_claims if change else ()))


def _all_claims(clause: ParsedSentence) -> tuple[Triple, ...]:
    """The claims of a clause, and the claims that it denies."""
    return (*_stated_claims(clause), *(clause.denial.claims if clause.denial else ()))


def _resolve_pronoun(text: str, turn: _Turn) -> str:
    """The sentence with a name in place of "he" or "she", where only one person can be meant."""
    pronoun = _PRONOUN.match(text)
    people = turn.people or turn.relatives
    if pronoun and len(people) == 1:
        (name,) = people.values()
        possessive = "'s" if pronoun[1] in ("His", "Her") else ""
        text = f"{name}{possessive}{_CONTRACTED[pronoun[2][1:]] if pronoun[2] else ''}{text[pronoun.end() :]}"
    reported = _REPORTED.match(text)
    if reported and {normalize_name(reported[1])}.issuperset(turn.people):  # Bob told Alice that he moved
        return f"{reported[1]} {reported[2]}"
    second = _AND_PRONOUN.search(text)
    if second and not turn.people:
        before = text[: second.start()]
        others = _other_people(before, turn.speaker)
        if len(others) == 1:
            name = re.sub("^The user", "the user", before[others[0].start : others[0].end])
            return f"{before} and {name}{text[second.end() :]}"
    return text


def _extended_fact(text: str, turn: _Turn) -> Fact | None:
    """The last fact with this sentence appended, where it continues about the same subject."""
    last = turn.last
    if last is None or not _CONTINUATION.match(text) or is_hypothetical(text) or len(last.text) > _MAX_EXTENDED_CHARS:
        return None
    sentence = parse_sentence(text, turn.speaker)
    if not (sentence.names or any(character.isdigit() for character in text)):
        return None
    return replace(
        last,
        text=f"{last.text} {text if text[-1] in '.!?' else text + '.'}",
        mentions=tuple(dict.fromkeys([*last.mentions, *_mentions(text, turn.speaker)])),
        triples=(*last.triples, *sentence.claims),
    )


def _drop_repeated_speaker(text: str, speaker: str, others: Sequence[str]) -> str:
    """The text without a second "and Alice" after an initial "Alice", and with "their" for a second "Alice's".

    "Alice's" stays where "their" could mean one of the `others`.
    """
    if not text.startswith(f"{speaker} ") or text.startswith(f"{speaker} and "):
        return text
    for name in dict.fromkeys((speaker, speaker.lower())):
        text = re.sub(rf"(?<!,) and {re.escape(name)} (?=[a-z]+\b)", " and ", text)
        possessive = re.compile(rf" {re.escape(name)}['’]s (?={_RELATIVE})")
        while (match := possessive.search(text)) and not any(other in text[: match.start()] for other in others):
            text = f"{text[: match.start()]} their {text[match.end() :]}"
    return text


def _corrected_facts(sentence: Sentence, turn: _Turn, earlier: Sequence[Fact]) -> list[Fact]:
    """The corrected facts of "Sorry, I meant Lisbon, not Porto". They replace the earlier ones."""
    correction = fact_attributes.apply_correction(sentence.text, earlier) if sentence.is_correction else None
    if correction is None:
        return []
    wrong_fact, text = correction
    facts = _facts_of_clause(parse_sentence(text, turn.speaker), sentence, turn, find_stated_times(text, turn.at))
    same_turns = [fact for fact in earlier if fact.source_turns == wrong_fact.source_turns]
    wrong = [fact for fact in same_turns if _is_same_or_its_state(fact, wrong_fact)]
    if facts:
        turn.withdrawn += wrong
    new_claims = {claim for fact in facts for claim in fact.triples}
    ended = sorted({claim for fact in wrong for claim in fact.triples} - new_claims, key=str)
    source_turns = tuple(dict.fromkeys((*wrong_fact.source_turns, turn.number)))
    return [
        replace(fact, source_turns=source_turns, ended_claims=tuple(dict.fromkeys((*fact.ended_claims, *ended))))
        for fact in facts
    ]


def _is_same_or_its_state(fact: Fact, other: Fact) -> bool:
    """Whether the two are one fact, or an event and the state after it."""
    return fact == other or {claim_kind(claim) for claim in (*fact.triples, *other.triples)} == {"episode", "semantic"}


def _other_people(text: str, speaker: str) -> list[NameSpan]:
    """The names of people in the text, without the speaker."""
    names = find_sentence_names(text, speaker)
    return [name for name in names if name.kind == "person" and name.text != speaker]


def _mentions(text: str, speaker: str) -> tuple[Mention, ...]:
    mentions: dict[str, Mention] = {}
    for name in find_sentence_names(text, speaker):
        mentions.setdefault(normalize_name(name.text), Mention(name.text, name.kind))
    return tuple(mentions.values())


_MAX_STATEMENT_WORDS = 40
_PLAY_BEGINS = compile_pattern("play_begins", re.IGNORECASE)
_PLAY_ENDS = compile_pattern("play_ends", re.IGNORECASE)
_MIN_ASKING_WORDS = 4
_APPOSITION = re.compile(
    r"(?P<name>[A-Z][\w'’-]{1,30}(?: [A-Z][\w'’-]{1,30})?), (?:who(?:['’]s| is) )?"
    r"(?P<what>(?:now|currently) an? [^,;.!?]{3,60})(?=[;.!?]|$)"
)
_BEFORE_PRONOUN = re.compile(r";\s+(?=(?:he|she|his|her)\b)")
_HEADING = re.compile(r"(?:Project |Re )?(?P<topic>[A-Z][\w-]+(?: [A-Z][\w-]+)?)[:.] (?=[A-Z])")
_NOTE_NOUNS = r"owner|lead|deadline|date|due date|budget|status|contact|client|launch|release|kick-?off|sponsor|scope"
_NOTE_FIELD = re.compile(rf"(?<![\w'’] )(?<!\w)({_NOTE_NOUNS}): ", re.IGNORECASE)
_NOTE_NOUN = re.compile(
    rf"(?:(?<=^)|(?<=[.;] ))({_NOTE_NOUNS})(?= (?:is|are|was|slips?|moves?|moved|changed)\b)", re.IGNORECASE
)
_NOTE_DUE = re.compile(r"(?<![\w'’] )(?<!\w)Due (?=\w)")
_RELATIVE = load_pattern("relative_noun")
_YOUR_RELATIVE = re.compile(rf"\b[Yy]our ({load_pattern('relationship')})\b")
_HOW_IS = re.compile(r"\b[Hh]ow(?:['’]s| is) ([A-Z]\w+)\b[^.?!]{0,20}\?")
_MY_RELATIVE = re.compile(rf"\b[Mm]y ((?:[a-z]+ )?(?:{load_pattern('relationship')})\b(?: [A-Z]\w+)?)")
_REPORTED = compile_pattern("reported")
_AND_PRONOUN = re.compile(r",? and (?:she|he)(?= [a-z])")
_THEIR = re.compile(r"\btheir\b", re.IGNORECASE)
_PRONOUN = re.compile(r"(He|She|His|Her)\b(['’](?:s|ll|d))?(?= [a-z]|['’])")
_THERE = compile_pattern("there_of_place")
_CONTRACTED = {"s": " is", "ll": " will", "d": " would"}
_CONTINUATION = compile_pattern("continuing_sentence")
_DUE = re.compile(
    r"\b(?:deadline|due|go-?live|launch(?:es|ing)?|hand(?:s|ing)? in|submit|release|by|slip(?:s|ped)|postponed|date)\b",
    re.IGNORECASE,
)
_HOLDS_NOW = re.compile(r"\b(?:now|any ?more|no longer|never|these days|still)\b")
_SUBORDINATE = re.compile(r"(?:since|after|before|when|once) ", re.IGNORECASE)
_MAX_EXTENDED_CHARS = 300
_MAX_RECENT = 8
"""The number of earlier facts that a correction can refer to."""
