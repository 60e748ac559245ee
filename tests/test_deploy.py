"""The examples in `deploy`: what reads them is not here, so their options are compared with the real ones."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from remanence.cli.parser import make_parser

DEPLOY = Path(__file__).parents[1] / "deploy"


def options_of(command: str) -> object:
    """What a command of an example is parsed as; it ends the test if the command line refuses it."""
    return make_parser().parse_args(shlex.split(command))


def test_the_commands_of_the_examples_are_commands() -> None:
    """Of the container, of the service, and of what their comments tell to type."""
    docker, unit = (DEPLOY / "Dockerfile").read_text("utf-8"), (DEPLOY / "remanence.service").read_text("utf-8")
    start = re.search(r'^CMD (\["serve".*\])$', docker, re.MULTILINE)
    options_of(" ".join(re.findall(r'"([^"]+)"', start[1])))
    service = re.search(r"^ExecStart=\S+/remanence (.*)$", unit, re.MULTILINE)
    options_of(service[1])
    [made] = re.findall(r"^#     \S+/remanence (.*tokens create.*)$", unit, re.MULTILINE)
    options_of(made)
    compose = (DEPLOY / "compose.yaml").read_text("utf-8")
    [typed] = re.findall(r"run --rm remanence (.*)$", compose, re.MULTILINE)
    options_of(typed)


def test_the_container_copies_what_is_there() -> None:
    """And names extras that exist, and a route that does."""
    docker = (DEPLOY / "Dockerfile").read_text("utf-8")
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", docker, re.MULTILINE):
        for name in copied.split():
            assert (DEPLOY.parent / name).exists()
    project = (DEPLOY.parent / "pyproject.toml").read_text("utf-8")
    [extras] = re.findall(r'"\.\[(.+)\]"', docker)
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras.split(","))
    assert "/readyz" in docker
