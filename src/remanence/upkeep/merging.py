"""The memory that takes the place of several: what all of them say, and everything known of any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from remanence.core.identity import new_id
from remanence.core.index import Index
from remanence.errors import InvalidInput
from remanence.events import Remembered
from remanence.language.passages import split_passages
from remanence.language.text import text_hash
from remanence.schema import Mention, Window
from remanence.upkeep.memory_clusters import Cluster
from remanence.upkeep.merged_text import TextMerger, Wording, contains_name

if TYPE_CHECKING:
    from remanence.ports import Progress


@dataclass(frozen=True, slots=True)
class Merge:
    """A cluster, the version of a new memory that says what its memories say, and who worded it."""

    cluster: Cluster
    version: Remembered
    wording: Wording

    @property
    def text(self) -> str:
        """What the new memory says."""
        return self.version.text


def plan_merges(
    merger: TextMerger, index: Index, clusters: Sequence[Cluster], progress: Progress | None
) -> tuple[Merge, ...]:
    """For each of the clusters the memory that takes its place."""
    out: list[Merge] = []
    for cluster in clusters:
        out.append(_merging(merger, index, cluster))
        if progress is not None:
            progress(len(out), len(clusters))
    return tuple(out)


def _merging(writer: TextMerger, index: Index, cluster: Cluster) -> Merge:
    """The new memory: what all of them say, and everything that is known of any of them."""
    found = [index.latest_version(memory) for memory in cluster.memory_ids]
    versions = [version for version in found if version is not None]
    if len(versions) != len(found):
        raise InvalidInput(f"a memory of cluster {cluster.id} was erased meanwhile. Look for clusters again.")
    mentions = _every(version.mentions for version in versions)
    wording = writer.merge(cluster.texts, _names(mentions, cluster.texts))
    text = wording.text
    first = versions[0]
    identity = text_hash("|".join(("consolidated", *sorted(cluster.memory_ids)))).hex()
    number = index.catalog.with_identity(identity)
    ends = [version.expires_at for version in versions]
    version = Remembered(
        # One that was made of the same before, and undone, comes back.
        memory=new_id() if number is None else index.catalog.ids[number],
        text=text,
        identity=identity,
        content=text_hash(text).hex(),
        kind=first.kind if len({version.kind for version in versions}) == 1 else "semantic",
        valid=_whole([version.valid for version in versions]),
        importance=max(version.importance for version in versions),
        confidence=max(version.confidence for version in versions),
        strength=round(min(2.0, max(1 + cluster.cohesion / 2, *(i.strength for i in cluster.items))), 4),
        tags=_every(version.tags for version in versions),
        source=first.source if len({version.source for version in versions}) == 1 else None,
        observed_by=first.observed_by if len({version.observed_by for version in versions}) == 1 else None,
        expires_at=None if None in ends else max(end for end in ends if end is not None),
        mentions=mentions,
        triples=_every(version.triples for version in versions),
        times=_every(version.times for version in versions),
        passages=split_passages(text),
        meta=_written_by(wording),
    )
    return Merge(cluster, version, wording)


def _names(mentions: Sequence[Mention], texts: Sequence[str]) -> list[str]:
    """The names that stand in these texts as they are: not "Ann" where the text says "I"."""
    said = "\n".join(texts)
    return [mention.name for mention in mentions if contains_name(mention.name, said)]


def _written_by(wording: Wording) -> dict[str, Any]:
    """Who wrote a text, if a model was asked: its id and that of the prompt, as with facts that it finds."""
    told = {"by": wording.author, "model": wording.model, "prompt": wording.prompt, "problem": wording.problem}
    known = {name: value for name, value in told.items() if value is not None}
    return {} if known == {"by": "rules"} else {"merged": known}


def _every(parts: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(part for some in parts for part in some))


def _whole(windows: Sequence[Window]) -> Window:
    """From the earliest start that is known to the latest end, if all of them end."""
    bounded = [window for window in windows if window.has_bound]
    starts = [window.start for window in bounded if window.start is not None]
    ends: list[datetime | None] = [window.end for window in bounded]
    latest = max((end for end in ends if end is not None), default=None)
    return Window(min(starts, default=None), None if None in ends else latest)
