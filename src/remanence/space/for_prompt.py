"""Recall for the prompt of a chat message: only memories that help, without repetitions, within a token budget.

For a message that needs no memory, nothing is recalled. A message that refers to the turns before it is searched for
together with them. These hits are left out: turns that state nothing, texts that are in the prompt already,
repetitions, and memories that would not help. "What do you know about me?" brings the profile, and "What did I do in
May?" all that was told in May or is about it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from remanence.errors import InvalidInput
from remanence.index.engine.inputs import check_query
from remanence.models.message_words import need_of_memory
from remanence.recall.log_odds import log_odds
from remanence.recall.options import RecentOptions
from remanence.recall.question import CONTEXT_TURNS, is_follow_up
from remanence.recall.referents import find_referent
from remanence.schema import ASSISTANT, SELF, Hit, Memory
from remanence.space.prompt_overview import recall_overview
from remanence.text.framing import TokenCounter, found_but_too_long, frame, hit_as_json_line
from remanence.text.repetition import FILLER, content_words, drop_derived, drop_repeated
from remanence.text.text import normalize_text, pluralize

if TYPE_CHECKING:
    from datetime import datetime

    from remanence.recall.answer import Recall
    from remanence.recall.receipts import Receipt

log = logging.getLogger(__name__)

Keep: TypeAlias = Literal["all", "user", "facts"] | Callable[[str, str], bool] | None
"""Which turns to store: all, those of the user, those in which `analyze_message` finds something worth storing, those
for which a function of role and text returns True; None for no turn."""
KEEPS = ("all", "user", "facts")

MAX_MESSAGE_LENGTH = 10_000
"""Characters of a message that are searched for. A longer text is taken to be a document."""
WINDOW_PART = 4
"""Recalled memories take at most one part of the window in this many: a quarter."""
_SPARE_HITS = 6
"""Hits that are recalled besides those wanted, as some are repetitions."""
_NO_NEED = 0.02
"""The probability that a message needs memory below which nothing is recalled. Chosen by hand."""
_LITTLE_NEED = 0.08
"""The probability that a message needs memory below which only hits with a word of it are quoted. Chosen by hand."""
_NEED_WITHOUT_READER = 0.2
"""The probability that a message needs memory from which on hits are quoted in a space without a reader. Chosen by
hand."""
_NEED_WITHOUT_ANSWER = 0.3
"""The probability that a message needs memory from which on the first hit on its matter is quoted if no hit seems to
help. Chosen by hand."""
_NEED_WEIGHT, _ANSWER_WEIGHT, _BIAS = 1.12, 1.38, 2.4
"""The weights of the log odds that a memory helps: the probability that the message needs memory, and the reader's log
odds that the memory answers it. Fitted on the development half of `benchmarks/prompts.py`."""
_MARGIN = 1e-3
"""The probability that is added to a probability before the log of its odds is taken, so that it is within 6.9 of zero.
The weights were fitted with it."""
_MIN_HELP = 0.15
"""The probability that a hit helps below which it is left out. Chosen by hand."""
_MAX_NEED = 0.95
"""The maximum of the probability that a message needs memory: its log odds would outweigh the reader. Chosen by
hand."""
_MIN_SHARE_OF_BEST = 0.03
"""The share of the probability that the best hit answers below which another hit is left out. Chosen by hand."""


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

    `skip_reason` says why nothing was recalled or quoted, if it was not for lack of memories that help. `left_out` has
    the hits of the recall that the block does not quote, best first, each with the reason.
    """

    text: str = ""
    hits: tuple[Hit, ...] = ()
    position: int = 0
    missing: Mapping[str, str] = field(default_factory=dict)
    skip_reason: str = ""
    left_out: tuple[LeftOut, ...] = ()

    def __str__(self) -> str:
        return self.text


