"""Erasing everything about one person or thing: what would go and why, and what went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from remanence.recall.profile import build_profile
from remanence.remember.subject import derived_from, erase_subject, find_subject
from remanence.schema import ErasureCertificate
from remanence.space.certificates import certify
from remanence.space.facets.proposal_facet import proposals_space
from remanence.text.text import pluralize
from remanence.upkeep.plans import ResultTable, TableResult
from remanence.upkeep.runs import vault_space

if TYPE_CHECKING:
    from remanence.index.engine.engine import Engine
    from remanence.recall.profile import Profile

_PROFILE_TOKENS = 100_000
"""Tokens of the profile whose lines are listed: enough for all of them."""


@dataclass(frozen=True, slots=True)
class SubjectMemory:
    """A memory about a subject.

    Attributes:
        id: Its id.
        space: Its space.
        text: Its last text.
        why: Why it is about the subject.
    """

    id: str
    space: str
    text: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubjectErasure(TableResult):
    """What is erased about a person or a thing, or would be. It prints as a table.

    Attributes:
        subject: The name.
        names: All names that were searched for.
        memories: The memories, each with the reasons.
        relations: Relations and links that somebody stated, as text.
        recalls: How many recorded recalls go because their question names it. Those that returned one of the memories
            go too, and are counted by the certificate.
        entity_entries: How many entries that register its names go.
        profile: Lines of the profile that quote these memories; they go with them. Only listed before.
        others: Names of others that contain one of its names. Their memories go only if they say that name, too.
        stays: What names it and stays, such as the reason of a forgetting.
        certificate: What was erased; None before.
    """

    subject: str
    names: tuple[str, ...]
    memories: tuple[SubjectMemory, ...]
    relations: tuple[str, ...] = ()
    recalls: int = 0
    entity_entries: int = 0
    profile: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    certificate: ErasureCertificate | None = None

    def __len__(self) -> int:
        return len(self.memories)

    @property
    def table(self) -> ResultTable:
        """The memories with the reasons."""
        verb = "would be erased" if self.certificate is None else "erased"
        title = f"{pluralize(len(self.memories), 'memory', 'memories')} about {self.subject!r} {verb}"
        notes = [f"searched for: {', '.join(self.names)}"]
        notes += [f"relation: {relation}" for relation in self.relations]
        notes += [f"profile: {line}" for line in self.profile]
        notes += [f"recorded recalls that ask about it: {self.recalls}"] if self.recalls else []
        notes += [f"entries that register its names: {self.entity_entries}"] if self.entity_entries else []
        notes += [f"others with such a name: {', '.join(self.others)}"] if self.others else []
        notes += [f"stays: {item}" for item in self.stays]
        notes += str(self.certificate).splitlines() if self.certificate else []
        rows = [(memory.id, memory.text, "; ".join(memory.why)) for memory in self.memories]
        return ResultTable(title, ("memory", "text", "why"), rows, notes)


def erase_about(
    engine: Engine, space: str, subject: str, names: list[str], *, dry_run: bool, left_out: int
) -> SubjectErasure:
    """Erase everything about a subject in these spaces; with `dry_run` only say what that is."""
    hidden = [each for name in names for each in (proposals_space(name), vault_space(name))]
    names = [*names, *(name for name in hidden if name not in names and engine.ledger.count(name))]
    found = {name: find_subject(engine, name, subject) for name in names}
    first = found[names[0]]
    memories: list[SubjectMemory] = []
    for name, entries in found.items():
        reasons = {
            id_: tuple(why if is_last else f"{why} (an earlier version)" for why, is_last in found_in.items())
            for id_, found_in in entries.reasons.items()
        }
        reasons |= dict.fromkeys(derived_from(engine, name, entries), ("a fact that was found only in these",))
        with engine.open_index(name) as index:
            versions = {id_: index.latest_version(id_) for id_ in reasons}
        memories += [
            SubjectMemory(id_, name, version.text, reasons[id_])
            for id_, version in versions.items()
            if version is not None
        ]
    stays = [item for entries in found.values() for item in entries.stays()]
    stays += [f"{pluralize(left_out, 'space')} below this one were not searched"] if left_out else []
    profile = _profile(engine, space) if dry_run and memories else None
    ids = {memory.id for memory in memories}
    lines = [] if profile is None else [each for each in profile.statements if not ids.isdisjoint(each.memories)]
    certificate = None
    if not dry_run:
        certificate = certify(engine, space, names, lambda name: erase_subject(engine, name, subject))
    return SubjectErasure(
        subject=first.subject.name,
        names=first.subject.names,
        memories=tuple(memories),
        relations=tuple(text for entries in found.values() for text in entries.edges.values()),
        recalls=sum(len(entries.recalls) for entries in found.values()),
        entity_entries=sum(len(some) for entries in found.values() for some in entries.entities.values()),
        profile=tuple(each.text for each in lines),
        others=first.subject.others,
        stays=tuple(stays),
        certificate=certificate,
    )


def _profile(engine: Engine, space: str) -> Profile:
    return build_profile(engine, space, lambda index: index.catalog.position, None, _PROFILE_TOKENS, None, None)
