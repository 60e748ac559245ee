"""Names, claims and times by rule: no model, the same answer every time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from operator import attrgetter

from remanence.language.rules.claim_rules import find_claims
from remanence.language.rules.marked_names import NameSpan
from remanence.language.rules.name_rules import find_names
from remanence.language.rules.pronouns import find_first_person, is_first_person_plural
from remanence.language.temporal import find_times
from remanence.language.text import SENTENCE_END, normalize_name
from remanence.schema import (
    ASSISTANT,
    SELF,
    Extraction,
    ExtractionResult,
    Memory,
    Mention,
    Utterance,
    Verdict,
    Window,
    cached_mention,
)

MAX_MENTIONS = 64
MAX_TIMES = 16
LONG = 2_000  # characters; a longer text is a document, and has no single time at which it happened

LONGEST_HEADING = 100

_BRACKETS = re.compile(r"\s*\([^)]*\)")
_ROLES = {"user": SELF, "human": SELF, "assistant": ASSISTANT, "ai": ASSISTANT, "bot": ASSISTANT}


class RuleExtractor:
    """Reads English text by capitals, quotes, a few verbs and the words for times.

    It would rather miss a name than invent one; in text without capitals it finds only addresses, quoted
    titles and the first person. Holds no state, so threads may share it.

    >>> from datetime import datetime, timezone
    >>> today = datetime(2026, 5, 1, tzinfo=timezone.utc)
    >>> found = RuleExtractor().extract("I met Dr. Smith; Alice lives in Porto.", now=today, speaker="Bob")
    >>> [mention.name for mention in found.mentions]
    ['Bob', 'Dr. Smith', 'Alice', 'Porto']
    >>> [str(claim) for claim in found.triples]
    ['Bob —met→ Dr. Smith', 'Alice —lives_in→ Porto']
    """

    name = "rules"

    def extract(self, text: str, *, now: datetime, speaker: str | None = None) -> Extraction:
        """What stands in the text. The speaker of a chat turn is always mentioned, and first."""
        who = speaker_name(speaker)
        me = who or SELF
        names = find_names(text)
        selves = find_first_person(text, me)
        stated = _stated(text, now)
        heading = None if who else _heading(text)
        if heading is not None:
            names.insert(0, NameSpan(heading, "heading", 0, len(heading)))
        everyone = sorted([*names, *selves], key=_start) if selves else names
        if who is None and selves:  # a speaker is mentioned already
            names = [name for name in everyone if not is_first_person_plural(text, name)]
        return Extraction(
            mentions=_mentions(who, names),
            triples=find_claims(text, everyone, me),
            valid=stated[0] if stated and len(text) <= LONG else None,
            times=tuple(stated[:MAX_TIMES]),
        )

    def facts(self, utterances: Sequence[Utterance], *, now: datetime) -> ExtractionResult:
        """What these turns tell, each fact in words that stand on their own; its confidence says by rule.

        >>> from datetime import datetime, timezone
        >>> said = [Utterance("I switched from VS Code to Neovim. How are you?", speaker="Alice")]
        >>> for fact in RuleExtractor().facts(said, now=datetime(2026, 5, 1, tzinfo=timezone.utc)).facts:
        ...     print(fact.kind, "-", fact.text)
        episode - Alice switched from VS Code to Neovim.
        viewpoint - Alice uses Neovim and prefers it to VS Code.
        """
        from remanence.language.rules.fact_rules import find_facts  # `extract` does not need it

        speakers = [speaker_name(one.speaker) or SELF for one in utterances]
        return ExtractionResult(tuple(find_facts(utterances, speakers, now)), by=self.name)

    def judge(self, new: Sequence[Memory], old: Sequence[Sequence[Memory]]) -> list[Verdict]:
        """What each new memory means for the older ones beside it, where that is certain by rule."""
        from remanence.language.rules.update_rules import find_verdicts

        return find_verdicts(new, old)


def speaker_name(speaker: str | None) -> str | None:
    """What a speaker is called: a role word becomes `SELF` or "assistant", a blank none at all.

    >>> speaker_name("user"), speaker_name("AI"), speaker_name("Caroline"), speaker_name(" ")
    ('me', 'assistant', 'Caroline', None)
    """
    stripped = speaker.strip() if speaker else ""
    return _ROLES.get(stripped.lower(), stripped) or None


def _mentions(who: str | None, names: list[NameSpan]) -> tuple[Mention, ...]:
    """Each name once, under its first spelling, in order, with the first kind that says something."""
    found: dict[str, Mention] = {normalize_name(who): cached_mention(who, "person")} if who else {}
    for name in names:
        key = normalize_name(name.text)
        known = found.get(key)
        if known is None:
            if len(found) < MAX_MENTIONS:
                found[key] = cached_mention(name.text, name.kind)
        elif known.kind == "thing" != name.kind:
            found[key] = cached_mention(known.name, name.kind)
    return tuple(found.values())


def _heading(text: str) -> str | None:
    """The line that stands over a text and says what it is about, without what it has in brackets.

    >>> _heading("Chris Evans (actor)\\nChristopher Robert Evans is an American actor and film maker.")
    'Chris Evans'
    """
    line, _, rest = text.partition("\n")
    if len(rest) <= len(line) or len(line) > LONGEST_HEADING or line.rstrip().endswith((".", "!", "?", ":")):
        return None
    return _BRACKETS.sub("", line).strip(" #*\t") or None


def _stated(text: str, now: datetime) -> list[Window]:
    """The times that the text states, rather than asks for, each once, in order."""
    found: dict[Window, None] = {}
    for phrase in find_times(text, now):
        end = SENTENCE_END.search(text, phrase.end)
        if end is None or end.group() != "?":
            found[phrase.window] = None
    return list(found)


_start = attrgetter("start")
