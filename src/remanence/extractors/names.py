"""Which names stand in a text: capitals, quotes, addresses, and what a sentence does to its first word.

A capital is evidence, not proof. In the middle of a sentence it is good evidence, unless the word is an
ordinary one; at the start of a sentence, of a line, or in a shout it is none, and something else has to
speak for the word: a gazetteer, a possessive, a verb after it, or a second, better placed appearance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from remanence.extractors.common import WORDS, is_common
from remanence.extractors.lexicon import (
    ABBREVIATIONS,
    CALENDAR,
    FIRST_NAMES,
    HONORIFICS,
    NATIONALITIES,
    NOT_ACRONYMS,
    ORGANIZATION_WORDS,
    ORGANIZATIONS,
    PLACE_ACRONYMS,
    PLACE_WORDS,
    PLACES,
    PRODUCTS,
)

SELF = "me"
"""The name of the first person when nobody said who is speaking."""


class Name(NamedTuple):
    """A name and where it stands: `text[start:end]`, without its possessive ending."""

    text: str
    kind: str
    start: int
    end: int


def names_in(text: str) -> tuple[str, ...]:
    """The names a question asks about, in order, each once. The first person is `SELF`.

    >>> names_in("Where does Alice live?")
    ('Alice',)
    >>> names_in("When did I last see Bob at the University of Porto?")
    ('me', 'Bob', 'University of Porto')
    """
    found = sorted([*find_names(text, question=True), *find_self(text)], key=lambda name: name.start)
    return tuple({normal(name.text): name.text for name in reversed(found)}[key] for key in _keys(found))


def find_names(text: str, *, question: bool = False) -> list[Name]:
    """Every name that stands in `text`, in order, repetitions included.

    In a question a capitalised ordinary word counts as a name too: looking up a name that nobody bears
    costs nothing, while keeping one would.

    >>> [(name.text, name.kind) for name in find_names("Hey Melanie! Dr. Smith lives in New York City.")]
    [('Melanie', 'person'), ('Dr. Smith', 'person'), ('New York City', 'place')]
    """
    fixed = _addresses_and_titles(text)
    tokens = _tokens(text, fixed)
    if "`" in text:
        fixed = [name for name in fixed if name.kind != _CODE_KIND]
    if not tokens:
        return fixed
    found = _Reading(text, tokens, question).names()
    return sorted([*fixed, *found], key=lambda name: name.start) if fixed else found


def find_self(text: str, called: str = SELF) -> list[Name]:
    """Where the text speaks in the first person, as names of the person so `called`.

    >>> [name.start for name in find_self("I gave my dog a bone.")]
    [0, 7]
    """
    found = []
    for match in _SELF.finditer(text):
        start, end = match.span()
        before = text[start - 1] if start else " "
        if not (before.isalnum() or before in "_.@#'’&-" or (text[start] == "I" and _numeral(text, start))):
            found.append(Name(called, "person", start, end))
    return found


def normal(name: str) -> str:
    """The form under which two spellings are the same name.

    >>> normal("The  O’Brien") == normal("the o'brien")
    True
    """
    return " ".join(name.replace("’", "'").casefold().split())


# -- the parts of a text -------------------------------------------------------------------------------

_UPPER = "".join(
    re.escape(chr(code)) for low, high in ((0x41, 0x590), (0x1E00, 0x2000)) for code in range(low, high)
    if chr(code).isupper()
)  # fmt: skip
_TOKEN = re.compile(  # one class of letters in front: the search for it is the fast part
    rf"[{_UPPER}](?:"
    rf"(?:\.[ ]?[{_UPPER}])+\."  # J. R. R. (Tolkien), U.S.
    rf"|(?<!I)\.(?=[ ][{_UPPER}]\w)"  # J. (Smith)
    r"|\w*(?:[-'’&]\w+|\.(?:com|net|org|io|js|ai)\b)*)"
)
_SELF = re.compile(r"[IiMm](?:(?<=[Ii])(?!\.\w)|(?<=[Mm])(?:e|y|ine|yself))(?![\w&@-])")
_URL = re.compile(r"(?:https?://|www\.)[^\s<>\"'“”`|\[\]]*[^\s<>\"'“”`|\[\].,;:!?)]")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LABEL = re.compile(
    r"\*\*[^*\n]{1,120}\*\*"
    r"|^[ \t>]*(?:\#+|[-*+•|]|\d{1,3}[.)])[ \t]+[^\n:.!?]{1,100}(?=:|$)"
    r"|^[^\n:.!?]{1,80}:?$",
    re.MULTILINE,
)
_HANDLE = re.compile(r"(?<![\w@/.])@\w{2,30}")
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_QUOTED_ONCE = re.compile(r"['‘](?<![\w'’].)((?:[^'‘’\"\n]|['’](?=\w)){2,80})['’](?!\w)")
_TITLE_CUE = re.compile(
    r"\b(?:book|novel|film|movie|song|album|show|series|game|episode|poem|play|titled|called|named|entitled|read"
    r"|reading|watched|watching|single|track|documentary|musical|painting|podcast)s?,? (?:the |is |was )?$"
)
_DIGIT = re.compile(r"\d")
_SMALL = frozenset("a an and as at but by de for from in into is la le of on or the to vs with".split())
_LOWER_WORD = re.compile(r"(?<![\w'’-])[a-z][a-z]+")
_FOLLOWING_WORD = re.compile(r"(['’]s\b)?,? ?([a-z]+)?")
_VERSION = re.compile(r"[ ]\d{1,3}[ ]")
_NUMBER_AFTER = re.compile(r"[ ](\d{1,3}(?:\.\d)?[A-Za-z]?)(?![\w:%./-]|[ ][a-z]|,\d)")

_JOINTS = frozenset(
    f" {word} "
    for word in "of the|of|the|de la|de los|de|del|della|da|di|dos|du|van der|van den|van de|van|von|der|den|ten|"
    "bin|ibn|al|el|la|le|y|&".split("|")
)
_ENDINGS = ("'s", "'re", "'ve", "'ll", "'m", "'d", "'em")
_SPACE_BEFORE = frozenset(" \t\u00a0")
_CONTINUES = frozenset(",'’)&/%$+”;")
_ARTICLES = frozenset(("the", "a", "an", "this", "that", "my", "our", "your", "his", "her", "their", "its"))
_CALLING = frozenset("hey hi hello dear thanks congrats congratulations bye welcome sorry ok okay wow oh".split())
_AFTER_NAME = frozenset(
    """is was has had does did will would can could said says told asks asked lives lived works worked went goes got
    gets loves loved likes liked hates hated prefers wants wanted thinks thought knows knew moved plays played owns
    owned bought made makes came comes took takes gave gives met visited started joined left became wrote runs ran
    studied studies enjoys enjoyed needs needed called founded married died won""".split()
)
_PERSON_VERBS = _AFTER_NAME - frozenset("is was has had does did will would can could made makes won".split())
_FUNCTION_WORDS = frozenset(
    """who whom whose what when where which why how is are was were am be do does did has have had will would can
    could should shall may might must and but or so if then because since while although though after before until
    as at by for from in into of off on onto out over to under up with without about against between during than
    besides like unlike both only even just also not no yes yeah well maybe perhaps did does has had let tell ask
    he she it they we you i this that these those there here call meet see met saw visit near inside outside through via per""".split()
)
_NOUN_ENDINGS = ("s", "ing", "ness", "tion", "ity", "ment", "hood", "ism", "ship", "ly", "ed", "ance", "ence", "ology")
_CODE_KIND = "code"
_SUFFIXES = frozenset(("jr", "sr", "inc", "llc", "ltd", "corp", "co", "gmbh", "phd", "md", "esq"))
_PLACE_CUE = re.compile(r"\b(?:in|from|to|near|of|around|visit(?:ed|ing)?|across|,) $")
_MAX_TOKENS = 8  # a longer run of capitals is a heading or a list, not a name


def _addresses_and_titles(text: str) -> list[Name]:
    """URLs, e-mail addresses, handles and quoted titles; where two overlap the first rule wins."""
    found: list[Name] = []
    if "`" in text:
        found += _matches(_CODE, _CODE_KIND, text, found)
    if "://" in text or "www." in text:
        found += _matches(_URL, "url", text, found)
    if "@" in text:
        found += _matches(_EMAIL, "email", text, found)
        found += _matches(_HANDLE, "handle", text, found)
    if '"' in text or "“" in text:
        found += _titles(_QUOTED, text, found)
    if "'" in text or "‘" in text:
        found += _titles(_QUOTED_ONCE, text, found)
    found.sort(key=lambda name: name.start)
    return found


def _titles(pattern: re.Pattern[str], text: str, taken: list[Name]) -> list[Name]:
    titles = []
    for match in pattern.finditer(text):
        start, end = match.span(1)
        end -= text[end - 1] in ",."
        if _is_title(text[start:end], text[max(0, start - 25) : start - 1]):
            titles.append(Name(text[start:end], "title", start, end))
    return _apart(titles, taken)


def _matches(pattern: re.Pattern[str], kind: str, text: str, taken: list[Name]) -> list[Name]:
    return _apart([Name(m.group(), kind, *m.span()) for m in pattern.finditer(text)], taken)


def _apart(found: list[Name], taken: list[Name]) -> list[Name]:
    """Those of `found` that do not overlap one already taken, in time linear in both."""
    covered = [(name.start, name.end) for name in taken]
    if not covered:
        return found
    covered.sort()
    kept, at = [], 0
    for name in found:
        while at < len(covered) and covered[at][1] <= name.start:
            at += 1
        if at == len(covered) or covered[at][0] >= name.end:
            kept.append(name)
    return kept


def _is_title(quoted: str, before: str) -> bool:
    """Whether quoted words are written like a title: every word but the small ones has its capital."""
    words = quoted.split()
    if not words or len(words) > 12 or not quoted[0].isalnum() or not (quoted[0].isupper() or quoted[0].isdigit()):
        return False
    if any(word[0].islower() and word not in _SMALL for word in words):
        return False
    if quoted[0].isdigit() and len(words) == 1:
        return False
    if _TITLE_CUE.search(before):
        return True
    if quoted[-1] in "!?:;,…":
        return False
    named = [word for word in words if word[0].isupper()]
    return len(named) > 1 or (len(words) == 1 and not _ordinary(quoted.lower()) and not quoted.isupper())


@dataclass(slots=True)
class _Token:
    """A word with a capital: where it stands, and what its place says of it."""

    text: str
    start: int
    end: int
    lower: str
    first: bool  # at the start of a sentence, line, quote or bracket
    possessive: bool = False
    label: bool = False  # in a heading, a list label or in bold: there every word may have a capital


def _tokens(text: str, fixed: list[Name]) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        while at < len(fixed) and fixed[at].end <= start:
            at += 1
        if at < len(fixed) and fixed[at].start < end:
            continue
        before = text[start - 1] if start else "\n"
        if before.isalnum() or before in "_#@/\\":
            start = _camel(text, start)  # iPhone, eBay
            if start < 0:
                continue
        word = text[start:end]
        if word == "I" or "_" in word:
            continue
        possessive = False
        if "'" in word or "’" in word:
            plain, ending = word.replace("’", "'"), ""
            if plain.endswith("n't"):
                continue
            if plain.endswith(_ENDINGS) and plain.lower() not in ORGANIZATIONS:
                ending = plain[plain.rindex("'") :]
                word, end = word[: -len(ending)], end - len(ending)
            possessive = ending == "'s"
        if "-" in word:
            stem, _, tail = word.rpartition("-")
            if tail.islower() and (tail.endswith("ed") or _ordinary(tail)):  # Keras-based
                end -= len(word) - len(stem)
                word = stem
        tokens.append(_Token(word, start, end, word.lower(), _starts(text, start), possessive))
    if "\n" in text or "**" in text:
        _mark_labels(text, tokens)
    return tokens


def _mark_labels(text: str, tokens: list[_Token]) -> None:
    """Mark the tokens that stand in a heading or a label."""
    at = 0
    for match in _LABEL.finditer(text):
        start, end = match.span()
        while at < len(tokens) and tokens[at].start < start:
            at += 1
        first = at
        while at < len(tokens) and tokens[at].end <= end:
            at += 1
        words = sum(1 for word in match.group().split() if word.islower() and word not in _SMALL)
        if at - first >= words:
            for token in tokens[first:at]:
                token.label = True


def _camel(text: str, start: int) -> int:
    """Where a name with a small first letter begins, such as iPhone; -1 if the capital is just inside a word."""
    for size in (1, 2):
        begin = start - size
        if begin >= 0 and text[begin:start].isalpha() and text[begin:start].islower():
            if begin == 0 or not (text[begin - 1].isalnum() or text[begin - 1] in "_#@/\\.'’-"):
                return begin
        else:
            break
    return -1


def _starts(text: str, start: int) -> bool:
    """Whether a sentence, a line, a quotation or a bracket begins at `start`."""
    at = start - 1
    while at >= 0 and text[at] in _SPACE_BEFORE:
        at -= 1
    if at < 0:
        return True
    before = text[at]
    if before.isalnum():
        return False
    if before == ".":
        word = at
        while word > 0 and at - word < 6 and (text[word - 1].isalpha() or text[word - 1] == "."):
            word -= 1
        abbreviated = text[word:at].lower() in ABBREVIATIONS or (at - word == 1 and text[word].isupper())
        return not abbreviated
    if before == '"':
        return at == start - 1 or text[at - 1 : at] in ".!?"
    return before not in _CONTINUES


def _numeral(text: str, start: int) -> bool:
    """Whether an "I" is a number: World War I, Elizabeth I."""
    if start < 2 or text[start - 1] != " " or not text[start - 2].isalpha():
        return False
    word = text[text.rfind(" ", max(0, start - 20), start - 1) + 1 : start - 1]
    return word[0].isupper() and word.lower() in _NUMBERED


_NUMBERED = frozenset("war part phase type class act volume chapter elizabeth james charles henry francis".split())


@lru_cache(maxsize=1 << 14)
def _ordinary(lower: str) -> bool:
    """Whether the word is an ordinary one: "rose" is, though Rose is a name; "james" is not, though jam is."""
    if lower in WORDS or (is_common(lower) and lower not in FIRST_NAMES):
        return True
    return "-" in lower and all(len(part) < 3 or is_common(part) for part in lower.split("-"))


# -- which of the capitals are names -------------------------------------------------------------------


class _Reading:
    """One text, being read. Lives for one call."""

    def __init__(self, text: str, tokens: list[_Token], question: bool) -> None:
        self.text = text
        self.tokens = tokens
        self.question = question
        loud = [token for token in tokens if len(token.text) > 1 and token.text.isupper()]
        self.shouting = len(loud) > 1 and len(loud) * 2 > len(tokens) and any(
            _ordinary(token.lower) and token.text not in NOT_ACRONYMS for token in loud
        )
        self._small: frozenset[str] | None = None
        self._seen: frozenset[str] | None = None

    def names(self) -> list[Name]:
        found = []
        for run in self._runs():
            head = run[0]
            if len(run) == 1 and head.first and _ordinary(head.lower) and head.lower not in FIRST_NAMES:
                continue  # the first word of a sentence, nine times in ten
            name = self._name(run)
            if name is not None:
                found.append(name)
        return found

    def _runs(self) -> Iterator[list[_Token]]:
        """Tokens that may be one name: neighbours, or joined by a word such as "of" or "van"."""
        text = self.text
        run: list[_Token] = []
        for token in self.tokens:
            if not self._may_be_named(token):
                if run:
                    yield run
                    run = []
                continue
            if run:
                last = run[-1]
                gap = text[last.end : token.start]
                if last.possessive or token.first or not self._joins(gap, last, token):
                    yield run
                    run = []
            run.append(token)
        if run:
            yield run

    def _joins(self, gap: str, last: _Token, token: _Token) -> bool:
        if gap == " ":
            return not (last.text[-1] == "." and token.lower in _FUNCTION_WORDS | _ARTICLES)
        if gap in _JOINTS and gap != " the ":
            return True
        if gap == ", ":
            return token.lower in _SUFFIXES
        if gap == " the ":  # Winnie the Pooh, but not "See the Alps"
            return not _ordinary(last.lower)
        if gap == ". ":
            return last.lower in ABBREVIATIONS and token.lower not in _FUNCTION_WORDS
        return _VERSION.fullmatch(gap) is not None and _kind(last.text, [last]) == "product"  # iPhone 15 Pro

    def _may_be_named(self, token: _Token) -> bool:
        text, lower = token.text, token.lower
        if len(text) > 1 and text.isupper():
            return not self.shouting and text not in NOT_ACRONYMS and (text in PLACE_ACRONYMS or not _ordinary(lower))
        if text[-1] == "s" and text[:-1].isupper():  # RPGs
            return False
        return not (lower in CALENDAR and (lower not in FIRST_NAMES or self._dated(token)))

    def _dated(self, token: _Token) -> bool:
        """Whether April, May, June or Summer is a time: unless a verb, a vocative or a surname says otherwise."""
        after = _FOLLOWING_WORD.match(self.text, token.end)
        return not (after and after[2] in _PERSON_VERBS) and not token.possessive

    def _name(self, run: list[_Token]) -> Name | None:
        run, called = self._without_openers(run)
        if not run or len(run) > _MAX_TOKENS:
            return None
        head, last = run[0], run[-1]
        start, end = head.start, last.end
        written = self.text[start:end]
        number = None if last.possessive else _NUMBER_AFTER.match(self.text, end)
        kind = _kind(written, run)
        if kind == "place" and written.lower() in FIRST_NAMES and not self._placed(head):  # Virginia, Jordan
            kind = "person"
        if number and kind in ("thing", "product") and not head.first:
            end = number.end()
            written, kind = self.text[start:end], "product"
        if not self._is_name(run, kind, called) or (head.label and not self._is_label_name(run, kind)):
            return None
        if kind == "thing" and (called or self._acts(last, _PERSON_VERBS) or self._called_out(head)):
            kind = "person"
        return Name(written, kind, start, end)

    def _without_openers(self, run: list[_Token]) -> tuple[list[_Token], bool]:
        """Drop "Hey", "The" and the like from the front; say whether what is left was called out to."""
        called = False
        while run:
            head = run[0]
            if head.lower in _ARTICLES or (head.lower in HONORIFICS and len(run) == 1):
                run = run[1:]
            elif head.first and (_ordinary(head.lower) or head.lower in _CALLING) and not self._known(run):
                if len(run) == 1 or (all(_ordinary(token.lower) for token in run) and self._acts(run[-1])):
                    break
                called = called or head.lower in _CALLING
                # After "Did" a capital is evidence; after "Compact" it is a heading.
                plain = called or head.lower in _FUNCTION_WORDS
                run = [replace(run[1], first=not plain), *run[2:]]
            elif head.lower in NATIONALITIES and (len(run) == 1 or run[1].lower in FIRST_NAMES):
                run = run[1:]
            else:
                break
        return run, called

    def _known(self, run: list[_Token]) -> bool:
        if len(run) == 1:
            return False
        written, head = self.text[run[0].start : run[-1].end].lower(), run[0].lower
        if written in PLACES or written in ORGANIZATIONS or head in HONORIFICS:
            return True
        return head in ORGANIZATION_WORDS and written.startswith(" of ", len(head))

    def _is_name(self, run: list[_Token], kind: str, called: bool) -> bool:
        head = run[0]
        if head.lower in HONORIFICS and len(run) > 1:
            return True
        if len(run) == 1:
            return self._is_single(head, kind, called)
        if run[-1].lower in NATIONALITIES:  # South Korean
            return False
        ordinary = all(_ordinary(token.lower) or token.lower in NATIONALITIES for token in run)
        if not ordinary:
            return not (head.first and self._in_small_letters(run))
        if self.question or kind in ("place", "organization"):
            return True
        return not head.first or self._acts(run[-1]) or self._seen_inside(head)

    def _is_label_name(self, run: list[_Token], kind: str) -> bool:
        """In a heading most words have to be strange ones, since ordinary words have capitals there too."""
        if kind != "thing" and not _ordinary(run[-1].lower):
            return True
        strange = [t for t in run if not (_ordinary(t.lower) or t.lower.endswith(_NOUN_ENDINGS))]
        return len(strange) * 2 > len(run) and not self._in_small_letters(strange)

    def _is_single(self, token: _Token, kind: str, called: bool) -> bool:
        text, lower = token.text, token.lower
        if len(text) < 2 or lower in NATIONALITIES or (lower.endswith("s") and lower[:-1] in NATIONALITIES):
            return False
        if any(part in NATIONALITIES for part in lower.split("-")):
            return False
        if lower in _SUFFIXES or (len(text) < 4 and kind == "product" and lower not in PRODUCTS):
            return False  # Jr., Q3, pH
        common = _ordinary(lower)
        if not token.first:
            if not common:
                return not (kind == "thing" and not self.question and self._in_small_letters([token]))
            return self.question or lower in FIRST_NAMES or lower in PLACES or lower in ORGANIZATIONS
        if common:
            evident = token.possessive or called or self._acts(token, _PERSON_VERBS) or self._seen_inside(token)
            return lower in FIRST_NAMES and evident
        if kind != "thing" or called or token.possessive:
            return True
        if text.isupper() or not text[1:].islower():
            return len(text) > 2 and not text.isupper()
        if self._seen_inside(token) or self._acts(token, _PERSON_VERBS):
            return True
        return self._acts(token) and not lower.endswith(_NOUN_ENDINGS)

    def _acts(self, token: _Token, verbs: frozenset[str] = _AFTER_NAME) -> bool:
        """Whether a verb follows, as after a subject."""
        after = _FOLLOWING_WORD.match(self.text, token.end)
        return after is not None and after[2] in verbs

    def _placed(self, token: _Token) -> bool:
        """Whether it stands as in "from Virginia" or "Porto, Georgia"."""
        return _PLACE_CUE.search(self.text, max(0, token.start - 10), token.start) is not None

    def _called_out(self, token: _Token) -> bool:
        """Whether it stands as in "Thanks, Mel"."""
        before = self.text[max(0, token.start - 12) : token.start]
        return before.endswith(", ") and before[:-2].rpartition(" ")[2].lower() in _CALLING

    def _seen_inside(self, token: _Token) -> bool:
        """Whether the word has its capital inside a sentence somewhere in the text."""
        if self._seen is None:
            self._seen = frozenset(other.lower for other in self.tokens if not other.first)
        return token.lower in self._seen

    def _in_small_letters(self, run: list[_Token]) -> bool:
        """Whether the text also writes all these words without capitals, so the capitals mean nothing."""
        if self._small is None:
            self._small = frozenset(_LOWER_WORD.findall(self.text))
        small = self._small
        return all(token.lower in small or _ordinary(token.lower) for token in run)


def _kind(written: str, run: list[_Token]) -> str:
    """What the name seems to name."""
    head, last = run[0].lower, run[-1].lower
    lower = written.lower()
    if lower in PLACES or written in PLACE_ACRONYMS:
        return "place"
    if lower in ORGANIZATIONS or lower.replace("’", "'") in ORGANIZATIONS:
        return "organization"
    if head in HONORIFICS and len(run) > 1 and last not in PLACE_WORDS and " of " not in lower:
        return "place" if head == "st" else "person"
    if len(run) > 1:
        if last in ORGANIZATION_WORDS or (head in ORGANIZATION_WORDS and " of " in written):
            return "organization"
        if last in PLACE_WORDS or head in ("mount", "lake", "san", "fort", "port"):
            return "place"
    if head in FIRST_NAMES or written[1:2] == "." and len(run) > 1:
        return "person"
    if head in PRODUCTS or written[0].islower() or (not written.isalpha() and _DIGIT.search(written)):
        return "product"
    return "thing"


def _keys(found: list[Name]) -> list[str]:
    return list(dict.fromkeys(normal(name.text) for name in found))
