"""Changing what is stored: corrections, ends and tags, each as a new version, and the version before again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from remanence.hooks import step
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment
from remanence.remember import revise as revising
from remanence.remember.add_options import parse_changes
from remanence.schema import Memory
from remanence.space.removal import MemoryRemoval
from remanence.text.temporal import parse_moment


class MemoryRevision(MemoryRemoval):
    """The methods of a space that give memories a new version. Views of the past have the old one."""

    @step("update_memory")
    def revise(
        self,
        ids: str | Memory | Iterable[str | Memory],
        *,
        text: str | None = None,
        kind: str | None = None,
        valid_from: Moment | None = None,
        valid_until: Moment | None = None,
        importance: float | None = None,
        strength: float | None = None,
        expires_at: Moment | None = None,
        tags: str | Sequence[str] | None = None,
        add_tags: str | Sequence[str] = (),
        remove_tags: str | Sequence[str] = (),
    ) -> list[Memory]:
        """Correct memories: what is given changes, and everything else stays. `revert` undoes it.

        Args:
            text: The corrected text, of one memory. Its names, claims and times are read again.
            kind: "episode", "semantic" or "viewpoint".
            valid_from: When it became true or happened.
            valid_until: When it stopped being true.
            importance: 0 to 1.
            strength: A factor of its decay score, 1 to 2. 2 is for what must not fade.
            expires_at: The moment from which it is no longer recalled.
            tags: The tags in place of those it has.
            add_tags: More tags.
            remove_tags: Tags to remove.

        Returns:
            The memories as they are then. One that has these values already gets no new version.

        Raises:
            NotFound: One of them is not in this space, or is hidden. None is changed then.
        """
        changes = parse_changes(inputs.arguments(locals(), "ids"))
        return revising.revise(self._engine, self.name, inputs.check_one_or_more_ids(ids), changes)

    @step("update_memory")
    def end(self, ids: str | Memory | Iterable[str | Memory], since: Moment | None = None) -> list[Memory]:
        """Say that memories are no longer true. Questions about the time before still find them.

        Args:
            since: Since when they are no longer true. None is now.

        Raises:
            NotFound: One of them is not in this space, or is hidden. None is changed then.
            InvalidInput: A memory became true later than that, or the moment cannot be read.
        """
        now = self._engine.now()
        moment = now if since is None else parse_moment(since, now, argument="since")
        return revising.end(self._engine, self.name, inputs.check_one_or_more_ids(ids), moment)

    @step("update_memory")
    def revert(self, ids: str | Memory | Iterable[str | Memory]) -> list[Memory]:
        """Give memories the version before their last one again. Doing it twice changes nothing.

        Raises:
            NotFound: One of them is not in this space, or is hidden. None is changed then.
            InvalidInput: A memory has one version only.
        """
        return revising.revert(self._engine, self.name, inputs.check_one_or_more_ids(ids))

    arevise = in_thread(revise)
    aend = in_thread(end)
    arevert = in_thread(revert)
