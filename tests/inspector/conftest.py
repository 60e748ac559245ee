"""The browser, the story and the servers of the tests of the inspector.

Without playwright or the server, each test module is skipped as it imports `inspector_pages`; so that is imported here
only when a test runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

import remanence

if TYPE_CHECKING:
    from inspector.inspector_pages import Browser, Page, Tab


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One for all modules. It is closed before other tests run: asyncio has no loop of its own beside Playwright's."""
    from inspector.inspector_pages import CHROMIUM, FLAGS, sync_playwright

    if CHROMIUM is None:
        pytest.skip("the tests of the inspector need a browser: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def story() -> Iterator[remanence.Space]:
    """The story, for a test that changes it."""
    from inspector.inspector_pages import new_story

    with new_story() as space:
        yield space


@pytest.fixture
def address(story: remanence.Space) -> Iterator[str]:
    from live_server import served

    with served(story) as address:
        yield address


@pytest.fixture(scope="package")
def read_address() -> Iterator[str]:
    """Where the story is that no test changes."""
    from inspector.inspector_pages import new_story
    from live_server import served

    with new_story() as space, served(space) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must not report an error."""
    from inspector.inspector_pages import Tab

    tab = Tab(browser)
    yield tab.page
    tab.context.close()
    assert not tab.errors


@pytest.fixture(scope="package")
def read_tab(browser: Browser) -> Iterator[Tab]:
    from inspector.inspector_pages import Tab

    tab = Tab(browser)
    yield tab
    tab.context.close()


@pytest.fixture
def read_page(read_tab: Tab) -> Iterator[Page]:
    """A page for tests that change nothing. It is loaded once, which takes a second; its address says what it shows."""
    yield read_tab.page
    errors, read_tab.errors = read_tab.errors, []
    assert not errors
