"""What `docs/production.md` tells to type for several workers: run as it stands there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import remanence
from qdrant_server import free_port

PAGE = (Path(__file__).parents[1] / "docs" / "production.md").read_text("utf-8")
[PROGRAM] = re.findall(r'Path\("memory_app\.py"\)\.write_text\("""\n(.*?)"""\)', PAGE, re.DOTALL)
COMMANDS = re.findall(r"^((?:uvicorn|gunicorn) memory_app:app .*)$", PAGE, re.MULTILINE)


def test_there_is_a_command_for_each_of_two_servers() -> None:
    assert [command.split()[0] for command in COMMANDS] == ["uvicorn", "gunicorn"]
    assert all("--workers 2" in command and "--preload" not in command for command in COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: str(command).split()[0])
def test_each_worker_opens_the_space(command: str, tmp_path: Path) -> None:
    """After it was started, so that no worker has a space that another process opened."""
    program, *arguments = shlex.split(command)
    script = Path(sys.executable).with_name(program)
    (tmp_path / "memory_app.py").write_text(PROGRAM, "utf-8")
    with remanence.open(tmp_path / "memory") as space:
        space.add("Ana lives in Porto.")
    port = str(free_port())
    asked = [argument.replace("8000", port) for argument in arguments]
    server = subprocess.Popen([sys.executable, script, *asked], cwd=tmp_path, stderr=subprocess.DEVNULL)
    try:
        answers = [ask(port) for _ in range(6)]
    finally:
        server.terminate()
        server.wait(30)
    assert answers == [["Ana lives in Porto."]] * 6


def ask(port: str) -> object:
    """What a worker answers, once one is there."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/ask?question=Where+does+Ana+live", timeout=30
            ) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    return None
