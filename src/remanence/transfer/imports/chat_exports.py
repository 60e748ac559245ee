"""Exports of ChatGPT and Claude: JSON files with conversations, in a zip file, a folder or alone."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from typing import Any, ClassVar

from remanence.index.engine.identity import content_digest
from remanence.schema import EPOCH
from remanence.transfer.imports.json_files import DamagedFile, FilesSource, JsonFiles
from remanence.transfer.imports.records import (
    Item,
    Record,
    SkippedItem,
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
_MAX_SOURCE_LENGTH = 200
"""Characters of the source of an imported memory."""


class ChatExport(FilesSource):
    """The conversations of one person.

    Args:
        files: The files of the export.
        path: Where they are, for messages.
        branches: Whether to take messages that were edited or answered again, too.
        observed_by: The name of the user.
    """

    program: ClassVar[str]
    other_files = "a file that has no conversations"

    def __init__(self, files: JsonFiles, path: str, *, branches: bool = False, observed_by: str | None = None) -> None:
        super().__init__(files, path)
        self.branches = branches
        self._user = observed_by

    def read_file(self, name: str) -> Iterator[Item]:
        """Yield what a file has, up to where it is damaged."""
        try:
            for found in self._files.objects(name):
                yield from self.read_object(found, name)
        except DamagedFile as error:
            yield SkippedItem(name, f"the rest of the file: {error}", is_damage=True)

    @abstractmethod
    def read_object(self, found: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield what one object of a file has."""

    def turn(
        self, chat: str, message: str, role: str, text: str, at: datetime | None, title: str, *, on_branch: bool
    ) -> Record:
        """A turn of the user or of the model."""
        conversation = f"{self.program}:{chat}"
        fields: dict[str, Any] = {
            "role": role,
            "content": text,
            "time": at,
            "conversation": conversation,
            "meta": {"title": title},
        }
        if role == "user" and self._user:
            fields["speaker"] = self._user
        if not on_branch:
            fields["tags"] = ["other-branch"]
        return Record(make_key(self.program, chat, message), fields, is_turn=True)

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