def for_prompt(
    self: SupportsRecall,
    message: str,
    *,
    turns: Sequence[Mapping[str, str]] = (),
    limit: int = 8,
    max_tokens: int | None = 1_000,
    count_tokens: TokenCounter | None = None,
    min_score: float | None = None,
    kinds: str | Sequence[str] | None = None,
    tags: str | Sequence[str] | None = None,
    keep: Keep = "all",
    record: bool = False,
) -> PromptMemories:
    """What helps to answer a chat message, as a block for its prompt; empty for a message that needs no memory.

    Put the block next to the message and not into the system prompt: what comes before it then stays the same from
    call to call, so that the provider's prompt cache holds. `briefing()` is for the start of the prompt.

    Args:
        message: The user's message.
        turns: The turns before it in the prompt, oldest first, as dicts with `role` and `content`. They say what the
            message refers to, and are not quoted again.
        limit: How many memories to quote at most. "What do you know about me?" brings the profile, and "What did I do
            in May?" all of May, as far as `max_tokens` goes.
        max_tokens: The token budget of the block; None for no limit. If memories help and none fits, that is logged.
        count_tokens: Counts the tokens of a text. By default four characters are one token.
        min_score: Quote what has at least this score, whether or not it seems to help.
        kinds: Only memories of these kinds: ("semantic", "viewpoint") for extracted facts only.
        tags: Only memories with all of these tags.
        keep: Which turns to quote, if all of them are stored: "all", "user", "facts" (those in which `analyze_message`
            finds something worth storing), or a function of role and text.
        record: Whether to record what is quoted, so that `audit.recorded` and the inspector list it. A profile or a
            whole month, which nothing was searched for, is not recorded.

    Returns:
        The block as `text`, the `hits` that it quotes, and `skip_reason` if it is empty for any reason other than that
        no memory helps.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     _ = space.add("My sister Ana is allergic to shellfish.", now="2026-05-04")
        ...     turns = [{"role": "user", "content": "Let's plan a dinner for my sister Ana."}]
        ...     found = space.for_prompt("What should she avoid?", turns=turns)
        ...     found.text.splitlines()[2], space.for_prompt("Thanks!").skip_reason
        ('{"noted": "2026-05-04", "text": "My sister Ana is allergic to shellfish."}', 'it is blank or only a greeting')
    """
    if max_tokens == 0:
        return PromptMemories(skip_reason="max_tokens is 0")
    asked, now = message.strip()[:MAX_MESSAGE_LENGTH], self._now()
    before = [turn for turn in turns if turn.get("content", "").strip()]
    overview, position = recall_overview(self, asked, [turn["content"] for turn in before], now, max_tokens)
    wanted = [hit for hit in overview if _passes(hit.memory, kinds, tags) and _may_quote(hit.memory, keep)]
    if block := frame(wanted, max_tokens=max_tokens, count_tokens=count_tokens, today=now):
        return PromptMemories(block, tuple(quoted_hits(block, wanted)), position)
    need, reason = _memory_need(asked, before)
    if need < _NO_NEED:
        return PromptMemories(skip_reason=reason)
    recent = before[-CONTEXT_TURNS:]
    in_prompt = [asked, *(turn["content"] for turn in before)]
    recall = self.recall(
        asked,
        limit=limit + _SPARE_HITS,
        context=recent,
        informative_only=True,
        exclude_texts=in_prompt,
        min_score=min_score,
        kinds=kinds,
        tags=tags,
    )
    copies = {normalize_text(text) for text in in_prompt}
    reasons: dict[int, str] = {}  # by the identity of a hit: versions of one memory have one id

    def keep_those(kept: Sequence[Hit], reason: str) -> list[Hit]:
        objects = {id(hit) for hit in kept}
        reasons.update({id(hit): reason for hit in hits if id(hit) not in objects})
        return list(kept)

    hits = list(recall)
    hits = keep_those([hit for hit in hits if normalize_text(hit.memory.text) not in copies], "the prompt has it")
    hits = keep_those([hit for hit in hits if _may_quote(hit.memory, keep)], "only some turns are quoted (`keep`)")
    hits = keep_those([hit for hit in hits if not _asks_the_same(hit.memory, asked)], "it only asks the same")
    hits = keep_those([hit for hit in hits if not _only_greets(hit)], "it only greets, thanks or agrees")
    person = find_referent(asked, [turn["content"] for turn in recent if turn.get("role", "user") == "user"])
    if min_score is None:
        best = max((hit.answer_probability or 0.0 for hit in hits), default=0.0)
        about_person = next((hit for hit in hits if person and person.is_named_in(hit.memory)), None)
        helpful = [hit for hit in hits if _is_helpful(hit, need, best) or hit is about_person]
        if need < _LITTLE_NEED:
            helpful = _on_the_matter(helpful, asked)
        helpful = helpful or ([] if need < _NEED_WITHOUT_ANSWER else _on_the_matter(hits, asked)[:1])
        hits = keep_those(helpful, "it would probably not help to answer")
    hits = keep_those(distinct_hits(hits, asked), "another one says the same")
    hits = keep_those(hits[:limit], f"{pluralize(limit, 'memory is', 'memories are')} quoted at most")
    block = frame(hits, max_tokens=max_tokens, count_tokens=count_tokens, missing=recall.missing, today=now)
    reason = found_but_too_long(len(hits), max_tokens) if hits and not block else ""
    if reason:
        log.warning("nothing is quoted in the prompt: %s", reason)
    hits = keep_those(quoted_hits(block, hits), "it does not fit into the token budget")
    if record:
        receipt = None if recall.receipt is None else replace(recall.receipt, prompt=True)
        _record(self, replace(recall, hits=tuple(hits), receipt=receipt))
    others = tuple(LeftOut(hit, reasons[id(hit)]) for hit in recall if id(hit) in reasons)
    return PromptMemories(block, tuple(hits), recall.position, recall.missing, reason, others)


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
        limit=max(1, receipt.limit - _SPARE_HITS),
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
    ask: Callable[..., Recall] = partial(view.recall, query)
    if isinstance(query, str) and not check_query(query).strip() and options.get("vector") is None:
        listed = {each.name for each in fields(RecentOptions)}
        ask, options = view.recent, {name: value for name, value in options.items() if name in listed}
    answer = ask(limit=limit + _SPARE_HITS if is_count else limit, **options)
    return replace(answer, hits=tuple(drop_derived(answer)[:limit]))


