"""Markdown notes of a vault: file names, front matter, and whether a person has edited a note.

A note is front matter between two lines of `---`, followed by the text. Values are written as JSON, which is
valid YAML. The fields are read back in the forms in which an editor may rewrite them.
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
from remanence.text.front_matter import split_front_matter

MEMORY_FOLDER, ENTITY_FOLDER = "memories", "entities"
_MAX_NAME_BYTES = 120  # most file systems allow 255; the rest is for additions to the name
_UNSAFE = re.compile(r"[^\w \-.,'()&+@]", re.UNICODE)
_SPACES = re.compile(r"\s+")
_FENCE = "`{3,}|~{3,}"
_RESERVED = re.compile(r"^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Note:
    """A note: its path in the vault, its fields, its text."""

    path: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""

    @property
    def is_edited(self) -> bool:
        """Whether its text or tags differ from what was written."""
        return self.text_changed or self.tags_changed

    @property
    def text_changed(self) -> bool:
        return str(self.fields.get("digest", "")).partition("-")[0] != digest(self.body)

    @property
    def tags_changed(self) -> bool:
        return str(self.fields.get("digest", "")).partition("-")[2] != self._tags_digest

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, without the # that some editors put before them."""
        return self.tags_spelled_as(())

    def tags_spelled_as(self, known: Sequence[str]) -> tuple[str, ...]:
        """Its tags; those that are known, in their known spelling."""
        spelling = {_bare(tag): tag for tag in reversed(known)}
        tags = (tag if tag in known else spelling.get(_bare(tag), _bare(tag)) for tag in self._raw_tags)
        return tuple(dict.fromkeys(tag for tag in tags if tag))

    @property
    def _raw_tags(self) -> list[str]:
        tags = self.fields.get("tags") or []
        return [str(tag) for tag in (tags if isinstance(tags, list) else [tags])]

    @property
    def _tags_digest(self) -> str:
        """A digest of the tags that depends neither on their order nor on a # that an editor puts before them."""
        return digest("\n".join(sorted({_bare(tag) for tag in self._raw_tags})))

    def __str__(self) -> str:
        fields = {**self.fields, "digest": f"{digest(self.body)}-{self._tags_digest}"}
        # Templater runs what is in front matter, too.
        values = (
            (name, json.dumps(value, ensure_ascii=False).replace("<", r"\u003c")) for name, value in fields.items()
        )
        lines = (f"{name}: {value}" for name, value in values)
        return "\n".join(("---", *lines, "---", "", self.body, ""))


def to_inert(text: str) -> str:
    """A text of a memory, in which no editor runs anything: fenced blocks have the language `text` before their own
    (dataviewjs), and the marks of HTML, Templater (`<%`) and inline queries (`$=`) are written as entities.

    >>> print(to_inert("```dataviewjs\\napp.vault\\n```\\n<% tp.file %> `$= dv.pages()` a < b"))
    ```text dataviewjs
    app.vault
    ```
    &lt;% tp.file %> &#96;$= dv.pages()` a < b
    """
    text = re.sub(r"&(?=(?:amp|lt|#96);)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?%])", "&lt;", text)
    text = re.sub(r"(?<!`)`{1,2}(?=\s*\$?=)", lambda ticks: "&#96;" * len(ticks[0]), text)
    return re.sub(rf"({_FENCE})(?=[ \t]*[^\s`~])", r"\1text ", text)


def from_inert(body: str) -> str:
    """The text that `to_inert` was given."""
    body = re.sub(rf"({_FENCE})text (?=[ \t]*[^\s`~])", r"\1", body)
    return re.sub(r"&(amp|lt|#96);", lambda entity: {"amp": "&", "lt": "<", "#96": "`"}[entity[1]], body)


def digest(body: str) -> str:
    """A digest of a text that ignores the kind of line ends and blank lines around it."""
    return hashlib.blake2b(normalize_newlines(body).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _bare(tag: str) -> str:
    return tag.strip().lstrip("#")


def normalize_newlines(body: str) -> str:
    """A text with uniform line ends, and none around it."""
    return body.replace("\r\n", "\n").strip("\n").rstrip()


def parse(path: str, text: str) -> Note:
    """The note in a file; without front matter it has no fields."""
    fields, body = split_front_matter(text)
    return Note(path, fields, normalize_newlines(body))


def read(vault: Path, path: str) -> Note | None:
    """A note of a vault; None if there is no such file in its folder, or it is not UTF-8 text."""
    if not is_inside(vault, path):
        return None
    try:
        # Not read_text: it would turn carriage returns within a text into line ends.
        return parse(path, (vault / path).read_bytes().decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None


def is_inside(vault: Path, path: str) -> bool:
    """Whether a path leads to a place in the folder of the vault, and through no symbolic link on the way."""
    try:
        if not (vault / path).resolve().is_relative_to(vault.resolve()):
            return False
    except (OSError, RuntimeError):  # links in a circle
        return False
    names = Path(path).parts
    return not any(vault.joinpath(*names[: count + 1]).is_symlink() for count in range(len(names)))


def check_writable(vault: Path) -> None:
    nearest = next(folder for folder in (vault, *vault.parents) if folder.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise LedgerUnavailable(
            f"the vault {vault} cannot be written to: {nearest} is not a folder with write permission. "
            "Nothing was done. Name a folder that can be written to."
        )


def write(vault: Path, note: Note) -> None:
    target = vault / note.path
    part = target.with_name(f".{target.name}.part")
    if not is_inside(vault, str(Path(note.path).parent)):
        raise LedgerUnavailable(
            f"the note {note.path!r} was not written to the vault {vault}: a symbolic link is on the way, or it leads "
            "out of the vault. Remove the link, or name another folder."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)  # a file that a killed process left, or a link that leads elsewhere
        with part.open("xb") as file:
            file.write(str(note).encode())
        part.replace(target)
    except OSError as error:
        raise LedgerUnavailable(
            f"the note {note.path!r} cannot be written to the vault {vault}: {error.strerror}. "
            "Name a folder that can be written to."
        ) from error


def note_paths(vault: Path) -> Iterator[str]:
    """The paths of all notes in a vault, in order; hidden folders (`.obsidian`, `.trash`) are left out, and so are
    symbolic links: what they lead to is listed where it is, or is not in the vault."""
    return (path for path, is_link in _markdown_files(vault) if not is_link)


def linked_paths(vault: Path) -> Iterator[str]:
    """The paths of notes that are symbolic links."""
    return (path for path, is_link in _markdown_files(vault) if is_link)


def _markdown_files(vault: Path) -> Iterator[tuple[str, bool]]:
    """The paths of all notes, each with whether it is a symbolic link."""
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault)
        if (file.is_symlink() or file.is_file()) and not any(part.startswith(".") for part in path.parts):
            yield path.as_posix(), file.is_symlink()


def safe_name(name: str) -> str:
    """A safe file name for any name; different names get different file names."""
    safe = _SPACES.sub(" ", _UNSAFE.sub(" ", unicodedata.normalize("NFC", name))).strip(" .")
    safe = safe.encode()[:_MAX_NAME_BYTES].decode(errors="ignore").strip(" .")
    if safe and safe == name and not _RESERVED.match(safe):
        return safe
    suffix = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{safe} {suffix}".strip()


def wiki_link(file: str, label: str | None) -> str:
    """A link to a note. No character of the label can end the link."""
    text = file if label is None else _SPACES.sub(" ", re.sub(r"[\[\]|#^\n]", " ", label)).strip()
    return f"[[{file}]]" if text == file or not text else f"[[{file}|{text}]]"
