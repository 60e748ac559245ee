"""What the rules know of predicates: which can have one value only, which are events, which are opinions.

A claim is a subject, a predicate and an object. Most predicates go from the subject to its value
("Alice lives_in Porto"); a role goes the other way ("Tim Cook ceo_of Apple": it is Apple that has one).
`claim_key` and `claim_value` hide the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from remanence.language.rules.lexicon import word_set
from remanence.language.text import normalize_name
from remanence.schema import MemoryKind, Triple

SINGLE_VALUED = word_set("""
lives_in works_at works_as married_to engaged_to dating born_in born_on birthday died_in died_on age name
citizen_of
located_in_continent continent country religion sport position language field genre type_of_music
native_language
created_in created_by developed_by founded_by founded_in produced_by manufactured_by performed_by written_by
directed_by composed_by painted_by designed_by built_by published_by educated_at headquartered_in work_city
phone_number email address
""")
"""Predicates of which a subject has one value at a time, so that a newer value replaces the older one.

`works_at` is among them: it is mostly said of people, and most have one employer (wording such as "also
works at" is looked for where it matters). What many hold several of (likes, has, speaks, visited,
famous_for) is not. Each `favourite_…` is single-valued too: ask `claim_key`, which knows.
"""

SINGLE_ROLES = word_set("""
ceo cfo cto coo officer president chairperson chairman chairwoman chair premier minister chancellor mayor
governor
king queen monarch emperor sultan head leader captain coach director principal dean editor commander pope
capital currency language broadcaster headquarters anthem owner author creator writer composer inventor
publisher
wife husband spouse boss manager girlfriend boyfriend fiancé fiancée birthplace
""")
"""Last words of roles that one holder fills at a time: "the prime minister of Sweden", "the capital of Peru".

They stand in predicates such as `prime_minister_of`, where the *object* is what has one value."""

IMMUTABLE_PREDICATES = word_set("born_in born_on birthday died_in died_on created_by founded_by founded_in written_by")
"""Single-valued predicates whose value never changes: two values are a mistake, not a development."""

OPINION_PREDICATES = word_set("likes loves hates dislikes prefers")
"""Predicates that say what somebody thinks of something."""

EVENT_PREDICATES = word_set("""
moved_to joined left visited graduated_from switched_to switched_from broke_up_with bought adopted met founded
""")
"""Predicates that say what happened once: such a claim stays true whatever happens later."""

STATE_AFTER_EVENT: Mapping[str, str] = MappingProxyType(
    {"moved_to": "lives_in", "joined": "works_at", "switched_to": "uses"}
)
"""The state that an event leaves behind: who moved to Porto lives there."""

STATES_ENDED_BY_EVENT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "left": ("works_at", "studies_at"),
        "switched_from": ("uses", "prefers", "likes"),
        "broke_up_with": ("dating", "married_to", "engaged_to"),
        "graduated_from": ("studies_at",),
    }
)
"""The states that an event ends: who left Google works there no longer."""

OPPOSITE_PREDICATES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "likes": ("hates", "dislikes"),
        "loves": ("hates", "dislikes"),
        "prefers": ("hates", "dislikes"),
        "hates": ("likes", "loves", "prefers"),
        "dislikes": ("likes", "loves", "prefers"),
    }
)
"""Predicates that cannot both hold of one subject and one object."""

_ROLE = "_of"
_FAVOURITE = "favourite_"


def claim_key(claim: Triple) -> tuple[str, str] | None:
    """What can have one value only: two claims with one key and two values disagree. None for the others.

    >>> claim_key(Triple("Alice", "lives_in", "Porto"))
    ('lives_in', 'alice')
    >>> claim_key(Triple("Tim Cook", "ceo_of", "Apple"))
    ('ceo_of', 'apple')
    >>> claim_key(Triple("Alice", "likes", "tea")) is None
    True
    """
    predicate = claim.predicate
    if predicate in SINGLE_VALUED or predicate.startswith(_FAVOURITE):
        return predicate, normalize_name(claim.subject)
    if is_single_role(predicate):
        return predicate, normalize_name(claim.object)
    return None


def claim_value(claim: Triple) -> str:
    """What the claim says its key has: the object, or for a role whoever holds it.

    >>> claim_value(Triple("Alice", "lives_in", "Porto")), claim_value(Triple("Tim Cook", "ceo_of", "Apple"))
    ('porto', 'tim cook')
    """
    return normalize_name(claim.subject if is_single_role(claim.predicate) else claim.object)


def is_single_role(predicate: str) -> bool:
    """Whether this is a role that one holder fills at a time: `ceo_of`, but not `sister_of`."""
    if not predicate.endswith(_ROLE) or predicate in SINGLE_VALUED:
        return False
    role = predicate.removesuffix(_ROLE)
    return role in ("head_of_state", "head_of_government") or (
        role.rpartition("_")[2] in SINGLE_ROLES and not role.startswith(("former_", "vice_", "co_", "deputy_"))
    )


def claim_kind(claim: Triple) -> MemoryKind:
    """Whether the claim tells what happened, what is so, or what somebody thinks."""
    if claim.predicate in EVENT_PREDICATES:
        return "episode"
    if claim.predicate in OPINION_PREDICATES or claim.predicate.startswith(_FAVOURITE):
        return "viewpoint"
    return "semantic"
