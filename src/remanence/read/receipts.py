"""What was asked, of which ledger, under which settings: enough to give the same list again later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from remanence.errors import InvalidInput
from remanence.language.text import truncate
from remanence.schema import Memory, Window, from_micros, micros


@dataclass(frozen=True, slots=True)
class Receipt:
    """A recall as a small value: the question, how it was asked, and what it was asked of.

    Kept as JSON with `to_dict`, read back with `Receipt.from_dict`, it can be asked again with
    `space.audit.replay(receipt)`.
    """

    space: str
    position: int
    settings: str
    question: str
    now: datetime
    limit: int = 10
    during: Window | None = None
    history: bool | None = None
    kinds: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    min_score: float | None = None
    signals: tuple[str, ...] | None = None
    weights: Mapping[str, float] | None = None
    own_vector: bool = False
    """Whether the caller brought the question's embedding; a replay needs it again."""
    archive: bool = False
    """Whether what lies in the archive was asked too."""

    @property
    def id(self) -> str:
        """The same for the same question, asked of the same ledger at the same moment."""
        written = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(written.encode(), digest_size=12).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """As a plain dict that JSON can hold; what was left at its default is left out.

        >>> from remanence.schema import EPOCH
        >>> receipt = Receipt("default", 7, "s", "Where is Alice?", EPOCH, kinds=("episode",))
        >>> Receipt.from_dict(receipt.to_dict()) == receipt
        True
        """
        out: dict[str, Any] = {
            "space": self.space,
            "position": self.position,
            "settings": self.settings,
            "question": self.question,
            "now": micros(self.now),
            "limit": self.limit,
        }
        if self.during is not None:
            out["during"] = [end and micros(end) for end in (self.during.start, self.during.end)]
        for name in ("history", "kinds", "tags", "min_score", "signals", "weights"):
            value = getattr(self, name)
            if value is not None:
                out[name] = list(value) if isinstance(value, tuple) else value
        return out | {name: True for name in ("own_vector", "archive") if getattr(self, name)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Receipt:
        """The receipt that `to_dict` wrote."""
        try:
            fields = dict(given)
            fields["now"] = from_micros(fields["now"])
            if "during" in fields:
                ends = (None if end is None else from_micros(end) for end in fields["during"])
                fields["during"] = Window(*ends)
            for name in ("kinds", "tags", "signals"):
                if name in fields:
                    fields[name] = tuple(fields[name])
            return cls(**fields)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"{truncate(str(given), 80)!r} is not a receipt ({error}). Give what `recall(...).receipt` holds."
            ) from None


@dataclass(frozen=True, slots=True)
class Exposure:
    """A recorded recall that gave out a memory which has stepped back since.

    `memory` is the version that was given out; `superseded_by` what stands in its place now, or None
    where it was forgotten or has expired.
    """

    receipt: Receipt
    at: datetime
    memory: Memory
    superseded_by: Memory | None = field(default=None)
