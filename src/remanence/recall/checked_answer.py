"""Whether memories support what an answer says, sentence by sentence.

The reader that comes with the package reads the memories with each sentence, and a small network
(`models/answer_check.py`) judges by what it says and by the names, numbers, times and words that agree or differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from remanence.errors import InvalidInput
from remanence.index.engine.inputs import Moment
from remanence.models.answer_check import MIN_SUCCESSOR, Judgement, claim_probability, judge
from remanence.models.embedders import sentence_embedder
from remanence.models.readers import MAX_LINES, default_reader
from remanence.recall.memories_used import HasMemory
from remanence.recall.reader_lines import as_reader_line, closer_in_time, valid_or_told
from remanence.recall.sentence_features import Comparison, tells_past
from remanence.schema import UTC, Hit, Memory, format_moment
from remanence.schema.display import html_table
from remanence.text.framing import strip_frames
from remanence.text.temporal import parse_moment
from remanence.text.text import pluralize, split_sentences, tokens

if TYPE_CHECKING:
    from remanence.ports import ReaderLine, Vector

Verdict = Literal["supported", "contradicted", "unsupported", "no claim"]
MAX_SENTENCES = 200
"""Sentences of an answer that are checked, at most. Each takes two passes of the reader."""
MAX_READ = MAX_LINES - 1
"""Memories that are read with a sentence, at most; the sentence is a line itself."""
MIN_CONTRADICTED = 0.6
"""The least probability for "contradicted"; below it the more probable of the other two is said. Chosen on the first 60
answers of "Checked answers" in docs/decisions.md."""
_MIN_CLAIM = 0.5
"""The probability from which on a sentence claims something: more probable than not."""


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of an answer, and what the memories say of it.

    Attributes:
        text: The sentence.
        verdict: "supported", "contradicted" (also by a memory that replaced what it tells), "unsupported" (no memory
            tells it), or "no claim" for questions, greetings and offers.
        memory: The memory that supports or contradicts it; None for the other two.
        quotation: The words of that memory.
        probability: How probable the verdict is, from 0 to 1.
    """

    text: str
    verdict: Verdict
    memory: Memory | None = None
    quotation: str = ""
    probability: float = 1.0

    def __str__(self) -> str:
        verdict = self.verdict if self.verdict == "no claim" else f"{self.verdict} {self.probability:.2f}"
        if self.memory is None:
            return f"{verdict}: {self.text}"
        return f"{verdict}: {self.text}  [{format_moment(self.memory.told_at)}: {self.quotation}]"


@dataclass(frozen=True, slots=True, repr=False)
class CheckedAnswer:
    """An answer whose sentences were compared with memories. `str()` gives a line for each.

    Attributes:
        sentences: The sentences, in order.
    """

    sentences: tuple[CheckedSentence, ...] = ()

    def to_dicts(self) -> list[dict[str, Any]]:
        """The sentences as dicts of JSON types.

        Returns:
            One dict for each: text, verdict, probability, quotation, and the id and the day of the memory.
        """
        return [
            {
                "text": each.text,
                "verdict": each.verdict,
                "probability": round(each.probability, 3),
                "quotation": each.quotation,
                "memory": each.memory and each.memory.id,
                "told_at": each.memory and each.memory.told_at.isoformat(),
            }
            for each in self.sentences
        ]

    @property
    def problems(self) -> tuple[CheckedSentence, ...]:
        """The sentences that are contradicted or unsupported."""
        return tuple(each for each in self.sentences if each.verdict in ("contradicted", "unsupported"))

    def __str__(self) -> str:
        return "\n".join(map(str, self.sentences))

    def __repr__(self) -> str:
        verdicts = [each.verdict for each in self.sentences]
        counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
        return f"<CheckedAnswer: {counts or 'no sentences'}>"

    def _repr_html_(self) -> str:
        rows = [
            (each.text, each.verdict, each.probability, each.quotation, (each.memory and each.memory.told_at) or "")
            for each in self.sentences
        ]
        return html_table("", ("sentence", "verdict", "probability", "quotation", "told"), rows)


def check(answer: str, hits: Iterable[Hit | Memory | HasMemory], *, now: Moment | None = None) -> CheckedAnswer:
    """Compare each sentence of an answer with memories: is it supported, contradicted, or told by none of them?

    It runs on this machine, with two passes of the reader a sentence, and no language model is asked. A verdict is a
    probability and may be wrong: see the figures in docs/checking.md before you act on it.

    Args:
        answer: The answer of a model. Blocks that `frame` made are left out.
        hits: The result of `recall`, or memories: what the answer should rest on. For each sentence the nearest 15
            are read.
        now: When the answer is given. The present by default.

    Returns:
        The sentences with their verdicts.

    Raises:
        InvalidInput: `answer` is no text or has more than 200 sentences, or `hits` has something else than hits and
            memories.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("Ana lives in Porto.", now="2026-05-01")
        ...     found = space.recall("Where does Ana live?")
        >>> [each.verdict for each in remanence.check("Ana lives in Porto. She has two cats.", found).sentences]
        ['supported', 'unsupported']
    """
    if not isinstance(answer, str):
        raise InvalidInput(f"answer={answer!r} is not a text.")
    sentences = list(split_sentences(strip_frames(answer)))
    if len(sentences) > MAX_SENTENCES:
        raise InvalidInput(
            f"The answer has {pluralize(len(sentences), 'sentence')}, more than {MAX_SENTENCES}. Check it in parts."
        )
    present = datetime.now(UTC)
    checker = _Checker(hits, present if now is None else parse_moment(now, present, argument="now"))
    return CheckedAnswer(tuple(map(checker.check, sentences)))