def quoted_hits(text: str, hits: Iterable[Hit]) -> list[Hit]:
    """Return those of the hits that a text quotes in the way of `frame`.

    Some hits of a recall may not have fitted into the token budget of the prompt.
    """
    return [hit for hit in hits if hit_as_json_line(hit) in text]


def prompt_budget(max_tokens: int | None, window: int | None) -> int | None:
    """The token budget of the recalled memories in a window of `window` tokens: at most a quarter of it.

    >>> prompt_budget(2_000, 1_536), prompt_budget(2_000, None), prompt_budget(None, 8_000)
    (384, 2000, 2000)
    """
    if window is None:
        return max_tokens
    part = max(0, window) // WINDOW_PART
    return part if max_tokens is None else min(max_tokens, part)


def distinct_hits(hits: Sequence[Hit], question: str) -> list[Hit]:
    """The hits without repetitions: also without turns of the assistant that repeat what somebody else told, and turns
    that another hit has as the turn before it."""
    asked = frozenset(content_words(question))
    shown = {normalize_text(hit.context.partition(": ")[2]) for hit in hits if hit.context}
    hits = [hit for hit in hits if normalize_text(hit.memory.text) not in shown]
    told = [frozenset(content_words(hit.memory.text)) for hit in hits if not _is_by_assistant(hit.memory)]
    return drop_repeated(hit for hit in hits if not (_is_by_assistant(hit.memory) and _adds_nothing(hit, asked, told)))


def _adds_nothing(hit: Hit, asked: frozenset[str], told: Sequence[frozenset[str]]) -> bool:
    """Whether a turn has no word beside those of the question and of one text that somebody else told."""
    new = frozenset(content_words(hit.memory.text)) - asked - FILLER
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


def _asks_the_same(memory: Memory, asked: str) -> bool:
    """Whether a turn is a question without a word beside those of the message."""
    words = {word for word in content_words(memory.text) if not word.isdigit()}
    return memory.turn is not None and "?" in memory.text and words.issubset(content_words(asked))


def _only_greets(hit: Hit) -> bool:
    """Whether a turn tells nothing: "Yes." after a question is an answer."""
    from remanence.remember.message_analysis import only_greets  # here, as it loads the engine

    return hit.memory.turn is not None and not hit.context.endswith("?") and only_greets(hit.memory.text)


def _passes(memory: Memory, kinds: str | Sequence[str] | None, tags: str | Sequence[str] | None) -> bool:
    """Whether a memory is of one of these kinds and has all of these tags."""
    wanted = [tags] if isinstance(tags, str) else tags or ()
    return (kinds is None or memory.kind in ([kinds] if isinstance(kinds, str) else kinds)) and set(wanted) <= {
        *memory.tags
    }


def _memory_need(message: str, turns: Sequence[Mapping[str, str]]) -> tuple[float, str]:
    """How much a message needs memory, and why it needs none."""
    from remanence.remember.message_analysis import ONLY_GREETING, analyze_for_recall  # here, as it loads the engine

    analysis = analyze_for_recall(message)
    need = need_of_memory(message)
    if analysis.recall:
        return max(need, analysis.confidence), ""
    may_refer = analysis.reason != ONLY_GREETING or _is_answer(turns)
    if turns and may_refer and is_follow_up(message, [name for name in analysis.entities if name != SELF]):
        told = [turn["content"] for turn in turns[-CONTEXT_TURNS:] if turn.get("role", "user") != ASSISTANT]
        return max(need, need_of_memory(" ".join([*told, message]))), analysis.reason
    return 0.0 if analysis.reason == ONLY_GREETING else min(need, 1 - analysis.confidence), analysis.reason


def _is_answer(turns: Sequence[Mapping[str, str]]) -> bool:
    """Whether a message after these turns answers a question of the assistant, as "Yes" does."""
    return bool(turns) and turns[-1].get("role") == ASSISTANT and turns[-1]["content"].rstrip().endswith("?")


def _is_helpful(hit: Hit, need: float, best: float) -> bool:
    """Whether a hit would help to answer a message with this need of memory, given the best probability of any hit."""
    answers = hit.answer_probability
    if answers is None:
        return need >= _NEED_WITHOUT_READER and not best
    need_odds, answer_odds = log_odds(min(need, _MAX_NEED), _MARGIN), log_odds(answers, _MARGIN)
    odds = _NEED_WEIGHT * need_odds + _ANSWER_WEIGHT * answer_odds + _BIAS
    return odds >= log_odds(_MIN_HELP, _MARGIN) and answers >= _MIN_SHARE_OF_BEST * best


def _on_the_matter(hits: Sequence[Hit], message: str) -> list[Hit]:
    """The hits that have a word of the message: the reader may miss that "turned 7" is an age, and a model does not."""
    words = {word for word in content_words(message) if word not in FILLER and len(word) > 2}  # not "Mr"
    told = (hit for hit in hits if not _is_by_assistant(hit.memory))
    return [hit for hit in told if not words.isdisjoint(content_words(hit.memory.text))]


def _is_by_assistant(memory: Memory) -> bool:
    return memory.turn is not None and memory.turn.speaker == ASSISTANT
