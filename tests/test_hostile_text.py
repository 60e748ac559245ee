"""Texts from anywhere: every path that reads them takes time linear in their length, and raises only our errors."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import remanence
from case_tables import cases, texts
from examples import examples
from remanence import RemanenceError
from remanence.models.llm_extractor import json_lines
from remanence.models.message_words import turn_features
from remanence.models.readers import as_line, needs_turn_before
from remanence.ports import ReaderLine
from remanence.recall.question import parse_question
from remanence.schema import Hit, Memory
from remanence.space.playground import exchange
from remanence.testing import HashingEmbedder
from remanence.text.framing import is_frame, plain_line, strip_frames
from remanence.text.front_matter import strip_links
from remanence.text.hidden_characters import escape_terminal
from remanence.text.lexicon.languages import language_of
from remanence.text.named_entities.alias_rules import find_aliases
from remanence.text.redaction import redact
from remanence.text.rule_extractor import RuleExtractor
from remanence.text.temporal import find_stated_times, find_times, parse_moment, parse_window, time_parsing
from remanence.text.text import (
    last_words,
    normalize_name,
    normalize_text,
    question_share,
    split_passages,
    split_sentences,
    tokens,
)
from remanence.transfer.imports.markdown import MarkdownFolder
from remanence.transfer.jsonlines import JsonLinesWriter
from remanence.upkeep.vault_notes import notes

NOW = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
RULES = RuleExtractor()


def read_note(text: str) -> object:
    """A note of a folder, read as `remanence.restore` does."""
    with TemporaryDirectory() as folder:
        Path(folder, "note.md").write_text(text, "utf-8", "replace")
        return list(MarkdownFolder(Path(folder)).read())


def in_space(act: Callable[[remanence.Space, str], object]) -> Callable[[str], object]:
    """What a space does with a text."""

    def read(text: str) -> object:
        with remanence.open(None, embedder=HashingEmbedder(), reader=None, worker=False, clock=lambda: NOW) as space:
            space.add_many([{"text": "Ana works at Bosch."}, {"text": "Bob lives in Porto since 2020."}])
            return act(space, text)

    return read


def remember_answer(space: remanence.Space, text: str) -> object:
    """The answer to a question of the assistant."""
    asked = {"role": "assistant", "content": "Where does Ana work?"}
    return space.remember([asked, {"role": "user", "content": text}])


def stated(space: remanence.Space, text: str) -> object:
    """The profile of somebody who said so."""
    space.add_turns([{"role": "user", "content": text, "before": text}])
    return space.profile()


PATHS: dict[str, Callable[[str], object]] = {
    "extract": lambda text: RULES.extract(text, now=NOW, speaker="user"),
    "question": lambda text: parse_question(text, NOW),
    "times": lambda text: (find_times(text, NOW), find_stated_times(text, NOW)),
    "moment": lambda text: parse_moment(text, NOW),
    "window": lambda text: parse_window(text, NOW),
    "words": lambda text: (tokens(text), normalize_text(text), question_share(text), list(split_sentences(text))),
    "names": lambda text: normalize_name.__wrapped__(text),
    "passages": split_passages,
    "framing": lambda text: (plain_line(text), strip_frames(text), is_frame(text), escape_terminal(text)),
    "prompt": lambda text: (json_lines([{"text": text}]), remanence.frame([Hit(Memory("m", "s", text), 1.0)])),
    "notes": lambda text: (notes.parse("a.md", f"---\n{text}\n---\n{text}"), strip_links(text)),
    "others": lambda text: (RULES.extract(text, now=NOW), RULES.extract(text, now=NOW, speaker="assistant")),
    "follow-up": lambda text: parse_question("What does she like?", NOW, [text]),
    "reader": lambda text: as_line(text, ReaderLine(text, NOW, speaker="user", before=text)),
    "turn before": lambda text: (needs_turn_before(text, text), turn_features(text, text), last_words(text, 30)),
    "analysis": lambda text: (remanence.analyze_message(text), remanence.analyze_for_recall(text)),
    "aliases": find_aliases,
    "language": lambda text: language_of.__wrapped__(text),
    "redaction": redact,
    "imported note": read_note,
    "add": in_space(remanence.Space.add),
    "remember": in_space(remanence.Space.remember),
    "remembered answer": in_space(remember_answer),
    "profile": in_space(stated),
    "recall": in_space(remanence.Space.recall),
    "message in the playground": in_space(exchange),
}
WHO, DOES, WHAT, WHEN, JOINED, ENCLOSED, FRAGMENTS = (
    texts("hostile_text", name) for name in ("who", "does", "what", "when", "joined", "enclosed", "fragments")
)

pieces = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4).map("".join)
phrases = st.tuples(*(st.sampled_from(("", *words)) for words in (ENCLOSED, WHO, DOES, WHAT, WHEN, JOINED))).map(
    "".join
)
"""Clauses, or parts of them: the rules look for what follows a name, a verb or a time."""


@st.composite
def growing(draw: st.DrawFn) -> Callable[[int], str]:
    """Texts of one kind, of any length: the same fragments again and again, runs of each, or with words that differ."""
    parts = draw(st.sampled_from((pieces, phrases.filter(bool))))
    head, body, tail = draw(pieces), draw(st.lists(parts, min_size=1, max_size=3)), draw(pieces)
    how = draw(st.sampled_from(("repeated", "runs", "distinct")))
    return Grown(head, body, tail, how)


class Grown:
    """Makes a text of a length; it is shown when a test fails."""

    def __init__(self, head: str, body: list[str], tail: str, how: str) -> None:
        self.head, self.body, self.tail, self.how = head, body, tail, how

    def __repr__(self) -> str:
        return f"Grown({self.head!r}, {self.body!r}, {self.tail!r}, {self.how!r})"

    def __call__(self, length: int) -> str:
        """About this many characters."""
        if self.how == "runs":
            text = "".join(piece * (length // (len(self.body) * len(piece)) + 1) for piece in self.body)
        else:
            unit = "".join(self.body)
            if self.how == "distinct":
                count = length // (len(unit) + 7) + 1
                text = "".join(f"{unit}{_word(number)} " for number in range(count))
            else:
                text = unit * (length // len(unit) + 1)
        return f"{self.head}{text[:length]}{self.tail}"


def _word(number: int) -> str:
    """A word that no other number has."""
    letters = ""
    for _ in range(5):
        number, rest = divmod(number, 26)
        letters += chr(97 + rest)
    return letters.title() if rest % 2 else letters


def cpu_seconds(read: Callable[[str], object], text: str, tries: int = 3) -> float:
    """The least time of this thread that reading took; other work on the machine does not count."""
    gc.disable()
    try:
        return min(_timed(read, text) for _ in range(tries))
    finally:
        gc.enable()


def _timed(read: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    with suppress(RemanenceError):
        read(text)
    return time.thread_time() - start


def is_linear(read: Callable[[str], object], grow: Callable[[int], str], length: int = 1_000) -> bool:
    """Whether a text four times as long takes less than seven times as long; where time is quadratic, it is sixteen, or
    somewhat less if a part of the time is linear.

    The shorter text has `length` characters, or more where that takes too little time to be measured. A suspicion has
    to be confirmed three times.
    """
    # Up to 64,000 characters: of much longer texts, some paths read only the beginning.
    while (short := cpu_seconds(read, grow(length), 1)) < 0.002 and length < 16_000:
        length *= 4
    for tries in (1, 3, 3, 3):
        if cpu_seconds(read, grow(4 * length), tries) < 7 * max(short, 0.002):
            return True
        short = cpu_seconds(read, grow(length), 3)
    return False


@pytest.mark.parametrize("name", PATHS)
@given(grow=growing())
@settings(max_examples=examples(4), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@example(grow=Grown("", ["Monday "], "", "repeated"))
@example(grow=Grown("", ["του 2023 "], "", "repeated"))
@example(grow=Grown("", ["."], "x", "repeated"))
@example(grow=Grown("", [" "], "x", "repeated"))
@example(grow=Grown("", ["[["], "", "repeated"))
@example(grow=Grown("", ["[[a|"], "", "repeated"))
@example(grow=Grown("zyzzyva ", [".zyzzyva "], "", "distinct"))
@example(grow=Grown('"', ["a. "], "“", "repeated"))
@example(grow=Grown("", ["Alice moved to "], ".", "distinct"))
@example(grow=Grown("", ["Ana works at "], "", "repeated"))
@example(grow=Grown("", ["i am a "], "", "repeated"))
@example(grow=Grown("", ["my address is Rome and "], "", "repeated"))
@example(grow=Grown("", ["The user's cat likes Ana and "], "", "repeated"))
@example(grow=Grown("", ["Aa"], "", "repeated"))
@example(grow=Grown("Ana ", ["("], "Bob", "repeated"))
def test_time_is_linear_in_length(name: str, grow: Callable[[int], str]) -> None:
    """One text of two million characters must not stop everybody else."""
    assert is_linear(PATHS[name], grow)


@cases("hostile_text")
def test_what_took_long_once_is_linear(path: str, length: int, piece: str) -> None:
    """Repetitions of short pieces, for which rules have tried each end with each beginning."""
    assert is_linear(PATHS[path], Grown("", [piece], "", "repeated"), length)


@pytest.mark.parametrize("piece", ["x", "a1", "-", "é_"])
def test_a_question_of_one_long_word_takes_little_time(piece: str) -> None:
    """A pasted blob as a question does not stop the recall, also with a reader."""
    with remanence.open(None, reader=lambda question, texts: [0.9] * len(texts)) as space:
        space.add_many([{"text": "Alice lives in Porto."}, {"text": "Bob plays the cello."}])
        assert cpu_seconds(space.recall, f"Where does Alice live? {piece * 20_000}", 1) < 2


def test_many_times_in_a_text_without_a_sentence_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are read in the first characters only, so that a text four times as long takes little longer."""
    assert time_parsing._MAX_TEXT <= 100_000
    monkeypatch.setattr(time_parsing, "_MAX_TEXT", 25_000)
    short, long = (cpu_seconds(PATHS["extract"], "Monday " * count, 1) for count in (3_500, 14_000))
    assert long < 3 * short


