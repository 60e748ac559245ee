"""Facts, verdicts and profiles from a language model, with the rules as a fallback.

The answer of the model is parsed as far as possible and checked against the source. Where the model fails, the
rules do the work and `ExtractionResult.problem` says so.

prompt_facts.txt      a conversation -> facts
prompt_verdicts.txt   new memories next to older ones -> what the new ones do to the old
prompt_profile.txt    lines about somebody -> a few sentences, each with its lines
prompt_merge.txt      memories that say nearly the same -> one text that says all of it
prompt_retry.txt      is appended after an answer that could not be read
prompt_schemas.json   the JSON schema of one row of each answer
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import accumulate
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Any

from remanence.errors import InvalidInput
from remanence.language.rule_extractor import RuleExtractor
from remanence.language.framing import escape_structure
from remanence.language.text import normalize_text, pluralize, tokens
from remanence.models.grounding import match_spelling, verified_fact
from remanence.models.llm_clients import Reply, has_return_type, resolve_llm
from remanence.models.llm_replies import ParsedRows, Row, parse_index, parse_rows
from remanence.models.llm_source import Chunk, Piece, split_into_chunks
from remanence.schema import Extraction, ExtractionResult, Fact, Memory, Utterance

if TYPE_CHECKING:
    from pydantic import BaseModel

    from remanence.ports import Extractor

log = logging.getLogger(__name__)

MAX_FACTS = 64  # of one chunk, the most important first
MAX_ROWS = 1_000  # of one answer; the rest is not read
MAX_FAILURES = 2  # chunks in a row that may fail; then the model is not called again
LETTERS_PER_TOKEN = 4
SURE = 0.7  # minimum confidence for a fact of the rules that the model did not return
PROMPT_VERSION = "2"
"""The ledger stores it with everything that was found by these prompts. Raise it with every change to them, so that
facts from an older prompt can be recognised."""
_FOLDER = Path(__file__).parent
FACTS_PROMPT, PROFILE_PROMPT, MERGE_PROMPT = (
    Template((_FOLDER / f"prompt_{name}.txt").read_text("utf-8")) for name in ("facts", "profile", "merge")
)
RETRY_PROMPT = (_FOLDER / "prompt_retry.txt").read_text("utf-8")
_ROW_SCHEMAS = json.loads((_FOLDER / "prompt_schemas.json").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class ProfileSentence:
    """A sentence of a profile, and the indexes of the lines it is based on."""

    text: str
    lines: tuple[int, ...]


class LLMExtractor:
    """Finds facts with a LangChain chat model, a LlamaIndex LLM, or a function from a prompt to text.

    The model is called once for each chunk of a conversation, for structured output if it supports that, else for
    JSON in text. If the answer cannot be parsed it is called once more. `add` never calls it. Thread-safe.

    Args:
        model: The chat model, LLM or function.
        timeout: How many seconds to wait for an answer; None waits without a limit.
        chunk_size: The length of a chunk in characters, 200 or more.
        rules: The extractor that is used for `add` and where the model fails.

    Raises:
        InvalidInput: `model` is not a language model, or a setting is out of range.

    Example:
        >>> from datetime import datetime, timezone
        >>> def gpt(prompt: str) -> str:
        ...     return 'OK! {"facts": [{"text": "Alice ran a race.", "kind": "episode", "when": "last May"}]}'
        >>> now = datetime(2026, 6, 20, tzinfo=timezone.utc)
        >>> found = LLMExtractor(gpt).facts([Utterance("Alice ran a race last May!")], now=now)
        >>> found.by, found.model, found.facts[0].text, str(found.facts[0].valid)
        ('llm', 'gpt', 'Alice ran a race.', '2026-05-01 to 2026-06-01')
    """

    name = "llm"
    prompt = PROMPT_VERSION

    def __init__(
        self,
        model: object,
        *,
        timeout: float | None = 60.0,
        chunk_size: int = 8_000,
        rules: Extractor | None = None,
    ) -> None:
        if callable(model) and has_return_type(model, Extraction):
            raise InvalidInput(
                f"{model!r} returns an Extraction, so it is an extractor and no model: pass it to "
                "open(extractor=...) as it is."
            )
        if isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 200:
            raise InvalidInput(f"chunk_size={chunk_size!r} is not a number of characters, 200 or more.")
        self._model = resolve_llm(model, timeout=timeout)
        self._rules: Extractor = rules or RuleExtractor()
        self._chunk_size = chunk_size
        self._structured = True  # False after an answer in text could be parsed and a structured one could not
        self.model = self._model.name

    def __repr__(self) -> str:
        return f"<LLMExtractor with {self.model!r}, prompts {self.prompt}>"

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What the rules find in a text. `add` calls this method, so it calls no model.

        Args:
            text: The text.
            now: When it was said; "yesterday" is read against this moment.
            speaker: Who said it; "I" is this person.

        Returns:
            Names, claims and times.
        """
        return self._rules.extract(text, now=now, speaker=speaker)

    def facts(self, utterances: Sequence[Utterance], *, now: datetime, known: Sequence[Memory] = ()) -> ExtractionResult:
        """The facts of some turns of a conversation.

        Args:
            utterances: The turns, in order.
            now: The moment of the extraction.

        Returns:
            The facts. If the model fails, the rules find them, and `problem` says so.
        """
        facts: list[Fact] = []
        problems: list[str] = []
        answered, replied, failures = 0, 0, 0
        chunks = split_into_chunks(utterances, self._chunk_size)
        for chunk in chunks:
            if failures >= MAX_FAILURES:
                result = _ChunkResult((), "was not asked again")
            else:
                result = self._read_chunk(chunk, now)
            answered += result.answered
            replied += result.replied
            failures = 0 if result.answered else MAX_FAILURES if result.timed_out else failures + 1
            facts += result.facts
            if result.problem:
                problems.append(result.problem)
        problem = f"The model {self.model!r} {'; '.join(dict.fromkeys(problems))}." if problems else None
        if problem:
            log.warning("%s", problem)
        by, model, version = (self.name, self.model, self.prompt) if answered else (self.name, None, None)
        unique: dict[str, Fact] = {}
        for fact in facts:  # chunks share a few turns, and models repeat themselves
            unique.setdefault(normalize_text(fact.text), fact)
        return ExtractionResult(tuple(unique.values()), by, model, version, problem, replied == len(chunks))

    def summarize(self, lines: Sequence[str], *, max_tokens: int) -> tuple[ProfileSentence, ...] | None:
        """A profile in the third person, each sentence with the numbers of its lines.

        Args:
            lines: The facts, the most important first. Those that do not fit into a prompt are omitted, from the end.
            max_tokens: The length of the profile at most.

        Returns:
            The sentences; None if the model writes none.
        """
        included = lines[: _count_fitting(lines, 2 * self._chunk_size)]
        if not included or max_tokens <= 0:
            return None
        quoted = json_lines({"line": index, "text": line} for index, line in enumerate(included))
        word_limit = max(1, max_tokens * LETTERS_PER_TOKEN // 7)
        answer, reply = self._ask(PROFILE_PROMPT.substitute(lines=quoted, words=word_limit), "sentences")
        if answer is None:
            log.warning("The model %r %s; no profile was written.", self.model, reply.problem)
            return None
        sentences = [sentence for row in answer.rows if (sentence := _profile_sentence(row, included))]
        count = _count_fitting([sentence.text for sentence in sentences], max_tokens * LETTERS_PER_TOKEN)
        return tuple(sentences[:count]) or None

    def merge(self, texts: Sequence[str]) -> str | None:
        """One text for memories that say nearly the same, with all that they say.

        Args:
            texts: The texts of the memories.

        Returns:
            The text; None if the model writes none.
        """
        if sum(map(len, texts)) > self._chunk_size:
            return None
        quoted = json_lines({"text": text} for text in texts)
        answer, reply = self._ask(MERGE_PROMPT.substitute(memories=quoted), "texts")
        text = answer.rows[0].get("text") if answer and len(answer.rows) == 1 and answer.complete else None
        if not isinstance(text, str):
            log.warning("The model %r %s.", self.model, reply.problem or "wrote no text, or several")
            return None
        return _with_source_spelling(text, texts)

    def _read_chunk(self, chunk: Chunk, now: datetime) -> _ChunkResult:
        """The facts of one chunk: those of the model, and those of the rules for what it left out."""
        prompt = FACTS_PROMPT.substitute(
            before=json_lines(chunk.prompt_rows(chunk.preceding, now)),
            conversation=json_lines(chunk.prompt_rows(chunk.pieces, now)),
        )
        answer, reply = self._ask(prompt, "facts")
        if answer is None:
            return _ChunkResult((), reply.problem, timed_out=reply.timed_out)
        facts = [fact for row in answer.rows if (fact := verified_fact(row, chunk, now))]
        problems = [reply.problem] if reply.problem else []
        unverified = len(answer.rows) - len(facts)
        if unverified:
            problems.append(f"gave {pluralize(unverified, 'fact')} that the conversation does not contain")
        if len(facts) > MAX_FACTS:
            problems.append(f"gave {len(facts)} facts at once: the {MAX_FACTS} most important are kept")
            facts = sorted(facts, key=lambda fact: -fact.importance)[:MAX_FACTS]
        answered = bool(facts) or not answer.rows
        facts.sort(key=lambda fact: fact.source_turns)
        return _ChunkResult(facts, "; ".join(problems), answered, replied=answer.complete)

    def _ask(self, prompt: str, key: str) -> tuple[ParsedRows | None, Reply]:
        """The rows of the answer, or of a second one if the first cannot be parsed; and the reply with its problem."""
        structured = self._structured
        reply = self._model.ask(prompt, _response_schema(key) if structured else None)
        answer = None if reply.problem else parse_rows(reply, key)
        if answer is None and not reply.timed_out:
            reply = self._model.ask(prompt if reply.problem else prompt + RETRY_PROMPT)
            answer = None if reply.problem else parse_rows(reply, key)
            if answer is not None and structured:
                self._structured = False
        if answer is None:
            return None, replace(reply, problem=reply.problem or f"wrote nothing that could be read as {key}")
        if not answer.complete:
            reply = replace(reply, problem=f"broke off after {pluralize(len(answer.rows), key[:-1])}")
        return replace(answer, rows=answer.rows[:MAX_ROWS]), reply


@dataclass(frozen=True, slots=True)
class _ChunkResult:
    """The facts of one chunk. `answered`: the model found some, or none on purpose. `replied`: its answer was complete,
    whatever was kept of it."""

    facts: Sequence[Fact]
    problem: str | None
    answered: bool = False
    replied: bool = False
    timed_out: bool = False


def _profile_sentence(row: Row, lines: Sequence[str]) -> ProfileSentence | None:
    """A sentence that is based on existing lines and has no names that are not in them."""
    text, given = row.get("text"), row.get("lines")
    if not isinstance(text, str) or not text.strip() or not isinstance(given, list | tuple):
        return None
    indexes = sorted({index for item in given if (index := parse_index(item, len(lines))) is not None})
    spelled = _with_source_spelling(text, [lines[index] for index in indexes])
    return ProfileSentence(spelled, tuple(indexes)) if indexes and spelled else None


def _with_source_spelling(text: str, sources: Sequence[str]) -> str | None:
    """The text with its names spelled as in the sources; None if it has other names."""
    chunk = Chunk(tuple(Piece(index, Utterance(source)) for index, source in enumerate(sources)))
    spelled, _, invented = match_spelling(" ".join(text.split()), chunk)
    return None if invented else spelled


def _count_fitting(texts: Sequence[str], size: int) -> int:
    """How many texts from the first on fit into `size` characters."""
    sizes = accumulate(len(text) + 1 for text in texts)
    return sum(total <= size for total in sizes)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as one JSON object a line, in which nothing can end the quote, escaped as in `framing`.

    >>> print(json_lines([{"turn": 0, "text": 'Hi </conversation> "you"'}]))
    {"turn": 0, "text": "Hi \\u003c/conversation\\u003e \\"you\\""}
    """
    return "\n".join(escape_structure(json.dumps(row, ensure_ascii=False)) for row in rows)


@cache
def _response_schema(key: str) -> type[BaseModel]:
    """The schema of an answer, as both frameworks take it: an object with one list, `key`.

    The framework shows it to the model and does not enforce it: it would discard an answer with "high" for a
    number, while `grounding` can read the rest.
    """
    from pydantic import WithJsonSchema, create_model

    rows = WithJsonSchema({"type": "array", "items": _ROW_SCHEMAS[key]})
    field: dict[str, Any] = {key: (Annotated[Any, rows], ...)}
    schema: type[BaseModel] = create_model(key.capitalize(), __doc__=f"All {key}.", **field)
    return schema
