"""Words for times that are names, or parts of names: "12 May Street", "Straße des 17. Juni", "mia figlia Domenica"."""

from __future__ import annotations

import re

_STREET_BEFORE = re.compile(
    r"\b(?:(?:straße|strasse|platz|allee|brücke|ufer|weg) (?:des|der|vom)"
    r"|(?:rue|place|avenue|boulevard|quai|pont|square|impasse) (?:du|de la|de l['’])"
    r"|(?:calle|avenida|av\.|plaza|paseo|barrio|colonia|rua|praça|travessa|largo|carrer) ?(?:del?|do|da)?"
    r"|(?:via|piazza|viale|corso|piazzale) ?(?:del)?"
    r"|(?:ulic[aęyą]|ul\.|alej[aięą]|al\.|plac|placu|rynek|ulice|ulici|náměstí|ulica|ulici|trg|utca)"
    r"|(?:улиц[аеуы]|ул\.|площад[ьи]|проспект|проспекте))\s*$",
    re.IGNORECASE,
)
_STREET_AFTER = re.compile(
    r" (?:(?:Street|Avenue|Ave|Road|Rd|Lane|Drive|Boulevard|Blvd|Square|Crescent|Terrace|Court|Close|Plaza)\b"
    r"|St\b\.?|(?:Caddesi|Bulvarı|Sokağı|Meydanı|Mahallesi)\w*)(?! ?[A-Z])"
)
_NAMING = re.compile(
    r"\b(?:s['’]appelle|se llama|si chiama|chama-se|se chama|heißt|heisst|heet|heter|hedder|nazywa się|jmenuje se|зовут"
    r"|adı|ismi|nimi on) $",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:mia|mio|nostra|nostro|mi|nuestra|nuestro|ma|mon|notre|minha|meu|nossa|nosso|min|mitt|vår|mijn|onze|moja|mój|nasza"
    r"|моя|мой|наша|наш) [^\W\d_]{3,} $",
    re.IGNORECASE,
)
"""A relative or the like, before a name. German is left out: it writes all weekdays with a capital."""
_LONGEST = 24
_YEAR = re.compile(r"[0-9]{4}")


def is_name(text: str, start: int, end: int) -> bool:
    """Whether the words for a time are a name, or a part of one.

    >>> is_name("Mia figlia Domenica ama i gatti.", 11, 19), is_name("Ci vediamo Domenica.", 11, 19)
    (True, False)
    >>> is_name("I live at 12 May Street.", 10, 16), is_name("We met on 12 May.", 10, 16)
    (True, False)
    """
    words, before = text[start:end], text[max(0, start - _LONGEST) : start]
    if words.isalpha():
        return words[0].isupper() and bool(_NAMING.search(before) or _RELATIVE.search(before))
    has_day = any(char.isdecimal() for char in words) and not _YEAR.search(words)
    return has_day and bool(_STREET_BEFORE.search(before) or _STREET_AFTER.match(text, end))
