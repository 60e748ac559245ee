"""The formats that are tables of fields (`formats.txt`), and how their objects are taken apart."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

from remanence.index.engine.identity import content_digest
from remanence.transfer.imports.langgraph import stored_item
from remanence.transfer.imports.records import SkippedItem, as_list, as_mapping, as_text
from remanence.transfer.imports.tables import BadRow, Format, Row, shapes_of
from remanence.transfer.imports.whatsapp import whatsapp_rows

_DELIMITERS = ",;\t|"
_TEXT_COLUMNS = "text content memory message note fact body".split()
_TURN_COLUMNS = {"speaker", "author", "sender", "from", "role"}


def csv_rows(text: str) -> Iterator[tuple[int, Row | SkippedItem]]:
    """The rows of a file, each with the number of its last line, after the columns that are not read.

    Raises:
        BadRow: The header has no column with texts, or a row has another number of fields.
    """
    first_line = text.lstrip().partition("\n")[0]
    delimiter = max(_DELIMITERS, key=first_line.count)
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().lower().replace(" ", "_") for name in next(reader, [])]
        if not set(header) & set(_TEXT_COLUMNS):
            raise BadRow(f"none of the columns {header} is called {', '.join(_TEXT_COLUMNS)}", 1)
        turn, memory = shapes_of("csv")
        shape = turn if set(header) & _TURN_COLUMNS else memory
        for name in header:
            if name and name not in shape.names():
                yield 1, SkippedItem(name, "a column whose name is none of those that are read")
        for row in reader:
            if row and len(row) != len(header):
                raise BadRow(f"it has {len(row)} fields, and the header has {len(header)}", reader.line_num)
            if row:
                yield reader.line_num, dict(zip(header, row, strict=True)) | {shape.known_by: True}
    except csv.Error as error:
        raise BadRow(f"it is not CSV ({error})", reader.line_num) from error


_LISTS_OF_ZEP = ("edges", "nodes", "episodes", "messages")


def _zep_rows(found: Row) -> Iterator[Row]:
    """The edges, nodes, episodes and messages of a graph; edges with the names of their nodes."""
    nodes = [as_mapping(node) for node in as_list(found.get("nodes"))]
    names = {node.get("uuid"): node.get("name") for node in nodes}
    lists = [name for name in _LISTS_OF_ZEP if isinstance(found.get(name), list)]
    for row in (row for name in lists for row in found[name]) if lists else [found]:
        if not isinstance(row, Mapping):
            continue
        ends = {f"{end}_node_name": names.get(row.get(f"{end}_node_uuid")) for end in ("source", "target")}
        yield {**{name: value for name, value in ends.items() if value}, **row}


def _letta_rows(found: Row) -> Iterator[Row | SkippedItem]:
    """The memory blocks and messages of an agent file. Ids in it count from 0 in each file."""
    agents = [as_mapping(agent) for agent in as_list(found.get("agents")) or [found]]
    if not any("agent_type" in agent for agent in agents):
        return
    blocks = as_list(found.get("blocks")) or as_list(found.get("core_memory"))
    name = as_text(agents[0].get("name")) or "agent"
    for block in (as_mapping(block) for block in (*blocks, *as_list(agents[0].get("memory_blocks")))):
        label = as_text(block.get("label")) or "memory"
        yield {**block, "id": f"{name}/{label}", "agent": name, "tags": ["letta-block", label]}
    for agent in agents:
        name = as_text(agent.get("name")) or "agent"
        for message in (as_mapping(message) for message in as_list(agent.get("messages"))):
            role, text, at = as_text(message.get("role")), _letta_text(message), message.get("created_at")
            if role not in ("user", "assistant"):
                yield SkippedItem(f"{name}: {role or 'message'}", "a message of the system or of a tool")
            elif not text:
                yield SkippedItem(f"{name}: {role}", "a call of a tool, or an event")
            else:
                said_id = content_digest(name, role, at, text)
                yield {"id": said_id, "role": role, "said": text, "created_at": at, "agent": name}


def _letta_text(message: Row) -> str:
    """What was said. Older agents answer by a call of `send_message`, and users' messages are JSON."""
    for call in (as_mapping(call) for call in as_list(message.get("tool_calls"))):
        function = as_mapping(call.get("function"))
        if function.get("name") == "send_message":
            return as_text(_json_object(function.get("arguments")).get("message"))
    content = message.get("content") if message.get("content") is not None else message.get("text")
    parts = [as_mapping(part).get("text") for part in as_list(content)] or [content]
    text = "\n\n".join(part for part in map(as_text, parts) if part)
    wrapped = _json_object(text)
    if "type" in wrapped and "time" in wrapped:
        return as_text(wrapped.get("message")) if wrapped["type"] == "user_message" else ""
    return "" if as_list(message.get("tool_calls")) else text


def _json_object(text: object) -> Mapping[str, Any]:
    try:
        return as_mapping(json.loads(text)) if isinstance(text, str) and text.lstrip()[:1] == "{" else {}
    except (ValueError, RecursionError):
        return {}


