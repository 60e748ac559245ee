"""Second step of the read path: from a parsed question to the query that every signal is asked."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from remanence.errors import EmbedderError
from remanence.index.engine.row_filter import filter_mask
from remanence.index.index import Index
from remanence.recall.question import ParsedQuestion, TimeFocus, in_first_person
from remanence.recall.receipts import RecallRequest
from remanence.schema import ASSISTANT, PROCEDURE, SELF, Query, Snapshot, Window
from remanence.text.lexicon.languages import language_of
from remanence.text.text import split_words, stems, tokens

if TYPE_CHECKING:
    from remanence.models.embedders import CheckedEmbedder
    from remanence.ports import Vector

log = logging.getLogger(__name__)

_FOLLOWED_CLAIMS = 64
"""How many claims about an entity the graph signal follows, the newest first. Every recall reads them."""
_OTHER_TIMES: tuple[TimeFocus, ...] = ("first", "previous", "before", "after", "during")


@dataclass(frozen=True, slots=True)
class RecallContext:
    """One recall. The steps that read `index`, `snapshot` or `query` need the lock of the index."""

    index: Index
    request: RecallRequest
    """The arguments of the caller."""
    parsed: ParsedQuestion
    """The question, parsed."""
    snapshot: Snapshot
    """The state of the space at the position and the moment of the request."""
    query: Query
    """The query that the signals are asked."""
    include_superseded: bool
    """Whether superseded rows are searched, because the question may be about the past."""


class QuestionEmbedding(NamedTuple):
    """The vector of a question, or the reason why there is none."""

    vector: Vector | None
    similarity_floor: float
    """Similarities up to this count as none."""
    error: str | None = None


def find_speakers(index: Index, request: RecallRequest, parsed: ParsedQuestion) -> dict[str, str]:
    """The names in the question that belong to speakers, each with the speaker's full name."""
    visible = index.catalog.visible_mask(request.position)
    names = (*parsed.names, *parsed.uncommon_words)
    full_names = {name: index.graph.full_speaker_name(name, visible) for name in names}
    return {name: full_name for name, full_name in full_names.items() if full_name is not None}


def embed_question(
    index: Index, request: RecallRequest, parsed: ParsedQuestion, speakers: Collection[str], embedder: CheckedEmbedder
) -> QuestionEmbedding:
    """Embed the question if a signal needs it. No lock is held: the embedder may be slow. A question about a speaker is
    embedded in the first person, because speakers say "I" where others use their name."""
    floor = embedder.similarity_floor
    if request.vector is not None or not any(s.needs_embedding for s in index.signals_for(request.signals)):
        return QuestionEmbedding(request.vector, floor)
    text = in_first_person(parsed.text, [name for name in speakers if name != SELF])
    try:
        return QuestionEmbedding(embedder.embed_query(text), floor)
    except EmbedderError as error:
        log.warning("recall continues without vectors: %s", error)
        return QuestionEmbedding(None, floor, str(error))


def build_context(
    index: Index,
    request: RecallRequest,
    parsed: ParsedQuestion,
    speakers: Mapping[str, str],
    embedding: QuestionEmbedding,
    *,
    include_superseded: bool,
) -> RecallContext:
    """The context of a recall, with the query for the signals."""
    snapshot = index.snapshot(request.position, request.now)
    searchable = searchable_rows(index, request, snapshot, history=include_superseded)
    visible = index.catalog.visible_mask(request.position)
    relation_times = _times_of_relations(request, parsed)
    language = language_of(request.text)
    # Names of speakers are matched by the graph signal only: speakers rarely use their own names.
    speaker_words = {word for name in speakers for word in tokens(name, language)}
    words = [
        word
        for word in split_words(parsed.search_text)
        if (forms := stems([word], language)) and not speaker_words.issuperset(forms)
    ]
    query = Query(
        text=parsed.text,
        visible=visible,
        allowed=searchable,
        position=request.position,
        times=parsed.times if request.during is None else (request.during,),
        entity_names=index.with_aliases(_names(index, parsed, speakers, visible), request.position),
        terms=tuple(stems(words, language)),
        language=language,
        terms_in=lambda other: stems(words, other),
        vector=embedding.vector,
        similarity_floor=embedding.similarity_floor,
        time_mask=_rows_from_asked_time(index, request, parsed, searchable),
        names_of_same_entity=lambda name: index.registry.names_of_same_entity(name, request.position),
        related_names=lambda name: index.relations.related_names(name, snapshot, relation_times, _FOLLOWED_CLAIMS),
        next_turns=index.graph.next_turns if index.graph.has_turns else None,
    )
    return RecallContext(index, request, parsed, snapshot, query, include_superseded)


def searchable_rows(index: Index, request: RecallRequest, snapshot: Snapshot, *, history: bool) -> NDArray[np.bool_]:
    """The rows that may be returned; with `history`, superseded rows too. Procedures only for who asks for them."""
    rows = index.catalog.valid_mask(
        index.catalog.visible_mask(request.position),
        request.position,
        now=request.now,
        history=history,
        during=request.during,
    )
    if not history and (superseded := index.links.superseded_mask(snapshot)).any():
        rows &= index.fields.document_mask | ~index.catalog.rows_of_memories(superseded)
    if request.kinds is None:
        rows &= ~index.catalog.attributes.mask_with_kinds_and_tags((PROCEDURE,), None)
    return filter_mask(request, index, rows, request.position)


def _names(
    index: Index, parsed: ParsedQuestion, speakers: Mapping[str, str], visible: NDArray[np.bool_]
) -> tuple[str, ...]:
    """The names in the question. A question about the words of the assistant is about the assistant, not the user."""
    names = dict.fromkeys([*parsed.names, *speakers.values()])
    assistant = index.graph.full_speaker_name(ASSISTANT, visible) if parsed.asks_assistant else None
    if assistant is not None:
        return (assistant, *(name for name in names if name != SELF))
    return tuple(names)


def _times_of_relations(request: RecallRequest, parsed: ParsedQuestion) -> tuple[Window, ...] | None:
    """The times at which relations are followed from one name to another: the time asked for, by default now. For a
    question such as "before Lisbon", relations of all times are followed."""
    if request.during is not None:
        return (request.during,)
    return None if parsed.focus in _OTHER_TIMES else parsed.times


def _rows_from_asked_time(
    index: Index, request: RecallRequest, parsed: ParsedQuestion, searchable: NDArray[np.bool_]
) -> NDArray[np.bool_] | None:
    """The rows from the time that the question names, if they are few and the times signal is used."""
    times = index.times
    if request.during is not None or times not in index.signals_for(request.signals) or times.name in index.broken:
        return None
    return times.rows_within(parsed.times, searchable)
