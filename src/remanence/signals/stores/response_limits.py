"""Limits of a whole HTTP response. The time limit of httpx is for each part of it that arrives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_BEGAN = "remanence_began"


def response_limits(seconds: float, max_bytes: int) -> Mapping[str, Sequence[Callable[..., Any]]]:
    """Event hooks for an httpx client: a response that takes longer, or is longer, is an error of httpx."""
    import httpx

    class LimitedStream(httpx.SyncByteStream):
        def __init__(self, response: httpx.Response) -> None:
            self._stream, self._request = response.stream, response.request

        def __iter__(self) -> Iterator[bytes]:
            size, deadline = 0, self._request.extensions[_BEGAN] + seconds
            assert isinstance(self._stream, httpx.SyncByteStream)
            for chunk in self._stream:
                size += len(chunk)
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout(f"its answer took longer than {seconds:g} s", request=self._request)
                if size > max_bytes:
                    raise httpx.ReadError(f"its answer is longer than {max_bytes >> 20} MB", request=self._request)
                yield chunk

        def close(self) -> None:
            assert isinstance(self._stream, httpx.SyncByteStream)
            self._stream.close()

    def begin(request: httpx.Request) -> None:
        request.extensions = {**request.extensions, _BEGAN: time.monotonic()}

    def limit(response: httpx.Response) -> None:
        response.stream = LimitedStream(response)

    return {"request": [begin], "response": [limit]}
