"""Whether the server works, part by part: what is missing, and whether questions are answered without it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from functools import partial
from typing import Literal

from pydantic import BaseModel, Field

from remanence import RemanenceError
from remanence_server.problems import RequestRejected
from remanence_server.state import ServerState

_NEEDED = ("server", "ledger")
"""Without one of these no request is answered. Without another one answers lack something, and say what."""
_SECONDS = 5.0
_MIN_FREE = 64 << 20


class Health(BaseModel):
    """Whether the server works: "ok"; "degraded" if a part is missing and requests are answered without it;
    "unavailable" if they are not. `parts` says "ok" of each part, or what is wrong with it."""

    status: Literal["ok", "degraded", "unavailable"]
    detail: str | None = None
    parts: dict[str, str] = Field(default_factory=dict)


async def check_health(state: ServerState) -> Health:
    """Try each part: the ledger, the tokens, the embedder, the reader, the vector server, the disk."""
    if state.stopping.is_set():
        return Health(status="unavailable", detail="the server is ending", parts={"server": "it is ending"})
    checks: dict[str, Callable[[], object]] = {
        "ledger": state.spaces.names,
        "tokens": state.access.check,
        **state.spaces.part_checks(),
        "disk": partial(_check_disk, state),
    }
    found = await asyncio.gather(*(_tried(state, check) for check in checks.values()))
    parts = {"server": "ok", **dict(zip(checks, found, strict=True))}
    wrong = [f"{name}: {said}" for name, said in parts.items() if said != "ok"]
    is_down = any(parts[name] != "ok" for name in _NEEDED)
    status: Literal["ok", "degraded", "unavailable"] = "unavailable" if is_down else "degraded" if wrong else "ok"
    return Health(status=status, detail="; ".join(wrong) or None, parts=parts)


async def _tried(state: ServerState, check: Callable[[], object]) -> str:
    """ "ok", or why a part does not work. Messages may name addresses and folders, so the class alone is shown."""
    try:
        await asyncio.wait_for(state.pools.run("quick", check), _SECONDS)
    except (asyncio.TimeoutError, TimeoutError):
        return f"no answer in {_SECONDS:g} s"
    except RequestRejected:
        return "too many requests are waiting"
    except RemanenceError as error:
        return type(error).__name__
    except OSError as error:
        return error.strerror or type(error).__name__
    return "ok"


def _check_disk(state: ServerState) -> None:
    folder = state.spaces.folder
    if folder is not None and shutil.disk_usage(folder).free < _MIN_FREE:
        raise OSError(28, f"less than {_MIN_FREE >> 20} MiB are free")
