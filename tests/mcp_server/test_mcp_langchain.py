"""The tools of the server in an agent of LangChain, through langchain-mcp-adapters.

That package needs mcp 1 (its release 0.3), the server mcp 2. So `make setup` installs both into a folder beside the
other packages, and the agent runs in a process that looks there first. The wire is the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_calls import serving

import remanence
from remanence_mcp import make_server

MCP1 = Path(sys.prefix, "mcp1")
AGENT = Path(__file__).with_name("langchain_agent.py")


@pytest.mark.slow
@pytest.mark.skipif(
    not (MCP1 / "langchain_mcp_adapters").is_dir(),
    reason=f"no langchain-mcp-adapters. Run: {sys.executable} -m pip install --no-deps --target {MCP1} --group mcp1",
)
def test_an_agent_remembers_and_recalls(home: Path, space: remanence.Space) -> None:
    """Over standard input and over streamable HTTP."""
    environment = {**os.environ, "REMANENCE_READER": "none"}
    stdio = {
        "transport": "stdio",
        "command": sys.executable,
        "args": ["-m", "remanence.cli", "--memory", str(home), "mcp"],
        "env": environment,
    }
    before = {"PYTHONPATH": os.pathsep.join([str(MCP1), os.environ.get("PYTHONPATH", "")])}
    with serving(make_server(space)) as url:
        servers = {"stdio": stdio, "http": {"transport": "streamable_http", "url": url}}
        done = subprocess.run(
            [sys.executable, str(AGENT), json.dumps(servers)], env=environment | before, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert set(answers) == {"stdio", "http"}
    for answer in answers.values():
        assert {"remember", "recall", "forget"} <= set(answer["tools"])
        assert "Ana lives in Porto." in answer["results"][-1]
    assert [memory.text for memory in space.memories()] == ["Ana lives in Porto."]
    with remanence.open(home) as stored:
        assert stored.count() == 1
