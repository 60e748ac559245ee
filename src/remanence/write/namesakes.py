"""Two people of one name among those somebody knows: "my brother Sam", and later "my friend Sam"."""

from __future__ import annotations

from dataclasses import replace

from remanence.core.index import Index
from remanence.language.claim_extraction.predicate_rules import exclude_each_other
from remanence.schema import SELF, Mention, Triple
from remanence.write.extract import PreparedVersion


def with_distinguished_people(index: Index, prepared: PreparedVersion) -> PreparedVersion:
    """The version; of a person whose name is already that of another, its claims name the relationship as well.

    Use it with the lock of the index.
    """
    version = prepared.version
    if not prepared.finds_names:
        return prepared
    for claim in version.triples:
        number = index.names.number(claim.subject) if claim.object == SELF else None
        if number is None or not _is_another(index, number, claim, prepared):
            continue
        name = f"my {claim.predicate.removesuffix('_of').replace('_', ' ')} {claim.subject}"
        triples = [replace(one, subject=name) if one.subject == claim.subject else one for one in version.triples]
        mentions = [Mention(name, one.kind) if one.name == claim.subject else one for one in version.mentions]
        version = replace(version, triples=tuple(triples), mentions=tuple(mentions))
    return prepared if version is prepared.version else prepared._replace(version=version)


def _is_another(index: Index, number: int, claim: Triple, prepared: PreparedVersion) -> bool:
    """Whether the known bearer of the name is something to the speaker that excludes this claim."""
    snapshot = index.snapshot(index.catalog.position, prepared.recorded_at)
    return any(
        relation.object == SELF and exclude_each_other(claim.predicate, relation.predicate)
        for relation in index.relations.relations_of(number, snapshot, direction="out")
    )
