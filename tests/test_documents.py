"""Pieces of a document know each other by their `source`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from remanence import Space

ENGEL = ["Eliot Engel is a politician from the Bronx.", "In 2013 he became chairman of a committee."]
MILLS = ["Gary Mills is a coach from Northampton.", "In 2013 he became chairman of a committee, too."]
QUESTION = "Of what did the politician Eliot Engel become chairman?"


def filled(space: Space) -> Space:
    """Two documents, piece by piece; one repeats the words of the other."""
    for source, pieces in (("mills", MILLS), ("engel", ENGEL)):
        space.add_many({"text": piece, "source": source} for piece in pieces)
    return space


def test_a_piece_is_lifted_by_what_its_document_is_about(space: Space) -> None:
    """It need not repeat the name, and the answer says why it stands there."""
    found = filled(space).recall(QUESTION)

    assert [hit.memory.text for hit in found][:2] == ENGEL
    assert "in one document with a near one" in found.explain()


def test_without_a_source_there_is_no_document(space: Space) -> None:
    """Then a piece has only its own words to be found by."""
    space.add_many([*MILLS, *ENGEL])

    assert "in one document" not in space.recall(QUESTION).explain()


def test_a_document_is_put_in_without_a_break(space: Space) -> None:
    """A label such as 'email' on memories now and then makes no document of them."""
    space.add(ENGEL[0], source="email")
    space.add("Trams run until midnight.")
    space.add(ENGEL[1], source="email")

    assert "in one document" not in space.recall(QUESTION).explain()


def test_what_somebody_said_is_no_document(space: Space) -> None:
    """Facts from one conversation are each about something else."""
    space.add_many({"text": piece, "source": "chat", "observed_by": "Ann"} for piece in ENGEL)

    assert "in one document" not in space.recall(QUESTION).explain()


def test_a_forgotten_piece_lifts_nothing(space: Space) -> None:
    """What may not be seen may not be felt either."""
    pieces = {memory.text: memory for memory in filled(space).memories()}
    space.forget(pieces[MILLS[0]].id)
    space.forget(pieces[ENGEL[0]].id)

    assert "in one document" not in space.recall(QUESTION).explain()


def test_documents_survive_closing_and_an_erasure(reopen: Callable[[], Space]) -> None:
    """The index that was saved, and one made without the erased piece, agree with the live one."""
    space = filled(reopen())
    erased = space.add("Nothing much happened.", source="engel")
    space = reopen()
    space.add("He retired to Riverdale.", source="engel")
    space.erase(erased.id)
    live = space.recall(QUESTION).explain()
    saved = reopen().recall(QUESTION).explain()
    space = reopen()
    space.rebuild()

    assert live == saved == space.recall(QUESTION).explain()
    assert live.count("in one document") >= 3


def test_an_edited_piece_stays_in_its_document(reopen: Callable[[], Space]) -> None:
    """Indexed again under its key, after other texts, it lifts and is lifted as before, in a saved index too."""
    space = reopen()
    for source, pieces in (("engel", ENGEL), ("mills", MILLS)):
        space.add_many(
            {"text": piece, "source": source, "key": f"{source} {number}"} for number, piece in enumerate(pieces)
        )
    space.add("In 2013 he became the chairman of a committee.", source="engel", key="engel 1")

    live = space.recall(QUESTION)

    edited = next(hit for hit in live if hit.memory.key == "engel 1")
    assert "in one document with a near one" in str(edited.evidence)
    assert reopen().recall(QUESTION).explain() == live.explain()


def test_a_piece_that_moved_to_another_document_left_the_first(space: Space) -> None:
    """The same key with another source is a piece of that one."""
    space.add_many({"text": piece, "source": "engel", "key": str(n)} for n, piece in enumerate(ENGEL))
    space.add("Trams run until midnight.")
    space.add(ENGEL[1], source="notes", key="1")

    assert "in one document" not in space.recall(QUESTION).explain()


def test_an_edited_turn_keeps_its_place_in_the_conversation(space: Space) -> None:
    """It follows the turn that it followed, and the next one follows it."""
    turns = ["Where do the trams end?", "At the harbour, I think.", "And the buses?"]
    space.add_turns(
        [{"speaker": "Ann", "content": text, "conversation": "c", "key": str(n)} for n, text in enumerate(turns)]
    )
    space.add("Trams of another city run all night.")
    space.add_turns([{"speaker": "Ann", "content": "At the harbour.", "conversation": "c", "key": "1"}])

    with space._engine.open_index(space.name) as index:
        rows = [index.catalog.rows_of(number)[-1] for number in range(3)]

        assert index.graph.next_turns(np.array(rows)).tolist() == [rows[1], rows[2], -1]
        assert index.graph.previous_turns(rows) == [-1, rows[0], rows[1]]
