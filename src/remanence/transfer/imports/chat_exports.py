"""Exports of ChatGPT and Claude: JSON files with conversations, in a zip file, a folder or alone."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from remanence.index.engine.identity import content_digest
from remanence.schema import EPOCH
from remanence.transfer.imports.files import DamagedFile, Files
from remanence.transfer.imports.records import (
    MAX_NAME_LENGTH,
    Item,
    Record,
    SkippedItem,
    Source,
    as_list,
    as_mapping,
    as_moment,
    as_text,
    make_key,
)

_OTHER_BRANCH = "a branch that was edited or answered again (branches=True, or --branches, takes it)"
_NO_TEXT = "a message without text"
_CITATION = re.compile("\ue200[^\ue201]*\ue201|【[^】]*†[^】]*】")
_REASONING = ("thoughts", "reasoning_recap")
_SETTINGS = {"user_profile": "about_user_message", "user_instructions": "about_model_message"}
"""The custom instructions of a user: about themselves, and about the answers they want. Each has two names."""
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


class ChatExport(Source):
    """The conversations of one person, read up to where a file is damaged.

    Args:
        path: The zip file, the folder or the JSON file.
        branches: Whether to take messages that were edited or answered again, too.
    """

    program: ClassVar[str]
    known_by: ClassVar[tuple[str, ...]]
    """The fields by which an object of such an export is recognized."""
    file_pattern: ClassVar[re.Pattern[str]]
    """The names of the files that are read, in a folder or a zip file."""

    def __init__(self, path: Path, *, branches: bool = False, observed_by: str | None = None) -> None:
        self.path = str(path)
        self.branches, self._user = branches, observed_by
        self._files = Files(path)
        self._names = self._files.select(self.file_pattern.search)
        self._done = 0

    def progress(self) -> tuple[int, int]:
        return self._done, len(self._names)

    def close(self) -> None:
        self._files.close()

    def read(self) -> Iterator[Item]:
        for number, name in enumerate(self._names):
            self._done = number
            try:
                for found in self._files.objects(name):
                    yield from self.read_object(found, name)
            except DamagedFile as error:
                yield SkippedItem(name, f"the rest of the file: {error}", is_damage=True)
        for name in self._files.names:
            if name not in self._names:
                yield SkippedItem(name, "a file that has no conversations")

    @abstractmethod
    def read_object(self, found: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield what one object of a file has."""

    def turn(
        self, ids: tuple[str, str], role: str, text: str, at: datetime | None, title: str, on_branch: bool
    ) -> Item:
        """A turn of the user or of the model; `ids` are those of the chat and of the message."""
        if not on_branch and not self.branches:
            return SkippedItem(title, _OTHER_BRANCH)
        conversation = f"{self.program}:{ids[0]}"
        fields = {"role": role, "content": text, "time": at, "conversation": conversation, "meta": {"title": title}}
        speaker = {"speaker": self._user} if role == "user" and self._user else {}
        other_branch = {} if on_branch else {"tags": ["other-branch"]}
        return Record(make_key(self.program, *ids), {**fields, **speaker, **other_branch}, is_turn=True)

    def memory(self, ids: tuple[str, ...], text: str, at: datetime | None, source: str, **fields: Any) -> Record:
        """A text that is no turn, such as what the program has noted about the user."""
        given = {"text": text, "now": at, "source": source[:MAX_NAME_LENGTH], **fields}
        return Record(make_key(self.program, *ids), given)


def last_branch(parents: Mapping[str, object], leaf: object, times: Mapping[str, datetime | None]) -> list[str]:
    """The ids of the last branch of a conversation, from the first message to the last one. Editing a question, or
    asking for another answer, begins a new branch: the messages are a tree.

    Args:
        parents: The parent of each message, in the order of the export.
        leaf: The id of the last message. If there is no such message, it is the newest one without a child.
        times: The times of the messages.
    """
    last: object = leaf if isinstance(leaf, str) and leaf in parents else None
    if last is None:
        with_children = {parent for parent in parents.values() if isinstance(parent, str)}
        order = count()
        ends = [(times.get(parent) or EPOCH, next(order), parent) for parent in parents if parent not in with_children]
        last = max(ends)[2] if ends else next(reversed([*parents]), None)
    path: dict[str, None] = {}
    while isinstance(last, str) and last in parents and last not in path:  # a damaged export may have a circle
        path[last] = None
        last = parents[last]
    return [*path][::-1]


