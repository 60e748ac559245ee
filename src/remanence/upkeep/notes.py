"""Markdown notes of a vault: their names, their front matter, and whether a person has edited them.

A note is front matter between two lines of `---`, then the text. Values are written as JSON, which every
reader of YAML understands; read back are the few fields we wrote, also as an editor may have rewritten
them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remanence.errors import LedgerUnavailable

MEMORY_FOLDER, ENTITY_FOLDER = "memories", "entities"
_LONGEST_NAME = 120  # bytes: most file systems take 255, and half are for what is put around it
_UNSAFE = re.compile(r"[^\w \-.,'()&+@]", re.UNICODE)
_SPACES = re.compile(r"\s+")
_RESERVED = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_FIELD = re.compile(r"^([A-Za-z_]+):[ \t]*(.*)$")
_ITEM = re.compile(r"^[ \t]*-[ \t]+(.*)$")
_WIKI_LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]*))?\]\]")


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it is to be, or was, written: its place in the vault, its fields, its text."""

    path: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""

    @property
    def is_edited(self) -> bool:
        """Whether its text or its tags are not those that were written."""
        return self.text_changed or self.tags_changed

    @property
    def text_changed(self) -> bool:
        """Whether its text is not the one that was written."""
        return self._digests[0] != digest(self.body)

    @property
    def tags_changed(self) -> bool:
        """Whether its tags are not those that were written."""
        return self._digests[1] != _digest_of_tags(self._tags)

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, without the sign that some editors put before them."""
        return self.tags_spelled_as(())

    def tags_spelled_as(self, known: Sequence[str]) -> tuple[str, ...]:
        """Its tags, those that are known in the way they are.

        >>> Note("a.md", {"tags": ["todo", "#new"]}).tags_spelled_as(["#todo"])
        ('#todo', 'new')
        """
        same = {_bare(tag): tag for tag in reversed(known)}
        named = (tag if tag in known else same.get(_bare(tag), _bare(tag)) for tag in self._tags)
        return tuple(dict.fromkeys(tag for tag in named if tag))

    @property
    def _tags(self) -> list[str]:
        given = self.fields.get("tags") or []
        return [str(tag) for tag in (given if isinstance(given, list) else [given])]

    @property
    def _digests(self) -> tuple[str, str]:
        """What stands for the text and for the tags that were written."""
        text, _, tags = str(self.fields.get("digest", "")).partition("-")
        return text, tags

    def __str__(self) -> str:
        fields = {**self.fields, "digest": f"{digest(self.body)}-{_digest_of_tags(self._tags)}"}
        lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
        return "\n".join(("---", *lines, "---", "", self.body, ""))


def digest(body: str) -> str:
    """What stands for a text, whatever an editor does to line ends and blank lines around it."""
    return hashlib.blake2b(normalize_newlines(body).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _digest_of_tags(tags: Sequence[str]) -> str:
    """What stands for tags, in whatever order, and whether or not an editor puts a sign before them."""
    return digest("\n".join(sorted({_bare(tag) for tag in tags})))


def _bare(tag: str) -> str:
    return tag.strip().lstrip("#")


def parse(path: str, text: str) -> Note:
    """The note that a file holds; one without front matter has no fields.

    >>> parse("a.md", '---\\nid: "m1"\\ntags:\\n  - tea\\n---\\n\\nAlice.\\n')
    Note(path='a.md', fields={'id': 'm1', 'tags': ['tea']}, body='Alice.')
    """
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    if not text.startswith("---\n") or "\n---" not in text[3:]:
        return Note(path, {}, normalize_newlines(text))
    head, _, body = text[3:].partition("\n---")
    return Note(path, dict(_fields(head)), normalize_newlines(body.partition("\n")[2]))


def read(vault: Path, path: str) -> Note | None:
    """A note of a vault; None if there is no such file, or it is no text."""
    try:
        # Not read_text: it would make line ends of the carriage returns in a text.
        return parse(path, (vault / path).read_bytes().decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None


def check_writable(vault: Path) -> None:
    """Refuse a vault where no note can be written."""
    nearest = next(place for place in (vault, *vault.parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise LedgerUnavailable(
            f"the vault {vault} cannot be written to: {nearest} is a file or is not ours to write in. "
            "Nothing was done. Name a folder that can be written to."
        )


def write(vault: Path, note: Note) -> None:
    """Write a note, whole or not at all."""
    target = vault / note.path
    part = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(str(note).encode())
        part.replace(target)
    except OSError as error:
        raise LedgerUnavailable(
            f"the note {note.path!r} cannot be written to the vault {vault}: {error.strerror}. "
            "Name a folder that can be written to."
        ) from error


def note_paths(vault: Path) -> Iterator[str]:
    """Every note in a vault, in order; what editors hide (`.obsidian`, `.trash`) is left out."""
    for file in sorted(vault.rglob("*.md")):
        place = file.relative_to(vault)
        if file.is_file() and not any(part.startswith(".") for part in place.parts):
            yield place.as_posix()


def safe_name(name: str) -> str:
    """A file name for a name, whatever is in it; another one for another name.

    >>> safe_name("Alice"), safe_name("São José")
    ('Alice', 'São José')
    >>> safe_name("../../etc/passwd"), safe_name("CON")
    ('etc passwd 830a08e2', 'CON c1e04579')
    """
    form = unicodedata.normalize("NFC", name)
    out = _SPACES.sub(" ", _UNSAFE.sub(" ", form)).strip(" .")
    out = out.encode()[:_LONGEST_NAME].decode(errors="ignore").strip(" .")
    if out and out == name and not _RESERVED.match(out):
        return out
    mark = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{out} {mark}".strip()


def wiki_link(file: str, label: str | None = None) -> str:
    """A link to a note, that nothing in its name can end.

    >>> wiki_link("Alice"), wiki_link("etc passwd 1f", "../../etc|passwd]]")
    ('[[Alice]]', '[[etc passwd 1f|../../etc passwd]]')
    """
    words = file if label is None else _SPACES.sub(" ", re.sub(r"[\[\]|#^\n]", " ", label)).strip()
    return f"[[{file}]]" if words == file or not words else f"[[{file}|{words}]]"


def strip_links(text: str) -> str:
    """A text with its wiki links as plain words.

    >>> strip_links("[[Alice]] met [[people/bob|Bob]].")
    'Alice met Bob.'
    """
    return _WIKI_LINK.sub(lambda link: link[2] or link[1], text)


def _fields(head: str) -> Iterator[tuple[str, Any]]:
    name, items = "", []
    for line in head.split("\n"):
        if item := _ITEM.match(line):
            items.append(_value(item[1]))
        elif given := _FIELD.match(line):
            if items:
                yield name, items
            name, items = given[1], []
            if given[2].strip():
                yield name, _value(given[2])
    if items:
        yield name, items


def _value(written: str) -> Any:
    """A value as JSON, or as an editor writes it: bare words, or a list of them."""
    written = written.strip()
    try:
        return json.loads(written)
    except ValueError:
        if written.startswith("[") and written.endswith("]"):
            return [_value(part) for part in written[1:-1].split(",") if part.strip()]
        return written.strip("'\"")


def normalize_newlines(body: str) -> str:
    """A text with line ends of one sort, and none around it."""
    return body.replace("\r\n", "\n").strip("\n").rstrip()
