"""A conversation in chunks, as a prompt shows it and as an answer is checked against it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import groupby

from remanence.schema import SELF, Memory, Utterance
from remanence.text.lexicon.languages import language_of
from remanence.text.rule_extractor import speaker_name
from remanence.text.temporal.time_vocabulary import NUMBERS
from remanence.text.text import POSSESSIVE, split_passages, strip_accents, tokens

MIN_LIKENESS = 2 / 3
"""The least share of the words of a quotation that a turn has in this order: one of three may be another one."""

PRECEDING_TURNS = 4
"""Turns before a chunk that the prompt also shows, to understand "he" and "there"."""
PRECEDING_SIZE = 400
"""Characters of each turn that the prompt shows before a chunk, the last ones."""
MAX_KNOWN_CHARACTERS = 500
"""Characters of each known fact that the prompt shows."""
USER_LABEL = "user"
"""The name in prompts for the user without a name, for whom a space uses `SELF`."""

_FIRST_PERSON = frozenset(("i", "me", "myself", "speaker", "the speaker"))
_USER = frozenset((USER_LABEL, "the user", "human", "the human"))
_EDGES = " \t\n\"“”‘’`'.,;:!?()[]"
_WORD = re.compile(r"[^\W_]+")
_LEFT_OUT = re.compile(r"(?:(?<!\s)\s+)?(?:\.{3,}|…|\[\.\.\.\])\s*")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_IN_THOUSANDS = re.compile(r"(?<!\d)(\d+)k\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"[.,](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn, or a part of a long one, with the index of the turn in its conversation."""

    turn: int
    utterance: Utterance


