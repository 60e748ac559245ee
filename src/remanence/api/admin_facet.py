"""The class of `space.admin`: numbers, export, compaction and checks of a whole space."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from remanence.admin.compaction import CompactionReport, compact
from remanence.admin.export_file import TransferReport, export
from remanence.admin.overview import Stats, space_disk_usage
from remanence.api.facet import Facet
from remanence.api.in_thread import in_thread
from remanence.core import inputs
from remanence.core.inputs import Moment, progress_bar
from remanence.language.temporal import parse_moment
from remanence.schema import Memory
from remanence.write import remember

if TYPE_CHECKING:
    from remanence.ports import Progress


class AdminView(Facet):
    """What can be read about a whole space, as one view knows it."""

    @property
    def location(self) -> str | None:
        """The folder that this space is stored in; None if it is in memory only."""
        folder = self._engine.folder
        return None if folder is None else str(folder)

    def stats(self) -> Stats:
        """This space in numbers: memories by status and kind, entities, relations, links, entries, disk use.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     space.forget(space.add("Alice drinks tea."))
            ...     _ = space.add("Alice lives in Porto.")
            ...     space.admin.stats().memories
            {'current': 1, 'forgotten': 1}
        """
        engine, embedder = self._engine, self._engine.embedder
        about = {
            "embedder": embedder.name,
            "dimension": embedder.dimension,
            "children": sum(name != self._space for name in self._tree()),
            "location": self.location,
            "disk": space_disk_usage(engine.folder, self._space),
        }
        return self._overview(lambda overview: overview.stats(engine.ledger, self._space, **about))

    astats = in_thread(stats)

    def _tree(self) -> list[str]:
        """The names of this space and of those below it."""
        return self._engine.ledger.spaces(self._space)


class Admin(AdminView):
    """Maintenance of a whole space: check, compact, export, and read its texts again."""

    def check(self) -> dict[str, str]:
        """Compare each index with a fresh build from the ledger.

        Returns:
            What differs, by the name of the index; empty if all agree. `space.rebuild()` repairs it.
        """
        return self._engine.check(self._space)

    acheck = in_thread(check)

    def compact(self, *, progress: bool | Progress = False) -> CompactionReport:
        """Free disk space. Ledger entries and answers stay the same.

        Rebuilds the indexes of this space and of those below it, deletes unused files and shrinks the ledger file.

        Args:
            progress: True shows a progress bar; a function is called with (done, total).
        """
        with progress_bar(progress, "compacting") as shown:
            return compact(self._engine, self._tree(), shown)

    acompact = in_thread(compact)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        children: bool = False,
        vectors: bool = False,
        progress: bool | Progress = False,
    ) -> TransferReport:
        """Write every ledger entry of this space to a file of JSON lines, for `remanence.import_`.

        The file contains all that was ever learned, also forgotten and superseded memories, with both clocks. Of
        an erased memory it contains only that it existed. The file appears when it is complete.

        Args:
            path: The file to write. A name that ends in .gz is compressed.
            children: Also export the spaces below this one.
            vectors: Also export the embeddings, so that none has to be computed again.
            progress: True shows a progress bar; a function is called with (done, total).

        Raises:
            InvalidInput: The file cannot be written.

        Example:
            >>> import remanence, tempfile
            >>> with remanence.open(None) as space:
            ...     _ = space.add("Alice lives in Porto.")
            ...     space.admin.export(tempfile.mkdtemp() + "/memory.jsonl").entries
            1
        """
        spaces = [name for name in self._tree() if children or name == self._space]
        target = inputs.path(path, "path")
        with progress_bar(progress, "exporting") as shown:
            return export(self._engine, self._space, spaces, target, vectors=vectors, progress=shown)

    aexport = in_thread(export)

    def reextract(
        self, id: str | Memory | None = None, *, now: Moment | None = None, progress: bool | Progress = False
    ) -> list[Memory]:
        """Extract facts again from what was remembered, with the extractor that this space has now.

        Facts of the earlier extraction that are not found again are forgotten; history keeps both.

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
            >>> with remanence.open(None) as space:
            ...     _ = space.remember("I live in Porto.")
            ...     [fact.text for fact in space.admin.reextract()]
            ['The user lives in Porto.']
        """
        only = None if id is None else inputs.memory_id(id)
        at = self._now() if now is None else parse_moment(now, self._now(), argument="now")
        with progress_bar(progress, "reading") as shown:
            return remember.reextract(self._engine, self._space, only, at, shown)

    areextract = in_thread(reextract)
