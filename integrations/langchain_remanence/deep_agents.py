"""A file backend for `deepagents`: the files of an agent in a space, each write a version."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from deepagents.backends.protocol import (
    FILE_NOT_FOUND,
    INVALID_PATH,
    IS_DIRECTORY,
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    _get_backend_read_file_type,
    compile_grep_include_glob,
    grep_matches_from_files,
    perform_string_replacement,
    slice_read_response,
)

from langchain_remanence.user_space import check_space_and_user, current_runtime, space_for
from remanence import MemoryFiles, RemanenceError, StoredFile
from remanence.adapters import require_space

if TYPE_CHECKING:
    from langchain_remanence.user_space import SpaceOrFactory


P = ParamSpec("P")
R = TypeVar("R")


def _reporting(result: Callable[..., R]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """What the memory refuses is the error of the result."""

    def wrap(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def run(*args: P.args, **options: P.kwargs) -> R:
            try:
                return method(*args, **options)
            except (RemanenceError, InvalidGlobPatternError) as error:
                return result(error=f"Error: {error}")

        return run

    return wrap


class RemanenceBackend(BackendProtocol):
    """The files of a deep agent in a space: `create_deep_agent(model, backend=RemanenceBackend(space))`.

    As one folder of an agent whose other files are elsewhere, it is a route of a `CompositeBackend`:
    `routes={"/memories/": RemanenceBackend(space)}`. The files are then those that `ClaudeMemoryMiddleware(space)` and
    `MemoryFiles(space)` have below /memories.

    Args:
        space: One space for a single user; or, with `user_key`, the parent space of all users; or a function from the
            runtime of a run to its space.
        user_key: The field of the run's context or config that holds the user id, for example "user_id".
        recallable: True keeps the files among the memories of the space; see `remanence.MemoryFiles`.

    Raises:
        InvalidInput: An argument is not valid; or, in a run, the user is unknown.
    """

    def __init__(self, space: SpaceOrFactory, *, user_key: str | None = None, recallable: bool = False) -> None:
        check_space_and_user(space, user_key)
        self._space, self._user_key, self._recallable = space, user_key, recallable

    @_reporting(LsResult)
    def ls(self, path: str) -> LsResult:
        """List the files and folders in a folder."""
        files = self._files()
        prefix = files.absolute(path).rstrip("/") + "/"
        entries: dict[str, FileInfo] = {}
        for file in files.files(path):
            name, _, rest = file.path[len(prefix) :].partition("/")
            folder = f"{prefix}{name}/"
            entries[folder if rest else file.path] = (
                FileInfo(path=folder, is_dir=True, size=0, modified_at="") if rest else _info(file)
            )
        return LsResult(entries=[entries[entry] for entry in sorted(entries)])

    @_reporting(ReadResult)
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read lines of a file; a file that is not text is read whole."""
        file = self._files().find(file_path)
        if file is None:
            return ReadResult(error=f"File '{file_path}' not found")
        if (
            file.encoding == "base64" or _get_backend_read_file_type(file_path) != "text"
        ):  # by the ending, as StoreBackend does
            return ReadResult(file_data=_data(file))
        return slice_read_response(_data(file), offset, limit)

    @_reporting(WriteResult)
    def write(self, file_path: str, content: str) -> WriteResult:
        """Write a file, or a new version of it."""
        return WriteResult(path=self._files().write(file_path, content).path)

    @_reporting(EditResult)
    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replace a text in a file."""
        files = self._files()
        with files.lock:
            file = files.find(file_path)
            if file is None:
                return EditResult(error=f"Error: File '{file_path}' not found")
            if file.encoding == "base64":
                return EditResult(error="Error: Cannot edit binary files with text replacements.")
            replaced = perform_string_replacement(file.content, old_string, new_string, replace_all)
            if isinstance(replaced, str):
                return EditResult(error=replaced)
            content, count = replaced
            return EditResult(path=files.write(file_path, content).path, occurrences=count)

    @_reporting(DeleteResult)
    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file, or a folder with all that is below it. The history still has it."""
        try:
            self._files().delete(file_path)
        except LookupError:
            return DeleteResult(error=f"Error: File '{file_path}' not found")
        return DeleteResult(path=file_path)

    @_reporting(GrepResult)
    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """Find the lines that contain a text."""
        files = {file.path: _data(file) for file in self._files().files()}
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    @_reporting(GlobResult)
    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find the files whose path below a folder matches a pattern, the last modified first."""
        files, matches = self._files(), compile_grep_include_glob(pattern)
        start = len(files.absolute(path or "/").rstrip("/")) + 1
        found = [file for file in files.files(path or "/") if matches(file.path[start:])]
        found.sort(key=lambda file: file.modified_at, reverse=True)
        return GlobResult(matches=[_info(file) for file in found])

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Write files; those that are not UTF-8 text are stored as base64."""
        return [self._upload(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read files as bytes."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> FileUploadResponse:
        try:
            files = self._files()
            try:
                files.write(path, content.decode())
            except UnicodeDecodeError:
                files.write(path, base64.b64encode(content).decode(), encoding="base64")
        except RemanenceError as error:
            code = self._error_code(path)
            return FileUploadResponse(path, error=str(error) if code in (None, FILE_NOT_FOUND) else code)
        return FileUploadResponse(path)

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            file = self._files().read(path)
        except RemanenceError as error:
            return FileDownloadResponse(path, error=self._error_code(path) or str(error))
        binary = file.encoding == "base64"
        return FileDownloadResponse(path, base64.b64decode(file.content) if binary else file.content.encode())

    def _error_code(self, path: str) -> Any:
        """The code of what is wrong with a path; None if it is something else."""
        files = self._files()
        try:
            files.absolute(path)
        except RemanenceError:
            return INVALID_PATH
        return IS_DIRECTORY if files.is_folder(path) else FILE_NOT_FOUND if files.find(path) is None else None

    def _files(self) -> MemoryFiles:
        space = require_space(space_for(self._space, self._user_key, current_runtime()))
        return MemoryFiles(space, root="/", recallable=self._recallable)


def _data(file: StoredFile) -> FileData:
    return FileData(
        content=file.content,
        encoding=file.encoding,
        created_at=file.created_at.isoformat(),
        modified_at=file.modified_at.isoformat(),
    )


def _info(file: StoredFile) -> FileInfo:
    return FileInfo(path=file.path, is_dir=False, size=file.size, modified_at=file.modified_at.isoformat())
