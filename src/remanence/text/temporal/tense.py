"""Whether a time without a year is in the future or in the past, by the verb next to it: "we met in May", "we meet in
May"."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from remanence.text.lexicon.word_lists import FIRST_NAMES, RELATIONSHIP_NOUNS
from remanence.text.temporal import time_vocabulary as vocab
from remanence.text.temporal.time_lexer import TimeToken

_Cue: TypeAlias = Literal["past", "indirect past", "present", "future"]
"""The tense of a verb. It is indirect where the time need not be that of the verb."""
Recurrence: TypeAlias = Literal["year", "week"]
_REACH = 30
_SENTENCE_ENDS = frozenset(".!?;:\n")
_CLAUSE_ENDS = frozenset(", ( ) — – and but so because while which who that when if although though where".split())
_PRONOUNS = frozenset("i we you they".split())
_CONTRACTED_SUBJECTS = frozenset("it he she that there what who here where".split())  # "it's" has a verb
_PREPOSITIONS = frozenset("on in at for to by from until till this next the a an my our his her their with".split())
_DETERMINERS = frozenset("a an the my our your his her their its this that some another".split())
_PARTICLES = frozenset("out up off over back away down home again".split())
"""Words between a verb and its time: "runs out on", "starts again on"."""
_STATE_VERBS = frozenset("was were had".split())
"""With these a time is that of the state: "I was there for the concert on 5 May"."""
_SINGULAR_SUBJECTS = frozenset("he she it everyone everybody nobody".split()) | RELATIONSHIP_NOUNS
"""Words after which one that ends with s is a verb: "she starts work on"."""
_ENDINGS: dict[str, _Cue] = {"'ll": "future", "'re": "present", "'m": "present"}
_PARTICIPLE_ENDINGS = ("ed", "en")


class Direction(NamedTuple):
    """Whether a time is in the future or in the past. `is_certain` is False if no verb shows it."""

    is_future: bool | None
    is_certain: bool
    recurs: Recurrence | None = None
    """Whether it comes again: "her birthday is on 3 May", "we always meet on Friday". That is not one day."""
    is_indirect: bool = False
    """Whether the past verb that shows it may speak of what lies ahead: "signed up for a workshop on 28 May",
    "signed on Friday, start 1 April"."""


PAST = Direction(False, True)
NEAREST = Direction(None, False)


class TenseReader:
    """The tense of the clauses of a text."""

    def __init__(self, tokens: Sequence[TimeToken]) -> None:
        self._tokens = tokens
        self._clauses = _split(tokens)
        self._starts = [start for _, start, _ in self._clauses]

    def place_of(self, i: int) -> tuple[int, int]:
        """The number of the sentence that token `i` is in, and that of the clause. A clause with "that" belongs to the
        one before it: "he wrote that he would come"."""
        clause_index = max(0, bisect_right(self._starts, i) - 1)
        sentence, start, _ = self._clauses[clause_index]
        belongs = start > 0 and self._tokens[start - 1].normalized == "that"
        return sentence, clause_index - belongs

    def direction_at(self, i: int) -> Direction:
        """Where the time that begins at token `i` lies."""
        clause_index = bisect_right(self._starts, i) - 1
        _, start, end = self._clauses[clause_index]
        start, end = max(start, i - _REACH), min(end, i + _REACH)
        words = {token.normalized for token in self._tokens[start:end]}
        yearly = not words.isdisjoint(vocab.YEARLY_WORDS) or ("born" in words and words.isdisjoint(vocab.NEWBORN_WORDS))
        recurs: Recurrence | None = "year" if yearly else None if words.isdisjoint(vocab.HABIT_WORDS) else "week"
        back_in = self._word(i - 1) == "in" and self._word(i - 2) == "back" and i - 2 == start
        if back_in or "since" in (self._word(i), self._word(i - 1), self._word(i - 2)):
            return Direction(False, True, recurs)
        cue = self._cue_in(start, end, i) or self._cue_in_neighbours(clause_index, i)
        if cue is None:
            is_plan = not words.isdisjoint(vocab.HEDGES)
            return Direction(is_plan or None, is_plan, recurs)
        return Direction(not cue.endswith("past"), True, recurs, cue == "indirect past")

    def _cue_in_neighbours(self, clause_index: int, i: int) -> _Cue | None:
        """The tense of the nearest clause of the same sentence that has one, those before first."""
        sentence = self._clauses[clause_index][0]
        before, after = (
            self._clauses[max(0, clause_index - 8) : clause_index][::-1],
            self._clauses[clause_index + 1 : clause_index + 9],
        )
        for number, start, end in (*before, *after):
            start, end = max(start, i - _REACH), min(end, i + _REACH)
            if number == sentence and start < end and (cue := self._cue_in(start, end, i)):
                return "indirect past" if cue == "past" else cue
        return None

    def _cue_in(self, start: int, end: int, i: int) -> _Cue | None:
        """The tense that the clause has next to token `i`: of its last verb before, else of its first after."""
        found: _Cue | None = None
        for k in [*range(min(i, end) - 1, start - 1, -1), *range(max(i, start), end)]:
            if cue := self._cue(k, start):
                found = cue
                break
        if found == "past" and (self._is_arranged(k, i) or self._tells_present(k, min(i, end))):
            return "future"
        if found == "past" and self._is_of_object(k, i):
            return "indirect past"
        return found or self._simple_present(start, min(i, end))

    def _cue(self, k: int, start: int) -> _Cue | None:
        token = self._tokens[k]
        word = token.normalized
        if token.kind != "word" or (word in vocab.MONTHS and token.capitalized):
            return None
        if word in vocab.FUTURE_CUES:
            return None if word == "due" and self._word(k + 1) == "to" else "future"
        if word == "going" and self._word(k + 1) == "to":
            return None if self._word(k - 1) in ("was", "were") else "future"
        if word in ("has", "have", "hasn't", "haven't") or word.endswith("'ve"):
            return self._perfect(k)
        if word in vocab.PRESENT_CUES:
            return "present"
        if word in _CONTRACTED_SUBJECTS and token.end - token.start > len(word):
            return self._perfect(k) if self._word(k + 1) == "been" else "present"
        if "'" in word:
            return next((cue for ending, cue in _ENDINGS.items() if word.endswith(ending)), None)
        if word in vocab.PAST_CUES or (word.endswith("ed") and len(word) > 4 and word not in vocab.NOT_PAST):
            if self._word(k + 1) in ("until", "till", "til") and not self._has_person_before(k, start):
                return None  # "closed until 8 May"; but "Ana worked until 8 May"
            return "past" if k == start or self._is_finite(k, start) else None
        if word in vocab.UNCHANGED_VERBS and k > start:
            before = self._word(k - 1)  # "the storm hit" is past, "storms hit", "to hit" and "a hit" need not be
            plain = before in _PRONOUNS or before in vocab.BEFORE_PARTICIPLES - {"it", "he", "she"}
            return None if plain or before.endswith("s") or self._tokens[k - 1].kind != "word" else "past"
        return None

    def _has_person_before(self, k: int, start: int) -> bool:
        return k > start and (self._word(k - 1) in _PRONOUNS or self._has_singular_subject(k, start))

    def _perfect(self, k: int) -> _Cue:
        """The tense of "have" at token `k`: "have met" is past, "have to", "have a meeting" and "have got" are not."""
        j = k + 1
        while self._word(j) in vocab.VERB_ADVERBS:
            j += 1
        word = self._word(j)
        participle = word in vocab.PAST_CUES or (word.endswith(_PARTICIPLE_ENDINGS) and len(word) > 3)
        return "past" if participle and word != "got" else "present"

    def _is_finite(self, k: int, start: int) -> bool:
        """Whether a past form at token `k` is the verb: not "is closed", "a rented car", "a firm called Bolt"."""
        j = k - 1
        while self._word(j) in vocab.VERB_ADVERBS:
            j -= 1
        if self._is_subject(j, start):
            return True
        if self._word(j) in vocab.BEFORE_PARTICIPLES or self._word(j).endswith(("'re", "'m")):
            return False
        if self._describes_noun(k, start):
            return False
        before = [self._word(n) for n in range(k - 4, k)]  # "will stay closed", "we'll have it fixed"
        return not any(word in ("will", "won't", "would", "shall") or word.endswith("'ll") for word in before)

    def _is_subject(self, j: int, start: int) -> bool:
        """Whether token `j` is "he", "she" or "it" as the subject of the clause: not "he's", nor "get it fixed"."""
        if j < start or self._word(j) not in ("he", "she", "it"):
            return False
        token = self._tokens[j]
        return token.end - token.start == len(token.normalized) and (token.normalized != "it" or j == start)

    def _describes_noun(self, k: int, start: int) -> bool:
        """Whether the word at token `k` is a participle after a noun that is not the subject: "at a firm called B"."""
        word = self._tokens[k].normalized
        named = word in vocab.CALLED_WORDS and k + 1 < len(self._tokens) and self._tokens[k + 1].capitalized
        if not named and word not in vocab.LASTING_PARTICIPLES:
            return False
        article = next((n for n in range(k - 2, max(start, k - 5) - 1, -1) if self._word(n) in _DETERMINERS), start)
        return article > start and self._word(article - 1) not in vocab.TIME_NOUNS

    def _is_arranged(self, k: int, i: int) -> bool:
        """Whether the past verb at token `k` arranges what lies ahead at token `i`: "booked a table for Friday"."""
        word = self._tokens[k].normalized
        between = [token.normalized for token in self._tokens[k + 1 : i + 1]]
        if word in vocab.PROMISING_VERBS:
            return True
        if not vocab.ARRANGED_NOUNS.isdisjoint(between):
            return "for" in between
        return word in vocab.ARRANGING_VERBS and not {"for", "to", "until", "till"}.isdisjoint(between[-3:])

    def _is_of_object(self, k: int, i: int) -> bool:
        """Whether the time at token `i` may be that of what the past verb at token `k` is about: "signed up for a
        course on", "put the rent up from"; but not "was there from", "stayed for two weeks in"."""
        if self._word(k) in _STATE_VERBS:
            return False
        if self._word(i) in vocab.BEGINNING_WORDS or "from" in (self._word(i), self._word(i - 1)):
            return True
        lengths = vocab.UNITS.keys()
        fors = (n for n in range(k + 1, i) if self._word(n) == "for")
        return any(lengths.isdisjoint((self._word(n + 1), self._word(n + 2))) for n in fors)

    def _tells_present(self, k: int, end: int) -> bool:
        """Whether a clause in the present follows the past verb at token `k`: "told me he leaves", "said we fly"."""
        for j in range(k + 1, end - 1):
            subject, verb = self._word(j), self._word(j + 1)
            is_verb = self._tokens[j + 1].kind == "word" and verb not in vocab.UNCHANGED_VERBS | _PREPOSITIONS
            if subject in ("he", "she") and is_verb and verb.endswith("s") and not verb.endswith("ss"):
                return True
            if subject in ("i", "we", "they") and is_verb and self._cue(j + 1, j + 1) != "past":
                return True
        return False

    def _simple_present(self, start: int, end: int) -> _Cue | None:
        """A verb before token `end` that is a simple present by its form or place: "reopens on", "I fly"."""
        for k in range(start, end):
            token, after = self._tokens[k], self._word(k + 1)
            if token.kind != "word":
                continue
            if token.normalized in _PRONOUNS and k + 1 < end:
                return None if after in vocab.UNCHANGED_VERBS else "present"
            singular = token.normalized.endswith("s") and not token.normalized.endswith(("ss", "us"))
            singular = singular and token.normalized not in vocab.NOT_PLURAL
            verb_like = singular and len(token.normalized) > 3 and token.end - token.start == len(token.normalized)
            if verb_like and not token.capitalized and (self._has_singular_subject(k, start) or self._has_time(k, end)):
                return "present"
        return None

    def _has_singular_subject(self, k: int, start: int) -> bool:
        before = self._tokens[k - 1] if k > start else None
        if before is None or before.end - before.start != len(before.normalized):  # "my brother's exams"
            return False
        return before.normalized in _SINGULAR_SUBJECTS or (before.capitalized and before.normalized in FIRST_NAMES)

    def _has_time(self, k: int, end: int) -> bool:
        """Whether a preposition, a number or the time follows the word at token `k`, perhaps after a particle."""
        j = k + 1
        while j < end and (self._word(j) in _PARTICLES or self._word(j) in vocab.VERB_ADVERBS):
            j += 1
        return j == end or self._word(j) in _PREPOSITIONS or self._tokens[j].kind == "number"

    def _word(self, k: int) -> str:
        return self._tokens[k].normalized if 0 <= k < len(self._tokens) else ""


def _split(tokens: Sequence[TimeToken]) -> list[tuple[int, int, int]]:
    """The clauses: the number of the sentence, the first token and the one after the last."""
    clauses, sentence, start = [], 0, 0
    for k, token in enumerate(tokens):
        word = token.normalized
        if word in _SENTENCE_ENDS:
            before = tokens[k - 1] if k else token
            length = before.end - before.start
            if word == "." and ((before.kind == "number" and length < 3) or (before.capitalized and length < 4)):
                continue  # "St. Brigid", "3. May"; but "in 2014."
            clauses.append((sentence, start, k))
            sentence, start = sentence + (word != ":"), k + 1
        elif word in _CLAUSE_ENDS and not _joins_days(tokens, k):
            clauses.append((sentence, start, k))
            start = k + 1
    clauses.append((sentence, start, len(tokens)))
    return clauses


def _joins_days(tokens: Sequence[TimeToken], k: int) -> bool:
    """Whether token `k` stands between two days of a month: "on 28 and 29 May"."""
    if not 0 < k < len(tokens) - 2 or tokens[k + 2].normalized not in vocab.MONTHS:
        return False
    return all(tokens[n].kind in ("number", "ordinal") for n in (k - 1, k + 1))