class ChatGPTExport(ChatExport):
    """The conversations of a ChatGPT export: `conversations.json`, or `conversations-000.json` and so on.

    Each conversation has its messages in a tree, `mapping`, and names the last one, `current_node`. Taken are what the
    user wrote and what ChatGPT answered on the last branch, what the user told about themselves in the settings, and
    what ChatGPT had noted in its own memory.
    """

    kind, program = "ChatGPT export", "chatgpt"
    known_by = ("mapping",)
    file_pattern = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")

    def __init__(self, path: Path, **options: Any) -> None:
        super().__init__(path, **options)
        self._settings: set[str] = set()

    def read_object(self, conversation: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield the messages of a conversation."""
        if "mapping" not in conversation:
            yield SkippedItem(file, "a file of another program, or a damaged one: import it by itself")
            return
        nodes = {key: as_mapping(node) for key, node in as_mapping(conversation.get("mapping")).items()}
        title = as_text(conversation.get("title")) or "untitled"
        messages = {node_id: as_mapping(node.get("message")) for node_id, node in nodes.items()}
        times = {node_id: as_moment(message.get("create_time")) for node_id, message in messages.items()}
        parents = {node_id: node.get("parent") for node_id, node in nodes.items()}
        given_id = as_text(conversation.get("conversation_id")) or as_text(conversation.get("id"))
        chat = given_id or content_digest(title, [*nodes])
        path = dict.fromkeys(last_branch(parents, conversation.get("current_node"), times))
        at = as_moment(conversation.get("create_time"))
        for node_id in (*path, *(other for other in nodes if other not in path)):
            at = times[node_id] or at
            if messages[node_id]:  # the root of the tree has none
                yield from self._message(messages[node_id], (chat, node_id), at, title, node_id in path)

    def _message(
        self, message: Mapping[str, Any], ids: tuple[str, str], at: datetime | None, title: str, on_branch: bool
    ) -> Iterator[Item]:
        role = as_mapping(message.get("author")).get("role")
        content, metadata = as_mapping(message.get("content")), as_mapping(message.get("metadata"))
        content_type = content.get("content_type")
        if content_type == "user_editable_context" or metadata.get("is_user_system_message"):
            yield from self._own_settings(content, as_mapping(metadata.get("user_context_message_data")), at)
            return
        text, other_parts = _chatgpt_text(content)
        is_hidden = metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
        recipient = message.get("recipient") or "all"
        ids = ids[0], as_text(message.get("id")) or ids[1]
        if role == "assistant" and recipient == "bio" and text:
            yield self.memory(ids, text, at, f"chatgpt:{ids[0]}", tags=["chatgpt-memory"])
        elif role not in ("user", "assistant"):
            if text:
                yield SkippedItem(title, f"a message of the {'system' if role == 'system' else 'tools'}")
        elif content_type in _REASONING:
            yield SkippedItem(title, "reasoning of the model")
        elif is_hidden or recipient != "all":
            if text:
                yield SkippedItem(title, "a call of a tool, or a hidden message")
        else:
            for part in other_parts:
                yield SkippedItem(title, f"a part of a message that is not text ({part})")
            if text:
                yield self.turn(ids, role, text, at, title, on_branch)
            elif not other_parts:
                yield SkippedItem(title, _NO_TEXT)

    def _own_settings(self, content: Mapping[str, Any], data: Mapping[str, Any], at: datetime | None) -> Iterator[Item]:
        """The custom instructions of the user, which every conversation repeats."""
        for name, other_name in _SETTINGS.items():
            text = as_text(data.get(other_name)) or as_text(content.get(name))
            if text and text not in self._settings:
                self._settings.add(text)
                by_user = {"observed_by": self._user} if self._user else {}
                ids = name, content_digest(text)
                yield self.memory(ids, text, at, "chatgpt:settings", tags=["chatgpt-settings"], **by_user)


def _chatgpt_text(content: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and the names of its parts that are not text."""
    texts, others = list[str](), list[str]()
    for part in as_list(content.get("parts")) or [content]:
        # A part is a text, or an object: a transcript has a text, an image has none.
        found = as_text(part) or as_text(as_mapping(part).get("text"))
        if found:
            texts.append(found)
        elif as_mapping(part) and part is not content:
            others.append(str(as_mapping(part).get("content_type") or "unknown"))
    return as_text(_CITATION.sub("", "\n\n".join(texts)).strip()), others


class ClaudeExport(ChatExport):
    """A Claude export: `conversations.json`, `projects.json` and `memories.json`.

    Taken are what the user wrote and what Claude answered, texts that were pasted or attached, the instructions and
    documents of projects, and what Claude had noted in its own memory. The kind of an object follows from its fields.
    """

    kind, program = "Claude export", "claude"
    known_by = ("chat_messages", "conversations_memory", "project_memories", "prompt_template", "docs")
    file_pattern = re.compile(r"(?:^|/)(?:(?:conversations|projects|memories)(?:-\d+)?|projects/[^/]+)\.json$")

    def read_object(self, found: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield what a conversation, a project or the notes have."""
        if "chat_messages" in found:
            yield from self._conversation(found)
        elif "conversations_memory" in found or "project_memories" in found:
            account = as_text(found.get("account_uuid")) or "account"
            noted = {"conversations": found.get("conversations_memory"), **as_mapping(found.get("project_memories"))}
            for name, text in noted.items():
                if as_text(text):
                    ids = "memory", account, name
                    yield self.memory(ids, as_text(text), None, "claude:memory", tags=["claude-memory"])
        elif "docs" in found or "prompt_template" in found:
            yield from self._project(found)
        else:
            yield SkippedItem(file, "an object that is not a conversation, project or memory")

    def _conversation(self, conversation: Mapping[str, Any]) -> Iterator[Item]:
        title = as_text(conversation.get("name")) or "untitled"
        given = [as_mapping(message) for message in as_list(conversation.get("chat_messages"))]
        chat = as_text(conversation.get("uuid")) or content_digest(title, conversation.get("created_at"))
        messages = {as_text(message.get("uuid")) or f"{number}": message for number, message in enumerate(given)}
        times = {message_id: as_moment(message.get("created_at")) for message_id, message in messages.items()}
        parents = {message_id: message.get("parent_message_uuid") for message_id, message in messages.items()}
        has_tree = any(parent in messages for parent in parents.values())  # older exports have no parents
        leaf = conversation.get("current_leaf_message_uuid")
        path = {*last_branch(parents, leaf, times)} if has_tree else {*messages}
        at = as_moment(conversation.get("created_at"))
        for message_id, message in messages.items():
            at = times[message_id] or at
            yield from self._message(message, (chat, message_id), at, title, message_id in path)

    def _message(
        self, message: Mapping[str, Any], ids: tuple[str, str], at: datetime | None, title: str, on_branch: bool
    ) -> Iterator[Item]:
        role = _ROLES.get(str(message.get("sender")))
        text, other_blocks = _claude_text(message)
        attachments = [as_mapping(file) for file in as_list(message.get("attachments"))]
        for block in other_blocks:
            yield SkippedItem(title, f"a part of a message that is not text ({block})")
        if text and role:
            yield self.turn(ids, role, text, at, title, on_branch)
        elif text:
            yield SkippedItem(title, "a message of neither the user nor Claude")
        elif not attachments and not other_blocks:
            yield SkippedItem(title, _NO_TEXT)
        for number, file in enumerate(attachments if on_branch or self.branches else ()):
            name, pasted = as_text(file.get("file_name")), as_text(file.get("extracted_content"))
            if pasted:
                key = *ids, f"attachment {number}"
                yield self.memory(key, pasted, at, name or f"claude:{ids[0]}", meta={"title": title})
            else:
                yield SkippedItem(name or title, "an attachment without text")
        for file in map(as_mapping, as_list(message.get("files"))):
            yield SkippedItem(as_text(file.get("file_name")) or title, "a file, of which the export has the name only")

    def _project(self, project: Mapping[str, Any]) -> Iterator[Item]:
        name = as_text(project.get("name")) or "untitled"
        project_id = as_text(project.get("uuid")) or content_digest(name)
        at, meta = as_moment(project.get("created_at")), {"project": name}
        for field in ("description", "prompt_template"):
            if text := as_text(project.get(field)):
                ids = "project", project_id, field
                yield self.memory(ids, text, at, f"claude:project:{project_id}", meta=meta)
        for number, document in enumerate(map(as_mapping, as_list(project.get("docs")))):
            file = as_text(document.get("filename")) or name
            if text := as_text(document.get("content")):
                ids = "project", project_id, as_text(document.get("uuid")) or f"{number}"
                yield self.memory(ids, text, as_moment(document.get("created_at")) or at, file, meta=meta)
            else:
                yield SkippedItem(file, "a document without text")


def _claude_text(message: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and the types of its blocks that are not text."""
    blocks = [as_mapping(block) for block in as_list(message.get("content"))]
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    others = [str(block.get("type") or "unknown") for block in blocks if block.get("type") != "text"]
    # Beside blocks, `text` only repeats them, with words in place of what is not text.
    return ("\n\n".join(filter(None, texts)) if blocks else as_text(message.get("text"))), others
