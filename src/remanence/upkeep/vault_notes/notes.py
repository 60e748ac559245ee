"""Markdown notes of a vault: how one is written and read, whether a person has edited it, and its file.

A note is front matter between two lines of `---`, followed by the text. Values are written as JSON, which is
valid YAML. The fields are read back in the forms in which an editor may rewrite them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remanence.errors import LedgerUnavailable
from remanence.text.front_matter import split_front_matter

_FENCE = "`{3,}|~{3,}"


@dataclass(frozen=True, slots=True)
class Note:
    """A note: its path in the vault, its fields, its text. Its digest tells whether a person has edited it."""

    path: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: str = ""

    @property
    def is_edited(self) -> bool:
        """Whether its text or tags differ from what was written."""
        return self.text_changed or self.tags_changed

    @property
    def text_changed(self) -> bool:
        return str(self.fields.get("digest", "")).partition("-")[0] != _digest(self.body)

    @property
    def tags_changed(self) -> bool:
        return str(self.fields.get("digest", "")).partition("-")[2] != self._tags_digest

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, without the # that some editors put before them."""
        tags = self.fields.get("tags") or []
        bare = (bare_tag(str(tag)) for tag in (tags if isinstance(tags, list) else [tags]))
        return tuple(dict.fromkeys(tag for tag in bare if tag))

    @property
    def _tags_digest(self) -> str:
        return _digest("\n".join(sorted(self.tags)))

    def __str__(self) -> str:
        fields = {**self.fields, "digest": f"{_digest(self.body)}-{self._tags_digest}"}
        # Templater runs what is in front matter, too.
        values = {name: json.dumps(value, ensure_ascii=False).replace("<", r"\u003c") for name, value in fields.items()}
        return "\n".join(("---", *(f"{name}: {value}" for name, value in values.items()), "---", "", self.body, ""))


def bare_tag(tag: str) -> str:
    return tag.strip().lstrip("#")


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


def normalize_newlines(body: str) -> str:
    """A text with uniform line ends, and none around it."""
    return body.replace("\r\n", "\n").strip("\n").rstrip()


def parse(path: str, text: str) -> Note:
    """The note in a file; without front matter it has no fields."""
    fields, body = split_front_matter(text)
    return Note(path, fields, normalize_newlines(body))


def wiki_link(name: str) -> str:
    """A link to the note of this name, if a person writes one. No character of the name can end the link."""
    return f"[[{' '.join(re.sub(r'[][|#^]', ' ', name).split())}]]"


def markdown_files(vault: Path) -> Iterator[tuple[str, bool]]:
    """The paths of all notes in a vault, in order, each with whether it is a symbolic link: what such a link leads to
    is listed where it is, or is not in the vault. Hidden folders (`.obsidian`, `.trash`) are left out."""
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault)
        if (file.is_symlink() or file.is_file()) and not any(part.startswith(".") for part in path.parts):
            yield path.as_posix(), file.is_symlink()


def read(vault: Path, path: str) -> Note | None:
    """A note of a vault; None if there is no such file in its folder, or it is not UTF-8 text."""
    if not _is_inside(vault, path):
        return None
    try:
        # Not read_text: it would turn carriage returns within a text into line ends.
        return parse(path, (vault / path).read_bytes().decode("utf-8"))
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return None


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
    if not _is_inside(vault, str(Path(note.path).parent)):
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


def _is_inside(vault: Path, path: str) -> bool:
    """Whether a path leads to a place in the folder of the vault, and through no symbolic link on the way."""
    try:
        if not (vault / path).resolve().is_relative_to(vault.resolve()):
            return False
    except (OSError, RuntimeError):  # links in a circle
        return False
    names = Path(path).parts
    return not any(vault.joinpath(*names[: count + 1]).is_symlink() for count in range(len(names)))


def _digest(text: str) -> str:
    """A digest that ignores the kind of line ends and blank lines around a text."""
    return hashlib.blake2b(normalize_newlines(text).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
