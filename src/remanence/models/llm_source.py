"""A conversation in chunks, as a prompt shows it and as an answer is checked against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from remanence.language.rule_extractor import speaker_name
from remanence.language.passages import split_passages
from remanence.language.text import POSSESSIVE, strip_accents, tokens
from remanence.schema import SELF, Utterance

PRECEDING_TURNS = 2  # turns before a chunk that the prompt also shows, to understand "he" and "there"
PRECEDING_SIZE = 400  # characters of each of them
USER_LABEL = "user"
"""The name in prompts for the user without a name, for whom a space uses `SELF`."""

_FIRST_PERSON = frozenset(("i", "me", "myself", "speaker", "the speaker"))
_USER = frozenset((USER_LABEL, "the user", "human", "the human"))
_EDGES = " \t\n\"“”‘’`'.,;:!?()[]"


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn, or a part of a long one, with the index of the turn in its conversation."""

    turn: int
    utterance: Utterance


@dataclass(frozen=True)
class Chunk:
    """The turns of one prompt, and the ends of the turns before them."""

    pieces: tuple[Piece, ...]
    preceding: tuple[Piece, ...] = ()

    def prompt_rows(self, pieces: Sequence[Piece], now: datetime) -> Iterator[Mapping[str, object]]:
        for piece in pieces:
            at = piece.utterance.at or now
            name = speaker_name(piece.utterance.speaker)
            speaker = USER_LABEL if name in (SELF, None) else name
            # Not strftime("%Y"): glibc does not pad years before 1000.
            when = f"{at:%A} {at.date().isoformat()} {at:%H:%M}"
            yield {"turn": piece.turn, "speaker": speaker, "at": when, "text": piece.utterance.text}

    def time_of(self, turns: Sequence[int], now: datetime) -> datetime:
        moments = (piece.utterance.at for piece in self.pieces if piece.turn in turns)
        return next((moment for moment in moments if moment is not None), now)

    def resolve_speaker(self, name: str, turns: Sequence[int]) -> str | None:
        """The speaker that a word such as "I", "user" or a name means in these turns; None for other words."""
        word = name.strip().casefold()
        if word in _USER:
            return SELF
        if word in _FIRST_PERSON:
            speakers = (speaker_name(piece.utterance.speaker) for piece in self.pieces if piece.turn in turns)
            return next((speaker for speaker in speakers if speaker), SELF)
        return next((speaker for speaker in self._speakers if speaker.casefold() == word), None)

    def find_spelling(self, name: str) -> str | None:
        """How a name is spelled in the source; None if it is not there.

        >>> chunk = Chunk((Piece(0, Utterance("I flew to São  Paulo with ANNA.")),))
        >>> chunk.find_spelling("Sao Paulo"), chunk.find_spelling("Anna's"), chunk.find_spelling("Ann")
        ('São Paulo', 'ANNA', None)
        """
        folded_name = _folded(POSSESSIVE.sub("", name.strip(_EDGES)))[0].strip()
        letters, positions = self._folded_text
        start = letters.find(folded_name) if folded_name else -1
        while start >= 0:
            end = start + len(folded_name)
            if _is_word_edge(letters, start) and _is_word_edge(letters, end):
                return " ".join(self._text[positions[start] : positions[end - 1] + 1].split())
            start = letters.find(folded_name, start + 1)
        return None

    def nearest_turns(self, text: str) -> tuple[int, ...]:
        """The turn that has most words in common with this text."""
        wanted = set(tokens(text))
        shared = {piece.turn: len(wanted & set(tokens(piece.utterance.text))) for piece in reversed(self.pieces)}
        best = max(shared, key=lambda turn: (shared[turn], -turn))
        return (best,) if shared[best] else tuple(sorted(shared))

    def word_overlap(self, text: str) -> float:
        """The share of the words of this text, without stop words, that are in the source."""
        wanted = set(tokens(text)) - {USER_LABEL}
        return len(wanted & self._words) / len(wanted) if wanted else 0.0

    @cached_property
    def _text(self) -> str:
        pieces = (*self.preceding, *self.pieces)
        return "\n".join([*self._speakers, *(piece.utterance.text for piece in pieces)])

    @cached_property
    def _speakers(self) -> tuple[str, ...]:
        speakers = (speaker_name(piece.utterance.speaker) for piece in (*self.preceding, *self.pieces))
        return tuple(dict.fromkeys(speaker for speaker in speakers if speaker))

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(tokens(self._text))

    @cached_property
    def _folded_text(self) -> tuple[str, list[int]]:
        return _folded(self._text)


def split_into_chunks(utterances: Sequence[Utterance], size: int) -> list[Chunk]:
    """A conversation in chunks of at most `size` characters; only turns longer than that are split.

    >>> turns = [Utterance("One. " * 3), Utterance("Two. " * 3), Utterance(" "), Utterance("Three. " * 9)]
    >>> [[piece.turn for piece in chunk.pieces] for chunk in split_into_chunks(turns, 35)]
    [[0, 1], [3], [3]]
    """
    groups: list[list[Piece]] = []
    group_size = 0
    for piece in _pieces(utterances, size):
        if not groups or group_size + len(piece.utterance.text) > size:
            groups.append([])
            group_size = 0
        groups[-1].append(piece)
        group_size += len(piece.utterance.text)
    before = [[], *groups]
    return [Chunk(tuple(group), _ends(before[i][-PRECEDING_TURNS:])) for i, group in enumerate(groups)]


def _pieces(utterances: Sequence[Utterance], size: int) -> Iterator[Piece]:
    for turn, utterance in enumerate(utterances):
        text = utterance.text
        spans = split_passages(text, target=max(1, size * 3 // 4), maximum=size) or ((0, len(text)),)
        for start, end in spans:
            if text[start:end].strip():
                yield Piece(turn, replace(utterance, text=text[start:end]))


def _ends(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    return tuple(Piece(p.turn, replace(p.utterance, text=p.utterance.text[-PRECEDING_SIZE:])) for p in pieces)


def _folded(text: str) -> tuple[str, list[int]]:
    """The letters of a text without case and accents, runs of spaces as one, and the position of each."""
    letters, positions = [" "], [0]
    for position, char in enumerate(text):
        folded = " " if char.isspace() else strip_accents("'" if char == "’" else char).casefold()
        if folded != " " or letters[-1] != " ":
            letters += folded
            positions += [position] * len(folded)
    return "".join(letters), positions


def _is_word_edge(letters: str, position: int) -> bool:
    """Whether a word may begin or end here; in scripts without spaces, which have no case, it may anywhere."""
    if position in (0, len(letters)):
        return True
    neighbours = letters[position - 1 : position + 1]
    return not neighbours.isalnum() or not all(char.isdigit() or char.upper() != char for char in neighbours)
