"""Answers compared with memories: which sentences are supported, contradicted, or told by none."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

import remanence
from remanence import Hit, InvalidInput, Memory, Space
from remanence.cli import main
from remanence.models import answer_check
from remanence.recall.checked_answer import MAX_READ, MAX_SENTENCES, CheckedAnswer
from remanence.recall.sentence_features import numbers_of, tells_past
from remanence.schema import UTC
from remanence_server.mcp.tool_sets import load_tools
from remote import connected

NOW = "2026-06-01"


def memory(text: str, day: str = "2026-05-01", name: str = "") -> Memory:
    """A memory that was told on a day."""
    return Memory(name or text, "", text, told_at=datetime.fromisoformat(day).replace(tzinfo=UTC))


HOME = memory("I live in Porto, at Rua do Sol 12", "2026-03-01")
CAT = memory("my cat is called Nina", "2026-03-09")
GYM = memory("gym every Tuesday evening", "2026-04-02")


def verdicts(answer: str, *memories: Memory | Hit) -> list[str]:
    """The verdicts of the sentences of an answer."""
    return [each.verdict for each in remanence.check(answer, memories or (HOME, CAT, GYM), now=NOW).sentences]


def test_what_memories_tell_is_supported_with_its_quotation() -> None:
    """The memory, its day and its words come with the verdict."""
    [checked] = remanence.check("You live in Porto.", (HOME, CAT, GYM), now=NOW).sentences

    assert (checked.verdict, checked.memory, checked.quotation) == ("supported", HOME, HOME.text)
    assert str(checked).startswith("supported 0.")
    assert str(checked).endswith("You live in Porto.  [2026-03-01: I live in Porto, at Rua do Sol 12]")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("You live at Rua do Sol 12.", "You live at Rua do Sol 21."),
        ("Your cat is called Nina.", "Your cat is called Frida."),
        ("You go to the gym every Tuesday evening.", "You go to the gym every Friday evening."),
        ("You live in Porto.", "You do not live in Porto."),
    ],
)
def test_a_changed_number_name_day_or_negation_is_less_supported(right: str, wrong: str) -> None:
    """With one thing changed, the sentence is never called supported with the same certainty."""
    kept, changed = (remanence.check(text, (HOME, CAT, GYM), now=NOW).sentences[0] for text in (right, wrong))

    assert kept.verdict == "supported"
    assert changed.verdict != "supported" or changed.probability < kept.probability - 0.1


def test_what_no_memory_tells_is_unsupported() -> None:
    """It has no memory and no quotation."""
    [checked] = remanence.check("Your brother plays the trombone in Vienna.", (HOME, CAT, GYM), now=NOW).sentences

    assert (checked.verdict, checked.memory, checked.quotation) == ("unsupported", None, "")


def test_questions_greetings_and_offers_claim_nothing() -> None:
    """They are judged by themselves, also without memories."""
    answer = "Hello there! Would you like me to book a table? Let me know if I can help with anything else."

    assert verdicts(answer) == ["no claim"] * 3
    assert [each.verdict for each in remanence.check(answer, [], now=NOW).sentences] == ["no claim"] * 3


def test_without_memories_every_claim_is_unsupported() -> None:
    """There is nothing that it could rest on."""
    assert [each.verdict for each in remanence.check("You live in Porto.", []).sentences] == ["unsupported"]


def test_a_replaced_memory_told_as_current_is_contradicted_by_its_successor() -> None:
    """What recall marked as replaced does not support the present; told as past, it does."""
    moved = memory("the boxes are in Faro now, that's where I sleep", "2026-05-20")
    over = Hit(HOME, 0.5, current=False, superseded_by=moved)
    told, past = remanence.check("You live in Porto. You lived in Porto.", [over, Hit(CAT, 0.2)], now=NOW).sentences

    assert (told.verdict, told.memory) == ("contradicted", moved)
    assert (past.verdict, past.memory) == ("supported", HOME)


def test_the_order_of_the_hits_says_nothing() -> None:
    """They are read in the order in which they were told."""
    moved = memory("the boxes are in Faro now, that's where I sleep", "2026-05-20")
    first, second = (
        remanence.check("You live in Porto.", order, now=NOW) for order in ((HOME, CAT, moved), (moved, HOME, CAT))
    )

    assert first == second


def test_what_was_replaced_for_another_question_still_supports() -> None:
    """Recall marks what is replaced as an answer to its question; another sentence may rest on it."""
    hives, honey = memory("I keep bees, six hives behind the chapel."), memory("Sold honey at the fair.", "2026-05-20")
    over = Hit(hives, 0.5, current=False, superseded_by=honey)

    assert verdicts("You keep six hives behind the chapel.", over, Hit(honey, 0.4)) == ["supported"]


def test_what_has_ended_does_not_support_the_present() -> None:
    """It is quoted itself, if nothing replaced it."""
    [told] = remanence.check("You live in Porto.", [Hit(HOME, 0.5, current=False)], now=NOW).sentences

    assert (told.verdict, told.memory) == ("contradicted", HOME)


def test_the_nearest_memories_of_many_are_read() -> None:
    """More memories than the reader takes, and the one that tells it is the last."""
    others = [memory(f"note {number}: the meeting about invoices went on for hours") for number in range(2 * MAX_READ)]
    [checked] = remanence.check("Your cat is called Nina.", [*others, CAT], now=NOW).sentences

    assert (checked.verdict, checked.memory) == ("supported", CAT)


def test_a_long_memory_is_quoted_by_the_sentence_that_tells_it() -> None:
    """Not by all of its text."""
    long = replace(CAT, text="The week was long. my cat is called Nina. We had soup on Sunday.")
    [checked] = remanence.check("Your cat is called Nina.", [long, HOME], now=NOW).sentences

    assert checked.quotation == "my cat is called Nina."


def test_an_answer_shows_itself() -> None:
    """As lines, as a table of a notebook with everything escaped, and as JSON types."""
    checked = remanence.check("You live in Porto. Hello!", [replace(HOME, text="I live in Porto <b>")], now=NOW)

    assert str(checked).splitlines()[1].startswith("no claim: Hello!")
    assert "I live in Porto &lt;b&gt;" in checked._repr_html_()
    assert [each["verdict"] for each in json.loads(json.dumps(checked.to_dicts()))] == ["supported", "no claim"]
    assert checked.problems == ()
    assert repr(checked) == "<CheckedAnswer: 1 supported, 1 no claim>"


def test_wrong_arguments_are_named() -> None:
    """No text, something that is no memory, and an answer without end."""
    with pytest.raises(InvalidInput, match="answer=None is not a text"):
        remanence.check(None, [])  # type: ignore[arg-type]
    with remanence.open(None) as space, pytest.raises(InvalidInput, match="answer=5 is not a text"):
        space.check_answer(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="neither a hit nor a memory"):
        remanence.check("You live in Porto.", ["I live in Porto"])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=f"more than {MAX_SENTENCES}"):
        remanence.check("It is so. " * (MAX_SENTENCES + 1), [])


def test_a_space_checks_with_what_it_recalls(space: Space) -> None:
    """By the question; and a view of the past with what was known then."""
    space.add("Ana lives in Porto.", now="2026-05-01")
    before = space.as_of("2026-04-01")

    assert space.check_answer("Ana lives in Porto.", question="Where does Ana live?").problems == ()
    assert [each.verdict for each in before.check_answer("Ana lives in Porto.").sentences] == ["unsupported"]


def test_a_server_and_a_tool_give_the_same(space: Space) -> None:
    """By one declaration: a client gets the same nouns, and MCP has a tool that only reads."""
    space.add("Ana lives in Porto.", now="2026-05-01")
    asked = ("Ana lives in Porto. Hello!", "Where does Ana live?")
    with connected(space) as client:
        answered = client.check_answer(asked[0], question=asked[1])
    [(_, tool)] = load_tools("check_answer")

    assert answered == space.check_answer(asked[0], question=asked[1])
    assert (tool.name, tool.writes) == ("check_answer", False)


def test_the_command_line_checks_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each sentence, without escapes that a terminal may obey."""
    with remanence.open(tmp_path) as space:
        space.add("Ana lives in Porto. \x1b[31m", now="2026-05-01")
    code = main(["--memory", str(tmp_path), "check-answer", "Ana lives in Porto.", "--question", "Where is Ana?"])
    printed = capsys.readouterr().out

    assert (code, printed.startswith("supported 0."), "\x1b" in printed) == (0, True, False)


