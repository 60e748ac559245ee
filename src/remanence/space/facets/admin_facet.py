"""The class of `space.admin`: numbers, export, compaction and checks of a whole space."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal

from remanence.errors import InvalidInput
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.index.engine.inputs import Moment, progress_bar
from remanence.index.engine.rebuilding import check_index, rebuild_collection
from remanence.index.memory_cache import retry_if_erased
from remanence.recall.filters import row_filter
from remanence.recall.options import FilterOptions
from remanence.remember import remember
from remanence.schema import Memory
from remanence.space.facets.facet import Facet
from remanence.space.facets.proposal_facet import proposals_space
from remanence.text.temporal import parse_moment
from remanence.transfer.browse import (
    ORDERS,
    BrowseFilter,
    BrowseOrder,
    FilterValues,
    MemoryTable,
    browse,
    filter_values,
)
from remanence.transfer.compaction import CompactionReport, compact
from remanence.transfer.export_file import TransferReport, export
from remanence.transfer.overview import MAX_PAGE_SIZE, STATUSES, MemoryStatus, Stats, space_disk_usage

if TYPE_CHECKING:
    from remanence.ports import Progress
    from remanence.transfer.imports.importing import ImportReport
    from remanence.transfer.imports.records import ImportFormat


class AdminView(Facet):
    """What can be read about a whole space, as one view knows it."""

    @property
    def location(self) -> str | None:
        """The folder that this space is stored in, or the address of its database, without the password; None if it is
        in memory only."""
        return self._engine.location

    def stats(self) -> Stats:
        """This space in numbers: memories by status and kind, entities, relations, links, entries, disk use.

        Returns:
            The numbers. Printed, they are a table.
        """
        engine, embedder = self._engine, self._engine.embedder
        about = {
            "embedder": embedder.name,
            "dimension": embedder.dimension,
            "children": sum(name != self._space for name in self._listed_space_names()),
            "location": self.location,
            "disk": space_disk_usage(engine.folder, self._space),
        }
        return self._read_overview(lambda overview: overview.stats(engine.ledger, self._space, **about))

    def browse(
        self,
        status: MemoryStatus | Sequence[MemoryStatus] | None = None,
        *,
        kinds: str | Sequence[str] | None = None,
        tags: str | Sequence[str] | None = None,
        source: str | Sequence[str] | None = None,
        speaker: str | Sequence[str] | None = None,
        conversation: str | Sequence[str] | None = None,
        meta: Mapping[str, Any] | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        min_trust: str | float | None = None,
        max_trust: str | float | None = None,
        in_conflict: bool | None = None,
        order: BrowseOrder = "told",
        ascending: bool = False,
        offset: int = 0,
        limit: int = 50,
    ) -> MemoryTable:
        """A page of all memories as a table, hidden ones too: filtered, and sorted.

        Args:
            status: Only memories of this status, or of one of several: "current", "superseded", "expired", "archived",
                "forgotten", "quarantined". None lists all that are not erased.
            kinds: Only memories of these kinds. This and the following filters are as for `recall`.
            tags: Only memories with all of these tags.
            source: Only what comes from this source, or one of several.
            speaker: Only what this person said or saw, or one of several.
            conversation: Only turns of this conversation, or of one of several, and facts found in them.
            meta: Only memories whose `meta` match.
            since: Only memories told at this moment or later.
            until: Only memories told before this moment.
            min_trust: Only memories that are trusted this far.
            max_trust: Only memories that are trusted less than this.
            in_conflict: True for only those that cannot hold together with another one, False for only the others.
            order: By what to sort: "told", "recorded", "importance", "trust", "kind", "source" or "speaker".
            ascending: Whether the lowest comes first. Of equal ones, the newest does.
            offset: How many to leave out at the beginning.
            limit: How many to return at most, up to 1,000.
        """
        now, trust = self._now(), self._engine.trust
        if order not in ORDERS:
            raise InvalidInput(f"order={order!r} is none of {', '.join(ORDERS)}.")
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise InvalidInput(f"offset={offset!r} is not a whole number from 0 on.")
        options = FilterOptions(
            kinds=kinds,
            tags=tags,
            source=source,
            speaker=speaker,
            conversation=conversation,
            meta=meta,
            min_trust=min_trust,
        )
        filters = BrowseFilter(
            rows=row_filter(options, now, trust),
            statuses=inputs.check_names_among(status, STATUSES[:-1], "status"),
            since=None if since is None else parse_moment(since, now, argument="since"),
            until=None if until is None else parse_moment(until, now, argument="until"),
            max_trust=None if max_trust is None else trust.level(max_trust, "max_trust"),
            in_conflict=None if in_conflict is None else inputs.check_flag(in_conflict, "in_conflict"),
        )
        most = inputs.check_positive_int(limit, "limit", MAX_PAGE_SIZE)

        @retry_if_erased
        def read() -> MemoryTable:
            with self._snapshot() as (index, snapshot):
                return browse(index, snapshot, filters, order, ascending=ascending, offset=offset, limit=most)

        return read()

    def filter_values(self) -> FilterValues:
        """What the memories can be filtered by: statuses, kinds, tags, sources and speakers, each with its count.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("Alice drinks tea.", tags="food"), space.add("Bob runs.", source="letter")
            ...     values = space.admin.filter_values()
            ...     values.tags, values.sources, values.statuses
            ({'food': 1}, {'letter': 1}, {'current': 2})
        """
        with self._snapshot() as (index, snapshot):
            return filter_values(index, snapshot)

    astats = in_thread(stats)
    abrowse = in_thread(browse)
    afilter_values = in_thread(filter_values)

    def _unembedded(self) -> int:
        """How many texts have no vector yet; a part of `stats` that does not read all memories."""
        with self._engine.open_index(self._space) as index:
            return len(index.vectors.sync.missing_vectors)

    def _listed_space_names(self) -> list[str]:
        """The names of this space and of those below it, without those of proposals."""
        return [name for name in self._space_names() if name != proposals_space(name.rpartition("/")[0])]

    def _space_names(self) -> list[str]:
        """The names of this space and of those below it."""
        return self._engine.ledger.spaces(self._space)


class Admin(AdminView):
    """Maintenance of a whole space: check, compact, export, and read its texts again."""

    def check(self) -> dict[str, str]:
        """Compare each index with a fresh build from the ledger.

        Returns:
            What differs, by the name of the index; empty if all agree. `space.rebuild()` repairs it.
        """
        return check_index(self._engine, self._space)

    def rebuild_collection(self) -> str:
        """Rebuild the collection of a shared Qdrant with the settings that this space was opened with.

        All points are copied, those of other spaces and ledgers too. Others can read and write during the copy. Then
        the new collection replaces the old one in one step.

        Returns:
            The name of the new collection, which is behind the same alias as the old one.

        Raises:
            InvalidInput: The vectors are not on a Qdrant server.
            ProjectionError: The server failed. The old collection stays in use.
        """
        return rebuild_collection(self._engine)

    def compact(self, *, progress: bool | Progress = False) -> CompactionReport:
        """Free disk space. Ledger entries and answers stay the same.

        Rebuilds the indexes of this space and of those below it, deletes unused files and shrinks the ledger file.
        The index of more than 1,000 versions can be used meanwhile, and keeps its vectors as they are.

        Args:
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            The bytes on disk before and after, which indexes were rebuilt, and what was skipped.
        """
        with progress_bar(progress, "compacting") as report_progress:
            return compact(self._engine, self._space_names(), report_progress)

    def export(
        self, path: str | os.PathLike[str], *, children: bool = False, progress: bool | Progress = False
    ) -> TransferReport:
        """Write every ledger entry of this space to a file of JSON lines, for `remanence.restore`.

        The file contains all that was ever learned, also forgotten and superseded memories, with both clocks. Of
        an erased memory it contains only that it existed. The file appears when it is complete. If something is erased
        each time that it is written, it is at last written while all other writers of the ledger wait.

        Args:
            path: The file to write. A name that ends in .gz is compressed. A symbolic link is not followed.
            children: Also export the spaces below this one.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            How many entries were written, and of which spaces.

        Raises:
            InvalidInput: The file cannot be written.
        """
        spaces = [name for name in self._space_names() if children or name == self._space]
        target = inputs.check_unlinked_path(path, "path")
        with progress_bar(progress, "exporting") as report_progress:
            return export(self._engine, self._space, spaces, target, progress=report_progress)

    def import_from(
        self,
        source: str | os.PathLike[str],
        *,
        format: ImportFormat | None = None,
        user: str | None = None,
        users: Literal["separate", "together"] | None = None,
        branches: bool = False,
        observed_by: str | None = None,
        dry_run: bool = False,
        progress: bool | Progress = False,
    ) -> ImportReport:
        """Import chats and memories of another program into this space.

        Chats become turns with their times, notes and stored facts become memories. What was imported before is
        skipped, so an import can be repeated, or continued after an interruption; what changed in the source since is
        a new version. What was forgotten here stays forgotten. For files of Remanence itself see `remanence.restore`.

        Args:
            source: An export of ChatGPT or Claude (the zip file, its folder or the JSON file), JSON of mem0, Zep,
                Graphiti or the MCP memory server, a CSV or text file, a Markdown note, or a folder of notes. A symbolic
                link is not followed, nor is one in a folder.
            format: "chatgpt", "claude", "mem0", "zep", "server-memory", "csv", "text" or "markdown"; found by what is
                in the file, if left out.
            user: Import only what belongs to this user.
            users: What to do with the memories of several users: "separate" gives each a space below this one,
                such as `space.child("users", "bob")`; "together" imports all into this one.
            branches: Also take messages of a chat that were edited or answered again, with the tag "other-branch".
            observed_by: The name of the user in a chat; "I" in what they wrote is this person.
            dry_run: Write nothing, and only report what would be imported.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            How many memories were added, of which kinds, times and speakers, and what was not imported, with reasons.
            Print it.

        Raises:
            InvalidInput: The source cannot be read, is of no known format, or has a bad line, which is named; or it has
                the memories of several users, and neither `user` nor `users` is given. Nothing is imported then.
        """
        from remanence.transfer.imports.detection import open_source
        from remanence.transfer.imports.importing import import_source

        speaker = None if observed_by is None else inputs.check_text(observed_by, "observed_by")
        opened = open_source(source, format, branches=branches, observed_by=speaker)
        with closing(opened), progress_bar(progress, "importing") as report_progress:
            return import_source(
                self._engine, opened, self._space, user=user, users=users, progress=report_progress, dry_run=dry_run
            )

    def reextract(
        self, id: str | Memory | None = None, *, now: Moment | None = None, progress: bool | Progress = False
    ) -> list[Memory]:
        """Extract facts again from what was remembered, with the extractor that this space has now.

        Facts of the earlier extraction that are not found again are forgotten; history keeps both. Without a language
        model no facts are written: those that rules wrote in earlier releases are forgotten.

        Args:
            id: One source; None takes all of them.
            now: The moment of this extraction, for imports of the past.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            The memories of the facts that were found.

        Raises:
            NotFound: The memory is not a source that `remember` stored.

        Example:
            >>> import remanence
            >>> def model(prompt: str) -> str:
            ...     return '{"facts": [{"text": "The user lives in Porto.", "quotation": "I live in Porto"}]}'
            >>> with remanence.open(None, extractor=remanence.LLMExtractor(model)) as space:
            ...     _ = space.remember("I live in Porto.")
            ...     [fact.text for fact in space.admin.reextract()]
            ['The user lives in Porto.']
        """
        only = None if id is None else inputs.check_memory_id(id)
        at = self._now() if now is None else parse_moment(now, self._now(), argument="now")
        with progress_bar(progress, "reading") as report_progress:
            return remember.reextract(self._engine, self._space, only, at, report_progress)

    acheck = in_thread(check)
    arebuild_collection = in_thread(rebuild_collection)
    acompact = in_thread(compact)
    aexport = in_thread(export)
    aimport_from = in_thread(import_from)
    areextract = in_thread(reextract)
