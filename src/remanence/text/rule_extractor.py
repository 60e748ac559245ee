"""Names, claims and times of a text, by rules: no model, the same answer every time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from remanence import schema
from remanence.schema import ASSISTANT, RULES, SELF, Extraction, Mention, Triple, Window
from remanence.text.claims.grammar import find_claims
from remanence.text.named_entities.name_rules import find_names
from remanence.text.named_entities.name_spans import NameSpan, find_first_person, is_first_person_plural
from remanence.text.temporal import MAX_DATED, TimePhrase, find_stated_times
from remanence.text.text import SENTENCE_END, normalize_name

MAX_MENTIONS = 64
_BRACKETS = re.compile(r"(?:(?<!\s)\s+)?\([^()]*\)")
_DECORATION = r"[\s#*\u2190-\u2bff\ufe0f\u200d\U0001f000-\U0001ffff]"  # marks of Markdown, arrows, emoji
_AROUND_HEADING = re.compile(rf"^{_DECORATION}+|(?<!{_DECORATION}){_DECORATION}+$")
_SENTENCE_MARKS = (".", "!", "?", ":", "。", "！", "？", "：")
_USER = re.compile(r"(?:^|[.!?]\s+|\n)((?:The u|U)ser)(?=['’]s |\s+[a-z])")
_SIDE_CLAUSE = re.compile(r", (?:which|who|whose|where) [^,]*$")
_OTHER_CLAUSE = re.compile(r";|, (?:he|she|it|they|we|I) |\b(?:but|so|because|although|though)\b")
_ROLES = {"user": SELF, "human": SELF, "assistant": ASSISTANT, "ai": ASSISTANT, "bot": ASSISTANT}


class RuleExtractor:
    """Reads English text by capitals, quotes, verb phrases and time expressions.

    The rules prefer to miss a name rather than to invent one. In text without capitals they find addresses, quoted
    titles, the first person, and names of people where nothing else can be meant. The object has no state, so threads
    may share it.

    Example:
        >>> from datetime import datetime, timezone
        >>> today = datetime(2026, 5, 1, tzinfo=timezone.utc)
        >>> found = RuleExtractor().extract("I met Dr. Smith; Alice lives in Porto.", now=today, speaker="Bob")
        >>> [mention.name for mention in found.mentions]
        ['Bob', 'Dr. Smith', 'Alice', 'Porto']
        >>> [str(claim) for claim in found.triples]
        ['Bob —met→ Dr. Smith', 'Alice —lives_in→ Porto']
    """

    name = RULES

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """The names, claims and times of the text.

        Args:
            now: The moment that relative times refer to.
            speaker: Who says "I". The speaker of a chat turn is always mentioned, and first.
        """
        speaker = speaker_name(speaker)
        names = find_names(text)
        first_person = find_first_person(text, speaker or SELF)
        phrases = _stated_times(text, now)
        times = list(dict.fromkeys(phrase.window for phrase in phrases))
        heading = None if speaker else _heading(text)
        if heading is not None:
            names.insert(0, NameSpan(heading, "heading", 0, len(heading)))
        all_names = sorted([*names, *first_person], key=_start) if first_person else names
        if speaker is None and first_person:  # a speaker is mentioned already
            names = [name for name in all_names if not is_first_person_plural(text, name)]
        triples = find_claims(text, all_names, speaker or SELF)
        user = _find_user(text) if speaker in (None, SELF) else []
        if user and (claims := find_claims(text, sorted([*all_names, *user], key=_start), speaker or SELF)) != triples:
            names, triples = sorted([*names, *user], key=_start), claims
        return Extraction(
            mentions=_with_subjects(_mentions(speaker, names), triples),
            triples=triples,
            valid=_time_of(text, phrases, makes_claims=bool(triples)) if len(text) <= MAX_DATED else None,
            times=tuple(times[:16]),
        )


def speaker_name(speaker: str | None) -> str | None:
    """The name of a speaker. A role becomes `SELF` or "assistant"; an empty name becomes None.

    >>> speaker_name("user"), speaker_name("AI"), speaker_name("Caroline"), speaker_name(" ")
    ('me', 'assistant', 'Caroline', None)
    """
    stripped = speaker.strip() if speaker else ""
    return _ROLES.get(stripped.lower(), stripped) or None


def _find_user(text: str) -> list[NameSpan]:
    """Where a sentence is about "the user", as facts and notes of assistants are: the person who says "I" elsewhere.

    Whether that person is meant shows in a claim that follows: "User accounts expire" makes none.
    """
    if "ser " not in text and "ser's" not in text:  # most texts: they need no other check
        return []
    return [NameSpan(SELF, "person", *match.span(1)) for match in _USER.finditer(text)]


def _start(name: NameSpan) -> int:
    return name.start


def _mentions(speaker: str | None, names: list[NameSpan]) -> tuple[Mention, ...]:
    """Each name once, in its first spelling, in order, with its first kind other than "thing"."""
    mentions: dict[str, Mention] = (
        {normalize_name(speaker): schema.cached_mention(speaker, "person")} if speaker else {}
    )
    for name in names:
        key = normalize_name(name.text)
        mention = mentions.get(key)
        if mention is None:
            if len(mentions) < MAX_MENTIONS:
                mentions[key] = schema.cached_mention(name.text, name.kind)
        elif mention.kind == "thing" != name.kind:
            mentions[key] = schema.cached_mention(mention.name, name.kind)
    return tuple(mentions.values())


def _with_subjects(mentions: tuple[Mention, ...], triples: Sequence[Triple]) -> tuple[Mention, ...]:
    """The mentions, and the subjects of claims that are not among them: "rap rock", "Born in the U.S.A."."""
    known = {normalize_name(mention.name) for mention in mentions} if triples else set()
    more: dict[str, Mention] = {}
    for triple in triples:
        key = normalize_name(triple.subject)
        if key not in known and triple.subject != SELF:
            more.setdefault(key, schema.cached_mention(triple.subject, "thing"))
    return (*mentions, *more.values())[:MAX_MENTIONS] if more else mentions


def _heading(text: str) -> str | None:
    """The first line of a text if it is a heading, without what it has in brackets and without emoji around it.

    >>> _heading("Chris Evans (actor)\\nChristopher Robert Evans is an American actor and film maker.")
    'Chris Evans'
    """
    line, _, rest = text.partition("\n")
    if len(rest) <= len(line) or len(line) > 100 or line.rstrip().endswith(_SENTENCE_MARKS):
        return None
    return _AROUND_HEADING.sub("", _BRACKETS.sub("", line)) or None


def _stated_times(text: str, now: datetime) -> list[TimePhrase]:
    """The times outside questions, in order."""
    phrases: list[TimePhrase] = []
    ends = SENTENCE_END.finditer(text)  # once over the text: it may have many times and no end of a sentence
    end = next(ends, None)
    for phrase in find_stated_times(text, now):
        while end is not None and end.start() < phrase.end:
            end = next(ends, None)
        if end is None or end.group() != "?":
            phrases.append(phrase)
    return phrases


def _time_of(text: str, phrases: Sequence[TimePhrase], *, makes_claims: bool) -> Window | None:
    """The time of a text: the first that is not that of a side clause. A claim is told in the main clause, so that what
    follows its reason or a contrast is not its time either.

    >>> from datetime import timezone
    >>> now = datetime(2026, 2, 11, tzinfo=timezone.utc)
    >>> for text in ("Kim works at Bolt, which was founded in 2014.", "Kim met Bob, who was tired, in 2014."):
    ...     print(_time_of(text, find_stated_times(text, now), makes_claims=True))
    None
    2014-01-01 to 2015-01-01
    """
    for phrase in phrases:
        before = SENTENCE_END.split(text[: phrase.start])[-1]
        if not _SIDE_CLAUSE.search(before) and not (makes_claims and _OTHER_CLAUSE.search(before)):
            return phrase.window
    return None
