"""What was said, as a model is shown it and as its answer is held against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from remanence.language.passages import split_passages
from remanence.language.rules.rule_extractor import speaker_name
from remanence.language.text import strip_accents, tokens
from remanence.schema import SELF, Utterance

REMEMBERED_TURNS = 2  # turns before a chunk that are shown with it, to understand "he" and "there"
REMEMBERED_SIZE = 400  # characters of each of them
USER_LABEL = "user"
"""What a model knows the nameless person by who says "I": `SELF` would read oddly in its sentences."""

_FIRST_PERSON = frozenset(("i", "me", "myself", "speaker", "the speaker"))
_USER = frozenset((USER_LABEL, "the user", "human", "the human"))
_EDGES = " \t\n\"“”‘’`'.,;:!?()[]"
_POSSESSIVE = re.compile(r"['’]s?$")


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn, or a part of a long one, and the place of the turn in its conversation."""

    turn: int
    utterance: Utterance


@dataclass(frozen=True)
class Chunk:
    """A few turns for one question to a model, and the ends of those before them."""

    pieces: tuple[Piece, ...]
    preceding: tuple[Piece, ...] = ()

    def prompt_rows(self, pieces: Sequence[Piece], now: datetime) -> Iterator[Mapping[str, object]]:
        """These pieces as a model is shown them."""
        for piece in pieces:
            at = piece.utterance.at or now
            who = speaker_name(piece.utterance.speaker)
            speaker = USER_LABEL if who in (SELF, None) else who
            # Not strftime("%Y"): glibc leaves years before 1000 unpadded.
            when = f"{at:%A} {at.date().isoformat()} {at:%H:%M}"
            yield {"turn": piece.turn, "speaker": speaker, "at": when, "text": piece.utterance.text}

    def time_of(self, turns: Sequence[int], now: datetime) -> datetime:
        """When the first of these turns was said."""
        moments = (piece.utterance.at for piece in self.pieces if piece.turn in turns)
        return next((moment for moment in moments if moment is not None), now)

    def resolve_speaker(self, name: str, turns: Sequence[int]) -> str | None:
        """Whom a word for a speaker means in these turns; None if it is no such word."""
        word = name.strip().casefold()
        if word in _USER:
            return SELF
        if word in _FIRST_PERSON:
            speakers = (speaker_name(piece.utterance.speaker) for piece in self.pieces if piece.turn in turns)
            return next((who for who in speakers if who), SELF)
        return next((who for who in self._speakers if who.casefold() == word), None)

    def find_spelling(self, name: str) -> str | None:
        """How a name is spelled where it was said; None if it was not.

        >>> chunk = Chunk((Piece(0, Utterance("I flew to São  Paulo with ANNA.")),))
        >>> chunk.find_spelling("Sao Paulo"), chunk.find_spelling("Anna's"), chunk.find_spelling("Ann")
        ('São Paulo', 'ANNA', None)
        """
        wanted = "".join(char for char, _ in _folded(_POSSESSIVE.sub("", name.strip(_EDGES)))).strip()
        at = self._letters.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            if _is_apart(self._letters, at) and _is_apart(self._letters, end):
                return " ".join(self._text[self._places[at] : self._places[end - 1] + 1].split())
            at = self._letters.find(wanted, at + 1)
        return None

    def nearest_turns(self, text: str) -> tuple[int, ...]:
        """The turn that shares most words with this text."""
        wanted = set(tokens(text))
        shared = {piece.turn: len(wanted & set(tokens(piece.utterance.text))) for piece in reversed(self.pieces)}
        best = max(shared, key=lambda turn: (shared[turn], -turn))
        return (best,) if shared[best] else tuple(sorted(shared))

    def word_overlap(self, text: str) -> float:
        """How many of the words that matter in this text were said, 0 to 1."""
        wanted = set(tokens(text)) - {USER_LABEL}
        return len(wanted & self._words) / len(wanted) if wanted else 0.0

    @property
    def size(self) -> int:
        """How many characters there are to read."""
        return sum(len(piece.utterance.text) for piece in self.pieces)

    @cached_property
    def _text(self) -> str:
        shown = (*self.preceding, *self.pieces)
        return "\n".join([*self._speakers, *(piece.utterance.text for piece in shown)])

    @cached_property
    def _speakers(self) -> tuple[str, ...]:
        speakers = (speaker_name(piece.utterance.speaker) for piece in (*self.preceding, *self.pieces))
        return tuple(dict.fromkeys(who for who in speakers if who))

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(tokens(self._text))

    @cached_property
    def _folding(self) -> list[tuple[str, int]]:
        return list(_folded(self._text))

    @cached_property
    def _letters(self) -> str:
        return "".join(char for char, _ in self._folding)

    @cached_property
    def _places(self) -> list[int]:
        return [place for _, place in self._folding]


def split_into_chunks(utterances: Sequence[Utterance], size: int) -> list[Chunk]:
    """A conversation in chunks of at most `size` characters, of whole turns where they are shorter than that.

    >>> turns = [Utterance("One. " * 3), Utterance("Two. " * 3), Utterance(" "), Utterance("Three. " * 9)]
    >>> [[piece.turn for piece in chunk.pieces] for chunk in split_into_chunks(turns, 35)]
    [[0, 1], [3], [3]]
    """
    made: list[Chunk] = []
    held: list[Piece] = []
    held_size = 0
    for piece in _pieces(utterances, size):
        if held and held_size + len(piece.utterance.text) > size:
            made.append(Chunk(tuple(held), made[-1].pieces if made else ()))
            held, held_size = [], 0
        held.append(piece)
        held_size += len(piece.utterance.text)
    if held:
        made.append(Chunk(tuple(held), made[-1].pieces if made else ()))
    return [replace(chunk, preceding=tuple(map(_end, chunk.preceding[-REMEMBERED_TURNS:]))) for chunk in made]


def _pieces(said: Sequence[Utterance], size: int) -> Iterator[Piece]:
    for turn, one in enumerate(said):
        spans = split_passages(one.text, target=max(1, size * 3 // 4), maximum=size) or ((0, len(one.text)),)
        for start, end in spans:
            if one.text[start:end].strip():
                yield Piece(turn, replace(one, text=one.text[start:end]))


def _end(piece: Piece) -> Piece:
    return replace(piece, utterance=replace(piece.utterance, text=piece.utterance.text[-REMEMBERED_SIZE:]))


def _folded(text: str) -> Iterator[tuple[str, int]]:
    """The letters of a text without case and marks, each space once, and where each came from."""
    space = True
    for place, char in enumerate(text):
        if char.isspace():
            if not space:
                yield " ", place
            space = True
            continue
        space = False
        for letter in strip_accents("'" if char == "’" else char).casefold():
            yield letter, place


def _is_apart(letters: str, at: int) -> bool:
    """Whether a word may begin or end here. Scripts without spaces have no case either: there, anywhere."""
    if at in (0, len(letters)):
        return True
    left, right = letters[at - 1], letters[at]
    return not (left.isalnum() and right.isalnum()) or not (_is_spaced(left) and _is_spaced(right))


def _is_spaced(char: str) -> bool:
    return char.isdigit() or char.upper() != char
