"""`remanence.union`: several spaces in one question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import fields, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from remanence.errors import AccessDenied, InvalidInput, LedgerUnavailable, TooManyRequests
from remanence.index.engine import inputs
from remanence.index.engine.in_thread import in_thread
from remanence.models.readers import NO_READER, default_reader
from remanence.recall.answer import Recall
from remanence.recall.options import RecallOptions
from remanence.recall.question import CONTEXT_TURNS, parse_question
from remanence.recall.reading import MAX_READ_HITS, check_deadline, check_reader_name, reader_for
from remanence.recall.union import join_recalls, read_union
from remanence.schema import Window
from remanence.space.for_prompt import for_prompt as recall_for_prompt
from remanence.space.protocols import is_view
from remanence.text.temporal import parse_moment, parse_window

if TYPE_CHECKING:
    from remanence.index.engine.inputs import Moment
    from remanence.ports import Reader
    from remanence.space.view import View

_OPTIONS = frozenset(field.name for field in fields(RecallOptions))
_UNAVAILABLE = (LedgerUnavailable, AccessDenied, TooManyRequests)
"""What may happen to one space, on a server, while the others answer."""


def union(*spaces: View, **named: View) -> Union:
    """Several spaces that are asked as one: one ranked list, each hit with its space.

    It takes spaces that are open already, so a union gives nobody access to anything. It is read-only: write to one of
    its spaces.

    Args:
        *spaces: Spaces or views of them, on this machine or on servers, the caller's own first. Each is called by its
            full name.
        **named: Spaces with names for this union, where two have the same full name.

    Raises:
        InvalidInput: No space is given, one of them is not a space, or two have the same name.

    Example:
        >>> import remanence
        >>> with remanence.open(None) as space:
        ...     ana, team = space.child("users", "ana"), space.child("team")
        ...     _ = ana.add("I prefer the night train to Porto."), team.add("The offsite is in Porto in June.")
        ...     found = remanence.union(ana=ana, team=team).recall("When is the offsite?")
        ...     found[0].space, found[0].memory.text
        ('team', 'The offsite is in Porto in June.')
    """
    members: dict[str, View] = {}
    for name, space in [*((None, space) for space in spaces), *named.items()]:
        if not is_view(space):
            raise InvalidInput(f"{space!r} is no space. Give what remanence.open, connect or child() returned.")
        name = name or space.name
        if name in members:
            raise InvalidInput(f"two spaces are called {name!r}. Give them names: union(mine=..., theirs=...).")
        members[name] = space
    if not members:
        raise InvalidInput("a union needs a space. Give for example union(space.child('users', 'ana'), team).")
    return Union(members)


class Union:
    """Several spaces that are asked as one. `remanence.union` makes one."""

    def __init__(self, spaces: Mapping[str, View]) -> None:
        self._spaces = dict(spaces)

    @property
    def spaces(self) -> dict[str, View]:
        """The spaces, by their names in this union."""
        return dict(self._spaces)

    def __repr__(self) -> str:
        return f"<Union of {', '.join(map(repr, self._spaces))}>"

    def recall(self, /, query: str = "", **options: Any) -> Recall:
        """The memories of all spaces that answer a question, best first; `hit.space` names the space of each.

        The signals search each space, the scores are brought to one scale, and the reader reads the best of all spaces
        together. A text that two spaces have is one hit.

        Args:
            **options: The options of `Space.recall`, except that `include="review"` is for one space. The reader is
                that of the first space on this machine, or the one that comes with the package.

        Returns:
            The hits. `missing` names the spaces that could not be asked. There is no `receipt`: only a recall of one
            space can be repeated.

        Raises:
            InvalidInput: An argument is not valid; the message names it.
            LedgerUnavailable: None of the spaces could be asked.
        """
        started = time.monotonic()
        if together := self._on_one_server():
            with suppress(AccessDenied):  # then each space says for itself what it answers
                return together(list(self._spaces)[1:], query, options)
        if unknown := sorted(options.keys() - _OPTIONS):
            raise InvalidInput(f"recall has no option {unknown[0]!r}. It has {', '.join(sorted(_OPTIONS))}.")
        given = RecallOptions(**options)
        inputs.check_question(query, given.vector)
        if "review" in (inputs.check_names_among(given.include, ("archive", "vault", "review"), "include") or ()):
            raise InvalidInput("include='review' is for one space. Ask that space.")
        limit, now = inputs.check_limit(given.limit), self._now_of(given.now)
        seconds, min_score = check_deadline(given.deadline), inputs.check_fraction(given.min_score, "min_score")
        reader = self._reader(check_reader_name(given.reader)) if str(query).strip() else None
        count = limit if reader is None else max(limit, MAX_READ_HITS)
        asked = {**options, "limit": count, "now": now, "reader": NO_READER, "min_score": None, "deadline": seconds}
        found, missing = self._ask(lambda space: space.recall(query, **asked))
        context = inputs.check_turns(given.context, "context")[-CONTEXT_TURNS:]
        parsed = parse_question(query, now, context)
        question = parsed.completed(parsed.names, _window(given.during, now), now)
        joined = join_recalls(query, found, count)
        if reader is not None:
            joined = read_union(joined, question, reader, now, None if seconds is None else started + seconds)
        hits = [hit for hit in joined[:limit] if min_score is None or hit.score >= min_score]
        return replace(joined, hits=tuple(hits), missing={**missing, **joined.missing})

    for_prompt = recall_for_prompt  # each quoted line names its space

    def as_of(self, moment: Moment) -> Union:
        """These spaces as they were known at `moment`.

        Args:
            moment: A datetime, a date, or text such as "2026-05-01" or "last May".
        """
        at = self._now_of(moment, "as_of")
        return Union({name: space.as_of(at) for name, space in self._spaces.items()})

    @property
    def profile(self) -> Callable[..., Any]:
        """`profile` of the first space."""
        return self._first.profile

    @property
    def get_many(self) -> Callable[..., Any]:
        """`get_many` of the first space."""
        return self._first.get_many

    arecall = in_thread(recall)
    afor_prompt = in_thread(for_prompt)

    @property
    def _first(self) -> View:
        return next(iter(self._spaces.values()))

    def _now(self) -> datetime:
        return self._first._now()

    def _now_of(self, moment: Moment | None, argument: str = "now") -> datetime:
        now = self._now()
        return now if moment is None else parse_moment(moment, now, argument=argument)

    def _on_one_server(self) -> Callable[..., Recall] | None:
        """What asks the one server that has all of these spaces, under their own names, at one moment."""
        first = self._first
        alike = all(
            (name, first._storage, first._moment) == (space.name, space._storage, space._moment)
            for name, space in self._spaces.items()
        )
        return getattr(first, "_recall_union", None) if alike and len(self._spaces) > 1 else None

    def _reader(self, name: str | None) -> Reader | None:
        """The reader that a request names, or that of the first space that has one here."""
        engines = [engine for space in self._spaces.values() if (engine := vars(space).get("_opened")) is not None]
        if name is not None or engines:
            return reader_for(name, engines[0].reader if engines else None)
        return default_reader()

    def _ask(self, ask: Callable[[View], Recall]) -> tuple[dict[str, Recall], dict[str, str]]:
        """The answers of the spaces, by name, and why some gave none. Servers are asked at the same time."""
        found: dict[str, Recall] = {}
        missing: dict[str, str] = {}
        errors: list[Exception] = []
        with ThreadPoolExecutor(len(self._spaces), "remanence-union") as threads:
            tasks = {
                name: threads.submit(copy_context().run, partial(ask, space)) for name, space in self._spaces.items()
            }
            for name, task in tasks.items():
                try:
                    found[name] = task.result()
                except _UNAVAILABLE as error:
                    missing[name] = f"{type(error).__name__}: {error}"
                    errors.append(error)
        if errors and not found:
            raise errors[0]
        return found, missing


def _window(during: Any, now: datetime) -> Window | None:
    return None if during is None else parse_window(during, now)