def supported_probability(statement: str, lines: Sequence[ReaderLine], asked_at: datetime) -> float | None:
    """The probability that dated lines support a statement; None if it is a question or claims nothing."""
    vector = sentence_embedder().embed([statement])[0]
    if _claims(statement, vector) < _MIN_CLAIM:
        return None
    if not lines:
        return 0.0
    comparison = Comparison(lines, default_reader(), sentence_embedder().embed, asked_at=asked_at, most=MAX_READ)
    _, *features = comparison.features(statement, vector)
    return judge(*features).supported


def _claims(sentence: str, vector: Vector) -> float:
    """The probability that a sentence claims something."""
    return 0.0 if sentence.endswith(("?", "？")) else claim_probability(vector)


class _Checker:
    """Memories, ready to be compared with sentences."""

    def __init__(self, hits: Iterable[Hit | Memory | HasMemory], now: datetime) -> None:
        found: list[tuple[Memory, str, Memory | None]] = []
        for hit in hits:
            memory = hit if isinstance(hit, Memory) else getattr(hit, "memory", hit)
            if memory is None:
                continue
            if not isinstance(memory, Memory):
                raise InvalidInput(f"hits has {hit!r}, which is neither a hit nor a memory. Give the result of recall.")
            if isinstance(hit, Hit):
                found.append((memory, hit.context, None if hit.current else hit.superseded_by or memory))
            else:
                found.append((memory, "", None))
        known = {memory.id for memory, _, _ in found}
        successors = {over.id: over for _, _, over in found if over is not None and over.id not in known}
        found += [(memory, "", None) for memory in successors.values()]
        # In the order they were told: what replaces another one comes after it.
        found.sort(key=lambda each: valid_or_told(each[0]))
        self._memories = [memory for memory, _, _ in found]
        self._ended = {place: over for place, (_, _, over) in enumerate(found) if over is not None}
        """By the place of a memory that no longer holds: the memory that replaced it, or itself."""
        lines = [as_reader_line(memory, context) for memory, context, _ in found]
        self._comparison = Comparison(
            closer_in_time(lines, now), default_reader(), sentence_embedder().embed, asked_at=now, most=MAX_READ
        )

    def check(self, sentence: str) -> CheckedSentence:
        vector = sentence_embedder().embed([sentence])[0]
        claims = _claims(sentence, vector)
        if claims < _MIN_CLAIM:
            return CheckedSentence(sentence, "no claim", probability=1 - claims)
        if not self._memories:
            return CheckedSentence(sentence, "unsupported")
        places, *features = self._comparison.features(sentence, vector)
        judged = judge(*features)
        return self._with_verdict(sentence, judged, places)

    def _with_verdict(self, sentence: str, judged: Judgement, places: Sequence[int]) -> CheckedSentence:
        place, probability = places[judged.line], judged.supported
        memory = self._memories[place]
        verdict: Verdict = "supported"
        successor = self._successor(judged, places)
        if judged.contradicted >= MIN_CONTRADICTED:
            verdict, probability, memory = "contradicted", judged.contradicted, successor or memory
        elif judged.supported < judged.unsupported:
            return CheckedSentence(sentence, "unsupported", probability=judged.unsupported)
        elif successor is not None and not tells_past(sentence):
            # What it repeats is over. The answer tells it as if it still held.
            verdict, memory = "contradicted", successor
        return CheckedSentence(sentence, verdict, memory, _quotation(memory.text, sentence), probability)

    def _successor(self, judged: Judgement, places: Sequence[int]) -> Memory | None:
        """What replaced the memory that a sentence is about, or that memory itself if it is over; None if it holds.

        What recall marked was replaced as an answer to its question: the successor has to be about the sentence, too.
        """
        marked = self._ended.get(places[judged.line])
        if marked == self._memories[places[judged.line]]:
            return marked
        for place, odds in zip(places, judged.about, strict=True):
            if self._memories[place] == marked and odds >= MIN_SUCCESSOR:
                return marked
        return None if judged.successor is None else self._memories[places[judged.successor]]


def _quotation(text: str, sentence: str) -> str:
    """The sentence of a text that has most words of another sentence; all of it, if none has one."""
    wanted = set(tokens(sentence))
    shared = {part: len(wanted.intersection(tokens(part))) for part in split_sentences(text)}
    return max(shared, key=lambda part: shared[part]) if any(shared.values()) else text
