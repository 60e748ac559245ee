"""The figures of the pages are those that the benchmarks recorded."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RECORDED = {
    "quality": {
        "values": {
            "locomo": {
                "remanence": {"R@1": 41.46, "R@5": 74.94, "R@10": 81.85},
                "vectors": {"R@5": 25.0, "R@10": 31.649},
            }
        }
    }
}


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("figures")


def test_pages_state_what_was_recorded(figures: Any) -> None:
    """`python benchmarks/figures.py --update` writes them."""
    recorded = figures.read_figures()
    differing = [
        page.name for page in figures.pages() if figures.as_recorded(text := page.read_text("utf-8"), recorded) != text
    ]
    assert not differing


NOT_MEASURED = ("95% bootstrap interval", "adds up to 6% to", "a sign test of the recalls", "70% names, 30% tags")
"""Where pages have a share that no benchmark measures."""
_CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_MEASURED = re.compile(r"\d\s?(?:%|ms\b|µs\b|a second\b)")


def test_pages_state_no_times_and_shares_that_were_not_recorded(figures: Any) -> None:
    """Past figures are in docs/decisions.md. A figure in words or as "5 of 6" is not noticed here."""
    stated = []
    for page in figures.pages():
        if page.name != "decisions.md":
            text = _CODE.sub("", figures.without_recorded(page.read_text("utf-8")))
            around = [
                " ".join(text[max(0, each.start() - 60) : each.end() + 40].split()) for each in _MEASURED.finditer(text)
            ]
            stated += [f"{page.name}: {words}" for words in around if not any(each in words for each in NOT_MEASURED)]
    assert stated == []


def test_a_time_beside_a_recorded_one_is_noticed(figures: Any) -> None:
    page = "Found 80%<!-- quality/locomo/remanence/R@10 --> in 7 ms.\n<!-- figures: quality -->\n| 5% |\n<!-- end -->\n"
    assert _MEASURED.findall(figures.without_recorded(page)) == ["7 ms"]


def test_every_table_is_on_a_page(figures: Any) -> None:
    text = "".join(page.read_text("utf-8") for page in figures.pages())
    assert [name for name in figures.TABLES if f"<!-- figures: {name} -->" not in text] == []


def test_a_number_is_replaced_and_rounded_as_the_page_has_it(figures: Any) -> None:
    page = "Found 80%<!-- quality/locomo/remanence/R@10 --> and 80.0<!-- quality/locomo/remanence/R@10 -->."
    assert figures.as_recorded(page, RECORDED) == (
        "Found 82%<!-- quality/locomo/remanence/R@10 --> and 81.8<!-- quality/locomo/remanence/R@10 -->."
    )


def test_a_figure_that_nobody_recorded_is_named(figures: Any) -> None:
    with pytest.raises(KeyError, match="quality/locomo/BM25/R@5"):
        figures.as_recorded("7%<!-- quality/locomo/BM25/R@5 -->", RECORDED)


def test_a_table_is_written_anew(figures: Any) -> None:
    """What was not measured has a dash."""
    page = "<!-- figures: quality -->\n| old |\n<!-- end -->\n"
    lines = figures.as_recorded(page, RECORDED).splitlines()
    assert lines[3] == ("| LoCoMo, chat turns | 74.9 / 81.8 | – | – | – | 25.0 / 31.6 | – | – | – | – | – | 41.5 |")


def test_recording_replaces_only_what_was_measured(
    figures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "FIGURES", tmp_path / "figures.json")
    figures.record("quality", "quality.py", {"locomo": {"vectors": {"R@5": 1.0}, "memvara": {"R@5": 2.0}}})
    figures.record("quality", "quality.py", {"locomo": {"vectors": {"R@5": 3.0}}})
    values = json.loads((tmp_path / "figures.json").read_text("utf-8"))["quality"]["values"]["locomo"]
    assert {name: value["R@5"] for name, value in values.items()} == {"vectors": 3.0, "memvara": 2.0}
