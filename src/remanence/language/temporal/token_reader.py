"""What every rule of the grammar leans on: looking at tokens, and reading numbers, days and years."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from remanence.language.temporal.calendar_spans import Span, midnight
from remanence.language.temporal.time_lexer import END_TOKEN, Token
from remanence.language.temporal.time_vocabulary import (
    COUNT_NOUNS,
    FOLLOWING_WORDS,
    MONTH_NAMES,
    MONTHS,
    NOT_PLURAL,
    NUMBERS,
    ORDINALS,
    TENS,
    TIME_CUES,
    UNITS,
    VAGUE_NUMBERS,
    VERB_MONTHS,
)

SpanMatch = tuple[Span, int] | None
"""What a rule says: the stretch and the token after it, or None where the rule does not hold."""

_BEYOND = 8
RANGE_WORDS = {"to", "-", "–", "—", "~", "through", "thru", "until", "till", "til"}


class TokenReader:
    """Tokens, and the reference time. Rules take a position and never move anything.

    `loose` means that the words around already say "a time stands here" (in, since, from ... to), so a
    bare month or year is taken. `whole` is loose from the first word: the text is one phrase.
    """

    def __init__(self, tokens: Sequence[Token], now: datetime, *, whole_text: bool = False) -> None:
        self.token_count = len(tokens)
        # Rules look a few tokens past either end, and one before the first is one from the end.
        self._tokens = [*tokens, *[END_TOKEN] * _BEYOND]
        self._words = [token.normalized for token in self._tokens]
        self.now = now
        self.today = midnight(now)
        self.whole_text = whole_text
        self.depth = 0
        self.previous_end = -1  # where the last phrase ended, if a list of years may go on there

    def time_span(self, i: int, loose: bool = False) -> SpanMatch:
        """One stretch of time, however said."""
        raise NotImplementedError

    def token(self, i: int) -> Token:
        return self._tokens[i]

    def word(self, i: int) -> str:
        return self._words[i]

    def skip(self, i: int, *words: str) -> int:
        """The position after token `i` if it is one of these words, else `i`."""
        return i + 1 if self.word(i) in words else i

    def has_cue(self, i: int) -> bool:
        """Whether the word before (a "the" apart) announces a time."""
        if self.word(i - 1) == "the":
            i -= 1
        if i == 0:
            return self.whole_text
        return self.word(i - 1) in TIME_CUES or (i - 1 == self.previous_end and self.word(i - 1) in (",", "and", "or"))

    def may_end_before(self, i: int) -> bool:
        """Whether a phrase may end before token `i`: at a mark, the end, or a small function word."""
        token = self.token(i)
        return token.kind in ("end", "mark", "clock") or token.normalized in FOLLOWING_WORDS

    def unit(self, i: int) -> str | None:
        return UNITS.get(self.word(i))

    def number(self, i: int) -> tuple[int, int, int] | None:
        """From, to, and the next position: "two" is 2 to 2, "a few" is 2 to 5."""
        word, token = self.word(i), self.token(i)
        if token.kind == "number":
            return int(word), int(word), i + 1
        if word in ("a", "an"):
            vague = self.word(i + 1) in VAGUE_NUMBERS
            return self.number(i + 1) if vague else (1, 1, i + 1)
        if word in VAGUE_NUMBERS:
            return *VAGUE_NUMBERS[word], self.skip(i + 1, "of")
        if word in TENS:
            ones = self.word(self.skip(i + 1, "-"))
            if 0 < NUMBERS.get(ones, 0) < 10:
                return TENS[word] + NUMBERS[ones], TENS[word] + NUMBERS[ones], self.skip(i + 1, "-") + 1
        if word in NUMBERS:
            return NUMBERS[word], NUMBERS[word], i + 1
        return None

    def ordinal(self, i: int) -> tuple[int, int] | None:
        """As in "3rd", "third", "twenty-third"."""
        word = self.word(i)
        if self.token(i).kind == "ordinal":
            return int(word[:-2]), i + 1
        if word in ORDINALS:
            return ORDINALS[word], i + 1
        if word in ("twenty", "thirty"):
            j = self.skip(i + 1, "-")
            if ORDINALS.get(self.word(j), 10) < 10:
                return TENS[word] + ORDINALS[self.word(j)], j + 1
        return None

    def day_number(self, i: int) -> tuple[int, int] | None:
        """A day of a month, with or without its "th"."""
        found = self.ordinal(i)
        if found is None:
            number = self.number(i) if self.word(i) not in ("a", "an") else None
            if number is None or number[0] != number[1] or len(self.word(number[2] - 1)) > 9:
                return None
            found = number[1], number[2]
        if not 1 <= found[0] <= 31 or self.unit(found[1]) or self.word(found[1]) in ("percent", "%"):
            return None
        return found

    def month(self, i: int) -> tuple[int, int] | None:
        """A month's name, and the dot of "Oct." when a number follows it."""
        word = self.word(i)
        if word not in MONTHS:
            return None
        short = word not in MONTH_NAMES and self.word(i + 1) == "." and self.token(i + 2).kind in ("number", "ordinal")
        return MONTHS[word], i + (2 if short else 1)

    def may_be_verb(self, i: int) -> bool:
        """Whether token `i` may just as well be the verb: "may", "march" in small letters."""
        return self.word(i) in VERB_MONTHS and not self.token(i).capitalized

    def year(self, i: int) -> tuple[int, int] | None:
        """Four digits, or the words for them, that count nothing: "2024", but not "2024 km"."""
        token, after = self.token(i), self.token(i + 1)
        if token.kind == "word":
            return self.year_in_words(i)
        if token.kind != "number" or len(token.normalized) != 4 or not 1000 <= int(token.normalized) <= 2100:
            return None
        if after.normalized in COUNT_NOUNS or (after.kind == "word" and after.start == token.end):
            return None
        return int(token.normalized), i + 1

    def year_in_words(self, i: int) -> tuple[int, int] | None:
        """As in "nineteen eighty-six", "two thousand and fifteen", "nineteen hundred ninety three"."""
        if self.word(i) == "two" and self.word(i + 1) == "thousand":
            century, j = 2000, i + 2
        elif self.word(i) in ("eighteen", "nineteen", "twenty"):
            century, j = NUMBERS[self.word(i)] * 100, i + 1
            if self.word(j) != "hundred" and NUMBERS.get(self.word(j), 0) < 10:
                return None
            j = self.skip(j, "hundred")
        else:
            return None
        rest = self.number(self.skip(j, "and")) if self.word(self.skip(j, "and")) in NUMBERS else None
        if rest and rest[1] < 100:
            return century + rest[1], rest[2]
        return (century, j) if j > i + 1 else None

    def is_counted_noun(self, i: int) -> bool:
        """Whether token `i` looks like what a number before it counts: "words", "calories"."""
        word, token = self.word(i), self.token(i)
        plural = word.endswith("s") and len(word) > 3 and word not in NOT_PLURAL and not token.capitalized
        return token.kind == "word" and (plural or word in COUNT_NOUNS)

    def year_after(self, i: int) -> tuple[int, int] | None:
        """A year right after a month or holiday: "2024", ", 2024", "of 2024", "'24", "of 87"."""
        j = self.skip(i, ",", "of", "in", "-")
        if self.word(j) == "the" and self.word(j + 1) == "year":
            j += 2
        if found := self.year(j):
            return found
        short = self.token(j).kind == "number" and len(self.word(j)) == 2 and self.word(i) == "of"
        if self.token(j).kind == "yy" or short:
            return self.expand_year(int(self.word(j)[-2:])), j + 1
        return None

    def expand_year(self, two_digits: int) -> int:
        """The latest such year that is not more than ten years ahead."""
        year = self.now.year // 100 * 100 + two_digits
        return year if year <= self.now.year + 10 else year - 100
