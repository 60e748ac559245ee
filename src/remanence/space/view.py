"""`View`: a space as it was known at one moment, read-only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from remanence.errors import InvalidInput
from remanence.hooks import missing_attribute, step
from remanence.index.engine import inputs
from remanence.index.engine.embedding import text_vectors
from remanence.index.engine.engine import Engine
from remanence.index.engine.identity import key_identity
from remanence.index.engine.in_thread import in_thread, iterate_in_thread
from remanence.index.engine.inputs import Moment
from remanence.index.engine.parameters import takes
from remanence.index.index import Index
from remanence.index.numbers import Position
from remanence.recall.answer import Recall
from remanence.recall.filters import option_values, row_filter
from remanence.recall.options import FilterOptions, Question, RecallOptions, RecentOptions
from remanence.recall.show import Memories
from remanence.schema import Memory
from remanence.space.facets.admin_facet import AdminView
from remanence.space.facets.audit_facet import AuditView
from remanence.space.facets.entity_facet import EntitiesView
from remanence.space.facets.graph_view import GraphView
from remanence.space.facets.procedure_facet import ProceduresView
from remanence.space.prompt_view import PromptView
from remanence.space.recall_request import answer_request, checked_request, with_usage
from remanence.text.temporal import parse_moment
from remanence.transfer.overview import LISTED_STATUSES, ListedStatus, MemoryBatch
from remanence.upkeep.recency_listing import with_reviews
from remanence.upkeep.settings import UpkeepSettings
from remanence.upkeep.steps.decay import hits_with_usage

if TYPE_CHECKING:
    from remanence.ports import Progress
    from remanence.recall.evaluation import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMemories(FilterOptions):
    """Which memories `View.memories` lists.

    Attributes:
        status: Only memories of this status: "current", "superseded", "expired", "archived", "forgotten" or "promoted".
            None lists all that are neither archived nor forgotten.
    """

    status: ListedStatus | None = field(default=None, kw_only=False)


class View(PromptView):
    """A space as it was known at one moment. It cannot be written to.

    Every method, here and on the facets, raises `InvalidInput` if an argument is not valid (the message names it).
    Methods that read or write raise `Closed` after `close`.
    """

    def __init__(self, engine: Engine, name: str, moment: datetime | None = None) -> None:
        super().__init__(engine, name, partial(self._position_of, name), lambda: moment or engine.now())
        self._moment = moment

    if not TYPE_CHECKING:  # for a type checker every attribute would be there
        __getattr__ = missing_attribute

    @property
    def name(self) -> str:
        """The full name of this space, its parents included."""
        return self._space

    def __repr__(self) -> str:
        moment = "" if self._moment is None else f" as of {self._moment.isoformat()}"
        return f"<{type(self).__name__} {self.name!r}{moment}>"

    @takes(Question)
    def recall(self, query: str = "", **options: Any) -> Recall:
        """The memories that answer a question, best first, each with its reasons.

        Args:
            query: The question. `recent` lists memories without one.
            **options: The fields of `RecallOptions`, which says what each of them does.

        Returns:
            A sequence of hits. `explain()` says why each was found, `str()` gives lines for a prompt.

        Raises:
            InvalidInput: An argument is not valid, or the query is blank and no vector is given.

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("Alice drinks green tea.", meta={"page": 3})
            ...     space.recall("What does Alice drink?", meta={"page": {"$gte": 3}})[0].memory.text
            'Alice drinks green tea.'
        """
        given = RecallOptions(**options)
        inputs.check_question(query, given.vector)
        return self._recall_with(query, given)

    @step("search_memory")
    def _recall_with(self, query: str, options: RecallOptions) -> Recall:
        max_hits, request, include = checked_request(self._engine, self.name, query, options, self._now())
        result = answer_request(self._engine, self.name, request, self._position_of, include)
        if self._moment is not None:
            return replace(result, as_of=self._moment, hits=result.hits[:max_hits])
        try:
            settings = UpkeepSettings.from_env()
        except InvalidInput as error:  # an invalid setting of upkeep must not prevent the answer
            return replace(result, missing={**result.missing, "usage": str(error)}, hits=result.hits[:max_hits])
        with self._engine.open_index(self.name, catch_up=False) as index:  # as it was for the hits
            hits = hits_with_usage(index, result.hits, request.now, settings)
        if "review" not in include:
            return replace(result, hits=hits)
        receipt = None if result.receipt is None else replace(result.receipt, limit=max_hits)
        return replace(result, hits=with_reviews(hits, max_hits), receipt=receipt)

    @takes(RecentOptions)
    def recent(self, **options: Any) -> Recall:
        """The memories that were told or used last, without a question; strong ones stay longer.

        Args:
            **options: The fields of `RecentOptions`, which says what each of them does.

        Returns:
            The memories as hits, the highest decay score first.
        """
        given = RecentOptions(**options)
        return self._recall_with("", RecallOptions(**option_values(given, RecentOptions)))

    def get(self, id: str | Memory) -> Memory | None:
        """The memory with this id, in the version that this view knows.

        Args:
            id: The id, or the memory in any version.

        Returns:
            None if this view knows of none, or it is forgotten.
        """
        memory_id = inputs.check_memory_id(id)
        with self._engine.open_index(self.name) as index:
            return next(iter(index.visible_memories([memory_id], self._position(index))), None)

    def get_many(self, ids: str | Memory | Iterable[str | Memory]) -> MemoryBatch:
        """These memories with their relations, links and use, in the order given, each once.

        Returns:
            The memories; `missing` has the ids that this view does not show, each with "unknown",
            "archived", "forgotten" or "erased".
        """
        memory_ids = inputs.check_one_or_more_ids(ids)
        found = self._read_overview(lambda overview: overview.get_many(memory_ids))
        return with_usage(self._engine, self.name, found, self._position, self._now())

    def find(self, key: str) -> Memory | None:
        """The memory with this key, in the version that this view knows.

        Args:
            key: The `key` that was given to `add`.

        Returns:
            None if there is none, or it is forgotten.
        """
        identity = key_identity(inputs.check_text(key, "key"))
        with self._engine.open_index(self.name) as index:
            number = index.catalog.find_by_identity(identity)
            ids = [] if number is None else [index.catalog.ids[number]]
            return next(iter(index.visible_memories(ids, self._position(index))), None)

    @takes(ListedMemories)
    def memories(self, status: ListedStatus | None = None, **options: Any) -> Memories:
        """Every memory that this view knows, in the order they were learned.

        Args:
            **options: The fields of `ListedMemories`, which says what each of them does.

        Returns:
            The memories, read while you iterate; `to_df()` is a data frame.
        """
        if status is not None and status not in LISTED_STATUSES:
            raise InvalidInput(f"status={status!r} is none of {', '.join(LISTED_STATUSES)}.")
        filters = row_filter(FilterOptions(**options), self._now(), self._engine.trust)
        return Memories(self._iterate(status, filters))

    def count(self) -> int:
        """Count the memories that are neither archived nor forgotten: those that `memories()` lists.

        Returns:
            How many there are.
        """
        with self._engine.open_index(self.name) as index:
            return len(index.current_rows(self._position(index)))

    def evaluate(
        self,
        *,
        history: Moment | timedelta = "90 days",
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        recalls: int = 500,
        progress: bool | Progress = False,
    ) -> Evaluation:
        """Ask recorded recalls again under other settings, as the space was known then, and compare what each finds.

        Recalls are recorded by `audit.record`, or by prompts with `record=True`; what the answer used is recorded by
        `touch`, or by the middleware with `reinforce=True`. What was used is what a setting has to find.
        `remanence.testing.evaluate` takes questions of yours instead.

        Args:
            history: How far back: "90 days", a duration, or the first moment.
            settings: The options of `recall` to compare, by a name of yours, in place of those of each recall:
                `{"usual": {}, "short": {"limit": 5}}`. Besides, `reader` and `embedder` take what `open` takes, and
                `max_tokens` is the budget of a prompt. The first setting is what the others are compared with. By
                default the usual options are compared with leaving out the reader, and each signal.
            recalls: At most so many recalls, the newest ones.
            progress: True shows a progress bar; a function is called with (done, total).

        Returns:
            For each setting how much of what was used it finds, how often that is first, time, tokens and misses.
            `recommended` is a setting only if it is better than the first by more than chance.

        Raises:
            InvalidInput: A setting is not valid, or no recall with used memories was recorded.
        """
        from remanence.recall.evaluation import Evaluation
        from remanence.space.evaluation import compare_settings, recorded_questions

        now = self._now()
        since = now - history if isinstance(history, timedelta) else parse_moment(history, now, argument="history")
        most = inputs.check_positive_int(recalls, "recalls")
        with self._engine.open_index(self.name) as index:
            head = self._position(index)
        asked, skipped = recorded_questions(self._engine, self.name, head, since, most)
        depths = {"first": 1, "found": inputs.MAX_LIMIT}
        with inputs.progress_bar(progress, "asking") as shown:
            results = compare_settings(self._engine, self.name, asked, settings, depths, shown)
        return Evaluation(results, since, skipped)

    def as_of(self, moment: Moment) -> View:
        """This space as it was known at `moment`, read-only.

        What was learned later is absent; what was forgotten since is present.

        Args:
            moment: A datetime, a date, or text such as "2026-05-01" or "last May".

        Example:
            >>> import remanence
            >>> with remanence.open(None) as space:
            ...     _ = space.add("Alice lives in Porto.", now="2026-04-01")
            ...     _ = space.add("Alice lives in Lisbon.", now="2026-05-03")
            ...     space.as_of("2026-05-01").recall("Where does Alice live?")[0].memory.text
            'Alice lives in Porto.'
        """
        return View(self._engine, self.name, parse_moment(moment, self._engine.now(), argument="as_of"))

    @property
    def entities(self) -> EntitiesView:
        """Who and what the memories of this view are about."""
        return self._facet(EntitiesView)

    @property
    def graph(self) -> GraphView:
        """How entities and memories are connected, as this view knows it."""
        return self._facet(GraphView)

    @property
    def procedures(self) -> ProceduresView:
        """Which steps of a task worked, as this view knows it."""
        return self._facet(ProceduresView)

    @property
    def audit(self) -> AuditView:
        """Replaying recalls, and what changed when."""
        return self._facet(AuditView)

    @property
    def admin(self) -> AdminView:
        """This space in numbers."""
        return self._facet(AdminView)

    arecall = in_thread(recall)
    arecent = in_thread(recent)
    aget = in_thread(get)
    aget_many = in_thread(get_many)
    afind = in_thread(find)
    amemories = iterate_in_thread(memories)
    acount = in_thread(count)
    aevaluate = in_thread(evaluate)

    def _embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """The vectors of texts, or of questions, by the embedder of this space."""
        if query:
            return [self._engine.embedder.embed_query(text).tolist() for text in texts]
        return [vector.tolist() for vector in text_vectors(self._engine, self.name, texts)]

    def _with_engine(self, engine: Engine) -> View:
        """The same view of a space of this name in another engine."""
        return View(engine, self.name, self._moment)

    @property
    def _storage(self) -> object:
        """The same object for all spaces that were opened together."""
        return self._engine

    def _position_of(self, space: str, index: Index) -> Position:
        if self._moment is None:
            return index.catalog.position
        return Position(self._engine.ledger.position_at(space, self._moment))