def test_the_measurement_notices_quadratic_time() -> None:
    """Otherwise the test above would say nothing. A busy machine may stretch the time of the shorter text, so that one
    measurement of three is enough."""
    import re

    quadratic = re.compile(r"\s*x")
    assert not all(is_linear(quadratic.search, Grown("", [" "], "", "repeated")) for _ in range(3))
    assert is_linear(str.upper, Grown("", ["a"], "", "repeated"))


@pytest.mark.parametrize("name", PATHS)
@given(text=st.one_of(st.text(), pieces, st.text(alphabet="0123456789-/:., ")))
@settings(max_examples=examples(10), deadline=None, derandomize=True)
def test_only_our_errors_are_raised(name: str, text: str) -> None:
    """Whatever somebody types."""
    with suppress(RemanenceError):
        PATHS[name](text)


@given(texts=st.lists(st.one_of(st.text(max_size=60), pieces), min_size=1, max_size=4), question=st.text(max_size=60))
@settings(max_examples=examples(10), deadline=None, derandomize=True)
def test_a_space_raises_only_our_errors(texts: list[str], question: str) -> None:
    """On the way in and on the way out."""
    with remanence.open(None, embedder=HashingEmbedder(), worker=False) as space:
        for text in texts:
            for act in (space.add, space.remember, lambda t: space.add_turns([{"content": t, "speaker": t[:9]}])):
                with suppress(RemanenceError):
                    act(text)
        for asked in (question, *texts):
            with suppress(RemanenceError):
                found = space.recall(asked, limit=3)
                assert str(found) is not None
                assert found.explain()
        assert space.profile() is not None
        assert space.admin.check() == {}


plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(("remembered", "erased", "registered", "ran", "served", "linked", "declared", "", "x"))
fields = st.sampled_from(("memory", "text", "identity", "positions", "valid", "turn", "times", "asked", "meta", "tags"))
lines = st.one_of(
    st.dictionaries(st.sampled_from(("at", "kind", "event", "subject", "space", "vectors", "lines")), plain_json),
    st.fixed_dictionaries({"at": st.integers(), "kind": kinds, "event": st.dictionaries(fields, plain_json)}),
    st.fixed_dictionaries({"vectors": st.dictionaries(st.text("0123456789abcdef", max_size=4), plain_json)}),
)


@given(header=st.dictionaries(st.sampled_from(("embedder", "lines", "spaces", "x")), plain_json), body=st.lists(lines))
@settings(
    max_examples=examples(30),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_an_import_raises_only_our_errors(tmp_path: Path, header: dict[str, Any], body: list[dict[str, Any]]) -> None:
    """A file with any content and the right checksums; and nothing of it is kept."""
    path = tmp_path / "a.jsonl"
    with JsonLinesWriter(path) as file:
        first = {"remanence": "export", "version": 1, "spaces": 1, "lines": len(body), **header}
        try:
            for line in (first, {"space": "", "lines": len(body)}, *body):
                file.write(json.dumps(line, ensure_ascii=False))
        except UnicodeEncodeError:
            return
        file.finish()
    with remanence.open(None, embedder=HashingEmbedder(), worker=False) as space:
        try:
            remanence.restore(path, into=space)
        except RemanenceError:
            assert space.spaces() == []
        else:
            space.verify()
