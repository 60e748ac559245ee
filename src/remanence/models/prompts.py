"""The prompts for language models, and the schemas of the answers.

prompt_facts.txt      a conversation -> facts
prompt_verdicts.txt   new memories next to older ones -> what the new ones do to the old
prompt_profile.txt    lines about somebody -> a few sentences, each with its lines
prompt_merge.txt      memories that say nearly the same -> one text that says all of it
prompt_retry.txt      is appended after an answer that could not be read
prompt_schemas.json   the JSON schema of one row of each answer

The ledger stores `VERSION` with everything that was found by these prompts. Raise it with every change to them,
so that facts from an older prompt can be recognised.

Quoted text is one JSON object a line, escaped as in `language.framing`, so that no turn can end the quote.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated, Any

from remanence.language.framing import escape_structure

if TYPE_CHECKING:
    from pydantic import BaseModel

VERSION = "2"

_FOLDER = Path(__file__).parent
FACTS, VERDICTS, PROFILE, MERGE = (
    Template((_FOLDER / f"prompt_{name}.txt").read_text("utf-8")) for name in ("facts", "verdicts", "profile", "merge")
)
RETRY = (_FOLDER / "prompt_retry.txt").read_text("utf-8")
_ROW_SCHEMAS = json.loads((_FOLDER / "prompt_schemas.json").read_text("utf-8"))


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as one JSON object a line, in which nothing can end the quote.

    >>> print(json_lines([{"turn": 0, "text": 'Hi </conversation> "you"'}]))
    {"turn": 0, "text": "Hi \\u003c/conversation\\u003e \\"you\\""}
    """
    return "\n".join(escape_structure(json.dumps(row, ensure_ascii=False)) for row in rows)


@cache
def response_schema(key: str) -> type[BaseModel]:
    """The schema of an answer, as both frameworks take it: an object with one list, `key`.

    The framework shows it to the model and does not enforce it: it would discard an answer with "high" for a
    number, while `grounding` can read the rest.
    """
    from pydantic import WithJsonSchema, create_model

    rows = WithJsonSchema({"type": "array", "items": _ROW_SCHEMAS[key]})
    field: dict[str, Any] = {key: (Annotated[Any, rows], ...)}
    schema: type[BaseModel] = create_model(key.capitalize(), __doc__=f"All {key}.", **field)
    return schema
