"""Claims that are ended by another claim: "Stripe switched to MySQL" ends "uses PostgreSQL", and "Ana left IBM" ends
"works at IBM".

An event ends the states that it is the end of, with the same subject and object. A thing may use many others at a time,
so a later claim ends an earlier one only in two cases: the text says that the thing was switched or moved to something
else, or both name the same thing with another version ("PostgreSQL 16"). A switch ends the claims about what the text
names ("from PostgreSQL"), about things of the same kind (both are databases), or the only claim. It ends no claims
about people: who switched to decaf still uses a laptop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from remanence.core.index import Index
from remanence.events import Invalidated, Remembered
from remanence.graph.assertions import invalidation_events
from remanence.language.claim_extraction.predicate_rules import STATES_ENDED_BY_EVENT
from remanence.language.claim_extraction.state_changes import claims_ended_by
from remanence.language.lexicon.word_lists import load_tool_kinds, load_words
from remanence.language.text import normalize_name
from remanence.schema import SELF, Relation, Snapshot, Triple

SWITCH = "switched_to"
_TOOL_PREDICATES = load_words("tool_predicates")
_TOOL_KINDS = load_tool_kinds()
_VERSION = re.compile(r"(?P<name>.*\S) v?(?P<version>\d[\w.]*)")
BY = "rules"


def replaces_claims(version: Remembered) -> bool:
    """Whether a version may end claims of other memories."""
    return any(_may_replace(triple) or triple.predicate in STATES_ENDED_BY_EVENT for triple in version.triples)


def replacement_events(index: Index, versions: Iterable[tuple[Remembered, datetime]]) -> list[Invalidated]:
    """The events that end the claims which these versions replace.

    Each version comes with the moment when it is recorded. A version ends no claim of a more trusted memory, and none
    if its source is in quarantine. Use it with the lock of the index.
    """
    events: dict[str, Invalidated] = {}
    for version, recorded_at in versions:
        if index.journal.is_quarantined(version):
            continue
        snapshot = index.snapshot(index.catalog.position, recorded_at)
        begins = version.valid.start if version.valid.start is not None else recorded_at
        until = min(begins, recorded_at)  # "switched to MySQL, go-live in May" is known now
        ended = list(claims_ended_by(version.triples))
        for triple in filter(_may_replace, version.triples):
            replaced = _relations_replaced_by(index, snapshot, triple, version, until)
            ended += [
                Triple(replaced_claim.subject, replaced_claim.predicate, replaced_claim.object)
                for replaced_claim in replaced
            ]
        for claim in ended:
            for event in invalidation_events(index, snapshot, claim, until, version.text, BY):
                if version.trust >= index.relations.trust_of_edge(event.edge):
                    events[event.edge] = event
    return list(events.values())


def _may_replace(triple: Triple) -> bool:
    if triple.predicate == SWITCH:
        return True
    return triple.predicate in _TOOL_PREDICATES and _VERSION.fullmatch(triple.object) is not None


def _relations_replaced_by(
    index: Index, snapshot: Snapshot, triple: Triple, version: Remembered, until: datetime
) -> list[Relation]:
    number = index.names.number(triple.subject)
    if number is None or triple.subject == SELF or _is_person(index, number, version, triple.subject):
        return []
    relations = index.relations.relations_of(
        number, snapshot, at=until, predicates=sorted(_TOOL_PREDICATES), direction="out"
    )
    own = normalize_name(triple.object)
    others = [relation for relation in relations if normalize_name(relation.object) != own]
    versions = [relation for relation in others if _same_but_version(relation.object, triple.object)]
    if versions or triple.predicate != SWITCH:
        return versions
    return _relations_switched_from(others, triple.object, version.text)


def _is_person(index: Index, number: int, version: Remembered, name: str) -> bool:
    kinds = {mention.kind for mention in version.mentions if mention.name == name}
    return "person" in kinds or index.names.kinds[number] == "person"


def _same_but_version(one: str, other: str) -> bool:
    first, second = _VERSION.fullmatch(one), _VERSION.fullmatch(other)
    return first is not None and second is not None and normalize_name(first["name"]) == normalize_name(second["name"])


def _relations_switched_from(relations: list[Relation], new: str, text: str) -> list[Relation]:
    """The relations that a switch to something new ends."""
    named = [relation for relation in relations if _is_named(relation.object, text)]
    if named:
        return named
    kind = _kind_of(new)
    if kind is not None:
        same = [relation for relation in relations if _kind_of(relation.object) == kind]
        if same:
            return same
    unknown = [relation for relation in relations if kind is None or _kind_of(relation.object) is None]
    return unknown if len({normalize_name(relation.object) for relation in relations}) == 1 else []


def _is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _kind_of(tool: str) -> str | None:
    """The kind of a well-known tool: "database" for PostgreSQL 16; None if it is not known."""
    match = _VERSION.fullmatch(tool)
    return _TOOL_KINDS.get(normalize_name(match["name"] if match else tool))
