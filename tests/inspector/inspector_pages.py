"""What the tests of the inspector share: the story, a tab, and what a browser needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import remanence
from remanence.testing import HashingEmbedder

pytest.importorskip("playwright", reason="pip install playwright, or the dev group, for the tests of the inspector")
pytest.importorskip("fastapi", reason="pip install 'remanence-memory[server]' for the tests of the inspector")

from playwright.sync_api import Browser as Browser
from playwright.sync_api import Page as Page
from playwright.sync_api import Route as Route
from playwright.sync_api import expect as expect
from playwright.sync_api import sync_playwright as sync_playwright

expect.set_options(timeout=30_000)  # machines are shared and noisy

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

VIEWS = (
    *("overview", "search", "search?q=Where+does+Ana+live%3F", "browse", "graph?map=all", "timeline", "answers"),
    *("compare", "compare/settings?q=Ana", "try", "review", "upkeep"),
)
HOSTILE = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'><style>body{display:none}</style>"
OVERRIDE = "\u202e"
ROWS: list[dict[str, Any]] = [
    {"text": "It rained all day.", "now": "2025-06-01", "kind": "episode"},
    {"text": "Ana lives in Porto.", "now": "2025-12-01", "valid_from": "2023-04-01"},
    {"text": "Ana works at Brightwater.", "now": "2026-01-10", "source": "letter"},
    {"text": "Bruno lives in Braga.", "now": "2026-02-01", "valid_from": "2026-01-01", "observed_by": "Ana"},
    {"text": "Bruno lives in Faro.", "now": "2026-02-02", "valid_from": "2026-01-01", "observed_by": "Maya"},
    {"text": "Carla Mendes is a friend of Bruno.", "now": "2026-02-20"},
    {"text": "C. Mendes plays the cello.", "now": "2026-03-01"},
    {"text": "Ana moved to Lisbon.", "now": "2026-06-10", "valid_from": "2026-06-01"},
]


# As a person sets who wants no transparency: without a graphics card Chromium takes long to blur what is behind. The
# other settings are those of Playwright, of which only one list can be given.
SETTINGS = "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
FLAGS = ("--no-sandbox", f"--blink-settings={SETTINGS},prefersReducedTransparency=true")


@contextmanager
def new_story() -> Iterator[remanence.Space]:
    """A few months of what was learned about Ana and her friends."""
    with remanence.open(None, embedder=HashingEmbedder(), reader=None) as space:
        space.add_many(ROWS)
        yield space


class Tab:
    """A page, and the errors that it reports."""

    def __init__(self, browser: Browser) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self._note(message.text))

    def _note(self, text: str) -> None:
        if "Content Security" in text:
            self.errors.append(text)
