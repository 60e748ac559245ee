"""Words for times that are names, or parts of names: "12 May Street", "Straße des 17. Juni", "mia figlia Domenica"."""

from __future__ import annotations

import re

_STREETS = frozenset(
    """straße strasse platz allee brücke ufer weg rue place avenue boulevard quai pont square impasse calle avenida av.
    plaza paseo barrio colonia rua praça travessa largo carrer via piazza viale corso piazzale ulica ulice ulicę ulicy
    ulicą ul. aleja aleje alei aleję aleją al. plac placu ulici náměstí trg utca улица улице улицу улицы ул. площадь
    площади проспект проспекте""".split()
)
_LINKS = frozenset("des der vom du de la l' l’ del do da".split())
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
_DAY, _YEAR = re.compile("[0-9]"), re.compile("[0-9]{4}")


def is_name(text: str, start: int, end: int) -> bool:
    """Whether the words for a time are a name, or a part of one.

    >>> is_name("Mia figlia Domenica ama i gatti.", 11, 19), is_name("Ci vediamo Domenica.", 11, 19)
    (True, False)
    >>> is_name("I live at 12 May Street.", 10, 16), is_name("We met on 12 May.", 10, 16)
    (True, False)
    """
    words = text[start:end]
    if words.isalpha():
        before = text[max(0, start - _LONGEST) : start]
        return words[0].isupper() and bool(_NAMING.search(before) or _RELATIVE.search(before))
    if not _DAY.search(words) or _YEAR.search(words):
        return False
    words_before = text[max(0, start - _LONGEST) : start].lower().split()
    while words_before and words_before[-1] in _LINKS:
        words_before.pop()
    return (bool(words_before) and words_before[-1] in _STREETS) or _STREET_AFTER.match(text, end) is not None