@dataclass(frozen=True)
class Chunk:
    """What one prompt shows: some turns, the ends of the turns before them, and the known facts."""

    pieces: tuple[Piece, ...]
    preceding: tuple[Piece, ...] = ()
    known: tuple[Memory, ...] = ()

    def turn_rows(self, now: datetime) -> Iterator[Mapping[str, object]]:
        """The turns as a prompt shows them."""
        for piece in self.pieces:
            yield {"turn": piece.turn, **_prompt_fields(piece.utterance, now)}

    def preceding_rows(self, now: datetime) -> Iterator[Mapping[str, object]]:
        """The turns before, which have no number: nothing is quoted from them."""
        for piece in self.preceding:
            yield _prompt_fields(piece.utterance, now)

    def known_rows(self) -> Iterator[Mapping[str, object]]:
        """The known facts by their indexes: a model would misspell ids."""
        for index, memory in enumerate(self.known):
            row = {"known": index, "text": memory.text[:MAX_KNOWN_CHARACTERS], "told": f"{memory.told_at:%Y-%m-%d}"}
            yield {**row, "true": str(memory.valid)} if memory.valid.has_bound else row

    def find_quotation(self, words: str, turn: int | None) -> tuple[str, Piece] | None:
        """A quotation as it stands in a piece, and that piece, the one of this turn first. "..." stands for words that
        were left out. Words that are nearly right are those that the turn has in their place."""
        parts = [part for part in _LEFT_OUT.split(words) if part.strip(_EDGES)]
        pieces = sorted(self.pieces, key=lambda piece: piece.turn != turn)
        for find in (lambda part, text: next(find_words(part, text), ""), find_similar_words):
            for piece in pieces:
                found = [find(part, piece.utterance.text) for part in parts]
                if found and all(found):
                    return " … ".join(found), piece
        return None

    def pieces_before(self, piece: Piece, count: int) -> tuple[Piece, ...]:
        """At most this many pieces that stand right before one of the chunk."""
        shown = (*self.preceding, *self.pieces)
        at = len(self.preceding) + self.pieces.index(piece)
        return shown[max(0, at - count) : at]

    def resolve_speaker(self, name: str, piece: Piece) -> str | None:
        """The speaker that a word such as "I", "user" or a name means in this piece; None for other words."""
        word = name.strip().casefold()
        if word in _USER:
            return SELF
        if word in _FIRST_PERSON:
            return speaker_name(piece.utterance.speaker) or SELF
        return next((speaker for speaker in self._speakers if speaker.casefold() == word), None)

    def find_spelling(self, name: str) -> str | None:
        """How a name is spelled in the source; None if it is not there. One that was written without capitals is
        spelled as given.

        >>> chunk = Chunk((Piece(0, Utterance("I flew to São  Paulo with ANNA, then to graz.")),))
        >>> chunk.find_spelling("Sao Paulo"), chunk.find_spelling("Anna's"), chunk.find_spelling("Graz")
        ('São Paulo', 'ANNA', 'Graz')
        >>> chunk.find_spelling("Ann")
        >>> Chunk((Piece(0, Utterance("gareths back at work")),)).find_spelling("Gareth")
        'Gareth'
        """
        given = bare_name(name)
        found = list(find_words(given, self.text))
        if not found and given:  # "gareths" is how many write "Gareth's"
            found = [said[:-1] for said in find_words(given + "s", self.text) if said == said.lower()]
        capitals = (spelled for spelled in found if spelled != spelled.lower())
        return next(capitals, given if found else None)

    def word_overlap(self, text: str) -> float:
        """The share of the words of this text, without stop words, that are in the source."""
        wanted = set(tokens(text, self.language)) - {USER_LABEL}
        return len(wanted & self._words) / len(wanted) if wanted else 0.0

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The numbers in the source, in digits, also those in words."""
        said = re.split(r"[^a-z]+", self.text.lower())
        singular = (word if word in NUMBERS else word.removesuffix("s") for word in said)  # "sevens"
        thousands = (number + "000" for number in _IN_THOUSANDS.findall(self.text))  # "14k"
        return frozenset((*numbers_in(self.text), *thousands, *map(str, numbers_in_words(singular))))

    @cached_property
    def text(self) -> str:
        """All that is shown."""
        said = (piece.utterance.text for piece in (*self.pieces, *self.preceding))
        return "\n".join([*self._speakers, *said, *(memory.text for memory in self.known)])

    @cached_property
    def _speakers(self) -> tuple[str, ...]:
        speakers = (speaker_name(piece.utterance.speaker) for piece in (*self.preceding, *self.pieces))
        return tuple(dict.fromkeys(speaker for speaker in speakers if speaker))

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(tokens(self.text, self.language)) | self.numbers

    @cached_property
    def language(self) -> str:
        """The language of all that is shown."""
        return language_of(self.text)


def numbers_in(text: str) -> Iterator[str]:
    """The numbers in a text, without separators of thousands.

    >>> list(numbers_in("It cost 12,500 on the 3rd, or 2.50 a day."))
    ['12500', '3', '2.50']
    """
    return (_THOUSANDS.sub("", number) for number in _NUMBER.findall(text))


def numbers_in_words(words: Iterable[str]) -> Iterator[int]:
    """The numbers that words say, those of several words and each of these words.

    >>> list(numbers_in_words("two thousand and fifty pounds or sixty three".split()))
    [2, 50, 2050, 60, 3, 63]
    """
    total = part = 0
    for word in (*words, ""):
        if word in NUMBERS:
            yield NUMBERS[word]
            part += NUMBERS[word]
        elif word == "hundred":
            part = 100 * max(part, 1)
        elif word == "thousand":
            total, part = total + 1000 * max(part, 1), 0
        elif word != "and" and total + part:
            yield total + part
            total = part = 0


def split_into_chunks(
    utterances: Sequence[Utterance], size: int, known: Sequence[Memory] = (), before: Sequence[Utterance] = ()
) -> list[Chunk]:
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
    earlier = [[Piece(-1, utterance) for utterance in before], *groups]
    return [Chunk(tuple(group), _ends(earlier[i][-PRECEDING_TURNS:]), tuple(known)) for i, group in enumerate(groups)]


def find_words(words: str, text: str) -> Iterator[str]:
    """Each place of a text at which these words stand, as they are written there; case, accents and marks do not count.

    >>> list(find_words("sao paulo, dont", "São  Paulo — dont! Not Sao Paulos."))
    ['São Paulo — dont']
    """
    wanted, (said, spans) = _split(words)[0], _split(text)
    for start in (n for n, word in enumerate(said) if wanted and word == wanted[0]):
        end = start + len(wanted)
        if said[start:end] == wanted:
            yield " ".join(text[spans[start][0] : spans[end - 1][1]].split())


def find_similar_words(words: str, text: str) -> str:
    """The words of a text that are most like these, as they are written there; "" if none are.

    >>> find_similar_words("I don't eat any fish", "so i dont eat fish anymore, sorry")
    'so i dont eat fish'
    """
    from rapidfuzz import fuzz  # most quotations are right

    (wanted, _), (said, spans) = _whole_words(words), _whole_words(text)
    place = fuzz.partial_ratio_alignment(wanted, said, score_cutoff=100 * MIN_LIKENESS)
    if place is None or place.dest_end - place.dest_start < MIN_LIKENESS * len(wanted):
        return ""
    return " ".join(text[spans[place.dest_start][0] : spans[place.dest_end - 1][1]].split())


def _whole_words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """As `_split`, with "don't" as the one word "dont"."""
    words, spans = list[str](), list[tuple[int, int]]()
    for word, (start, end) in zip(*_split(text), strict=True):
        if spans and text[spans[-1][1] : start] in ("'", "’"):
            words[-1], spans[-1] = words[-1] + word, (spans[-1][0], end)
        else:
            words.append(word)
            spans.append((start, end))
    return words, spans


def _prompt_fields(utterance: Utterance, now: datetime) -> dict[str, object]:
    at = utterance.at or now
    name = speaker_name(utterance.speaker)
    # Not strftime("%Y"): glibc does not pad years before 1000.
    when = f"{at:%A} {at.date().isoformat()} {at:%H:%M}"
    return {"speaker": USER_LABEL if name in (SELF, None) else name, "at": when, "text": utterance.text}


def _pieces(utterances: Sequence[Utterance], size: int) -> Iterator[Piece]:
    for turn, utterance in enumerate(utterances):
        text = utterance.text
        spans = split_passages(text, target=max(1, size * 3 // 4), maximum=size) or ((0, len(text)),)
        for start, end in spans:
            if text[start:end].strip():
                yield Piece(turn, replace(utterance, text=text[start:end]))


def _ends(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    return tuple(Piece(p.turn, replace(p.utterance, text=p.utterance.text[-PRECEDING_SIZE:])) for p in pieces)


def bare_name(name: str) -> str:
    """A name without marks around it and without "'s"."""
    return POSSESSIVE.sub("", name.strip(_EDGES)).strip()


@lru_cache(512)
def _split(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """The words of a text without case and accents, and where each begins and ends. Scripts without case have no spaces
    between words, so each of their letters counts as one."""
    spans: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        for has_case, run in groupby(range(*word.span()), lambda at: text[at].isdigit() or _has_case(text[at])):
            places = list(run)
            spans += [(places[0], places[-1] + 1)] if has_case else [(at, at + 1) for at in places]
    return [strip_accents(text[start:end]).casefold() for start, end in spans], spans


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper()
