"""Progress bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput

if TYPE_CHECKING:
    from remanence.ports import Progress


class progress_bar:
    """A progress bar, the caller's own function, or nothing, as a context manager."""

    def __init__(self, progress: bool | Progress, label: str) -> None:
        if not isinstance(progress, bool) and not callable(progress):
            raise InvalidInput(f"progress={progress!r} is neither True, False nor a function of (done, total).")
        self._progress = progress
        self._label = label
        self._live: Any = None

    def __enter__(self) -> Progress | None:
        if not isinstance(self._progress, bool):
            return self._progress
        if not self._progress:
            return None
        from rich.progress import Progress as Bar

        self._live = Bar(transient=True)
        self._live.start()
        task = self._live.add_task(self._label, total=None)
        return lambda done, all_: self._live.update(task, completed=done, total=all_)

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
