"""How long the server takes to start, and each page of the inspector to be complete; and how fast the map moves.

    python benchmarks/inspector.py FOLDER         # a folder with memories
    python benchmarks/inspector.py --frames 1000  # the map of so many entities, while it is dragged

Needs the extra `server`, Playwright, and Chromium. A page is complete when nothing in it is loading any more. The first
time includes what the server reads then; the second is that of every later visit.
"""

from __future__ import annotations

import argparse
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

import remanence
from remanence.testing import HashingEmbedder

PAGES = {
    "Overview": "overview",
    "Search": "search?q=Where+does+Ana+live%3F",
    "Browse": "browse",
    "Browse, a late page": "browse?page=20",
    "Browse, filtered and sorted": "browse?kind=semantic&order=source",
    "Map, all": "graph?map=all",
    "Timeline": "timeline",
    "Answers": "answers",
    "Compare, 30 days": "compare",
    "Try it": "try?q=Where+does+Ana+live%3F",
    "Review": "review",
}
DONE = """() => document.querySelector('main h1, main .graph-view')
  && !document.querySelector('main .loading, main [aria-busy]')"""
"""Nothing loads any more: lists, the profile and the map have `aria-busy` until then."""
_DRAG = """async () => {
  const graph = (await import('/inspector/js/graph_view.js')).shownMap();
  const canvas = graph.canvas;
  const frames = [];
  await new Promise((resolve) => {
    const start = performance.now();
    const step = (now) => {
      frames.push(now);
      graph.panBy(4 * Math.sin(now / 200), 3);
      if (now - start < 4000) requestAnimationFrame(step); else resolve();
    };
    requestAnimationFrame(step);
  });
  const rate = frames.length / ((frames.at(-1) - frames[0]) / 1000);
  return [rate, Number(canvas.dataset.milliseconds), graph.visible.shown.length, graph.visible.lines.length];
}"""


@contextmanager
def serving(folder: str) -> Iterator[tuple[str, float]]:
    """The address of a server for a folder, and how many seconds it took to answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address, started = f"http://127.0.0.1:{port}", time.perf_counter()
    command = [sys.executable, "-m", "remanence.cli", "serve", folder, "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                urlopen(address, timeout=5).read()
                break
            except (URLError, ConnectionError):
                time.sleep(0.02)
        yield address, time.perf_counter() - started
    finally:
        process.terminate()
        process.wait()


def seconds(page: Page, address: str, route: str) -> float:
    """How long a page takes in a new document."""
    page.goto("about:blank")
    started = time.perf_counter()
    page.goto(f"{address}/#/{route}")
    page.wait_for_function(DONE, timeout=600_000)
    return time.perf_counter() - started


def measure_pages(page: Page, folder: str) -> None:
    with serving(folder) as (address, startup):
        print(f"| the server answers | {startup:.2f} s | |")
        for name, route in PAGES.items():
            first, second = (seconds(page, address, route) for _ in range(2))
            print(f"| {name} | {first:.2f} s | {second:.2f} s |", flush=True)


def measure_frames(page: Page, count: int) -> None:
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        with remanence.open(folder, embedder=HashingEmbedder(), reader=None) as space:
            names = [(f"Name {number}", "person") for number in range(count)]
            near = [[names[number], *chance.sample(names[number // 40 * 40 :][:40], 2)] for number in range(count)]
            rows = [{"text": f"Note {n}.", "entities": entities, "triples": ()} for n, entities in enumerate(near * 3)]
            space.add_many(rows)
        with serving_hashing(folder) as address:
            page.goto(f"{address}/#/graph?map=all&open=all&least=1")
            page.wait_for_selector("canvas[data-settled]")
            frames, paint, nodes, edges = page.evaluate(_DRAG)
    print(f"{nodes} entities, {edges} connections: {frames:.0f} frames a second, {paint:.0f} ms to draw one")


@contextmanager
def serving_hashing(folder: str) -> Iterator[str]:
    """The address of a server in this process, with the embedder of tests: a map has no vectors."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from live_server import served

    with remanence.open(folder, embedder=HashingEmbedder(), reader=None) as space, served(space) as address:
        yield address


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--frames", type=int)
    args = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        if args.folder:
            measure_pages(page, args.folder)
        if args.frames:
            measure_frames(page, args.frames)
        browser.close()


if __name__ == "__main__":
    main()