def _hindsight_rows(found: Row) -> Iterator[Row | SkippedItem]:
    """The facts and chunks of a document of a transfer archive, or the items of `memories/list`."""
    if "facts" not in found:
        for item in map(as_mapping, as_list(found.get("items")) or [found]):
            if item.get("state") == "invalidated" and "fact_type" in item:
                yield SkippedItem(as_text(item.get("text")), "a fact that was withdrawn in Hindsight")
            else:
                yield item
        return
    document = as_text(found.get("id")) or "document"
    for number, fact in enumerate(map(as_mapping, as_list(found["facts"]))):
        yield {"document_id": document, "id": f"{document}:{number}", **fact, "created": found.get("created_at")}
    whole = [{"chunk_text": found.get("original_text"), "chunk_index": 0}]
    for chunk in map(as_mapping, as_list(found.get("chunks")) or whole):
        yield {
            "id": f"{document}:chunk:{chunk.get('chunk_index')}",
            "chunk_text": chunk.get("chunk_text") or "",
            "document_id": document,
            "created": found.get("created_at"),
            "tags": found.get("tags"),
        }


def _server_memory_rows(found: Row) -> Iterator[Row]:
    """An observation each, with the name of what it is about; or a relation as a sentence."""
    if found.get("type") == "entity":
        name = as_text(found.get("name"))
        for observation in map(as_text, as_list(found.get("observations"))):
            spoken = f"{_spoken(name)}: {observation}" if observation else ""
            yield {**found, "text": spoken, "entities": [_spoken(name)], "id": content_digest(name, observation)}
    else:
        parts = [as_text(found.get(name)) for name in ("from", "relationType", "to")]
        said = [_spoken(part) for part in parts]
        yield {**found, "text": " ".join(said) if all(parts) else "", "id": content_digest(*parts)} | dict(
            zip(("subject", "predicate", "object"), (said[0], parts[1], said[2]), strict=True)
        )


def _spoken(name: str) -> str:
    """A name without the underscores that the server asks for."""
    return name.replace("_", " ")


def _gemini_rows(found: Row) -> Iterator[Row | SkippedItem]:
    """The prompt and the answer of an activity. Takeout has no conversations: an activity is one of its own."""
    title, at = as_text(found.get("title")).strip(), found.get("time")
    html = "\n".join(as_text(as_mapping(item).get("html")) for item in as_list(found.get("safeHtmlItem"))).strip()
    prompt = title.removeprefix("Prompted ")
    if "Gemini" not in " ".join(map(str, (found.get("header"), *as_list(found.get("products"))))):
        yield SkippedItem(title, "an activity of another product")
    elif prompt == title and not html:  # in other languages the title is the prompt, and there is an answer
        yield SkippedItem(title, "an activity without a prompt")
    else:
        urls = [as_text(as_mapping(detail).get("url")) for detail in as_list(found.get("details"))]
        chat = next((url.rpartition("/")[2] for url in urls if "/app/" in url), str(at))
        for file in as_list(found.get("attachedFiles")):
            yield SkippedItem(str(file), "an attached file")
        common = {"title": title, "time": at, "chat": chat, "header": found.get("header")}
        yield {**common, "role": "user", "said": prompt}
        if html:
            yield {**common, "role": "assistant", "said": _text_of_html(html)}


class _TextOfHtml(HTMLParser):
    """Collects the text of HTML; blocks begin on a line of their own."""

    _BLOCKS = frozenset("p div br li ul ol pre tr table blockquote h1 h2 h3 h4 h5 h6 hr".split())

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in self._BLOCKS:
            self.parts.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _text_of_html(html: str) -> str:
    parser = _TextOfHtml()
    parser.feed(html)
    parser.close()
    lines = (line.strip() for line in "".join(parser.parts).split("\n"))
    return "\n".join(line for line in lines if line and line != "-")


def _langgraph_rows(found: Row) -> Iterable[Row]:
    return [as_mapping(item) for item in as_list(found.get("items"))] or [found]


FORMATS = (
    Format("zep", "Zep or Graphiti graph", rows=_zep_rows, sure=1),
    Format("letta", "Letta agent file", files=r"\.af$", rows=_letta_rows),
    Format("hindsight", "Hindsight export", files=r"(^|/)(documents/\d+|observations)\.json$", rows=_hindsight_rows),
    Format("server-memory", "MCP memory server file", rows=_server_memory_rows),
    Format("gemini", "Gemini export", files=r"(^|/)My ?Activity\.json$", rows=_gemini_rows),
    Format("langgraph", "LangGraph store", rows=_langgraph_rows, item=stored_item),
    Format("whatsapp", "WhatsApp chat", files=r"\.txt$", parse=whatsapp_rows),
    Format("csv", "CSV file", files=r"\.[ct]sv$", parse=csv_rows),
)


def is_known_row(found: Row) -> bool:
    """Whether an object of a JSON file is certainly of one of these formats."""
    return any(table.knows(found) for table in FORMATS)
