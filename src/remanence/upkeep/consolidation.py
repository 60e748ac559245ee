"""Several memories that say the same, as one that says all of it.

The new memory takes the place of its sources: they step back, and are reached through its links. Nothing
is lost, and `undo` puts them forward again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from remanence.errors import InvalidInput
from remanence.events import Event, Linked, Ran, Remembered, Used
from remanence.index import Index
from remanence.model import LinkKind, Mention, Window
from remanence.passages import split
from remanence.remember import Prepared, new_id
from remanence.text import cut, many, text_hash
from remanence.upkeep import clusters
from remanence.upkeep.clusters import Cluster, Clusters
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.standing import Standing, unchanged
from remanence.upkeep.tables import table
from remanence.upkeep.wording import Wording, Writer, stands_in

if TYPE_CHECKING:
    from remanence.engine import Engine
    from remanence.ports import Progress

STEP, LINK_STEP = "consolidate", "link"
BY = "upkeep"
_BATCH = 200

Mode = Literal["merge", "link"]


@dataclass(frozen=True, slots=True)
class Merging:
    """A cluster, the version of a new memory that says what its memories say, and who worded it."""

    cluster: Cluster
    version: Remembered
    wording: Wording

    @property
    def text(self) -> str:
        """What the new memory says."""
        return self.version.text


@dataclass(frozen=True, slots=True)
class ConsolidationPlan:
    """Which memories become one, and in which words; or, in `link` mode, which are only tied together.

    It prints as a table; `space.upkeep.apply(plan)` does it.
    """

    mode: Mode
    merges: tuple[Merging, ...]
    links: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, int], ...]
    given: dict[str, Any]
    position: int
    looked: bool = False
    """Whether there was something new to look at. That it was looked at is written down even if nothing
    came of it, so that the next run need not look again."""
    run: str | None = None
    """The run that did this, once it was done."""

    def __len__(self) -> int:
        return len(self.merges) + len(self.links)

    def __iter__(self) -> Iterator[Merging]:
        return iter(self.merges)

    @property
    def retired(self) -> tuple[str, ...]:
        """The memories that step back."""
        return tuple(memory for merging in self.merges for memory in merging.cluster.memories)

    def __str__(self) -> str:
        if self.mode == "link":
            done = f"run {self.run} drew" if self.run else "would draw"
            return table(
                f"link: {done} {many(len(self.links), 'link')}", ("memory", "related to"), self.links
            )
        done = f"run {self.run} merged" if self.run else "would merge"
        title = f"consolidate: {done} {many(len(self.retired), 'memory', 'memories')} into {len(self.merges)}"
        rows = [
            (m.cluster.cohesion, len(m.cluster.items), _short(m.cluster.texts), m.text, m.wording.writer)
            for m in self.merges
        ]
        problems = dict.fromkeys(m.wording.problem for m in self.merges if m.wording.problem)
        out = [table(title, ("cohesion", "size", "memories", "become", "written by"), rows)]
        return "\n".join([*out, *(f"  the model {problem}, so the rules wrote" for problem in problems)])


def plan(
    engine: Engine,
    index: Index,
    there: Standing,
    settings: UpkeepSettings,
    mode: Mode,
    progress: Progress | None = None,
    *,
    chosen: Sequence[Cluster] | None = None,
    found: Clusters | None = None,
) -> ConsolidationPlan:
    """What to merge: the clusters that are alike enough and hold something new since the last run.

    What a run with the same settings has looked at and let be is let be again. `found` are the `news`, where
    they are known. `chosen` clusters are taken whatever is suggested for them.
    """
    looked = False
    if chosen is None:
        found = news(index, there, settings, mode, progress) if found is None else found
        looked = found.looked_at > 0
        chosen = [cluster for cluster in found if cluster.action == "merge"]
    wanted = list(chosen)
    lines = {item.memory.id: item.line for cluster in wanted for item in cluster.items}
    if sum(len(cluster.items) for cluster in wanted) != len(lines):
        raise InvalidInput("a memory is in two of the clusters given. Merge one of them, then look again.")
    if mode == "link":
        merges: tuple[Merging, ...] = ()
        links = tuple((first, other) for c in wanted for first, *others in [c.memories] for other in others)
    else:
        merges, links = _merges(Writer(engine.extractor), index, wanted, progress), ()
    given = _given(settings)
    return ConsolidationPlan(mode, merges, links, tuple(lines.items()), given, there.position, looked)


def news(
    index: Index, there: Standing, settings: UpkeepSettings, mode: Mode, progress: Progress | None = None
) -> Clusters:
    """The clusters that hold something which the last such run has not seen; `looked_at` counts that."""
    fresh = _fresh(index, there, STEP if mode == "merge" else LINK_STEP, _given(settings))
    similarity = settings.cluster_similarity
    found = clusters.find(index, there, settings, similarity=similarity, seeds=fresh, progress=progress)
    new = tuple(cluster for cluster in found if any(item.row in fresh for item in cluster.items))
    return replace(found, found=new, looked_at=len(fresh))


def write(
    engine: Engine, space: str, plan: ConsolidationPlan, run: str, progress: Progress | None = None
) -> None:
    """Do what the plan says, some clusters in each transaction."""
    if not plan.merges:
        _write_links(engine, space, plan, run)
        return
    lines = dict(plan.lines)
    for begin in range(0, len(plan.merges), _BATCH):
        some = plan.merges[begin : begin + _BATCH]

        def also(index: Index, ids: Sequence[str], some: Sequence[Merging] = some) -> list[Event]:
            sources = [memory for merging in some for memory in merging.cluster.memories]
            unchanged(index, {memory: lines[memory] for memory in sources}, plan.position)
            if list(ids) != [merging.version.memory for merging in some]:
                raise InvalidInput("somebody merged the same memories meanwhile. Make the plan anew.")
            ties = [tie for merging in some for tie in _ties(merging)]
            edges = tuple(tie.link for tie in ties)
            return [
                *ties,
                *(use for merging in some if (use := _carried(merging)) is not None),
                Ran(run, STEP, plan.position, plan.given, made=tuple(ids), used=tuple(sources), edges=edges),
            ]

        now = engine.now()
        engine.add(space, [Prepared(merging.version, now) for merging in some], also=also)
        if progress is not None:
            progress(begin + len(some), len(plan.merges))


def _write_links(engine: Engine, space: str, plan: ConsolidationPlan, run: str) -> None:
    def decide(index: Index) -> list[Event]:
        unchanged(index, dict(plan.lines), plan.position)
        ties = [_tie(a, "related_to", b, "they say nearly the same") for a, b in plan.links]
        edges = tuple(tie.link for tie in ties)
        step = LINK_STEP if plan.mode == "link" else STEP
        return [*ties, Ran(run, step, plan.position, plan.given, edges=edges)]

    engine.write(space, decide)


def _given(settings: UpkeepSettings) -> dict[str, Any]:
    """The settings by which a cluster is merged or not."""
    return {
        "similarity": settings.cluster_similarity,
        "cohesion": settings.merge_cohesion,
        "size": settings.cluster_size,
        "neighbours": settings.cluster_neighbours,
    }


def _fresh(index: Index, there: Standing, step: str, given: dict[str, Any]) -> set[int]:
    """The rows that the last such run has not seen. What it made itself it has."""
    last = index.usage.last_run(step, given)
    if last is None:
        return {item.row for item in there.items}
    seen = set(last.made)
    return {
        item.row
        for item in there.items
        if item.line > last.planned and not (item.memory.id in seen and item.line < last.line)
    }


def _merges(
    writer: Writer, index: Index, wanted: Sequence[Cluster], progress: Progress | None
) -> tuple[Merging, ...]:
    out: list[Merging] = []
    for cluster in wanted:
        out.append(_merging(writer, index, cluster))
        if progress is not None:
            progress(len(out), len(wanted))
    return tuple(out)


def _merging(writer: Writer, index: Index, cluster: Cluster) -> Merging:
    """The new memory: what all of them say, and everything that is known of any of them."""
    found = [index.version(memory) for memory in cluster.memories]
    versions = [version for version in found if version is not None]
    if len(versions) != len(found):
        raise InvalidInput(f"a memory of cluster {cluster.id} was erased meanwhile. Look for clusters again.")
    mentions = _every(version.mentions for version in versions)
    wording = writer.write(cluster.texts, _names(mentions, cluster.texts))
    text = wording.text
    first = versions[0]
    identity = text_hash("|".join(("consolidated", *sorted(cluster.memories)))).hex()
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
        passages=split(text),
        meta=_written_by(wording),
    )
    return Merging(cluster, version, wording)


def _names(mentions: Sequence[Mention], texts: Sequence[str]) -> list[str]:
    """The names that stand in these texts as they are: not "Ann" where the text says "I"."""
    said = "\n".join(texts)
    return [mention.name for mention in mentions if stands_in(mention.name, said)]


def _written_by(wording: Wording) -> dict[str, Any]:
    """Who wrote a text, if a model was asked: its id and that of the prompt, as with facts that it finds."""
    told = {"by": wording.by, "model": wording.model, "prompt": wording.prompt, "problem": wording.problem}
    known = {name: value for name, value in told.items() if value is not None}
    return {} if known == {"by": "rules"} else {"merged": known}


def _short(texts: Sequence[str]) -> str:
    return " | ".join(cut(text, 40) for text in texts)


def _every(parts: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(part for some in parts for part in some))


def _whole(windows: Sequence[Window]) -> Window:
    """From the earliest start that is known to the latest end, if all of them end."""
    bounded = [window for window in windows if window.bounded]
    starts = [window.start for window in bounded if window.start is not None]
    ends: list[datetime | None] = [window.end for window in bounded]
    latest = max((end for end in ends if end is not None), default=None)
    return Window(min(starts, default=None), None if None in ends else latest)


def _carried(merging: Merging) -> Used | None:
    """The uses of the sources are uses of what took their place."""
    times = sum(item.use.times for item in merging.cluster.items)
    return Used(merging.version.memory, times=times) if times else None


def _ties(merging: Merging) -> Iterator[Linked]:
    new, why = (
        merging.version.memory,
        f"merged by {merging.wording.writer}, cohesion {merging.cluster.cohesion:.2f}",
    )
    for source in merging.cluster.memories:
        yield _tie(new, "derived_from", source, why)
        yield _tie(new, "supersedes", source, why)


def _tie(source: str, kind: LinkKind, target: str, why: str) -> Linked:
    return Linked(new_id(), source, kind, target, observed_by=BY, why=why)
