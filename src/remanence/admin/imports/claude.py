"""Claude exports: `conversations.json`, `projects.json` and `memories.json` in a zip file, a folder or alone.

Taken are what the user wrote and what Claude answered, texts that were pasted or attached, the instructions and
documents of projects, and what Claude had noted in its own memory. The kind of an object follows from its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from remanence.admin.imports.chat_export import NO_TEXT, OTHER_BRANCH, ChatExport, last_branch
from remanence.admin.imports.records import Item, Record, SkippedItem, as_list, as_mapping, as_moment, as_text, make_key
from remanence.core.identity import content_digest

_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}
_MAX_SOURCE_LENGTH = 200


class ClaudeExport(ChatExport):
    """The conversations, projects and notes of a Claude export."""

    kind = "Claude export"
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
                yield SkippedItem(title, OTHER_BRANCH)
                continue
            role = _ROLES.get(str(message.get("sender")))
            text, other_blocks = _content(message)
            for block in other_blocks:
                yield SkippedItem(title, f"a part of a message that is not text ({block})")
            if text and role:
                about = {"content": text, "time": at, "conversation": f"claude:{chat}", "meta": {"title": title}}
                yield self.turn(
                    make_key("claude", chat, message_id), role, on_branch=message_id not in off_branch, **about
                )
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
                yield SkippedItem(title, NO_TEXT)

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


def _content(message: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The text of a message, and the types of its blocks that are not text."""
    blocks = [as_mapping(block) for block in as_list(message.get("content"))]
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    others = [str(block.get("type") or "unknown") for block in blocks if block.get("type") != "text"]
    # Beside blocks, `text` only repeats them, with words in place of what is not text.
    return ("\n\n".join(filter(None, texts)) if blocks else as_text(message.get("text"))), others
