"""LlamaIndex nodes and documents as memories, and back; and its metadata filters as filters of `recall`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.ingestion import run_transformations
from llama_index.core.schema import (
    BaseNode,
    Document,
    ImageNode,
    IndexNode,
    MetadataMode,
    Node,
    TextNode,
    TransformComponent,
)
from llama_index.core.settings import Settings
from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

import remanence
from remanence import InvalidInput, Memory, Space, View
from remanence.adapters import check_ids, document_row, stored_document

log = logging.getLogger(__name__)

_NODE_CLASSES: Mapping[str, type[BaseNode]] = {
    kind.class_name(): kind for kind in (TextNode, ImageNode, IndexNode, Node, Document)
}
_OPERATORS = {
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    FilterOperator.CONTAINS: "$contains",
    FilterOperator.TEXT_MATCH: "$contains",
}


def space_or_new(space: Space | None) -> Space:
    """The space for documents; a new one in memory if none is given, which is logged."""
    if space is None:
        log.warning(
            "no space was given: the documents are in memory, and gone with this process. To keep them: "
            "space=remanence.open('./memory'). To do without this line: space=remanence.open(None)."
        )
        return remanence.open(None)
    return space


def store_nodes(space: Space, nodes: Sequence[BaseNode], *, show_progress: bool = False) -> list[str]:
    """Store nodes, or new versions of those whose ids are known, and return their ids.

    The source of each memory is the node's `ref_doc_id`; that of a document is its own id.
    """
    space.add_many([_row(node) for node in nodes], progress=show_progress)
    return [node.node_id for node in nodes]


def store_documents(
    space: Space,
    documents: Sequence[Document],
    transformations: Sequence[TransformComponent] | None,
    *,
    show_progress: bool = False,
) -> list[str]:
    """Split documents into nodes, store these, and return their ids.

    Nodes that a document of the same id had before, and has no more, are forgotten.

    Args:
        transformations: How they are split; None for those of LlamaIndex's `Settings`.
        show_progress: Whether progress bars are shown.
    """
    steps = Settings.transformations if transformations is None else list(transformations)
    nodes = run_transformations(list(documents), steps, show_progress=show_progress)
    earlier = [memory for document in documents for memory in memories_of(space, document.node_id)]
    ids = store_nodes(space, nodes, show_progress=show_progress)
    kept = {(node.node_id, _source(node)) for node in nodes}
    gone = [memory for memory in earlier if (node_id(memory), memory.source) not in kept]
    space.forget_many(gone, why="its document was replaced")
    return ids


def memories_of(view: View, ref_doc_id: str) -> list[Memory]:
    """The memories of the nodes of a document.

    Raises:
        InvalidInput: `ref_doc_id` is no text. None, as the source of memories, would mean all of them.
    """
    if not isinstance(ref_doc_id, str):
        raise InvalidInput(
            f"ref_doc_id={ref_doc_id!r} is of type {type(ref_doc_id).__name__}, not the id of a document."
        )
    return [memory for memory in view.memories(source=ref_doc_id) if stored_document(memory) is not None]


def delete_nodes(space: Space, node_ids: Sequence[str]) -> int:
    """Forget these nodes, in every document that has them, and return how many there were."""
    check_ids(node_ids)
    wanted = set(node_ids)
    return space.forget_many([memory for memory in space.memories() if node_id(memory) in wanted])


def node_id(memory: Memory) -> str:
    """The id of a node; that of the memory if it is not a node."""
    stored = stored_document(memory)
    return memory.id if stored is None else stored.id


def stored_node(memory: Memory) -> BaseNode | None:
    """The node that a memory is, as it was given, or None if it is not a document."""
    stored = stored_document(memory)
    if stored is None:
        return None
    fields = dict(stored.details)
    kind = _NODE_CLASSES.get(fields.pop("class_name", ""), TextNode)
    fields |= {"id_": stored.id, "metadata": stored.metadata}
    if issubclass(kind, Node):
        fields["text_resource"] = {**(fields.get("text_resource") or {}), "text": stored.text}
    else:
        fields["text"] = stored.text
    return kind.from_dict(fields)


def as_recall_filter(filters: object) -> dict[str, Any] | None:
    """LlamaIndex's metadata filters, or a dict, as the `meta` of `recall`.

    Raises:
        InvalidInput: An operator cannot be translated.

    Example:
        >>> as_recall_filter(MetadataFilters(filters=[MetadataFilter(key="page", value=3, operator=">=")]))
        {'$and': [{'page': {'$gte': 3}}]}
    """
    if filters is None or isinstance(filters, dict):
        return filters
    if not isinstance(filters, MetadataFilters):
        raise InvalidInput(
            f"filters={filters!r} is of type {type(filters).__name__}. Give MetadataFilters, or a dict such as "
            "{'page': {'$gte': 3}}."
        )
    parts = [
        _condition(filter_) if isinstance(filter_, MetadataFilter) else as_recall_filter(filter_)
        for filter_ in filters.filters
    ]
    given = [part for part in parts if part]
    if not given:
        return None
    if filters.condition is FilterCondition.NOT:
        return {"$not": {"$or": given}}
    return {"$or" if filters.condition is FilterCondition.OR else "$and": given}


def _row(node: BaseNode) -> dict[str, Any]:
    if not isinstance(node, BaseNode):
        raise InvalidInput(f"{node!r} is of type {type(node).__name__}, not a node. Give nodes, or use from_documents.")
    fields = node.model_dump(mode="json", exclude={"id_", "embedding", "metadata", "text"})
    if fields.get("text_resource"):
        fields["text_resource"]["text"] = None
    text = node.get_content(metadata_mode=MetadataMode.NONE)
    # The same chunk may be in two documents, under one id if that is made of its text.
    return document_row(node.node_id, text, node.metadata, source=_source(node), details=fields, per_source=True)


def _source(node: BaseNode) -> str | None:
    """The id of the document that a node is a piece of; a document's own."""
    return node.ref_doc_id or (node.node_id if isinstance(node, Document) else None)


def _condition(given: MetadataFilter) -> dict[str, Any]:
    name, value = given.key, given.value
    if given.operator is FilterOperator.IS_EMPTY:
        return {name: {"$in": [None, "", []]}}
    if given.operator in (FilterOperator.ANY, FilterOperator.ALL):
        values = value if isinstance(value, list) else [value]
        parts = [{name: {"$contains": item}} for item in values]
        return {"$or" if given.operator is FilterOperator.ANY else "$and": parts}
    if given.operator not in _OPERATORS:
        raise InvalidInput(f"filters: the operator {given.operator.value!r} is not supported. Use 'text_match'.")
    return {name: {_OPERATORS[given.operator]: value}}
