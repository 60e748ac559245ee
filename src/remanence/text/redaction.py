"""Secrets in a text: keys and tokens, passwords, card numbers. They are replaced before a text is stored.

Rules find what has a known form. Give `remanence.Policy(redact=...)` a function of your own to find more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

Redactor = Callable[[str], "Redaction"]

KEY = "key"
PASSWORD = "password"
CARD = "card number"


class Redaction(NamedTuple):
    """A text without its secrets, and how many of each kind were in it."""

    text: str
    counts: Mapping[str, int]


# Every repetition is bounded, so that the search is linear.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
_KEY = re.compile(
    r"\b(?:(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,250}"  # OpenAI, Anthropic, Stripe
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|xox[a-z]-[A-Za-z0-9-]{10,250}"  # AWS, Google, Slack
    r"|gh[a-z]_[A-Za-z0-9]{20,250}|github_pat_[A-Za-z0-9_]{20,250}|glpat-[A-Za-z0-9_-]{20,100}|hf_[A-Za-z0-9]{20,100}"
    r"|eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000})"  # a JSON web token
)
_NAMED_KEY = re.compile(
    r"\b(?:(?:api|access|secret|private|auth|client|account|encryption)[ _-]?(?:key|token|secret)(?: id)?"
    r"|secret|bearer|token)[\"']?(?:\s{0,3}[:=]\s{0,3}|\s{1,3}(?:is|was)\s{1,3}|(?<=bearer)\s{1,3})[\"'`]?"
    r"(?P<secret>[A-Za-z0-9+/=._~-]{8,500})",
    re.IGNORECASE,
)
_PASSWORD = re.compile(
    r"\b(?:pass(?:word|code|phrase|wd)|passwort|pwd|pin(?: code| number)?|cvv|cvc)[\"']?"
    r"(?:(?P<assigned>\s{0,3}[:=]\s{0,3})|(?:\s{1,3}(?:for|of|to|on)(?:\s{1,3}[\w.@'’-]{1,40}){1,5}?)?\s{1,3}(?:is|was)\s{1,3})"
    r"(?P<quote>[\"'`“‘])?(?P<secret>[^\s\"'`“”‘’,;]{3,200})",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/:@]{1,100}:(?P<secret>[^\s/@]{1,200})(?=@)")
_DIGITS = re.compile(r"(?<!\d)(?<!\d[ -])\d(?:[ -]?\d){12,40}")
_SECRET_LIKE = re.compile(r"\d|[!@#$%^&*_+=~]")
_CARD = re.compile(
    r"4\d{12}(?:\d{3}|\d{6})?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
)
_CARD_LENGTHS = (19, 16, 15, 14, 13)


def redact(text: str) -> Redaction:
    """A text without keys, passwords and card numbers.

    >>> redact("My password is hunter2, and the card is 4111 1111 1111 1111.").text
    'My password is [redacted password], and the card is [redacted card number].'
    >>> dict(redact("The password is secret to nobody. Order 1234 5678 9012 3456.").counts)
    {}
    """
    counts: Counter[str] = Counter()

    def mark(kind: str) -> str:
        counts[kind] += 1
        return f"[redacted {kind}]"

    def secret(kind: str, match: re.Match[str]) -> str:
        start, end = match.span("secret")
        value = match["secret"].rstrip(".!?)")
        return match.string[match.start() : start] + mark(kind) + match.string[start + len(value) : end]

    def password(match: re.Match[str]) -> str:
        # "The password is secret" and "the pin is broken" name none.
        value = match["secret"].rstrip(".!?)")
        plain = match["assigned"] is None and match["quote"] is None and not _SECRET_LIKE.search(value)
        is_redacted = value.startswith(("[redacted", r"\u005bredacted"))  # the second in JSON that is made harmless
        return match[0] if plain or is_redacted else secret(PASSWORD, match)

    def named_key(match: re.Match[str]) -> str:
        return secret(KEY, match) if _SECRET_LIKE.search(match["secret"].rstrip(".")) else match[0]

    if "PRIVATE KEY" in text:
        text = _PRIVATE_KEY.sub(lambda _: mark(KEY), text)
    text = _KEY.sub(lambda _: mark(KEY), text)
    text = _NAMED_KEY.sub(named_key, text)
    text = _PASSWORD.sub(password, text)
    text = _URL_PASSWORD.sub(lambda found: secret(PASSWORD, found), text)
    text = _DIGITS.sub(lambda found: _without_card(found[0], mark), text)
    return Redaction(text, dict(counts))


def _without_card(digits: str, mark: Callable[[str], str]) -> str:
    """A run of digits in which a card number, at its start or after a separator, is replaced."""
    digit_offsets = [offset for offset, char in enumerate(digits) if char.isdigit()]
    number = "".join(digits[offset] for offset in digit_offsets)
    for begin in range(len(number) - min(_CARD_LENGTHS) + 1):
        if begin and digits[digit_offsets[begin] - 1].isdigit():
            continue
        for length in _CARD_LENGTHS:
            end = begin + length
            if end > len(number) or (end < len(number) and digits[digit_offsets[end] - 1].isdigit()):
                continue
            if _CARD.fullmatch(number, begin, end) and _passes_luhn(number[begin:end]):
                return digits[: digit_offsets[begin]] + mark(CARD) + digits[digit_offsets[end - 1] + 1 :]
    return digits


def _passes_luhn(number: str) -> bool:
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in number[-2::-2])
    return (sum(doubled) + sum(map(int, number[-1::-2]))) % 10 == 0
