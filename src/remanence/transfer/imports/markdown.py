"""Notes: folders of Markdown, such as those of Obsidian, and text files.

Each section of a note, from one heading to the next, is a memory. Its text begins with the title of the note and the
headings that it is under, so that it can be understood on its own; its source is the path of the note.

Of a text without a format, a paragraph is a memory; of one without a blank line, a line is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

from remanence.errors import InvalidInput
from remanence.index.engine.identity import content_digest
from remanence.index.engine.inputs import MAX_TAGS, MAX_TEXT_LENGTH
from remanence.schema import UTC
from remanence.text.front_matter import split_front_matter, strip_links
from remanence.transfer.imports.records import (
    MAX_NAME_LENGTH,
    Item,
    Record,
    SkippedItem,
    Source,
    as_moment,
    as_text,
    make_key,
)

NOTE_ENDINGS = (".md", ".markdown")
TEXT_ENDINGS = (".txt", ".text")
_MAX_BYTES = 4 * MAX_TEXT_LENGTH
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_TAG = re.compile(r"(?<![\w#/&])#([^\W\d_][\w/-]*)")
_EMBED = re.compile(r"!\[\[([^\]|#]+)[^\]]*\]\]|!\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_ISO_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_DATE_FIELDS = ("date", "created", "created_at", "created at", "date created")
_OWN_NOTE = {"id", "space", "digest"}


class MarkdownFolder(Source):
    """The notes of a folder, or one note. A link to another file or folder is not followed."""

    kind = "Markdown folder"

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._path, self._done = path, 0
        self._total = 1 if path.is_file() else sum(len(names) for _, _, names in os.walk(path))

    def progress(self) -> tuple[int, int]:
        return self._done, self._total

    def read(self) -> Iterator[Item]:
        """Yield the sections of each note, in the order of the paths."""
        if self._path.is_file():
            yield from self._note(self._path, self._path.name)
            return
        for parent, folders, names in os.walk(self._path):
            for name in (*folders, *sorted(names)):
                file = Path(parent, name)
                where = file.relative_to(self._path).as_posix()
                self._done += name not in folders
                if file.is_symlink():
                    yield SkippedItem(where, "a link to another file or folder")
                elif name in folders:
                    if name.startswith("."):
                        yield SkippedItem(where, "a hidden folder")
                elif name.startswith(".") or not name.lower().endswith(NOTE_ENDINGS):
                    yield SkippedItem(where, "a file that is not a Markdown note")
                else:
                    yield from self._note(file, where)
            folders[:] = sorted(name for name in folders if not name.startswith("."))

    def _note(self, file: Path, where: str) -> Iterator[Item]:
        try:
            info = file.stat()
            if info.st_size > _MAX_BYTES:
                yield SkippedItem(where, f"a note of more than {_MAX_BYTES:,} bytes: split it")
                return
            written = file.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            yield SkippedItem(where, "a note that is not UTF-8 text")
            return
        except OSError as error:
            yield SkippedItem(where, f"a note that cannot be read ({error.strerror})")
            return
        yield from _sections_of_note(where, as_text(written), datetime.fromtimestamp(info.st_mtime, UTC))


def _sections_of_note(where: str, written: str, changed_at: datetime) -> Iterator[Item]:
    """The sections of a note, and what of it is left out."""
    fields, body = split_front_matter(written)
    if fields.keys() >= _OWN_NOTE:
        yield SkippedItem(where, "a note that Remanence wrote (space.upkeep.import_vault reads what was edited in it)")
        return
    for embedded in _EMBED.finditer(body):
        yield SkippedItem(f"{where}: {embedded[1] or embedded[2]}", "an embedded file")
    title = as_text(str(fields.get("title") or "")).strip() or Path(where).stem
    at = _date(fields) or _date_in_name(where) or changed_at
    found = False
    for headings, text in _sections(body):
        found = True
        # A date as the title is not a topic, and a title with which the text begins adds nothing.
        is_heading = _ISO_DATE.fullmatch(title) is None and headings[:1] != [title]
        is_heading = is_heading and (bool(headings) or not text.startswith(title.removesuffix("…")))
        path = " > ".join([title, *headings] if is_heading else headings)
        tags = [*_tags(fields.get("tags")), *_TAG.findall(_CODE.sub(" ", text))]
        yield Record(
            make_key("markdown", where, *headings),
            {
                "text": "\n\n".join(filter(None, (path, strip_links(_EMBED.sub("", text)).strip()))),
                "now": at,
                "source": where[-MAX_NAME_LENGTH:],
                "tags": [*dict.fromkeys(tag[:200] for tag in tags)][:MAX_TAGS],
                "meta": {name: value for name, value in fields.items() if name not in ("tags", "title")},
            },
        )
    if not found:
        yield SkippedItem(where, "a note without text")


def _date(fields: Mapping[str, Any]) -> datetime | None:
    """The date in the front matter of a note."""
    named = {name.lower(): value for name, value in fields.items()}
    return next(filter(None, (as_moment(named.get(name)) for name in _DATE_FIELDS)), None)


def _date_in_name(path: str) -> datetime | None:
    """The date in the name of a file, as daily notes have it."""
    in_name = _ISO_DATE.search(Path(path).stem)
    try:
        return datetime.combine(date.fromisoformat(in_name[0]), datetime.min.time(), UTC) if in_name else None
    except ValueError:
        return None


def _sections(body: str) -> Iterator[tuple[list[str], str]]:
    """The texts between headings, each with the headings above it. Two sections of one name get numbers."""
    headings: dict[int, str] = {}
    lines: list[str] = []
    fence = ""
    seen: dict[tuple[str, ...], int] = {}

    def section() -> Iterator[tuple[list[str], str]]:
        text = "\n".join(lines).strip()
        if _EMBED.sub("", text).strip():
            path = [strip_links(headings[level]) for level in sorted(headings)]
            times = seen[tuple(path)] = seen.get(tuple(path), 0) + 1
            yield (path if times == 1 else [*path, f"({times})"]), text

    for line in body.split("\n"):
        if (mark := _FENCE.match(line)) and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        if not fence and (heading := _HEADING.match(line)):
            yield from section()
            lines.clear()
            level = len(heading[1])
            headings = {above: name for above, name in headings.items() if above < level} | {level: heading[2]}
        else:
            lines.append(line)
    yield from section()


def _tags(value: object) -> list[str]:
    """Tags of front matter: a list, or a text with commas or spaces."""
    given = value if isinstance(value, list) else re.split(r"[,\s]+", value) if isinstance(value, str) else []
    tags = (as_text(str(tag)).strip().lstrip("#") for tag in given)
    return [tag for tag in tags if tag]


class TextFile(Source):
    """The paragraphs of a text file."""

    kind = "text file"

    def __init__(self, path: Path) -> None:
        self.path, self._path = str(path), path
        try:
            self._written = as_text(path.read_bytes().decode("utf-8-sig")).replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from None

    def progress(self) -> tuple[int, int]:
        return 1, 1

    def read(self) -> Iterator[Item]:
        """Yield the notes in the file, in order."""
        at = _date_in_name(self._path.name) or datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        source = self._path.name[-MAX_NAME_LENGTH:]
        paragraphs = _BLANK_LINES.split(self._written)
        notes = paragraphs if len(paragraphs) > 1 else self._written.split("\n")
        for text in dict.fromkeys(note.strip() for note in notes if note.strip()):
            yield Record(make_key("text", source, content_digest(text)), {"text": text, "now": at, "source": source})
        if not self._written:
            yield SkippedItem(source, "a file without text")
