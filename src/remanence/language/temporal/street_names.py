"""Dates that are a part of the name of a street: "12 May Street", "Straße des 17. Juni", "rue du 4 Septembre"."""

from __future__ import annotations

import re

_BEFORE = re.compile(
    r"\b(?:(?:straße|strasse|platz|allee|brücke|ufer|weg) (?:des|der|vom)"
    r"|(?:rue|place|avenue|boulevard|quai|pont|square|impasse) (?:du|de la|de l['’])"
    r"|(?:calle|avenida|av\.|plaza|paseo|barrio|colonia|rua|praça|travessa|largo|carrer) ?(?:del?|do|da)?"
    r"|(?:via|piazza|viale|corso|piazzale) ?(?:del)?"
    r"|(?:ulic[aęyą]|ul\.|alej[aięą]|al\.|plac|placu|rynek|ulice|ulici|náměstí|ulica|ulici|trg|utca)"
    r"|(?:улиц[аеуы]|ул\.|площад[ьи]|проспект|проспекте))\s*$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r" (?:(?:Street|Avenue|Ave|Road|Rd|Lane|Drive|Boulevard|Blvd|Square|Crescent|Terrace|Court|Close|Plaza)\b"
    r"|St\b\.?|(?:Caddesi|Bulvarı|Sokağı|Meydanı|Mahallesi)\w*)(?! ?[A-Z])"
)
_LONGEST = 24
_YEAR = re.compile(r"[0-9]{4}")


def is_in_street_name(text: str, start: int, end: int) -> bool:
    """Whether a date without a year belongs to the name of a street.

    >>> is_in_street_name("I live at 12 May Street.", 10, 16), is_in_street_name("We met on 12 May.", 10, 16)
    (True, False)
    """
    if _YEAR.search(text, start, end) or not any(char.isdecimal() for char in text[start:end]):
        return False
    return _AFTER.match(text, end) is not None or _BEFORE.search(text[max(0, start - _LONGEST) : start]) is not None
