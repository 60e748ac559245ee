"""What a space contains: memories, and the names, claims and links in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from remanence.schema.display import html_table
from remanence.schema.moments import ANY_TIME, EPOCH, Window, format_moment

MemoryKind = Literal["episode", "semantic", "viewpoint"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
LinkKind = Literal["related_to", "supersedes", "contradicts", "derived_from", "extends", "supports", "causes"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
SELF = "me"
"""The name of the person who says "I" in a memory or a question, if no other name is given."""
ASSISTANT = "assistant"
"""The name of the assistant in a conversation."""
DOCUMENT_FIELD = "_document"
"""The field of `Memory.meta` by which adapters mark a document or node of a framework. The others are the user's."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where a memory was said: turn `number` of `conversation`, by `speaker`, at the moment `at`."""

    conversation: str
    number: int
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a memory: `name` as written, and its `kind`, such as "person" or "place"."""

    name: str
    kind: str = "thing"


cached_mention = lru_cache(1 << 14)(Mention)
"""`Mention`, with one shared instance for each name and kind: the same names occur again and again."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A claim that a memory makes, such as "Alice", "lives_in", "Porto"."""

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} —{self.predicate}→ {self.object}"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity: `name`, and `valid`, the time in which it is used."""

    name: str
    valid: Window = ANY_TIME


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something that memories are about.

    `id` stays the same when names change. `name` is the main name, `aliases` are the others. `kind` is for example
    "person".
    """

    id: str
    name: str
    kind: str = "thing"
    aliases: tuple[Alias, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, the main one first."""
        return (self.name, *(alias.name for alias in self.aliases))


@dataclass(frozen=True, slots=True)
class Relation:
    """A claim about two entities, as one view knows it.

    `valid` is when it is true, after later claims have ended it; `claimed_window` is the window as stated.
    `recorded_at` is when it was first stated, `observed_by` who stated it, `confidence` how sure it is, from 0
    to 1. `evidence` are the ids of the memories that state it. `replaced_by` is the id of the relation that
    followed it, if the predicate has one value at a time.
    """

    id: str
    subject: str
    predicate: str
    object: str
    valid: Window = ANY_TIME
    claimed_window: Window = ANY_TIME
    recorded_at: datetime = EPOCH
    confidence: float = 1.0
    observed_by: str | None = None
    evidence: tuple[str, ...] = ()
    replaced_by: str | None = None

    def __str__(self) -> str:
        when = f" ({self.valid})" if self.valid.has_bound else ""
        return f"{self.subject} —{self.predicate}→ {self.object}{when}"


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one memory to another. `source` and `target` are their ids.

    `valid` is when it is true, `recorded_at` when it was stated, `observed_by` who stated it and `why` the reason.
    `confidence` is how sure it is, from 0 to 1. `corroborated_by` are others who stated the same since, which makes it
    surer.
    """

    id: str
    source: str
    kind: LinkKind
    target: str
    valid: Window = ANY_TIME
    recorded_at: datetime = EPOCH
    confidence: float = 1.0
    observed_by: str | None = None
    why: str | None = None
    corroborated_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.source} —{self.kind}→ {self.target}"


@dataclass(frozen=True, slots=True)
class Extraction:
    """What an extractor found in a text: names (`mentions`), claims (`triples`), when it is true or happened
    (`valid`), and all times that it names (`times`)."""

    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window | None = None
    times: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class Utterance:
    """Input of an extractor: a `text`, its `speaker`, and the moment `at` which it was said."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement taken from a conversation that can be understood without it.

    The fields up to `expires_at` become those of its `Memory`. `source_turns` are the indexes of the turns it comes
    from. `ended_claims` are claims that it says are no longer true ("I left Google" ends that I work there). An empty
    subject or object in one of them matches any ("I got divorced" ends that I am married to ""). `by` is who found it,
    if not the extractor of the whole result.
    """

    text: str
    kind: MemoryKind = "semantic"
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window = ANY_TIME
    importance: float = 0.6
    confidence: float = 0.8
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    source_turns: tuple[int, ...] = ()
    ended_claims: tuple[Triple, ...] = ()
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The facts of a conversation, and which extractor (`by`), model and prompt version found them.

    `problem` says what went wrong if a model failed and the rules were used instead, or what of its answer was not
    kept. `answered` is False if asking again may help: a background job then does so.
    """

    facts: tuple[Fact, ...] = ()
    by: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None
    answered: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The `effect` of a new memory on the older one with the id `old_id`, and the reason (`why`)."""

    new_index: int
    """The index of the new memory in the list that was judged."""
    old_id: str
    effect: Literal["updates", "extends", "contradicts"]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered item, in one version.

    `valid` is when it is true or happened, `recorded_at` when its first version was recorded, `revised_at`
    when this version was, `told_at` when it was said: the time of its turn, or the `now` it was added with.
    `importance`: 0.3 minor, 0.6 moderate, 0.9 identity-defining. `strength` raises its score in upkeep. `mentions` are
    the names in it, `triples` its claims, `turn` its place in a conversation. `trust` is how far its source is trusted,
    from 0 to 1. The other fields are those given to `Space.add`.
    """

    id: str
    space: str
    text: str
    key: str | None = None
    kind: MemoryKind = "semantic"
    valid: Window = ANY_TIME
    recorded_at: datetime = EPOCH
    revised_at: datetime = EPOCH
    told_at: datetime = EPOCH
    importance: float = 0.5
    confidence: float = 1.0
    strength: float = 1.0
    tags: tuple[str, ...] = ()
    source: str | None = None
    observed_by: str | None = None
    expires_at: datetime | None = None
    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    turn: Turn | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    trust: float = 1.0

    def _repr_html_(self) -> str:
        said = "" if self.turn is None else f"{self.turn.speaker or 'somebody'}, in {self.turn.conversation}"
        rows = (
            ("id", self.id),
            ("key", self.key),
            ("kind", self.kind),
            ("when", self.valid if self.valid.has_bound else None),
            ("told", format_moment(self.told_at)),
            ("recorded", format_moment(self.recorded_at)),
            ("revised", format_moment(self.revised_at) if self.revised_at > self.recorded_at else None),
            ("expires", None if self.expires_at is None else format_moment(self.expires_at)),
            ("importance", self.importance),
            ("confidence", self.confidence),
            ("strength", self.strength),
            ("tags", ", ".join(self.tags)),
            ("names", ", ".join(mention.name for mention in self.mentions)),
            ("claims", "\n".join(map(str, self.triples))),
            ("said by", said),
            ("source", self.source),
            ("observed by", self.observed_by),
            ("meta", ", ".join(f"{name}: {value}" for name, value in self.meta.items())),
        )
        return html_table(self.text, (), [(name, value) for name, value in rows if value not in (None, "")])