def test_the_weights_are_small_and_fit_the_features() -> None:
    """A few kilobytes; and each judgement is three probabilities that add up to 1."""
    weights = json.loads(Path(answer_check.FILE).read_text("ascii"))
    lines = np.zeros((2, len(weights["about"])))
    whole = np.zeros(len(weights["inner"]) - len(weights["about"]) - 3)
    judged = answer_check.judge(lines, whole)

    assert Path(answer_check.FILE).stat().st_size < 12_000
    assert sum(judged[:3]) == pytest.approx(1.0)


def test_numbers_and_tense_are_read() -> None:
    """In digits and in words; the past by the verb."""
    assert numbers_of("thirty-eight jars, 2,400 in all") == {"38", "2400"}
    assert tells_past("You lived in Leith.")
    assert not tells_past("You live in Leith.")
    assert isinstance(remanence.check("", []), CheckedAnswer)


def test_two_stored_memories_can_be_compared(space: Space) -> None:
    """Which a judging model does elsewhere: whether one contradicts the other."""
    asked, granted, coffee = (
        space.add(text, now="2026-05-01")
        for text in ("The budget for Q2 is 40,000 euros.", "The budget for Q2 is 55,000 euros.", "Ana drinks coffee.")
    )
    pairs = ((asked, granted), (granted, asked), (coffee, asked))
    assert [verdicts(one.text, other) for one, other in pairs] == [["contradicted"], ["contradicted"], ["unsupported"]]
