"""What a view puts into a prompt: the profile, the briefing at its start, and what helps to answer one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.recall.profile import Profile, build_briefing, build_profile
from remanence.recall.topics import Topics
from remanence.space.facets.facet import MemoryListing
from remanence.space.for_prompt import for_prompt as recall_for_prompt

if TYPE_CHECKING:
    from datetime import datetime

    from remanence.ports import Progress


class PromptView(MemoryListing):
    """The methods of a view that write a part of a prompt."""

    _moment: datetime | None

    for_prompt = recall_for_prompt  # which a union has, too

    def briefing(self, *, max_tokens: int = 600) -> str:
        """The profile as a block for the start of a prompt: the same, to the byte, until what it states changes.

        So a provider's prompt cache holds over the turns of a chat. No language model is asked: the lines are
        quotations, as in `profile()` without one.

        Args:
            max_tokens: The length of the block at most, in tokens (estimated). What matters most comes in first.

        Returns:
            The block; "" while nothing is known.

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

    def profile(
        self,
        *,
        max_tokens: int = 600,
        topics: Topics | Sequence[Topics] | None = None,
        progress: bool | Progress = False,
    ) -> Profile:
        """What was told of the person or the project of this space, by topic, each line with its day.

        Each line is a quotation of what was told, or a fact, with its day and the memories behind it. Nothing is in it
        that is superseded, expired or forgotten, or that a later memory replaces, as far as the reader can tell. If the
        space has a language model, it turns these lines into sentences.

        The first profile reads all memories, some seconds for thousands of turns. After that, only what is new is read.

        Args:
            max_tokens: The length of the text at most, in tokens (estimated). What matters most comes in first.
            topics: The topics: "person", "project", questions of yours by topic, a file with a topic, a tab and a
                question on each line, or a list of these. By default, the one of the two tables that fits what the
                space holds.
            progress: True shows a progress bar; a function is called with (done, total).
        """
        inputs.check_positive_int(max_tokens, "max_tokens")
        with inputs.progress_bar(progress, "reading") as shown:
            return build_profile(self._engine, self._space, self._position, self._moment, max_tokens, topics, shown)

    afor_prompt = in_thread(for_prompt)
    abriefing = in_thread(briefing)
    aprofile = in_thread(profile)
