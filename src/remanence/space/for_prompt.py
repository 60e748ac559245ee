"""Recall for the prompt of a chat message: what recall ranks highest, as much as a token budget holds.

A message that needs memory gets a full block, one that needs none gets nothing, and between the two the share of the
budget follows the need. A message that refers to the turns before it is searched for together with them. Left out are
turns that state nothing, texts that are in the prompt already, repetitions, and what is trusted less than the user,
unless it answers. "What do you know about me?" brings the profile, and "What did I do in May?" all that was told in May
or is about it. Which of the lines answers, and which of two holds, is left to the model that reads them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from remanence.errors import InvalidInput
from remanence.index.engine.inputs import check_fraction, check_query
from remanence.index.engine.policy import LEVELS
from remanence.index.passages import told_text
from remanence.models.message_words import only_greets, tells_probability
from remanence.recall.options import RecentOptions
from remanence.recall.question import CONTEXT_TURNS
from remanence.schema import ASSISTANT, MAX_LIMIT, SELF, Hit, Memory, Moment
from remanence.space.prompt_need import answers_question, share_of_budget
from remanence.space.prompt_overview import recall_overview
from remanence.text.framing import TokenCounter, build_block, found_but_too_long, without_signals
from remanence.text.repetition import FILLER, comparable_text, content_words, drop_derived, drop_repeated
from remanence.text.temporal import parse_moment
from remanence.text.text import MAX_PASSAGE, MAX_QUESTION_LENGTH, without_middle

if TYPE_CHECKING:
    from remanence.recall.answer import Recall
    from remanence.recall.receipts import Receipt

log = logging.getLogger(__name__)

Keep: TypeAlias = Literal["all", "user", "facts"] | Callable[[str, str], bool] | None
"""Which turns to store: all, those of the user, those in which `analyze_message` finds something worth storing, those
for which a function of role and text returns True; None for no turn."""
KEEPS = ("all", "user", "facts")

MAX_TOKENS = 1_300
"""The tokens of a block if the caller gives no budget: the knee of the curve of `benchmarks/answers.py`."""
WINDOW_PART = 4
"""Recalled memories take at most one part of the window in this many: a quarter."""
_MIN_LINE_TOKENS = 12
"""Tokens of a short line with its day. A budget holds no more lines than by this, so no more candidates are needed."""
_SPARE_HITS = 6
"""Hits that are recalled besides those wanted, as some are repetitions."""
_NO_NEED = "nothing in it asks for something personal"
_REPEATED = "another line says the same"
_NO_ROOM = "it does not fit into the token budget"


class SupportsRecall(Protocol):
    """A space, or a view of one."""

    @property
    def recall(self) -> Callable[..., Recall]: ...

    @property
    def _now(self) -> Callable[[], datetime]: ...


class SupportsRecent(SupportsRecall, Protocol):
    """A space, or a view of one, that lists what was told last, too."""

    @property
    def recent(self) -> Callable[..., Recall]: ...


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A hit that a block for a prompt does not quote, and why."""

    hit: Hit
    reason: str


@dataclass(frozen=True, slots=True)
class PromptMemories:
    """A block for a prompt, the hits that it quotes, the ledger position of the recall, and the signals that failed.

    `skip_reason` says why nothing was recalled or quoted, if it was not for lack of memories. `left_out` has the hits
    of the recall that the block does not quote, best first, each with the reason. `question` and `now` are what was
    asked, and when.
    """

    text: str = ""
    hits: tuple[Hit, ...] = ()
    position: int = 0
    missing: Mapping[str, str] = field(default_factory=dict)
    skip_reason: str = ""
    left_out: tuple[LeftOut, ...] = ()
    question: str = ""
    now: datetime | None = None

    def __str__(self) -> str:
        return self.text

    def shorten(self, max_tokens: int, count_tokens: TokenCounter | None = None) -> PromptMemories:
        """The block again, with as many of its memories as fit into a smaller budget.

        Args:
            max_tokens: The budget.
            count_tokens: Counts the tokens of a text. By default four characters are one token.

        Returns:
            The memories that still fit.
        """
        block = build_block(
            self.hits,
            question=self.question,
            max_tokens=max_tokens,
            count_tokens=count_tokens,
            missing=self.missing,
            today=self.now,
        )
        return replace(self, text=block.text, hits=block.hits)


