"""Whether the quotation of a fact tells it, by its words and by the reader that comes with the package.

A model may give a real quotation for a fact that it made up. The words that the two share and the reader's opinion
together tell most such facts from true ones. They do not see what needs a verdict: "The user has a dog" for "I have a
cat", or a denial of what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from remanence.models.llm_source import USER_LABEL, Chunk, Piece
from remanence.models.readers import default_reader, resolve_reader
from remanence.ports import ReaderLine
from remanence.schema import SELF, Memory, Utterance
from remanence.text.lexicon.languages import ENGLISH
from remanence.text.rule_extractor import speaker_name

MIN_SUPPORT = 0.25
"""The share of the words of a fact that stand around its quotation, plus the reader's probability that the quoted turn
tells it, must reach this. Of 200 facts of strangers' chats, 99% do with the turn that each is from, and 4% with a turn
of another person."""
TURNS_BEFORE = 2
"""How many turns before the quoted one count for the words: an answer rests on its question."""


def is_supported(text: str, quoted: Piece, chunk: Chunk, touched: Sequence[Memory], told_at: datetime) -> bool:
    """Whether a quoted turn tells a fact, as far as this can be judged without a language model.

    One shared word is enough in other languages than English, which the reader was trained on, and without a reader
    (`REMANENCE_READER=none`).

    Args:
        text: The fact.
        quoted: The turn, or the part of one, that it rests on.
        chunk: What the model was shown.
        touched: The known facts that it ends, replaces, confirms or extends: their words count, too.
        told_at: When the turn was said.
    """
    before = chunk.pieces_before(quoted, TURNS_BEFORE)
    source = Chunk((quoted,), before, tuple(touched))
    shared = source.word_overlap(text)
    if shared >= MIN_SUPPORT or (shared and source.language != ENGLISH) or resolve_reader() is None:
        return shared > 0
    line = ReaderLine(
        quoted.utterance.text,
        speaker=_label(quoted.utterance),
        before=f"{_label(before[-1].utterance)}: {before[-1].utterance.text}" if before else "",
    )
    return shared + default_reader().read(text, [line], asked_at=told_at).answers[0] >= MIN_SUPPORT


def _label(utterance: Utterance) -> str:
    """The speaker as the reader is given it."""
    name = speaker_name(utterance.speaker)
    return USER_LABEL if name in (SELF, None) else name
