"""The graph of the knowledge-graph memory server in a space: entities, observations and relations, by their names.

Each of them is a memory with a key, so that every deletion is a forgetting that can be undone, `recall` finds them, and
a relation is one of the graph of the space. The exact names and texts are in the meta of the memory.

Other memories of the space are part of the graph, too: whom a memory mentions is an entity, its text an observation of
each of these, and a relation that holds now is a relation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remanence import InvalidInput, Memory, NotFound, Space
from remanence.adapters import current_moment
from remanence.service.endpoints.entity_operations import all_entities
from remanence.service.endpoints.graph_operations import all_relations

TAG = "knowledge-graph"
_META = "graph"
_SOURCE = "mcp"

EntityFields = dict[str, Any]
RelationFields = dict[str, str]


@dataclass(slots=True)
class _Graph:
    """All that is stored: entities by name with their memory, observations of each, relations with their memory.

    None for an entity or a relation that comes from other memories: it has no memory of its own.
    """

    entities: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    observations: dict[str, dict[str, str]] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], str | None] = field(default_factory=dict)

    def is_created(self, name: str) -> bool:
        """Whether `create_entities` made an entity with this name."""
        return self.entities.get(name, ("", None))[1] is not None

    def entity(self, name: str) -> EntityFields:
        return {
            "name": name,
            "entityType": self.entities[name][0],
            "observations": list(self.observations.get(name, {})),
        }


class KnowledgeGraph:
    """The graph in a space, with the operations of the knowledge-graph memory server.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     graph = KnowledgeGraph(space)
        ...     _ = graph.create_entities([{"name": "Ana", "entityType": "person", "observations": ["Drinks tea"]}])
        ...     graph.open_nodes(["Ana"])[0]
        [{'name': 'Ana', 'entityType': 'person', 'observations': ['Drinks tea']}]
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    def create_entities(self, entities: Iterable[Mapping[str, Any]]) -> list[EntityFields]:
        """Create entities; those whose name exists are left out. Returns the new ones."""
        graph, rows, new = self._read(), list[dict[str, Any]](), list[EntityFields]()
        for entity in entities:
            name, kind = _name(entity["name"]), str(entity["entityType"])
            if graph.is_created(name):
                continue
            graph.entities[name] = kind, ""
            observations = list(dict.fromkeys(entity.get("observations") or []))
            rows.append(_entity_row(name, kind))
            rows += [_observation_row(name, kind, text) for text in observations]
            new.append({"name": name, "entityType": kind, "observations": observations})
        self._space.add_many(rows)
        return new

    def create_relations(self, relations: Iterable[Mapping[str, str]]) -> list[RelationFields]:
        """Create relations; those that exist are left out. Returns the new ones.

        As in that server, the entities need not exist.
        """
        graph, new = self._read(), dict[tuple[str, str, str], None]()
        for relation in relations:
            key = _name(relation["from"]), _name(relation["to"]), relation["relationType"]
            if not key[2].strip():
                raise InvalidInput("relationType is blank. Name the relation in active voice, such as 'works_at'.")
            if key not in graph.relations:
                new[key] = None
        self._space.add_many([_relation_row(*key, graph) for key in new])
        return [_relation(key) for key in new]

    def add_observations(self, observations: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Add observations to entities that exist. Returns for each entity those that were new.

        Raises:
            NotFound: There is no entity with one of the names. Nothing is written then.
        """
        graph, rows, results = self._read(), list[dict[str, Any]](), list[dict[str, Any]]()
        for given in observations:
            name = given["entityName"]
            if name not in graph.entities:
                raise NotFound(f"Entity with name {name} not found. Create it first, or give a name as it was created.")
            known = graph.observations.setdefault(name, {})
            added = [text for text in dict.fromkeys(given["contents"]) if text not in known]
            known.update(dict.fromkeys(added, ""))
            rows += [_observation_row(name, graph.entities[name][0], text) for text in added]
            results.append({"entityName": name, "addedObservations": added})
        self._space.add_many(rows)
        return results

    def delete_entities(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Forget entities, with their observations and relations. Returns those that were there, and those not."""
        graph, given = self._read(), set(names)
        found = [name for name in dict.fromkeys(names) if name in graph.entities]
        ids = [graph.entities[name][1] for name in found]
        ids += [memory for name in found for memory in graph.observations.get(name, {}).values()]
        ids += [memory for (a, b, _), memory in graph.relations.items() if a in given or b in given]
        self._space.forget_many(list(dict.fromkeys(filter(None, ids))), why="the entity was deleted")
        return found, [name for name in dict.fromkeys(names) if name not in graph.entities]

    def delete_observations(self, deletions: Iterable[Mapping[str, Any]]) -> tuple[int, list[str]]:
        """Forget observations. Returns how many were there, and the entities that do not exist."""
        graph, ids, missing = self._read(), dict[str, None](), list[str]()
        for deletion in deletions:
            name = deletion["entityName"]
            if name not in graph.entities:
                missing.append(name)
            known = graph.observations.get(name, {})
            ids.update({known[text]: None for text in deletion["observations"] if text in known})
        self._space.forget_many(ids, why="the observation was deleted")
        return len(ids), missing

    def delete_relations(self, relations: Iterable[Mapping[str, str]]) -> int:
        """Forget relations; those that come from other memories end now. Returns how many were there."""
        graph = self._read()
        given = dict.fromkeys((relation["from"], relation["to"], relation["relationType"]) for relation in relations)
        keys = [key for key in given if key in graph.relations]
        ids = [memory for key in keys if (memory := graph.relations[key]) is not None]
        self._space.forget_many(ids, why="the relation was deleted")
        for subject, object_, predicate in (key for key in keys if graph.relations[key] is None):
            self._space.graph.invalidate(subject, predicate, object_, observed_by=_SOURCE)
        return len(keys)

    def read(self) -> tuple[list[EntityFields], list[RelationFields]]:
        """All entities and relations, in the order in which they were created."""
        graph = self._read()
        return [graph.entity(name) for name in graph.entities], [_relation(key) for key in graph.relations]

    def search_nodes(self, query: str) -> tuple[list[EntityFields], list[RelationFields]]:
        """The entities that have the query in their name, type or an observation, and their relations.

        If there are none, those that a recall of the query finds.
        """
        graph, wanted = self._read(), query.lower()
        names = [
            name
            for name, (kind, _) in graph.entities.items()
            if any(wanted in text.lower() for text in (name, kind, *graph.observations.get(name, {})))
        ]
        if not names and query.strip():
            hits = self._space.recall(query, limit=10).relevant
            found = (name for hit in hits for name in _entities_of(hit.memory))
            names = [name for name in dict.fromkeys(found) if name in graph.entities]
        return self._part(graph, names)

    def open_nodes(self, names: Sequence[str]) -> tuple[list[EntityFields], list[RelationFields]]:
        """The entities with these names, and their relations."""
        graph = self._read()
        return self._part(graph, [name for name in graph.entities if name in set(names)])

    def import_file(self, path: str | Path) -> int:
        """Store the graph in a JSON-lines file of the knowledge-graph memory server. Returns the number of its lines.

        Raises:
            InvalidInput: The file cannot be read, or a line is not valid. Nothing is written then.
        """
        file = Path(path).expanduser()
        try:
            lines = [line for line in file.read_text("utf-8").split("\n") if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{file} cannot be read: {error}.") from None
        entities: list[Mapping[str, Any]] = []
        relations: list[Mapping[str, str]] = []
        for number, line in enumerate(lines, 1):
            fields = _line(line, f"{file}, line {number}")
            (entities if fields["type"] == "entity" else relations).append(fields)
        self.create_entities(entities)
        self.create_relations(relations)
        return len(lines)

    def import_once(self, path: str | Path) -> int:
        """`import_file`, if the file exists and nothing of this graph was ever stored here; else 0."""
        ever = any(True for status in (None, "forgotten") for _ in self._space.memories(status, tags=TAG))
        return 0 if ever or not Path(path).expanduser().is_file() else self.import_file(path)

    def _part(self, graph: _Graph, names: Sequence[str]) -> tuple[list[EntityFields], list[RelationFields]]:
        chosen = set(names)
        relations = [_relation(key) for key in graph.relations if key[0] in chosen or key[1] in chosen]
        return [graph.entity(name) for name in names], relations

    def _read(self) -> _Graph:
        graph, others = _Graph(), list[Memory]()
        for memory in self._space.memories():
            fields = memory.meta.get(_META) if TAG in memory.tags else None
            if not isinstance(fields, dict):
                others.append(memory)
            elif "relation" in fields:
                graph.relations[tuple(fields["relation"])] = memory.id
            elif "observation" in fields:
                graph.observations.setdefault(fields["entity"], {})[fields["observation"]] = memory.id
            elif "entity" in fields:
                graph.entities[fields["entity"]] = fields["type"], memory.id
        if others:
            self._add_memories(graph, others)
        return graph

    def _add_memories(self, graph: _Graph, memories: Iterable[Memory]) -> None:
        """Add entities and relations from memories that were not stored by these operations."""
        # An alias counts as the main name, so that one entity is one node.
        names = {name: entity.name for entity in all_entities(self._space) for name in entity.names}
        created = set(graph.relations.values())
        for memory in memories:
            for mention in memory.mentions:
                name = names.get(mention.name, mention.name)
                graph.entities.setdefault(name, (mention.kind, None))
                graph.observations.setdefault(name, {}).setdefault(memory.text, memory.id)
        now = current_moment(self._space)
        for relation in all_relations(self._space):
            ended = relation.valid.end is not None and relation.valid.end <= now
            ends = relation.subject, relation.object
            if not ended and created.isdisjoint(relation.evidence) and graph.entities.keys() >= set(ends):
                graph.relations.setdefault((*ends, relation.predicate), None)


def _entities_of(memory: Memory) -> list[str]:
    fields = memory.meta.get(_META)
    if not isinstance(fields, dict):
        return [mention.name for mention in memory.mentions]
    return [fields["entity"]] if "entity" in fields else fields["relation"][:1]


def _relation(key: tuple[str, str, str]) -> RelationFields:
    return {"from": key[0], "to": key[1], "relationType": key[2]}


def _entity_row(name: str, kind: str) -> dict[str, Any]:
    text = f"{name} ({kind})" if kind.strip() else name
    return _row(["entity", name], text, [(name, kind.strip() or "thing")], {"entity": name, "type": kind})


def _observation_row(name: str, kind: str, text: str) -> dict[str, Any]:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"an observation of {name!r} is blank. Leave it out, or say what was observed.")
    meta = {"entity": name, "observation": text}
    sentence = text if name.casefold() in text.casefold() else f"{name}: {text}"  # recall shows it without its entity
    return _row(["observation", name, text], sentence, [(name, kind.strip() or "thing")], meta)


def _relation_row(source: str, target: str, kind: str, graph: _Graph) -> dict[str, Any]:
    mentions = [(name, graph.entities.get(name, ("",))[0].strip() or "thing") for name in (source, target)]
    row = _row(
        ["relation", source, target, kind], f"{source} {kind} {target}", mentions, {"relation": [source, target, kind]}
    )
    return row | {"triples": [(source, kind, target)]}


def _row(identity: list[str], text: str, entities: list[tuple[str, str]], meta: dict[str, Any]) -> dict[str, Any]:
    digest = hashlib.blake2b(json.dumps(identity).encode(), digest_size=16).hexdigest()
    fixed = {"tags": TAG, "source": _SOURCE, "kind": "semantic", "triples": ()}
    return {"text": text, "key": f"graph:{digest}", "entities": entities, "meta": {_META: meta}, **fixed}


def _name(name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"the name {name!r} of an entity is blank. Give it a name.")
    return name


def _line(line: str, where: str) -> dict[str, Any]:
    try:
        fields: Any = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"{where} is not JSON: {error}.") from None
    needed = {"entity": ("name", "entityType", "observations"), "relation": ("from", "to", "relationType")}
    kind = fields.get("type") if isinstance(fields, dict) else None
    if kind not in needed or not all(name in fields for name in needed[kind]):
        raise InvalidInput(f"{where} is neither an entity nor a relation of the knowledge-graph memory server.")
    return dict(fields)