class ChatGPTExport(ChatExport):
    """The conversations of a ChatGPT export: `conversations.json`, or `conversations-000.json` and so on.

    Each conversation has its messages in a tree, `mapping`, and names the last one, `current_node`. Taken are what the
    user wrote and what ChatGPT answered on the last branch, what the user told about themselves in the settings, and
    what ChatGPT had noted in its own memory.
    """

    kind, program = "ChatGPT export", "chatgpt"
    file_pattern = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")

    def __init__(self, files: JsonFiles, path: str, *, branches: bool = False, observed_by: str | None = None) -> None:
        super().__init__(files, path, branches=branches, observed_by=observed_by)
        self._settings: set[str] = set()

    def read_object(self, conversation: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield the messages of a conversation."""
        if "mapping" not in conversation:
            yield SkippedItem(file, "a file of another program, or a damaged one: import it by itself")
            return
        nodes = {key: as_mapping(node) for key, node in as_mapping(conversation.get("mapping")).items()}
        title = as_text(conversation.get("title")) or "untitled"
        if not nodes:
            yield SkippedItem(f"{file}: {title}", "a conversation without messages")
            return
        messages = {node_id: as_mapping(node.get("message")) for node_id, node in nodes.items()}
        times = {node_id: as_moment(message.get("create_time")) for node_id, message in messages.items()}
        parents = {
            node_id: node["parent"] if isinstance(node.get("parent"), str) else None for node_id, node in nodes.items()
        }
        chat = (
            as_text(conversation.get("conversation_id"))
            or as_text(conversation.get("id"))
            or content_digest(title, [*nodes])
        )
        path = last_branch(parents, conversation.get("current_node"), times)
        on_branch = set(path)
        at = as_moment(conversation.get("create_time"))
        for current_id in (*path, *(other for other in nodes if other not in on_branch)):
            at = times[current_id] or at
            if not messages[current_id]:
                continue  # the root of the tree
            for item in self._message(
                messages[current_id], (chat, current_id, title), at, on_branch=current_id in on_branch
            ):
                is_wanted = isinstance(item, SkippedItem) or current_id in on_branch or self.branches
                yield item if is_wanted else SkippedItem(title, _OTHER_BRANCH)

    def _message(
        self, message: Mapping[str, Any], ids: tuple[str, str, str], at: datetime | None, *, on_branch: bool
    ) -> Iterator[Item]:
        chat, node, title = ids
        role = as_mapping(message.get("author")).get("role")
        content, metadata = as_mapping(message.get("content")), as_mapping(message.get("metadata"))
        content_type = content.get("content_type")
        if content_type == "user_editable_context" or metadata.get("is_user_system_message"):
            yield from self._own_settings(content, metadata, at)
            return
        text, other_parts = _chatgpt_text(content)
        hidden = metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
        recipient = message.get("recipient") or "all"
        message_id = as_text(message.get("id")) or node
        if role == "assistant" and recipient == "bio" and text:
            key = make_key("chatgpt", chat, message_id)
            yield Record(key, {"text": text, "now": at, "source": f"chatgpt:{chat}", "tags": ["chatgpt-memory"]})
        elif role not in ("user", "assistant"):
            if text:
                yield SkippedItem(title, f"a message of the {'system' if role == 'system' else 'tools'}")
        elif hidden or recipient != "all" or content_type in _REASONING:
            if text or content_type in _REASONING:
                why = (
                    "reasoning of the model" if content_type in _REASONING else "a call of a tool, or a hidden message"
                )
                yield SkippedItem(title, why)
        else:
            for part in other_parts:
                yield SkippedItem(title, f"a part of a message that is not text ({part})")
            if text:
                yield self.turn(chat, message_id, role, text, at, title, on_branch=on_branch)
            elif not other_parts:
                yield SkippedItem(title, _NO_TEXT)

    def _own_settings(
        self, content: Mapping[str, Any], metadata: Mapping[str, Any], at: datetime | None
    ) -> Iterator[Item]:
        """The custom instructions of the user, which every conversation repeats."""
        context_data = as_mapping(metadata.get("user_context_message_data"))
        for name, other_name in _SETTINGS.items():
            text = as_text(context_data.get(other_name)) or as_text(content.get(name))
            if text and text not in self._settings:
                self._settings.add(text)
                fields = {"text": text, "now": at, "source": "chatgpt:settings", "tags": ["chatgpt-settings"]}
                yield Record(make_key("chatgpt", name, content_digest(text)), fields | self.by_user())


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
    file_pattern = re.compile(r"(?:^|/)(?:(?:conversations|projects|memories)(?:-\d+)?|projects/[^/]+)\.json$")

    def read_object(self, json_object: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield what a conversation, a project or the notes have."""
        if "chat_messages" in json_object:
            yield from self._conversation(json_object)
        elif "conversations_memory" in json_object or "project_memories" in json_object:
            yield from self._memories(json_object)
        elif "docs" in json_object or "prompt_template" in json_object:
            yield from self._project(json_object)
        else:
            yield SkippedItem(file, "an object that is not a conversation, project or memory")

    def _conversation(self, conversation: Mapping[str, Any]) -> Iterator[Item]:
        title = as_text(conversation.get("name")) or "untitled"
        given = [as_mapping(message) for message in as_list(conversation.get("chat_messages"))]
        if not given:
            yield SkippedItem(title, "a conversation without messages")
            return
        chat = as_text(conversation.get("uuid")) or content_digest(title, conversation.get("created_at"))
        messages = {as_text(message.get("uuid")) or f"{number}": message for number, message in enumerate(given)}
        off_branch = _off_branch(messages, conversation.get("current_leaf_message_uuid"))
        at = as_moment(conversation.get("created_at"))
        for message_id, message in messages.items():
            at = as_moment(message.get("created_at")) or at
            if message_id in off_branch and not self.branches:
                yield SkippedItem(title, _OTHER_BRANCH)
                continue
            role = _ROLES.get(str(message.get("sender")))
            text, other_blocks = _claude_text(message)
            for block in other_blocks:
                yield SkippedItem(title, f"a part of a message that is not text ({block})")
            if text and role:
                yield self.turn(chat, message_id, role, text, at, title, on_branch=message_id not in off_branch)
            elif text:
                yield SkippedItem(title, "a message of neither the user nor Claude")
            attachments = [as_mapping(file) for file in as_list(message.get("attachments"))]
            for number, file in enumerate(attachments):
                if pasted := as_text(file.get("extracted_content")):
                    name = as_text(file.get("file_name"))[:_MAX_SOURCE_LENGTH]
                    fields = {"text": pasted, "now": at, "source": name or f"claude:{chat}", "meta": {"title": title}}
                    yield Record(make_key("claude", chat, message_id, f"attachment {number}"), fields)
                else:
                    yield SkippedItem(as_text(file.get("file_name")) or title, "an attachment without text")
            for file in (as_mapping(file) for file in as_list(message.get("files"))):
                yield SkippedItem(
                    as_text(file.get("file_name")) or title, "a file, of which the export has the name only"
                )
            if not text and not attachments and not other_blocks:
                yield SkippedItem(title, _NO_TEXT)

    def _project(self, project: Mapping[str, Any]) -> Iterator[Item]:
        name = as_text(project.get("name")) or "untitled"
        chat = as_text(project.get("uuid")) or content_digest(name)
        at, meta = as_moment(project.get("created_at")), {"project": name}
        for field in ("description", "prompt_template"):
            if text := as_text(project.get(field)):
                fields = {
                    "text": text,
                    "now": at,
                    "source": f"claude:project:{chat}"[:_MAX_SOURCE_LENGTH],
                    "meta": meta,
                }
                yield Record(make_key("claude", "project", chat, field), fields)
        for number, document in enumerate(map(as_mapping, as_list(project.get("docs")))):
            file = as_text(document.get("filename")) or name
            if text := as_text(document.get("content")):
                made = as_moment(document.get("created_at")) or at
                document_id = as_text(document.get("uuid")) or f"{number}"
                fields = {"text": text, "now": made, "source": file[:_MAX_SOURCE_LENGTH], "meta": meta}
                yield Record(make_key("claude", "project", chat, document_id), fields)
            else:
                yield SkippedItem(file, "a document without text")

    def _memories(self, found: Mapping[str, Any]) -> Iterator[Item]:
        account = as_text(found.get("account_uuid")) or "account"
        texts = {"conversations": found.get("conversations_memory"), **as_mapping(found.get("project_memories"))}
        for name, value in texts.items():
            if text := as_text(value):
                fields = {"text": text, "source": "claude:memory", "tags": ["claude-memory"]}
                yield Record(make_key("claude", "memory", account, str(name)), fields)


def _off_branch(messages: Mapping[str, Mapping[str, Any]], leaf: object) -> set[str]:
    """The messages that are not on the last branch. Older exports have no parents: all are on it."""
    parents = {message_id: message.get("parent_message_uuid") for message_id, message in messages.items()}
    if not any(parent in messages for parent in parents.values()):
        return set()
    times = {message_id: as_moment(message.get("created_at")) for message_id, message in messages.items()}
    return set(messages) - set(last_branch(parents, leaf, times))


def _claude_text(message: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and the types of its blocks that are not text."""
    blocks = [as_mapping(block) for block in as_list(message.get("content"))]
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    others = [str(block.get("type") or "unknown") for block in blocks if block.get("type") != "text"]
    # Beside blocks, `text` only repeats them, with words in place of what is not text.
    return ("\n\n".join(filter(None, texts)) if blocks else as_text(message.get("text"))), others
