"""What each adapter that keeps chats promises of their sessions.

An adapter is tested by a subclass in its own file, as with the contracts of `remanence.testing`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from remanence import InvalidInput, NotFound, Space
from remanence.testing import FakeClock


class ChatSessionContract:
    """The contract of sessions: names, deletion, erasure and time to live."""

    every_kind: list[Any]
    """Messages of every kind that the framework has."""
    entries_of_a_session = 0
    """How many memories a session has beside its messages."""

    def adapter(self, space: Space, **options: Any) -> Any:
        """The adapter, for the session "monday" if it is of one session."""
        raise NotImplementedError

    def add(self, adapter: Any, session: str, *messages: Any) -> None:
        """Write messages."""
        raise NotImplementedError

    def messages(self, adapter: Any, session: str) -> list[Any]:
        """The messages of a session."""
        raise NotImplementedError

    def earlier_messages(self, space: Space, session: str, moment: datetime) -> list[Any]:
        """The messages of a session at a moment."""
        raise NotImplementedError

    def said(self, words: str) -> Any:
        """A message of the user."""
        raise NotImplementedError

    def test_sessions_are_listed_renamed_and_deleted(self, space: Space, clock: FakeClock) -> None:
        """Under the new name it goes on as before; views of the past know the old one."""
        adapter, elsewhere, then = self.adapter(space), self.said("Elsewhere."), self.said("And then?")
        self.add(adapter, "monday", *self.every_kind)
        clock.advance(hours=1)
        self.add(adapter, "other", elsewhere)
        before, earlier = self.messages(adapter, "monday"), clock.now()
        clock.advance(hours=1)

        adapter.rename_session("monday", "holiday")
        assert self.messages(adapter, "holiday") == before
        assert self.messages(adapter, "monday") == []
        assert self.earlier_messages(space, "monday", earlier) == before
        counts = [(each.name, each.message_count) for each in adapter.sessions()]
        assert counts == [("holiday", len(before)), ("other", 1)]
        self.add(adapter, "holiday", then)
        assert self.messages(adapter, "holiday") == [*before, then]
        with pytest.raises(InvalidInput, match="already"):
            adapter.rename_session("holiday", "other")
        for blank in ("", "  ", None, 5):
            with pytest.raises(InvalidInput, match=f"new_name={blank!r} is not the name"):
                adapter.rename_session("holiday", blank)
        with pytest.raises(NotFound, match="sessions"):
            adapter.rename_session("monday", "new")

        assert adapter.delete_session("other") == 1
        assert [each.name for each in adapter.sessions()] == ["holiday"]
        assert len(adapter.erase_session("holiday")) > len(before)
        assert (adapter.sessions(), self.messages(adapter, "holiday")) == ([], [])
        assert len(adapter.erase_session("other")) == 1 + self.entries_of_a_session, "what was deleted is erased too"
        assert (space.count(), list(space.memories("forgotten"))) == (0, []), "and what was written under an old name"

    def test_a_name_that_became_free_is_another_session(self, space: Space) -> None:
        """Erasing the renamed session takes its words under the old name, and nothing of the one that has it now."""
        adapter, told, again = self.adapter(space), self.said("I am allergic to nuts."), self.said("Hello again.")
        self.add(adapter, "monday", told)
        adapter.rename_session("monday", "tuesday")
        self.add(adapter, "monday", again)
        adapter.rename_session("tuesday", "holiday")
        adapter.erase_session("holiday")
        assert self.messages(adapter, "monday") == [again]
        assert "nuts" not in "".join(memory.text for memory in space.memories("forgotten"))

    @pytest.mark.not_remote
    def test_a_session_is_erased_some_time_after_its_last_message(self, space: Space, clock: FakeClock) -> None:
        """As a whole; sooner or later it is out of every answer, and of the ledger once anybody looks."""
        adapter = self.adapter(space, ttl=100)
        told, noted, again = (self.said(words) for words in ("I am allergic to nuts.", "Noted.", "Hello again."))
        self.add(adapter, "monday", told)
        clock.advance(seconds=60)
        self.add(adapter, "monday", noted)
        clock.advance(seconds=60)
        assert self.messages(adapter, "monday") == [told, noted]
        assert adapter.sweep_ttl() == 0
        clock.advance(seconds=40)
        assert adapter.sessions() == []
        assert "nuts" not in str(space.recall("allergic to nuts"))
        assert self.adapter(space).sweep_ttl() == 1
        assert self.messages(adapter, "monday") == []
        assert all(entry.event is None or entry.kind == "erased" for entry in space._engine.ledger.read(space.name))
        self.add(adapter, "monday", again)
        assert self.messages(adapter, "monday") == [again]

    @pytest.mark.parametrize("ttl", [0, -1, True, "1h", float("nan"), 1e13, 1e300, timedelta(days=999_999_999)])
    def test_a_time_to_live_is_checked_at_once(self, space: Space, ttl: Any) -> None:
        """Not with the first message, when the moment of its end is computed."""
        with pytest.raises(ValueError, match=r"ttl=.*above 0, or it is more than 1,000 years"):
            self.adapter(space, ttl=ttl)
