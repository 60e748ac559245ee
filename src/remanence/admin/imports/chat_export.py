"""What the exports of ChatGPT and Claude have in common: JSON files with conversations, read one after another."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from typing import Any, ClassVar

from remanence.admin.imports.json_files import DamagedFile, JsonFiles
from remanence.admin.imports.records import Item, Record, SkippedItem, Source
from remanence.schema import EPOCH

OTHER_BRANCH = "a branch that was edited or answered again (branches=True, or --branches, takes it)"
NO_TEXT = "a message without text"


class ChatExport(Source):
    """The conversations of one person.

    Args:
        files: The files of the export.
        path: Where they are, for messages.
        branches: Whether to take messages that were edited or answered again, too.
        observed_by: The name of the user.
    """

    file_pattern: ClassVar[re.Pattern[str]]

    def __init__(self, files: JsonFiles, path: str, *, branches: bool = False, observed_by: str | None = None) -> None:
        super().__init__(path, 0)
        self.branches = branches
        self._files = files
        self._user = observed_by
        self._names = files.select(self.is_export_file)

    @classmethod
    def is_export_file(cls, name: str) -> bool:
        """Whether a file of this name has conversations or the like."""
        return cls.file_pattern.search(name) is not None

    def progress(self) -> tuple[int, int]:
        total = self._files.size(self._names)
        return min(self._files.done, total), total

    def read(self) -> Iterator[Item]:
        for name in self._names:
            try:
                for found in self._files.objects(name):
                    yield from self.read_object(found, name)
            except DamagedFile as error:
                yield SkippedItem(name, f"the rest of the file: {error}", is_damage=True)
        for name in self._files.names:
            if name not in self._names:
                yield SkippedItem(name, "a file that has no conversations")

    def close(self) -> None:
        self._files.close()

    @abstractmethod
    def read_object(self, found: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield what one object of a file has."""

    def turn(self, key: str, role: str, *, on_branch: bool, **fields: Any) -> Record:
        """A turn of the user or of the model."""
        if role == "user" and self._user:
            fields["speaker"] = self._user
        if not on_branch:
            fields["tags"] = ["other-branch"]
        return Record(key, {"role": role, **fields}, is_turn=True)

    def by_user(self) -> dict[str, str]:
        """The field of a memory with its observer."""
        return {"observed_by": self._user} if self._user else {}


def last_branch(parents: Mapping[str, str | None], leaf: object, times: Mapping[str, datetime | None]) -> list[str]:
    """The ids of the last branch of a conversation, from the first message to the last one. Editing a question, or
    asking for another answer, begins a new branch: the messages are a tree.

    Args:
        parents: The parent of each message, in the order of the export.
        leaf: The id of the last message. If there is no such message, it is the newest one without a child.
        times: The times of the messages.
    """
    last = leaf if isinstance(leaf, str) and leaf in parents else None
    if last is None:
        with_children = set(parents.values())
        order = count()
        ends = [(times.get(parent) or EPOCH, next(order), parent) for parent in parents if parent not in with_children]
        last = max(ends)[2] if ends else next(reversed([*parents]), None)
    path: dict[str, None] = {}
    while last is not None and last in parents and last not in path:  # a damaged export may have a circle
        path[last] = None
        last = parents[last]
    return [*path][::-1]
