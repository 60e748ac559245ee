"""The options of `recall`, `recent` and `memories` on the command line: those that the methods have."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args, get_origin

from remanence.cli.parser import WrongValue, json_value, parse_weights
from remanence.errors import InvalidInput
from remanence.index.engine.parameters import choices_of, descriptions_of, limits_of, simple_types

_FIRST_SENTENCE = re.compile(r"\A(.*?)\.(?:\s+[A-Z\"`].*)?$")


def flags_of(options: type, *without: str) -> dict[str, dict[str, Any]]:
    """The flags of a dataclass of options, as `ArgumentParser.add_argument` takes them; not of a vector.

    >>> from remanence.recall.options import RecallOptions
    >>> flags = flags_of(RecallOptions)
    >>> flags["--tag"]["help"], flags["--limit"]["help"]
    ('only memories with all of these tags; repeatable', 'how many hits to return at most (10)')
    """
    types, descriptions = simple_types(options), descriptions_of(options)
    found: dict[str, dict[str, Any]] = {}
    for option in fields(options):
        kind, _ = limits_of(types[option.name])
        if option.name in without or kind == list[float]:
            continue
        name = option.name.removesuffix("s") if "str | Sequence[str]" in str(option.type) else option.name
        settings = _settings(kind, option.metadata.get("choices"), default=option.default)
        said = _FIRST_SENTENCE.sub(r"\1", descriptions.get(option.name, "")).replace("%", "%%")
        shown = f" ({option.default})" if isinstance(option.default, int) and kind is not bool else ""
        repeatable = "; repeatable" if settings.get("action") == "append" else ""
        if "action" not in settings or repeatable:
            settings["metavar"] = None if "choices" in settings else name.upper()
        help_text = f"{said[:1].lower()}{said[1:]}{shown}{repeatable}"
        found[f"--{name.replace('_', '-')}"] = {**settings, "dest": option.name, "default": None, "help": help_text}
    return found


def checked(call: Callable[[], Any], options: type) -> Any:
    """What a call returns. A value that it refuses is one of the command line, and is called by its flag.

    Raises:
        WrongValue: A value is not valid.
    """
    try:
        return call()
    except InvalidInput as error:
        message = str(error)
        for flag, settings in flags_of(options).items():
            message = re.sub(rf"^{settings['dest']}=", f"{flag} ", message)
        raise WrongValue(message) from None


def _settings(kind: Any, choices: Any, *, default: Any) -> dict[str, Any]:
    if kind is bool:
        return {"action": "store_true" if default is False else BooleanOptionalAction}
    if get_origin(kind) is list:
        known = choices or choices_of(get_args(kind)[0])
        return {"action": "append"} | ({} if known is None else {"choices": known})
    if (known := choices_of(kind)) is not None:
        return {"choices": known}
    if get_origin(kind) is dict:
        return {"type": parse_weights if get_args(kind)[1] is float else json_value}
    if kind in (int, float):
        return {"type": _number(kind)}
    return {"type": _number_or_word} if kind == str | float else {}


def _number(kind: type) -> Callable[[str], Any]:
    def number(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            what, example = ("whole number", 10) if kind is int else ("number", 0.5)
            raise ArgumentTypeError(f"{text!r} is not a {what}. Give for example {example}") from None

    return number


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