def for_prompt(
    self: SupportsRecall,
    message: str,
    *,
    turns: Sequence[Mapping[str, str]] = (),
    max_tokens: int | None = MAX_TOKENS,
    count_tokens: TokenCounter | None = None,
    min_score: float | None = None,
    kinds: str | Sequence[str] | None = None,
    tags: str | Sequence[str] | None = None,
    facts_only: bool = False,
    keep: Keep = "all",
    now: Moment | None = None,
    record: bool = False,
) -> PromptMemories:
    """What helps to answer a chat message, as a block for its prompt; empty for a message that needs no memory.

    The block has dated lines in the order of time, as many as the budget holds of those that recall ranks highest. Put
    it next to the message and not into the system prompt: what comes before it then stays the same from call to call,
    so that the provider's prompt cache holds. `briefing()` is for the start of the prompt.

    Args:
        message: The user's message.
        turns: The turns before it in the prompt, oldest first, as dicts with `role` and `content`. They say what the
            message refers to, and are not quoted again.
        max_tokens: The token budget of the block; None for no limit. If memories are found and none fits, that is
            logged.
        count_tokens: Counts the tokens of a text. By default four characters are one token.
        min_score: Quote only what has at least this score by the signals.
        kinds: Only memories of these kinds.
        tags: Only memories with all of these tags.
        facts_only: Only facts that a language model wrote, no turns.
        keep: Which turns to quote, if all of them are stored: "all", "user", "facts" (those in which `analyze_message`
            finds something worth storing), or a function of role and text.
        now: The moment of the message, as for `recall`.
        record: Whether to record what is quoted, so that `audit.recorded` and the inspector list it. A profile or a
            whole month, which nothing was searched for, is not recorded.

    Returns:
        The block as `text`, the `hits` that it quotes, best first, and `skip_reason` if it is empty for any other
        reason than that nothing is found.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("My sister Ana is allergic to shellfish.", now="2026-05-04")
        ...     turns = [{"role": "user", "content": "Let's plan a dinner for my sister Ana."}]
        ...     found = space.for_prompt("What should she avoid?", turns=turns)
        ...     found.text.splitlines()[2:4], space.for_prompt("Thanks!").skip_reason
        (['2026-05-04 Mon', '- "My sister Ana is allergic to shellfish."'], 'it is blank or only a greeting')
    """
    if max_tokens == 0:
        return PromptMemories(skip_reason="max_tokens is 0")
    asked, at = _written_part(message.strip()), self._now()
    at = at if now is None else parse_moment(now, at, argument="now")
    said = [turn for turn in turns if turn.get("content", "").strip()]
    in_prompt = [message, *(turn["content"] for turn in said)]
    before = [{**turn, "content": without_middle(turn["content"], MAX_PASSAGE)} for turn in said[-CONTEXT_TURNS:]]
    overview, position = recall_overview(self, asked, in_prompt, at, max_tokens)
    wanted = [hit for hit in overview if _passes(hit.memory, kinds, tags) and _may_quote(hit.memory, keep)]
    wanted = [hit for hit in wanted if not facts_only or hit.found_in]
    block = build_block(wanted, question=asked, max_tokens=max_tokens, count_tokens=count_tokens, today=at)
    if block.text:
        return PromptMemories(block.text, block.hits, position, question=asked, now=at)
    if not asked or (only_greets(asked) and not answers_question(before)):
        return PromptMemories(skip_reason="it is blank or only a greeting")
    found = fill_block(
        self,
        asked,
        max_tokens=max_tokens,
        share_for=partial(share_of_budget, asked, before),
        count_tokens=count_tokens,
        now=at,
        keep=keep,
        min_score=min_score,
        context=before,
        exclude_texts=in_prompt,
        kinds=kinds,
        tags=tags,
        facts_only=facts_only,
    )
    if record and not found.memories.skip_reason:
        given = found.recall.receipt
        receipt = None if given is None else replace(given, prompt=True, min_score=min_score)
        _record(self, replace(found.quoted, receipt=receipt))
    return found.memories


