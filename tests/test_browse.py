"""All memories as a table, filtered and sorted, and what they can be filtered by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import remanence
from remanence.errors import InvalidInput
from remanence.testing import FakeClock, HashingEmbedder


@pytest.fixture
def space() -> Iterator[remanence.Space]:
    clock = FakeClock("2026-06-01")
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock) as space:
        space.add("Ana drinks tea.", tags="food", source="letter", now="2026-01-01")
        space.add("Bob rows.", kind="episode", source="crawler", trust=0.2, now="2026-02-01")
        space.add("Carl bakes bread.", tags=("food", "work"), importance=0.9, now="2026-03-01")
        space.add("Dora lives in Braga.", valid_from="2026-01-01", observed_by="Ana", now="2026-04-01")
        space.add("Dora lives in Faro.", valid_from="2026-01-01", observed_by="Bob", now="2026-04-02")
        yield space


def texts(table: remanence.transfer.browse.MemoryTable) -> list[str]:
    return [row.memory.text.split()[0] + row.memory.text.split()[-1] for row in table]


def test_the_newest_come_first_and_pages_have_the_rest(space: remanence.Space) -> None:
    """A page says how many memories match, and the pages together have each of them once."""
    pages = [space.admin.browse(offset=offset, limit=2) for offset in (0, 2, 4, 6)]
    assert [page.total for page in pages] == [5] * 4
    assert [name for page in pages for name in texts(page)] == [
        "DoraFaro.",
        "DoraBraga.",
        "Carlbread.",
        "Bobrows.",
        "Anatea.",
    ]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"tags": "food"}, {"Carl", "Ana"}),
        ({"kinds": "episode"}, {"Bob"}),
        ({"source": ["letter", "crawler"]}, {"Ana", "Bob"}),
        ({"speaker": "Ana"}, {"Dora"}),
        ({"since": "2026-02-01", "until": "2026-03-01"}, {"Bob"}),
        ({"max_trust": 0.5}, {"Bob"}),
        ({"min_trust": 0.5, "until": "2026-02-15"}, {"Ana"}),
        ({"in_conflict": True}, {"Dora"}),
        ({"in_conflict": False}, {"Ana", "Bob", "Carl"}),
    ],
)
def test_filters_narrow_the_table(space: remanence.Space, filters: dict[str, object], found: set[str]) -> None:
    table = space.admin.browse(**filters)  # type: ignore[arg-type]
    assert {row.memory.text.split()[0] for row in table} == found
    assert table.total == len(table)


def test_the_table_is_sorted_by_any_column(space: remanence.Space) -> None:
    assert texts(space.admin.browse(order="importance"))[0] == "Carlbread."
    assert texts(space.admin.browse(order="trust", ascending=True))[0] == "Bobrows."
    assert texts(space.admin.browse(order="source", ascending=True))[:2] == ["Bobrows.", "Anatea."]
    assert texts(space.admin.browse(order="told", ascending=True))[0] == "Anatea."


def test_hidden_memories_are_listed_with_their_status(space: remanence.Space) -> None:
    """What a quarantine hides is not called forgotten, and what somebody frees no longer belongs to it."""
    ana, bob = (row.memory for row in reversed(list(space.admin.browse(source=["letter", "crawler"]))))
    space.forget(ana)
    held = space.audit.quarantine("crawler")
    assert {row.memory.text: row.status for row in space.admin.browse("quarantined")} == {"Bob rows.": "quarantined"}
    assert space.admin.stats().memories == {"current": 3, "forgotten": 1, "quarantined": 1}
    assert space.admin.filter_values().statuses == space.admin.stats().memories
    assert space.get_many(bob.id).missing == {bob.id: "quarantined"}

    space.unforget(bob)
    assert not space.admin.browse("quarantined")
    space.forget(bob)
    assert {row.memory.id for row in space.admin.browse("forgotten")} == {ana.id, bob.id}
    space.audit.release(held)
    assert space.get(bob) is None, "its own forgetting is not undone by the release"


def test_a_view_of_the_past_has_the_table_of_then(space: remanence.Space) -> None:
    space.forget(next(iter(space.admin.browse(source="letter"))).memory)
    then = space.as_of("2026-02-15").admin
    assert texts(then.browse()) == ["Bobrows.", "Anatea."]
    assert then.filter_values().statuses == {"current": 2}


def test_a_status_changes_when_its_moment_has_come() -> None:
    """The statuses that were kept for the next page are not older than the next expiry."""
    clock = FakeClock("2026-06-01")
    with remanence.open(None, embedder=HashingEmbedder(), reader=None, clock=clock) as space:
        space.add("The code is 4711.", expires_at="2026-06-01T00:00:10")
        assert space.admin.browse()[0].status == "current"
        clock.advance(seconds=11)
        assert space.admin.browse()[0].status == "expired"


def test_filter_values_count_what_is_visible(space: remanence.Space) -> None:
    values = space.admin.filter_values()
    assert values.tags == {"food": 2, "work": 1}
    assert values.kinds == {"episode": 1, "semantic": 4}
    assert values.speakers == {"Ana": 1, "Bob": 1}
    assert values.in_conflict == 2


@pytest.mark.parametrize("wrong", [{"order": "colour"}, {"offset": -1}, {"status": "gone"}, {"limit": 5_000}])
def test_a_wrong_argument_is_named(space: remanence.Space, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        space.admin.browse(**wrong)  # type: ignore[arg-type]


def test_a_correction_does_not_change_when_it_was_told(space: remanence.Space) -> None:
    """Neither its place in the order of telling, nor what a filter by dates finds."""
    [ana] = (row.memory for row in space.admin.browse(source="letter"))
    space.revise(ana, add_tags="seen")
    assert texts(space.admin.browse())[-1] == "Anatea."
    assert texts(space.admin.browse(until="2026-01-15")) == ["Anatea."]
    assert texts(space.admin.browse(order="recorded"))[0] == "Anatea."
