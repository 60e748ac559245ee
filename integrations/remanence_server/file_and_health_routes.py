"""The routes that are not a single operation: files, exports, events, the list of spaces, health and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from remanence import Change, RemanenceError, Space, __version__
from remanence.service.endpoints import admin_operations, files
from remanence.service.endpoints.files import FileReport, FileRequest
from remanence.service.endpoints.memory_operations import spaces_below
from remanence.service.noun_forms import adapter_of, json_form
from remanence.service.operation import Access
from remanence_server.access import Caller
from remanence_server.metrics import MEDIA_TYPE as METRICS_TYPE
from remanence_server.problems import RequestRejected, problem
from remanence_server.routes import PREFIX, RESPONSES, SpaceSegment, conditional, only_with, run_idempotent, space_of
from remanence_server.state import ServerState, state_of

_EXPORT_TYPE = "application/gzip"
_NEEDED = ("server", "ledger")
"""Without one of these no request is answered. Without another one answers lack something, and say what."""
_HEALTH_SECONDS = 5.0
_MIN_FREE = 64 << 20
_FILE_BODY = {
    "requestBody": {
        "required": True,
        "description": "The file itself.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

router = APIRouter()


class About(BaseModel):
    """The server, and what the caller may do."""

    name: Literal["remanence"] = "remanence"
    version: str = __version__
    access: Access
    token: str | None


class Health(BaseModel):
    """Whether the server works: "ok"; "degraded" if a part is missing and requests are answered without it;
    "unavailable" if they are not. `parts` says "ok" of each part, or what is wrong with it."""

    status: Literal["ok", "degraded", "unavailable"]
    detail: str | None = None
    parts: dict[str, str] = Field(default_factory=dict)


class ExportRequest(BaseModel, extra="forbid"):
    """What an export contains in addition to the entries of the space."""

    children: bool = False


class EventsRequest(BaseModel):
    """From which ledger position on; left out, from now on."""

    after: Annotated[int, Field(ge=0)] | None = None


@router.get("/v1", response_model=About, responses=RESPONSES, tags=["server"])
async def about(request: Request) -> Response:
    """Show the version of the server, and what the caller may do."""
    token = state_of(request).access.caller(request).token
    made = About(access="admin" if token is None else token.access, token=None if token is None else token.id)
    return Response(made.model_dump_json(), media_type="application/json")


@router.get("/v1/spaces", response_model=spaces_below.answer, responses=RESPONSES, tags=["server"])
async def list_spaces(request: Request) -> Response:
    """List the spaces that contain anything, and that the caller may use."""
    state = state_of(request)
    caller = state.access.caller(request)
    names = await state.pools.run("quick", state.spaces.names)
    return conditional(request, spaces_below.adapter.dump_json(list(filter(caller.opens, names))))


@router.post(
    f"{PREFIX}/files",
    dependencies=[only_with("write")],
    response_model=json_form(FileReport),
    status_code=201,
    responses=RESPONSES,
    tags=["memory"],
    openapi_extra=_FILE_BODY,
)
async def add_file(request: Request, space: SpaceSegment, arguments: Annotated[FileRequest, Query()]) -> Response:
    """Store what is in a file (text, Markdown, JSON lines, a chat export) as memories whose source is its name."""
    state, caller, opened = space_of(request)
    digest = hashlib.blake2b()
    with tempfile.TemporaryDirectory(prefix="remanence-") as folder:
        # The ending decides its kind. The rest of the name comes from the caller, and is not used as a path.
        path = Path(folder, "file" + Path(arguments.name.replace("\\", "/")).suffix[:20])
        with path.open("wb") as file:
            async for chunk in request.stream():
                file.write(chunk)
                digest.update(chunk)

        async def work() -> bytes:
            done = await state.pools.run("slow", partial(files.add_file, opened, path, arguments))
            return adapter_of(FileReport).dump_json(done)

        if not path.stat().st_size:
            raise RequestRejected(problem(422, f"the file {arguments.name!r} is empty. Send its content as the body."))
        return await run_idempotent(state, request, caller, opened.name, 201, FileReport, work, digest.digest())


@router.get(
    f"{PREFIX}/export",
    dependencies=[only_with("admin")],
    response_class=FileResponse,
    responses={**RESPONSES, 200: {"description": "JSON lines, compressed", "content": {_EXPORT_TYPE: {}}}},
    tags=["admin"],
)
async def export(request: Request, space: SpaceSegment, arguments: Annotated[ExportRequest, Query()]) -> Response:
    """Return every ledger entry of a space as a file, for `POST /files` or `remanence import`."""
    state, _, opened = space_of(request)
    folder = tempfile.mkdtemp(prefix="remanence-")  # which only its owner may read
    path, remove = Path(folder, "memory.jsonl.gz"), partial(shutil.rmtree, folder, ignore_errors=True)
    try:
        await state.pools.run("slow", partial(admin_operations.export_file, opened, path, **arguments.model_dump()))
    except BaseException:
        remove()
        raise
    return FileResponse(path, filename=path.name, media_type=_EXPORT_TYPE, background=BackgroundTask(remove))


@router.get(
    f"{PREFIX}/events",
    dependencies=[only_with("read")],
    response_class=StreamingResponse,
    responses={
        **RESPONSES,
        200: {
            "description": "Server-sent events: what happens to memories, as it happens",
            "content": {"text/event-stream": {"schema": {"type": "string"}}},
        },
    },
    tags=["admin"],
)
async def events(
    request: Request,
    space: SpaceSegment,
    arguments: Annotated[EventsRequest, Query()],
    last_event_id: Annotated[str | None, Header(pattern=r"^\d{1,18}$")] = None,
) -> Response:
    """Follow what happens to the memories of a space. Each event is a change, and its id the ledger position.

    The stream ends when the token is revoked or expires.
    """
    state, caller, opened = space_of(request)
    if state.streams >= state.settings.max_streams:
        raise RequestRejected(problem(503, f"{state.streams} event streams are open already. Try again later."))
    after = int(last_event_id) if last_event_id is not None else arguments.after
    if after is None:
        after = await state.pools.run("quick", partial(admin_operations.last_position, opened))
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(_stream(state, caller, opened, after), headers=headers, media_type="text/event-stream")


async def _stream(state: ServerState, caller: Caller, space: Space, after: int) -> AsyncIterator[str]:
    state.streams += 1
    quiet = 0
    try:
        # With an id, so that a client which loses the connection at once goes on from there.
        yield f": from position {after}\nid: {after}\n\n"
        while not state.stopping.is_set():
            page = await state.pools.run("quick", partial(admin_operations.changes, space, after=after))
            # After the page was read, so that nothing is sent which was written after a revocation.
            if not await state.pools.run("quick", partial(state.access.is_still_valid, caller)):
                break
            after = page.position
            for change in page.items:
                fields = adapter_of(Change).dump_json(change).decode()
                yield f"id: {change.position}\nevent: {change.kind}\ndata: {fields}\n\n"
            quiet = 0 if page.items else quiet + 1
            if quiet and quiet % 60 == 0:  # a comment, so that no proxy closes the connection
                yield ": still here\n\n"
            if not page.has_more:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(state.stopping.wait(), 0.25)
    finally:
        state.streams -= 1


@router.get("/healthz", response_model=Health, tags=["server"])
async def healthz() -> Health:
    """Whether the process answers."""
    return Health(status="ok")


@router.get("/readyz", response_model=Health, responses={503: {"model": Health}}, tags=["server"])
async def readyz(request: Request) -> Response:
    """Whether the server can do its work, and which part is missing. Status 503 if no request can be answered."""
    health = await _check_health(state_of(request))
    status = 503 if health.status == "unavailable" else 200
    return Response(health.model_dump_json(), status, media_type="application/json")


@router.get("/metrics", response_class=Response, responses={**RESPONSES, 200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Numbers about requests, in the text format of Prometheus."""
    state = state_of(request)
    state.access.caller(request)
    gauges: dict[str, Any] = {"remanence_event_streams": state.streams}
    gauges |= {f'remanence_active{{pool="{name}"}}': count for name, count in state.pools.active.items()}
    return Response(state.metrics.text(gauges), media_type=METRICS_TYPE)


async def _check_health(state: ServerState) -> Health:
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
        await asyncio.wait_for(state.pools.run("quick", check), _HEALTH_SECONDS)
    except (asyncio.TimeoutError, TimeoutError):
        return f"no answer in {_HEALTH_SECONDS:g} s"
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
