"""ChatGPT exports: `conversations.json`, or `conversations-000.json` and so on, in a zip file, a folder or alone.

Each conversation has its messages in a tree, `mapping`, and names the last one, `current_node`. Taken are what the user
wrote and what ChatGPT answered on the last branch, what the user told about themselves in the settings, and what
ChatGPT had noted in its own memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from remanence.admin.imports.chat_export import NO_TEXT, OTHER_BRANCH, ChatExport, last_branch
from remanence.admin.imports.json_files import JsonFiles
from remanence.admin.imports.records import Item, Record, SkippedItem, as_list, as_mapping, as_moment, as_text, make_key
from remanence.core.identity import content_digest

_CITATION = re.compile("\ue200[^\ue201]*\ue201|【[^】]*†[^】]*】")
_REASONING = ("thoughts", "reasoning_recap")
_SETTINGS = {"user_profile": "about_user_message", "user_instructions": "about_model_message"}
"""The custom instructions of a user: about themselves, and about the answers they want. Each has two names."""


class ChatGPTExport(ChatExport):
    """The conversations of a ChatGPT export."""

    kind = "ChatGPT export"
    file_pattern = re.compile(r"(?:^|/)conversations(?:-\d+)?\.json$")

    def __init__(self, files: JsonFiles, path: str, *, branches: bool = False, observed_by: str | None = None) -> None:
        super().__init__(files, path, branches=branches, observed_by=observed_by)
        self._settings: set[str] = set()

    def read_object(self, conversation: Mapping[str, Any], file: str) -> Iterator[Item]:
        """Yield the messages of a conversation."""
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
                yield item if is_wanted else SkippedItem(title, OTHER_BRANCH)

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
        text, other_parts = _content(content)
        hidden = metadata.get("is_visually_hidden_from_conversation") or message.get("weight") == 0
        recipient = message.get("recipient") or "all"
        key = make_key("chatgpt", chat, as_text(message.get("id")) or node)
        if role == "assistant" and recipient == "bio" and text:
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
                conversation = f"chatgpt:{chat}"
                about = {"content": text, "time": at, "conversation": conversation, "meta": {"title": title}}
                yield self.turn(key, role, on_branch=on_branch, **about)
            elif not other_parts:
                yield SkippedItem(title, NO_TEXT)

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


def _content(content: Mapping[str, Any]) -> tuple[str, list[str]]:
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
