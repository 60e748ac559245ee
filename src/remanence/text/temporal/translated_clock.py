"""Times of day after a date in another language: "um 14:30 Uhr MEZ" is "14:30 CET", "à 10h30" is "10:30"."""

from __future__ import annotations

import re

_CLOCK_WORDS = "kl. kl klo klockan klokken klukkan saat pukul lúc الساعة ساعت בשעה"
"""An hour alone may follow these."""
_OTHER_WORDS = (
    "um gegen à vers a_las a_la alle ore alle_ore às pelas om rond в о об o godz. o_godz. v ve u la ora στις の 에"
)
_HOURS = "uhr|heures?|h|uur|час(?:а|ов)?|годині|時|시|点|點"
_ZONES = {"MEZ": "CET", "MESZ": "CEST", "МСК": "MSK"}


def _one_of(words: str) -> str:
    return "|".join(re.escape(word.replace("_", " ")) for word in sorted(words.split(), key=len, reverse=True))


_CLOCK = re.compile(
    rf"[\s,]{{0,3}}(?:(?P<clock>{_one_of(_CLOCK_WORDS)})\s?|(?P<before>{_one_of(_OTHER_WORDS)})\s?)?"
    r"(?:(?P<early>午前|上午|早上|오전)|(?P<late>午後|下午|晚上|오후))?\s?"
    rf"(?P<hour>[01]?[0-9]|2[0-3])(?:(?P<colon>:|\s?(?:h|時|시|点|點)\s?|\.)(?P<minute>[0-5][0-9]))?(?![0-9.:]?[0-9])"
    rf"(?:\s?(?P<unit>(?:{_HOURS}|分|분)(?![a-zа-я])))?(?:\s\(?(?P<zone>(?-i:[A-ZМСК]{{3,4}}))\b\)?)?",
    re.IGNORECASE,
)
_ENDS_WITH_CLOCK_WORD = re.compile(rf"\b(?:{_one_of(_CLOCK_WORDS)})$", re.IGNORECASE)
"""dateparser counts some of them as parts of the date."""


def clock_after(text: str, end: int) -> tuple[str, int] | None:
    """The time of day after a date that ends at `end`, in English, and where it ends; None if there is none.

    >>> text = "Am 3. Juli um 14:30 Uhr MEZ."
    >>> clock_after(text, text.index(" um")), clock_after("Am 3. Juli 14 Gäste.", 10)
    (('14:30 CET', 27), None)
    """
    match = _CLOCK.match(text, end)
    if match is None:
        return None
    is_hour = any(match[name] for name in ("clock", "early", "late", "unit"))
    is_hour = is_hour or _ENDS_WITH_CLOCK_WORD.search(text, max(0, end - 8), end) is not None
    is_told = match["minute"] and (match["before"] or match["colon"] != ".")  # not "3. Juli 10.50 Euro"
    if not is_hour and not is_told:
        return None
    hour = int(match["hour"])
    hour += 12 if match["late"] and hour < 12 else 0
    zone = match["zone"] or ""
    return f"{hour}:{match['minute'] or '00'} {_ZONES.get(zone, zone)}".rstrip(), match.end()
