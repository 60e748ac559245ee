"""Pieces of a document know each other by their `source`."""

from __future__ import annotations

from collections.abc import Callable

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
