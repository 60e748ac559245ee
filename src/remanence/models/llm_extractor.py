"""Facts, verdicts and profiles by a language model, with the rules behind it.

Whatever the model does, each method gives a sound answer: what it wrote is read as far as it can be, held
against what was said, and where it failed the rules do the work and `Found.problem` says so.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from remanence.errors import InvalidInput
from remanence.language.rules.rule_extractor import RuleExtractor
from remanence.language.text import normalize_text, pluralize
from remanence.models import prompts
from remanence.models.grounding import match_spelling, resulting_states, verified_fact
from remanence.models.llm_clients import has_return_type, resolve_llm
from remanence.models.llm_judgements import MAX_MEMORY_CHARACTERS, CandidatePair, pair_rows, parse_index, parse_verdicts
from remanence.models.llm_replies import Row, parse_rows
from remanence.models.llm_source import Chunk, Piece, split_into_chunks
from remanence.schema import Extraction, ExtractionResult, Fact, Memory, Utterance, Verdict

if TYPE_CHECKING:
    from remanence.ports import FactExtractor

log = logging.getLogger(__name__)

MAX_FACTS = 64  # of one chunk, the most important first
MOST_ROWS = 1_000  # of one answer that are looked at
MAX_FAILURES = 2  # chunks in a row that may fail before the model is left alone
LETTERS = 4  # of a token, about


@dataclass(frozen=True, slots=True)
class ProfileSentence:
    """A sentence of a profile, and the places of the lines it rests on."""

    text: str
    lines: tuple[int, ...]


class LLMExtractor:
    """Finds facts with a chat model of LangChain, an LLM of LlamaIndex, or a function from prompt to text.

    The model is asked once for each chunk of a conversation (`chunk` is its length in characters), for
    structured output where it can and for JSON in text where it cannot, and once more if that could not be
    read. It is waited for `timeout` seconds. `add`, which keeps what it is given, never asks it.

    Threads may share one.

    >>> from datetime import datetime, timezone
    >>> def gpt(prompt: str) -> str:
    ...     return 'OK! {"facts": [{"text": "Alice ran a race.", "kind": "episode", "when": "last May"}]}'
    >>> now = datetime(2026, 6, 20, tzinfo=timezone.utc)
    >>> found = LLMExtractor(gpt).facts([Utterance("Alice ran a race last May!")], now=now)
    >>> found.by, found.model, found.facts[0].text, str(found.facts[0].valid)
    ('llm', 'gpt', 'Alice ran a race.', '2026-05-01 to 2026-06-01')
    """

    name = "llm"
    prompt = prompts.VERSION

    def __init__(
        self,
        model: object,
        *,
        timeout: float | None = 60.0,
        chunk_size: int = 8_000,
        rules: FactExtractor | None = None,
    ) -> None:
        if callable(model) and has_return_type(model, Extraction):
            raise InvalidInput(
                f"{model!r} returns an Extraction, so it is an extractor and no model: give it to "
                "open(extractor=...) as it is."
            )
        if isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 200:
            raise InvalidInput(f"chunk={chunk_size!r} is not a number of characters, 200 or more.")
        self._model = resolve_llm(model, timeout=timeout)
        self._rules: FactExtractor = rules or RuleExtractor()
        self._chunk = chunk_size
        self._structured = True  # until text works where a schema did not
        self.model = self._model.name

    def __repr__(self) -> str:
        return f"<LLMExtractor with {self.model!r}, prompts {self.prompt}>"

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What the rules find: this is for `add`, which must be quick and cost nothing."""
        return self._rules.extract(text, now=now, speaker=speaker)

    def facts(self, utterances: Sequence[Utterance], *, now: datetime) -> ExtractionResult:
        """What these turns tell. Where the model fails the rules read the turns, and `problem` says so."""
        found: list[Fact] = []
        problems: list[str] = []
        answered, failed = 0, 0
        for part in split_into_chunks(utterances, self._chunk):
            if failed >= MAX_FAILURES:
                read = _Read(self._by_rules(part.pieces, now), "was not asked again", answered=False)
            else:
                read = self._read(part, now)
            answered += read.answered
            failed = 0 if read.answered else MAX_FAILURES if read.late else failed + 1
            found += read.facts
            if read.problem:
                problems.append(read.problem)
        problem = f"The model {self.model!r} {'; '.join(dict.fromkeys(problems))}." if problems else None
        if problem:
            log.warning("%s What it left out is found by rule.", problem)
        by, model, version = (self.name, self.model, self.prompt) if answered else (self._rules.name, None, None)
        return ExtractionResult(tuple(_once(found)), by, model, version, problem)

    def judge(self, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
        """What the rules are certain of, and what the model says of the other pairs.

        A verdict that would replace a memory, or set two against each other, counts only if both speak of
        the same: a model asked about alike pairs retires unrelated ones.
        """
        certain = self._rules.judge(new, old)
        settled = {(verdict.new_index, verdict.old_id) for verdict in certain}
        pairs = [
            (number, memory)
            for number, beside in enumerate(old)
            for memory in beside
            if (number, memory.id) not in settled
        ]
        judged = list(certain)
        for batch in self._batches(pairs):
            rows = prompts.json_lines(pair_rows(new, batch))
            answer = self._ask(prompts.VERDICTS.substitute(memories=rows), "verdicts")
            if answer.rows is None:
                log.warning("The model %r %s; only the rules judged.", self.model, answer.problem)
                break
            judged += parse_verdicts(answer.rows, new, batch)
        return judged

    def summarise(self, lines: Sequence[str], *, max_tokens: int) -> tuple[ProfileSentence, ...] | None:
        """A profile in the third person, each sentence with the lines behind it; None if none can be had.

        The most important lines go first: where there are more than fit a prompt, the last are left out.
        """
        shown = list(_fitting(lines, 2 * self._chunk))
        if not shown or max_tokens <= 0:
            return None
        quoted = prompts.json_lines({"line": number, "text": line} for number, line in enumerate(shown))
        words = max(1, max_tokens * LETTERS // 7)
        answer = self._ask(prompts.PROFILE.substitute(lines=quoted, words=words), "sentences")
        if answer.rows is None:
            log.warning("The model %r %s; no profile was written.", self.model, answer.problem)
            return None
        sentences = [sentence for row in answer.rows if (sentence := _sentence(row, shown))]
        kept = list(_fitting([sentence.text for sentence in sentences], max_tokens * LETTERS))
        return tuple(sentences[: len(kept)]) or None

    def merge(self, texts: Sequence[str]) -> str | None:
        """Memories that say nearly the same as one text that says all of it; None if none can be had."""
        if sum(map(len, texts)) > self._chunk:
            return None
        rows = prompts.json_lines({"text": text} for text in texts)
        answer = self._ask(prompts.MERGE.substitute(memories=rows), "texts")
        text = answer.rows[0].get("text") if answer.rows and len(answer.rows) == 1 and answer.whole else None
        if not isinstance(text, str):
            log.warning("The model %r %s.", self.model, answer.problem or "wrote no text, or several")
            return None
        source = Chunk(tuple(Piece(place, Utterance(text)) for place, text in enumerate(texts)))
        spelled, _, invented = match_spelling(" ".join(text.split()), source)
        return None if invented else spelled

    def _read(self, chunk: Chunk, now: datetime) -> _Read:
        """One chunk, by the model as far as it goes and by the rules from there on."""
        prompt = prompts.FACTS.substitute(
            before=prompts.json_lines(chunk.prompt_rows(chunk.preceding, now)),
            conversation=prompts.json_lines(chunk.prompt_rows(chunk.pieces, now)),
        )
        answer = self._ask(prompt, "facts")
        if answer.rows is None:
            return _Read(self._by_rules(chunk.pieces, now), answer.problem, answered=False, late=answer.late)
        facts = [fact for row in answer.rows if (fact := verified_fact(row, chunk, now))]
        problems = [answer.problem] if answer.problem else []
        strange = len(answer.rows) - len(facts)
        if strange:
            problems.append(f"told {pluralize(strange, 'fact')} of which nobody had spoken")
        if len(facts) > MAX_FACTS:
            problems.append(f"told {len(facts)} facts at once: the {MAX_FACTS} most important are kept")
            facts = sorted(facts, key=lambda fact: -fact.importance)[:MAX_FACTS]
        answered = bool(facts) or not answer.rows
        facts += list(resulting_states(facts))
        if strange or not answer.whole:
            facts += _unsaid(self._by_rules(chunk.pieces, now), facts)
        facts.sort(key=lambda fact: fact.source_turns)
        return _Read(facts, "; ".join(problems), answered)

    def _by_rules(self, pieces: Sequence[Piece], now: datetime) -> list[Fact]:
        found = self._rules.facts([piece.utterance for piece in pieces], now=now)
        return [replace(fact, source_turns=tuple(pieces[at].turn for at in fact.source_turns)) for fact in found.facts]

    def _batches(self, pairs: Sequence[CandidatePair]) -> Iterator[Sequence[CandidatePair]]:
        """All pairs in one batch, or in as few as prompts of a sensible length allow."""
        left = pairs
        while left:
            count = len(list(_fitting([memory.text[:MAX_MEMORY_CHARACTERS] for _, memory in left], 2 * self._chunk)))
            yield left[: max(1, count)]
            left = left[max(1, count) :]

    def _ask(self, prompt: str, key: str) -> _Answer:
        """The rows of the model's answer; where they cannot be read, of its second one."""
        structured = self._structured
        reply = self._model.ask(prompt, prompts.response_schema(key) if structured else None)
        rows = None if reply.problem else parse_rows(reply, key)
        if rows is None and not reply.timed_out:
            reply = self._model.ask(prompt if reply.problem else prompt + prompts.RETRY)
            rows = None if reply.problem else parse_rows(reply, key)
            if rows is not None and structured:
                self._structured = False
        if rows is None:
            return _Answer(None, reply.problem or f"wrote nothing that could be read as {key}", late=reply.timed_out)
        problem = None if rows.complete else f"broke off after {pluralize(len(rows.rows), key[:-1])}"
        return _Answer(rows.rows[:MOST_ROWS], problem, whole=rows.complete)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The rows of an answer, or the problem there was."""

    rows: tuple[Row, ...] | None
    problem: str | None = None
    whole: bool = True
    late: bool = False


@dataclass(frozen=True, slots=True)
class _Read:
    """What came of one chunk."""

    facts: Sequence[Fact]
    problem: str | None = None
    """What went wrong, also where some of it went right."""
    answered: bool = True
    late: bool = False


def _once(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Each fact once: two chunks share a few turns, and models repeat themselves."""
    seen: set[str] = set()
    for fact in facts:
        words = normalize_text(fact.text)
        if words not in seen:
            seen.add(words)
            yield fact


def _unsaid(by_rules: Sequence[Fact], facts: Sequence[Fact]) -> list[Fact]:
    """What the rules found in turns that the model said nothing about, or claim where it did not."""
    turns = {turn for fact in facts for turn in fact.source_turns}
    claims = {triple for fact in facts for triple in fact.triples}
    return [
        fact
        for fact in by_rules
        if turns.isdisjoint(fact.source_turns) or (fact.triples and claims.isdisjoint(fact.triples))
    ]


def _sentence(row: Row, lines: Sequence[str]) -> ProfileSentence | None:
    """A sentence that rests on lines there are, and names nobody whom they do not."""
    text, given = row.get("text"), row.get("lines")
    if not isinstance(text, str) or not text.strip() or not isinstance(given, list | tuple):
        return None
    places = sorted({place for item in given if (place := parse_index(item, len(lines))) is not None})
    source = Chunk(tuple(Piece(place, Utterance(lines[place])) for place in places))
    spelled, _, invented = match_spelling(" ".join(text.split()), source)
    return ProfileSentence(spelled, tuple(places)) if places and not invented else None


def _fitting(texts: Sequence[str], size: int) -> Iterator[str]:
    for text in texts:
        size -= len(text) + 1
        if size < 0:
            return
        yield text
