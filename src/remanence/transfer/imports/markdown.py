"""Notes: folders of Markdown, such as those of Obsidian, bundles of the Open Knowledge Format, and text files.

Each section of a note, from one heading to the next, is a memory. Its text begins with the title of the note and the
headings that it is under, so that it can be understood on its own; its source is the path of the note.

A bundle (version 0.1 or 0.2) is a folder of Markdown files, each of which is a concept: it begins with front matter
that has a `type`. `index.md` and `log.md` are lists that are made of the concepts.

Of a text without a format, a paragraph is a memory. In a paragraph that is a list, each item is one; a file without a
blank line is a list of lines. A line that begins with a small letter or a space goes on with the one before it.
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
from remanence.text.text import truncate
from remanence.transfer.imports.records import (
    Item,
    Record,
    SkippedItem,
    Source,
    as_mapping,
    as_moment,
    as_text,
    make_key,
)

NOTE_ENDINGS = (".md", ".markdown")
_MAX_BYTES = 4 * MAX_TEXT_LENGTH
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$")
_CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`", re.DOTALL)
_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_TAG = re.compile(r"(?<![\w#/&])#([^\W\d_][\w/-]*)")
_EMBED = re.compile(r"!\[\[([^\]|#]+)[^\]]*\]\]|!\[[^\]]*\]\(([^)\s]+)[^)]*\)")
_ISO_DATE = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_DATE_FIELDS = ("date", "created", "created_at", "created at", "date created")
_OWN_NOTE = {"id", "space", "digest"}


class MarkdownFolder(Source):
    """The notes of a folder, or one note."""

    kind = "Markdown folder"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), 1 if path.is_file() else sum(len(names) for _, _, names in os.walk(path)))
        self._path = path

    def read(self) -> Iterator[Item]:
        """Yield the sections of each note, in the order of the paths."""
        if self._path.is_file():
            yield from self._note(self._path, self._path.name)
            return
        for parent, folders, names in os.walk(self._path):
            for hidden in (name for name in folders if name.startswith(".")):
                yield SkippedItem(self._relative(parent, hidden), "a hidden folder")
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                self._done += 1
                where, file = self._relative(parent, name), Path(parent, name)
                if name.startswith(".") or not name.lower().endswith(NOTE_ENDINGS):
                    yield SkippedItem(where, "a file that is not a Markdown note")
                elif file.is_symlink():
                    yield SkippedItem(where, "a link to another file")
                else:
                    yield from self._note(file, where)

    def _relative(self, parent: str, name: str) -> str:
        return Path(parent, name).relative_to(self._path).as_posix()

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
        yield from self.read_note(where, as_text(written), datetime.fromtimestamp(info.st_mtime, UTC))

    def read_note(self, where: str, written: str, changed_at: datetime) -> Iterator[Item]:
        """Yield the sections of a note, and what of it is left out."""
        fields, body = split_front_matter(written)
        if fields.keys() >= _OWN_NOTE:
            yield SkippedItem(
                where, "a note that Remanence wrote (space.upkeep.import_vault reads what was edited in it)"
            )
            return
        for embedded in _EMBED.finditer(body):
            yield SkippedItem(f"{where}: {embedded[1] or embedded[2]}", "an embedded file")
        title = as_text(str(fields.get("title") or "")).strip() or Path(where).stem
        at = self.date(fields, where, written) or changed_at
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
                    "source": where[-400:],
                    "tags": [*dict.fromkeys(tag[:200] for tag in tags)][:MAX_TAGS],
                    "meta": {name: value for name, value in fields.items() if name not in ("tags", "title")},
                },
            )
        if not found:
            yield SkippedItem(where, "a note without text")

    def date(self, fields: Mapping[str, Any], where: str, written: str) -> datetime | None:
        """The date of a note: that of its front matter, or the one in its file name, as daily notes have it."""
        named = {name.lower(): value for name, value in fields.items()}
        for name in _DATE_FIELDS:
            if at := as_moment(named.get(name)):
                return at
        return date_in_name(where)


def date_in_name(path: str) -> datetime | None:
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


RESERVED_NAMES = ("index.md", "log.md")
_CHECKED_FILES = 50
"""Notes of a folder that are looked at to find its format."""
# `generated: {by: …, at: …}` in one line, or with `at:` in one of the lines after it.
_GENERATED_AT = re.compile(r"^generated:[^\n]*(?:\n[ \t]+[^\n]*)*?[ \t{,]at:[ \t]*[\"']?([^\s,}\"']+)", re.MULTILINE)


def is_bundle(folder: Path) -> bool:
    """Whether a folder says that it is a bundle, or whether all its notes are concepts."""
    index = folder / "index.md"
    if index.is_file() and "okf_version" in _fields(index):
        return True
    notes = (file for ending in NOTE_ENDINGS for file in sorted(folder.rglob(f"*{ending}")))
    checked = [_fields(note) for note, _ in zip(_concepts(notes), range(_CHECKED_FILES), strict=False)]
    return bool(checked) and all("type" in fields for fields in checked)


class OkfBundle(MarkdownFolder):
    """The concepts of a bundle. A section of one is a memory, with what the front matter says."""

    kind = "Open Knowledge Format bundle"

    def check(self) -> None:
        """Refuse a bundle with a concept that has no type."""
        for file in _concepts(sorted(self._path.rglob("*.md"))):
            if not as_text(_fields(file).get("type")):
                raise InvalidInput(
                    f"{file}, line 1: a concept of the Open Knowledge Format begins with front matter that has a type. "
                    "Nothing was imported: add 'type: …', or give format='markdown'."
                )

    def read_note(self, where: str, written: str, changed_at: datetime) -> Iterator[Item]:
        """Yield what a concept says, unless it is deprecated."""
        fields, _ = split_front_matter(written)
        if Path(where).name in RESERVED_NAMES:
            yield SkippedItem(where, "an index or a log")
        elif fields.get("status") == "deprecated":
            yield SkippedItem(where, "a concept that is deprecated")
        else:
            yield from super().read_note(where, written, changed_at)

    def date(self, fields: Mapping[str, Any], where: str, written: str) -> datetime | None:
        """When the concept was written."""
        generated = _GENERATED_AT.search(written.partition("\n---")[0])
        at = as_mapping(fields.get("generated")).get("at") or (generated and generated[1]) or fields.get("timestamp")
        return as_moment(at)


def _concepts(files: Iterator[Path] | list[Path]) -> Iterator[Path]:
    return (file for file in files if file.name not in RESERVED_NAMES and not file.is_symlink())


def _fields(file: Path) -> dict[str, Any]:
    try:
        return split_front_matter(file.read_text("utf-8"))[0]
    except (UnicodeDecodeError, OSError):
        return {}


TEXT_ENDINGS = (".txt", ".text")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_ITEM = re.compile(r"[-*+•–][ \t]+|\d{1,3}[.)][ \t]+")


class TextFile(Source):
    """The paragraphs of a text file."""

    kind = "text file"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), 1)
        self._path = path
        try:
            self._written = as_text(path.read_bytes().decode("utf-8-sig")).replace("\r\n", "\n").strip()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from None

    def read(self) -> Iterator[Item]:
        """Yield the notes in the file, in order."""
        at = date_in_name(self._path.name) or datetime.fromtimestamp(self._path.stat().st_mtime, UTC)
        source = self._path.name[-400:]
        for text in dict.fromkeys(_notes(self._written)):
            if len(text) > MAX_TEXT_LENGTH:
                yield SkippedItem(truncate(text, 60), f"a paragraph of more than {MAX_TEXT_LENGTH:,} characters")
            else:
                key = make_key("text", source, content_digest(text))
                yield Record(key, {"text": text, "now": at, "source": source})
        if not self._written:
            yield SkippedItem(source, "a file without text")
        self._done = 1


def _notes(written: str) -> Iterator[str]:
    """The notes of a text."""
    paragraphs = _BLANK_LINES.split(written)
    for paragraph in paragraphs:
        lines = _joined(paragraph.split("\n"))
        is_list = len(paragraphs) == 1 or all(_ITEM.match(line) for line in lines)
        for note in lines if is_list else [paragraph]:
            if text := _ITEM.sub("", note, count=1).strip() if is_list else note.strip():
                yield text


def _joined(lines: list[str]) -> list[str]:
    """The lines, each with those that go on with it."""
    found: list[str] = []
    for line in lines:
        if found and (line[:1].isspace() or line[:1].islower()):
            found[-1] = f"{found[-1]} {line.strip()}"
        else:
            found.append(line.strip())
    return found