def _written_part(message: str) -> str:
    """The part of a message that is searched for: all of it, or, if it is longer than a question may be, the beginning
    and the end, where people write about what they paste."""
    return message if len(message) <= MAX_QUESTION_LENGTH else without_middle(message, MAX_PASSAGE)


@dataclass(frozen=True, slots=True)
class FilledBlock:
    """A block for a prompt, and the recall that it quotes from."""

    memories: PromptMemories
    recall: Recall

    @property
    def quoted(self) -> Recall:
        """The recall with the hits that the block quotes."""
        return replace(self.recall, hits=self.memories.hits)

    @property
    def text_or_reason(self) -> str:
        """The block as the result of a tool; without a memory in it, a sentence that says why."""
        reason = self.memories.skip_reason or "nothing is remembered about that"
        return self.memories.text or f"{reason[0].upper()}{reason[1:]}.{without_signals(self.recall.missing)}"


def fill_block(
    view: SupportsRecall,
    question: str,
    *,
    max_tokens: int | None = MAX_TOKENS,
    share_for: Callable[[Recall], float] = lambda recall: 1.0,
    count_tokens: TokenCounter | None = None,
    now: datetime | None = None,
    keep: Keep = "all",
    min_score: float | None = None,
    ids: bool = False,
    **options: Any,
) -> FilledBlock:
    """As much of what recall ranks highest for a question as a token budget holds.

    By default nothing is read: a reader orders the first sixteen hits, and a block quotes more of them, by their time.

    Args:
        view: The space, or a view of one.
        question: The question.
        max_tokens: The token budget; None for no limit.
        share_for: The share of the budget that is filled, by what was found; with 0 nothing is quoted.
        count_tokens: Counts the tokens of a text.
        now: The moment of the question.
        keep: Which turns to quote.
        min_score: Quote only what has at least this score. How much is needed is judged by all that is found.
        ids: Whether the block has the ids of the memories, for a model with tools.
        **options: Other options of `recall`. With a blank question, what was told last is quoted.
    """
    today, least = view._now() if now is None else now, check_fraction(min_score, "min_score") or 0.0
    limit = MAX_LIMIT if max_tokens is None else min(MAX_LIMIT, max_tokens // _MIN_LINE_TOKENS + _SPARE_HITS)
    options = {"informative_only": True, "reader": "none", **({} if now is None else {"now": now}), **options}
    while True:
        recall = _recall_or_recent(view, question, limit, options)
        share = share_for(recall)
        if not share:
            return FilledBlock(PromptMemories(position=recall.position, skip_reason=_NO_NEED), recall)
        room = None if max_tokens is None else max(1, int(share * max_tokens))
        left_out = dict(_unwanted(recall, question, keep, least, options.get("exclude_texts") or ()))
        left_out |= _doubtful(view, recall, question, options)
        hits = drop_repeated(hit for place, hit in enumerate(recall) if place not in left_out)
        block = build_block(
            hits,
            question=question,
            max_tokens=room,
            count_tokens=count_tokens,
            ids=ids,
            missing=recall.missing,
            today=today,
        )
        # Where what was left out took the places of what could be quoted, more is asked for.
        is_end = len(recall) < limit or recall[-1].score < least
        if is_end or len(block.hits) < len(hits) or limit == MAX_LIMIT:
            break
        limit = min(MAX_LIMIT, 4 * limit)
    reason = found_but_too_long(len(hits), room or 0) if hits and not block.text else ""
    if reason:
        log.warning("nothing is quoted in the prompt: %s", reason)
    quoted, distinct = {id(hit) for hit in block.hits}, {id(hit) for hit in hits}  # versions of a memory have one id
    others = tuple(
        LeftOut(hit, left_out.get(place, _NO_ROOM if id(hit) in distinct else _REPEATED))
        for place, hit in enumerate(recall)
        if id(hit) not in quoted
    )
    memories = PromptMemories(
        block.text, block.hits, recall.position, recall.missing, reason, others, question=question, now=today
    )
    return FilledBlock(memories, recall)


def _unwanted(
    recall: Recall, question: str, keep: Keep, least: float, in_prompt: Sequence[str]
) -> Iterator[tuple[int, str]]:
    """The places of the hits that are not quoted, each with the reason."""
    copies = {comparable_text(text) for text in (question, *in_prompt)}
    asked = frozenset(content_words(question))
    told = [frozenset(content_words(hit.memory.text)) for hit in recall if _is_told_in_short(hit.memory)]
    for place, hit in enumerate(recall):
        memory = hit.memory
        if comparable_text(memory.text) in copies or _asks_the_same(memory, asked):
            yield place, "the prompt has it"
        elif hit.score < least:
            yield place, "its score is below `min_score`"
        elif not _may_quote(memory, keep):
            yield place, "only some turns are quoted (`keep`)"
        elif _only_greets(hit):
            yield place, "it only greets, thanks or agrees"
        elif _is_by_assistant(memory) and _adds_nothing(memory, asked, told):
            yield place, _REPEATED


def _doubtful(view: SupportsRecall, recall: Recall, question: str, options: Mapping[str, Any]) -> dict[int, str]:
    """The places of the hits that are trusted less than the user's words, unless they answer the question by the reader
    of the space."""
    places = [place for place, hit in enumerate(recall) if hit.memory.trust < LEVELS["user"]]
    if not places:
        return {}
    answering = {
        hit.memory.id for hit in view.recall(question, limit=len(recall), **{**options, "reader": None}).relevant
    }
    reason = "it is trusted less than the user and does not answer"
    return {place: reason for place in places if recall[place].memory.id not in answering}


def repeat_for_prompt(view: SupportsRecall, receipt: Receipt) -> PromptMemories | None:
    """What the message of a recorded prompt would bring now; None if the recall of the receipt was not for a prompt.

    The token budget is not in a receipt: it is the default one.
    """
    if not receipt.prompt:
        return None
    said = [text.partition(": ") for text in receipt.context]
    return for_prompt(
        view,
        receipt.question,
        turns=[{"role": role, "content": content} for role, _, content in said],
        min_score=receipt.min_score,
        kinds=receipt.kinds,
        tags=receipt.tags,
    )


def _record(view: SupportsRecall, told: Recall) -> None:
    """Record what a prompt quotes. Views of the past cannot be written to."""
    record = getattr(getattr(view, "audit", None), "record", None)
    if record is None:
        raise InvalidInput(f"record=True needs a space, and {view!r} cannot be written to. Leave it out.")
    record(told)


def recall_distinct(view: SupportsRecent, query: str, *, limit: int, **options: Any) -> Recall:
    """Recall with a text and the facts found in it once: the first of them takes the place.

    Args:
        view: The space, or a view of one.
        query: The question. With a blank one, and without a vector, what was told last is listed: a framework may
            search for nothing.
        limit: How many hits to return at most.
        **options: Other options of `recall`.
    """
    is_count = isinstance(limit, int) and limit > 0  # `recall` refuses anything else
    answer = _recall_or_recent(view, query, limit + _SPARE_HITS if is_count else limit, options)
    return replace(answer, hits=tuple(drop_derived(answer)[:limit]))


def _recall_or_recent(view: Any, query: str, limit: int, options: Mapping[str, Any]) -> Recall:
    """What a question brings; what was told last, if there is neither a question nor a vector."""
    if not isinstance(query, str) or check_query(query).strip() or options.get("vector") is not None:
        answer: Recall = view.recall(query, limit=limit, **options)
        return answer
    listed = {each.name for each in fields(RecentOptions)}
    latest: Recall = view.recent(limit=limit, **{name: value for name, value in options.items() if name in listed})
    return latest


def prompt_budget(max_tokens: int | None, window: int | None) -> int | None:
    """The token budget of the recalled memories in a window of `window` tokens: at most a quarter of it.

    >>> prompt_budget(2_000, 1_536), prompt_budget(2_000, None), prompt_budget(None, 8_000)
    (384, 2000, 2000)
    """
    if window is None:
        return max_tokens
    part = max(0, window) // WINDOW_PART
    return part if max_tokens is None else min(max_tokens, part)


def _adds_nothing(memory: Memory, asked: frozenset[str], told: Sequence[frozenset[str]]) -> bool:
    """Whether a turn has no word beside those of the question and of one text that somebody else told."""
    if len(memory.text) > MAX_PASSAGE:
        return False
    new = frozenset(content_words(memory.text)) - asked - FILLER
    return any(new <= words for words in told)


def check_keep(keep: Keep) -> Keep:
    """Return `keep` if it says which turns to store.

    Raises:
        InvalidInput: It is anything else.
    """
    if keep is None or callable(keep) or keep in KEEPS:
        return keep
    raise InvalidInput(
        f"keep={keep!r} is none of {', '.join(map(repr, KEEPS))}, no function of role and text, and not None."
    )


def is_kept(keep: Keep, role: str, text: str) -> bool:
    """Whether a turn is to be stored.

    >>> is_kept("user", "assistant", "Noted."), is_kept("facts", "user", "I live in Porto.")
    (False, True)
    """
    if keep is None or keep == "all":
        return keep is not None
    if keep == "user":
        return role == "user"
    from remanence.remember.message_analysis import analyze_message  # here, as it loads the engine

    return analyze_message(text).save if keep == "facts" else bool(keep(role, text))


def _may_quote(memory: Memory, keep: Keep) -> bool:
    """Whether a memory may be quoted: every one that is not a turn, and the turns that `keep` names."""
    if memory.turn is None or keep == "all":
        return True
    role = "user" if memory.turn.speaker == SELF else memory.turn.speaker or ""
    return is_kept(keep, role, memory.text)


def _asks_the_same(memory: Memory, asked: frozenset[str]) -> bool:
    """Whether a turn asks or probably tells nothing, and has no word beside those of the message."""
    told = told_text(memory)
    is_short_turn = memory.turn is not None and len(told) <= MAX_PASSAGE
    if not is_short_turn or ("?" not in told and tells_probability(told) >= 0.5):
        return False
    return {word for word in content_words(told) if not word.isdigit()} <= asked


def _only_greets(hit: Hit) -> bool:
    """Whether a turn tells nothing: "Yes." after a question is an answer."""
    return hit.memory.turn is not None and not hit.context.endswith("?") and only_greets(hit.memory.text)


def _passes(memory: Memory, kinds: str | Sequence[str] | None, tags: str | Sequence[str] | None) -> bool:
    """Whether a memory is of one of these kinds and has all of these tags."""
    wanted = [tags] if isinstance(tags, str) else tags or ()
    return (kinds is None or memory.kind in ([kinds] if isinstance(kinds, str) else kinds)) and set(wanted) <= {
        *memory.tags
    }


def _is_told_in_short(memory: Memory) -> bool:
    """Whether somebody other than the assistant said it, in one passage."""
    return len(memory.text) <= MAX_PASSAGE and not _is_by_assistant(memory)


def _is_by_assistant(memory: Memory) -> bool:
    return memory.turn is not None and memory.turn.speaker == ASSISTANT
