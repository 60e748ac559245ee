"""Which embedder a ledger was built with, and whether it is opened with that one."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from remanence.errors import EmbedderUnavailable, ProjectionStale
from remanence.models.embedders import FORMER_DEFAULT, StaticEmbedder

if TYPE_CHECKING:
    from remanence.models.embedders import CheckedEmbedder
    from remanence.ports import Ledger, Transaction

log = logging.getLogger(__name__)

_META = "embedder"


class LedgerEmbedder:
    """The embedder that a ledger is opened with, compared with the one that the ledger records.

    Args:
        ledger: The ledger.
        embedder: The embedder that it is opened with.
        location: Where the ledger is, for messages.
        replace: Everything is about to be embedded again: any embedder is accepted.
    """

    def __init__(self, ledger: Ledger, embedder: CheckedEmbedder, location: str | None, *, replace: bool) -> None:
        self._ledger, self._embedder, self._location, self._replace = ledger, embedder, location, replace
        self._is_recorded = False
        self.has_former_default = False
        """Whether the ledger was written with the default embedder of an earlier release."""

    def check(self) -> None:
        """Refuse an embedder other than the one this ledger was built with."""
        written = self._ledger.get_meta(_META)
        if self._replace or self.has_former_default or written is None:
            return
        recorded, embedder = self.recorded(), self._embedder
        if recorded is None:
            raise self._mismatch({"name": written, "fingerprint": "unknown"}, embedder.fingerprint)
        if embedder.dimension is None and recorded["name"] == embedder.name:
            # It is not called: that may cost money, or it may be down, and all vectors are stored.
            embedder.expect_dimension(recorded["dimension"], lambda made: self._mismatch(recorded, made))
        if recorded["name"] == FORMER_DEFAULT and embedder.name == StaticEmbedder.name:
            self.has_former_default = True
        elif embedder.dimension is not None and recorded["fingerprint"] != embedder.fingerprint:
            raise self._mismatch(recorded, embedder.fingerprint)

    def dimension(self) -> int | None:
        """The dimension of vectors. An embedder that does not declare it is asked to embed one word."""
        if self._embedder.dimension is None:
            try:
                self._embedder.embed(["memory"])
            except EmbedderUnavailable as error:
                log.warning("the signal 'vectors' is missing for now: %s", error)
                return None
            self.check()
        return self._embedder.dimension

    def recorded(self) -> dict[str, Any] | None:
        """The embedder that the ledger was built with; None if none is recorded, or the record cannot be read."""
        try:
            recorded = json.loads(self._ledger.get_meta(_META) or "null")
        except ValueError:
            return None
        return recorded if isinstance(recorded, dict) else None

    def record_first(self, transaction: Transaction) -> None:
        """Record the embedder if the ledger records none yet."""
        if not self._is_recorded:
            if self._ledger.get_meta(_META) is None:
                self.record(transaction)
            self._is_recorded = True

    def record(self, transaction: Transaction) -> None:
        """Record the embedder as that of this ledger."""
        embedder = self._embedder
        record = {"name": embedder.name, "dimension": embedder.dimension, "fingerprint": embedder.fingerprint}
        transaction.put_meta(_META, json.dumps(record))

    def _mismatch(self, recorded: Mapping[str, Any], fingerprint: str) -> ProjectionStale:
        location = self._location or "the space"
        return ProjectionStale(
            f"the vectors of {location} were made with {recorded['name']!r} ({recorded['fingerprint']}), but it is "
            f"opened with {self._embedder.name!r} ({fingerprint}). Answers would mix the two. Open it with "
            f"embedder={recorded['name']!r}, or embed everything again with "
            f"remanence.reembed({str(location)!r}, embedder=...) or `remanence rebuild {location} --embedder ...`."
        )
