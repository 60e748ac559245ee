"""What a view puts into a prompt: the briefing at its start, what helps to answer one message, and what worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.recall.profile import build_briefing
from remanence.space.facets.facet import MemoryListing
from remanence.space.facets.procedure_facet import ProceduresView
from remanence.space.for_prompt import Keep, PromptMemories, SupportsRecall, recall_for_prompt

if TYPE_CHECKING:
    from datetime import datetime

    from remanence.text.framing import TokenCounter


class PromptView(MemoryListing):
    """The methods of a view that write a part of a prompt."""

    _moment: datetime | None

    @property
    def procedures(self) -> ProceduresView:
        """Which steps of a task worked, as this view knows it."""
        return self._facet(ProceduresView)

    def for_prompt(
        self,
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
            turns: The turns before it in the prompt, oldest first, as dicts with `role` and `content`. They say what
                the message refers to, and are not quoted again.
            limit: How many memories to quote at most. "What do you know about me?" brings the profile, and "What did I
                do in May?" all of May, as far as `max_tokens` goes.
            max_tokens: The token budget of the block; None for no limit. If memories help and none fits, that is
                logged.
            count_tokens: Counts the tokens of a text. By default four characters are one token.
            min_score: Quote what has at least this score, whether or not it seems to help.
            kinds: Only memories of these kinds: ("semantic", "viewpoint") for extracted facts only.
            tags: Only memories with all of these tags.
            keep: Which turns to quote, if all of them are stored: "all", "user", "facts" (those in which
                `analyze_message` finds something worth storing), or a function of role and text.
            record: Whether to record what is quoted, so that `audit.recorded` and the inspector list it. A profile or
                a whole month, which nothing was searched for, is not recorded.

        Returns:
            The block as `text`, the `hits` that it quotes, and `skip_reason` if it is empty for another reason than
            that no memory helps.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("My sister Ana is allergic to shellfish.", now="2026-05-04")
            ...     turns = [{"role": "user", "content": "Let's plan a dinner for my sister Ana."}]
            ...     found = space.for_prompt("What should she avoid?", turns=turns)
            ...     found.text.splitlines()[2], space.for_prompt("Thanks!").text
            ('{"noted": "2026-05-04", "text": "My sister Ana is allergic to shellfish."}', '')
        """
        return recall_for_prompt(
            cast("SupportsRecall", self),
            message,
            turns=turns,
            limit=limit,
            max_tokens=max_tokens,
            count_tokens=count_tokens,
            min_score=min_score,
            kinds=kinds,
            tags=tags,
            keep=keep,
            record=record,
        )

    afor_prompt = in_thread(for_prompt)

    def briefing(self, *, max_tokens: int = 600) -> str:
        """The profile as a block for the start of a prompt: the same, to the byte, until what it states changes.

        So a provider's prompt cache holds over the turns of a chat. No language model is asked: the lines are
        quotations, as in `profile()` without one.

        Args:
            max_tokens: The length of the block at most, in tokens (estimated). What matters most comes in first.

        Returns:
            The block; "" while nothing is known.

        Raises:
            InvalidInput: `max_tokens` is not valid.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     turn = {"role": "user", "content": "we live in Porto, near the river"}
            ...     _ = space.remember([turn], now="2026-05-04")
            ...     print(space.briefing().splitlines()[2])
            home: we live in Porto, near the river (4 May 2026)
        """
        inputs.check_positive_int(max_tokens, "max_tokens")
        return build_briefing(self._engine, self._space, self._position, self._moment, max_tokens)

    abriefing = in_thread(briefing)
