"""Facts, profiles and merged texts from a language model.

The model reads a conversation together with the known facts that it may change, in one call. Its answer is checked
against the conversation. If the model fails, or its answer cannot be read twice, there are no facts, and
`ExtractionResult.problem` says why: the conversation itself is stored in any case.

prompt_facts.txt      a conversation and known facts -> facts, and what they do to the known ones
prompt_profile.txt    lines about somebody -> a few sentences, each with its lines
prompt_merge.txt      memories that say nearly the same -> one text that says all of it
prompt_retry.txt      is appended after an answer that could not be read
prompt_rest.txt       is appended after an answer that was cut
prompt_schemas.json   the JSON schema of one row of each answer
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Any

from remanence.errors import InvalidInput
from remanence.models.llm_clients import has_return_type, resolve_llm
from remanence.models.llm_facts import Row, checked_fact, match_spelling, parse_index, parse_rows, rows_before_cut
from remanence.models.llm_source import Chunk, Piece, split_into_chunks
from remanence.ports import EVERY_TURNS, QUIET_SECONDS
from remanence.schema import Extraction, ExtractionResult, Fact, Memory, TokenUsage, Utterance
from remanence.text.framing import escape_structure
from remanence.text.rule_extractor import RuleExtractor
from remanence.text.text import normalize_text, pluralize

if TYPE_CHECKING:
    from pydantic import BaseModel

    from remanence.ports import Extractor

log = logging.getLogger(__name__)

FREE_FACTS, LETTERS_PER_FACT = 20, 50
"""Facts of an answer, at most: this number, and one for so many characters of the conversation. More are no answer to
it."""
MAX_CALLS = 5
"""Calls for one answer, at most: it may have to be asked for again, or may be cut several times."""
LETTERS_PER_TOKEN = 4
"""How many letters a token has, roughly, in English."""
PROMPT_VERSION = "5"
"""The ledger stores it with everything that was found by these prompts. Raise it with every change to them, so that
facts from an older prompt can be recognised."""
_FOLDER = Path(__file__).parent
FACTS_PROMPT, PROFILE_PROMPT, MERGE_PROMPT = (
    Template((_FOLDER / f"prompt_{name}.txt").read_text("utf-8")) for name in ("facts", "profile", "merge")
)
RETRY_PROMPT, REST_PROMPT = ((_FOLDER / f"prompt_{name}.txt").read_text("utf-8") for name in ("retry", "rest"))
_ROW_SCHEMAS = json.loads((_FOLDER / "prompt_schemas.json").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class ProfileSentence:
    """A sentence of a profile, and the indexes of the lines it is based on."""

    text: str
    lines: tuple[int, ...]


class LLMExtractor:
    """Finds facts with a LangChain chat model, a LlamaIndex LLM, or a function from a prompt to text.

    The model is called once for a conversation, for structured output if it supports that, else for JSON in text. If
    the answer cannot be parsed it is called once more, and if it was cut, for the rest. A conversation longer than
    `chunk_size` is read in parts. `add` never calls the model. Thread-safe.

    Args:
        model: The chat model, LLM or function.
        timeout: How many seconds to wait for an answer; None waits without a limit.
        chunk_size: How many characters of a conversation are read at once, 200 or more.
        rules: The extractor that is used for `add`.
        quiet: With `remember(..., wait="quiet")` and `extract=True` of the adapters, a chat is read so many seconds
            after its last turn.
        every_turns: Or after so many new turns, if it goes on.
        budget_tokens: How many tokens a day (UTC), in and out, the background jobs of one space may spend. When they
            are spent, jobs wait for the next day. None sets no limit.
        instructions: What to write down and what to leave out, and how: "call patients by their number". The prompt
            shows it under a heading of its own.
        topics: Write down only what concerns these: "food", "travel".

    Raises:
        InvalidInput: `model` is not a language model, or a setting is out of range.

    Example:
        >>> from datetime import datetime, timezone
        >>> def gpt(prompt: str) -> str:
        ...     return ('OK! {"facts": [{"text": "Alice ran a race.", "kind": "episode", "when": "2026-05", '
        ...             '"turn": 0, "quotation": "Alice ran a race last May"}]}')
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
        chunk_size: int = 40_000,
        rules: Extractor | None = None,
        quiet: float = QUIET_SECONDS,
        every_turns: int = EVERY_TURNS,
        budget_tokens: int | None = None,
        instructions: str | None = None,
        topics: Sequence[str] = (),
    ) -> None:
        if callable(model) and has_return_type(model, Extraction):
            raise InvalidInput(
                f"{model!r} returns an Extraction, so it is an extractor and no model: pass it to "
                "open(extractor=...) as it is."
            )
        if isinstance(chunk_size, bool) or not isinstance(chunk_size, int) or chunk_size < 200:
            raise InvalidInput(f"chunk_size={chunk_size!r} is not a number of characters, 200 or more.")
        if isinstance(quiet, bool) or not isinstance(quiet, int | float) or not 0 <= quiet < math.inf:
            raise InvalidInput(f"quiet={quiet!r} is not a number of seconds from 0 on.")
        for name, count in (("every_turns", every_turns), ("budget_tokens", budget_tokens)):
            if (count is not None or name == "every_turns") and (type(count) is not int or count < 1):
                raise InvalidInput(f"{name}={count!r} is not a whole number above zero.")
        if isinstance(topics, str) or not all(isinstance(text, str) for text in (*topics, instructions or "")):
            raise InvalidInput(f"instructions={instructions!r} is not a text, or topics={topics!r} no list of texts.")
        self._instructions = _instructions(instructions, topics)
        if self._instructions:  # with others, the same chat is read again
            self.prompt = f"{PROMPT_VERSION}-{sha256(self._instructions.encode()).hexdigest()[:8]}"
        self.quiet, self.every_turns, self.budget_tokens = float(quiet), every_turns, budget_tokens
        self.client = resolve_llm(model, timeout=timeout)
        self._rules: Extractor = rules or RuleExtractor()
        self._chunk_size = chunk_size
        self._structured = True  # False after an answer in text could be parsed and a structured one could not
        self.model = self.client.name

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

    def facts(
        self,
        utterances: Sequence[Utterance],
        *,
        now: datetime,
        known: Sequence[Memory] = (),
        before: Sequence[Utterance] = (),
    ) -> ExtractionResult:
        """The facts of some turns of a conversation.

        Args:
            utterances: The turns, in order.
            now: The moment of the extraction.
            known: The stored facts that the turns may end, replace or confirm.
            before: The turns before them in the same conversation, to understand them by.

        Returns:
            The facts, and what they do to known ones. If the model fails, `problem` says so.
        """
        chunks = split_into_chunks(utterances, self._chunk_size, known, before)
        read: list[_ChunkResult] = []
        for chunk in chunks:
            read.append(self._read_chunk(chunk, now))
            if not read[-1].answered:
                break  # the rest is read when the job is tried again
        facts: dict[str, Fact] = {}
        for fact in (fact for result in read for fact in result.facts):
            facts.setdefault(normalize_text(fact.text), fact)  # models repeat themselves
        problems = dict.fromkeys(result.problem for result in read if result.problem)
        problem = f"The model {self.model!r} {'; '.join(problems)}." if problems else None
        if problem:
            log.warning("%s", problem)
        has_answered = not chunks or read[0].answered
        model, prompt = (self.model, self.prompt) if has_answered else (None, None)
        is_complete = all(result.answered for result in read)
        unread = {piece.turn for chunk in chunks[len(read) - (not is_complete) :] for piece in chunk.pieces}
        return ExtractionResult(
            *(tuple(facts.values()), self.name, model, prompt, problem, is_complete),
            usage=sum((result.usage for result in read), TokenUsage()),
            unread=tuple(sorted(unread)),
            refused=any(result.refused for result in read),
            confirmed=tuple(dict.fromkeys(pair for result in read for pair in result.confirmed)),
        )

    def summarize(self, lines: Sequence[str], *, max_tokens: int) -> tuple[ProfileSentence, ...] | None:
        """A profile in the third person, each sentence with the numbers of its lines.

        Args:
            lines: The facts, the most important first. Those that do not fit into a prompt are omitted, from the end.
            max_tokens: The length of the profile at most.

        Returns:
            The sentences; None if the model writes none.
        """
        included = lines[: _count_fitting(lines, self._chunk_size)]
        if not included or max_tokens <= 0:
            return None
        quoted = json_lines({"line": index, "text": line} for index, line in enumerate(included))
        word_limit = max(1, max_tokens * LETTERS_PER_TOKEN // 7)
        answer = self._ask(PROFILE_PROMPT.substitute(lines=quoted, words=word_limit), "sentences")
        if not answer.is_whole:
            log.warning("The model %r %s; no profile was written.", self.model, answer.problem)
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
        answer = self._ask(MERGE_PROMPT.substitute(memories=quoted), "texts")
        text = answer.rows[0].get("text") if answer.is_whole and len(answer.rows) == 1 else None
        if not isinstance(text, str):
            log.warning("The model %r %s.", self.model, answer.problem or "wrote no text, or several")
            return None
        return _with_source_spelling(text, texts)

    def _read_chunk(self, chunk: Chunk, now: datetime) -> _ChunkResult:
        """The facts of one chunk."""
        prompt = FACTS_PROMPT.substitute(
            known=json_lines(chunk.known_rows()),
            before=json_lines(chunk.preceding_rows(now)),
            conversation=json_lines(chunk.turn_rows(now)),
            instructions=self._instructions,
        )
        answer = self._ask(prompt, "facts")
        count, problem = len(answer.rows), answer.problem
        letters = sum(len(piece.utterance.text) for piece in chunk.pieces)
        if count > FREE_FACTS + letters // LETTERS_PER_FACT:
            problem = f"gave {count} facts for {letters} letters: none is kept"
            return _ChunkResult((), problem, answer.usage, answered=False)
        facts = [fact for row in answer.rows if (fact := checked_fact(row, chunk, now))]
        if answer.is_whole and (refused := count - len(facts)):
            problem = f"gave {pluralize(refused, 'fact')} that the conversation does not contain"
        facts.sort(key=lambda fact: fact.source_turns)
        turns = {piece.turn for piece in chunk.pieces}
        given = ((parse_index(row.get("known"), len(chunk.known)), row.get("turn")) for row in answer.confirmed)
        confirmed = tuple((known, turn) for known, turn in given if known is not None and turn in turns)
        return _ChunkResult(tuple(facts), problem, answer.usage, answer.is_whole, answer.refused, confirmed)

    def _ask(self, prompt: str, key: str) -> _Answer:
        """The rows of the answer. If it cannot be parsed, the model is asked once more, in text; if it was cut, for the
        rest."""
        rows, usage, addition, is_last = list[Row](), TokenUsage(), "", False
        schema = _response_schema(key) if self._structured else None
        for _ in range(MAX_CALLS):
            reply = self.client.ask(prompt + addition, schema)
            usage += reply.usage or TokenUsage()
            answer = None if reply.problem else parse_rows(reply, key)
            if answer is not None:
                self._structured = self._structured and not (is_last and schema is None)
                return _Answer((*rows, *answer), usage, confirmed=parse_rows(reply, "confirmed") or ())
            more = [row for row in rows_before_cut(reply, key) if row not in rows]
            if more:
                rows += more
                addition = REST_PROMPT + json_lines(rows)
            elif is_last or reply.timed_out or reply.refused or (reply.problem and schema is None):
                break
            else:
                is_last, schema = True, None
                addition = addition if reply.problem else addition + RETRY_PROMPT
        problem = reply.problem or (
            f"gave a part of its {key}" if rows else f"wrote nothing that could be read as {key}"
        )
        return _Answer(tuple(rows), usage, problem, is_whole=False, refused=reply.refused)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The rows of an answer, also those of one that was cut and stayed so; and what went wrong, or ""."""

    rows: tuple[Row, ...]
    usage: TokenUsage
    problem: str = ""
    is_whole: bool = True
    refused: bool = False
    confirmed: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class _ChunkResult:
    """The facts of one chunk, and the problem, if there is one."""

    facts: tuple[Fact, ...]
    problem: str
    usage: TokenUsage
    answered: bool = True
    refused: bool = False
    confirmed: tuple[tuple[int, int], ...] = ()


def _instructions(instructions: str | None, topics: Sequence[str]) -> str:
    """What the operator of the memory asks for, as a part of the prompt; "" if nothing."""
    only = f"Only what concerns these topics: {', '.join(topics)}." if topics else ""
    wanted = [text.strip() for text in (only, instructions or "") if text.strip()]
    heading = "Instructions of whoever runs this memory. They come before the rules on what to write down:"
    return "\n".join(["", heading, *wanted, ""]) if wanted else ""


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
    """The schema of an answer, as both frameworks take it: an object with one list, `key`; beside facts the known ones
    that were said again.

    The framework shows it to the model and does not enforce it: it would discard a whole answer for one wrong field.
    """
    from pydantic import WithJsonSchema, create_model

    def rows(key: str) -> Any:
        return Annotated[Any, WithJsonSchema({"type": "array", "items": _ROW_SCHEMAS[key]})]

    fields: dict[str, Any] = {key: (rows(key), ...)}
    if key == "facts":
        fields["confirmed"] = rows("confirmed"), ()
    schema: type[BaseModel] = create_model(key.capitalize(), __doc__=f"All {key}.", **fields)
    return schema
