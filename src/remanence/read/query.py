"""From a parsed question to the exact query that every signal is given: rows, names, words, times and vector."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from remanence.core.index import Index
from remanence.errors import EmbedderError
from remanence.language.lexicon.languages import language_of
from remanence.language.text import split_words, stems, tokens
from remanence.read.question import ParsedQuestion, TimeFocus, in_first_person
from remanence.read.receipts import RecallRequest
from remanence.schema import ASSISTANT, SELF, Query, Snapshot, Window

if TYPE_CHECKING:
    from remanence.models.embedders.checked import CheckedEmbedder
    from remanence.ports import Vector

log = logging.getLogger(__name__)

_FOLLOWED_CLAIMS = 64
"""How many claims about an entity the graph signal follows, the newest first. Every recall reads them."""
_OTHER_TIMES: tuple[TimeFocus, ...] = ("first", "previous", "before", "after", "during")


def find_speakers(index: Index, request: RecallRequest, parsed: ParsedQuestion) -> dict[str, str]:
    """The names in the question that belong to speakers, each with the speaker's full name."""
    visible = index.catalog.visible(request.position)
    names = (*parsed.names, *parsed.uncommon_words)
    found = {name: index.graph.full_speaker_name(name, visible) for name in names}
    return {name: full for name, full in found.items() if full is not None}


def embed_question(
    index: Index, request: RecallRequest, parsed: ParsedQuestion, speakers: Collection[str], embedder: CheckedEmbedder
) -> tuple[Vector | None, str | None]:
    """Embed the question if a signal needs it. No lock is held: the embedder may be slow. A question about a speaker is
    embedded in the first person, because speakers say "I" where others use their name."""
    if request.vector is not None or not any(s.needs_embedding for s in index.signals_for(request.signals)):
        return request.vector, None
    text = in_first_person(parsed.text, [name for name in speakers if name != SELF])
    try:
        return embedder.embed_query(text), None
    except EmbedderError as error:
        log.warning("recall continues without vectors: %s", error)
        return None, str(error)


def build_query(
    index: Index,
    request: RecallRequest,
    parsed: ParsedQuestion,
    speakers: Mapping[str, str],
    snapshot: Snapshot,
    searchable: NDArray[np.bool_],
    vector: Vector | None,
    similarity_floor: float,
) -> Query:
    """The query that the signals are asked; `searchable` are the rows that may be found."""
    visible = index.catalog.visible(request.position)
    when = _times_of_relations(request, parsed)
    language = language_of(request.text)
    # Names of speakers are matched by the graph signal only: speakers rarely use their own names.
    speaker_words = {word for name in speakers for word in tokens(name, language)}
    words = [
        word
        for word in split_words(parsed.search_text)
        if (forms := stems([word], language)) and not speaker_words.issuperset(forms)
    ]
    return Query(
        text=parsed.text,
        visible=visible,
        allowed=searchable,
        position=request.position,
        times=parsed.times if request.during is None else (request.during,),
        entity_names=index.with_aliases(_names(index, parsed, speakers, visible), request.position),
        terms=tuple(stems(words, language)),
        language=language,
        terms_in=lambda other: stems(words, other),
        vector=vector,
        similarity_floor=similarity_floor,
        time_mask=_rows_from_asked_time(index, request, parsed, searchable),
        same_entity=lambda name: index.registry.same_entity(name, request.position),
        related_names=lambda name: index.relations.related_names(name, snapshot, when, _FOLLOWED_CLAIMS),
        next_turns=index.graph.next_turns,
    )


def searchable_rows(index: Index, request: RecallRequest, snapshot: Snapshot, *, history: bool) -> NDArray[np.bool_]:
    """The rows that may be returned; with `history`, superseded ones too."""
    rows = index.catalog.allowed(
        index.catalog.visible(request.position),
        request.position,
        now=request.now,
        history=history,
        during=request.during,
    )
    if not history and (superseded := index.links.superseded_mask(snapshot)).any():
        rows &= index.fields.documents | ~index.catalog.rows_among(superseded)
    return request.restrict(index, rows, request.position)


def _names(
    index: Index, parsed: ParsedQuestion, speakers: Mapping[str, str], visible: NDArray[np.bool_]
) -> tuple[str, ...]:
    """The names in the question. One that asks what the assistant said is about the assistant, not the user."""
    names = dict.fromkeys([*parsed.names, *speakers.values()])
    assistant = index.graph.full_speaker_name(ASSISTANT, visible) if parsed.asks_assistant else None
    if assistant is not None:
        return (assistant, *(name for name in names if name != SELF))
    return tuple(names)


def _times_of_relations(request: RecallRequest, parsed: ParsedQuestion) -> tuple[Window, ...] | None:
    """The times at which relations are followed from one name to another: the time asked for, by default now. If a
    question asks what was before something else, relations of all times are followed."""
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
