"""What a space contains: memories, and the names, claims and links in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, get_args

from remanence.schema.display import html_table
from remanence.schema.windows import ANY_TIME, EPOCH, Window, format_moment

MemoryKind = Literal["episode", "semantic", "viewpoint", "procedure"]
MEMORY_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
PROCEDURE: MemoryKind = "procedure"
"""The kind of what was done for a task (`space.procedures`). It is no fact: only who asks for this kind is given it."""
MAX_TASK_LENGTH = 2_000
"""Characters of the task of a procedure, at most. A longer text does not name something that is done again."""
LinkKind = Literal["related_to", "supersedes", "contradicts", "derived_from", "extends", "supports", "causes"]
LINK_KINDS: tuple[LinkKind, ...] = get_args(LinkKind)
SELF = "me"
"""The name of the person who says "I" in a memory or a question, if no other name is given."""
DEFAULT_CONVERSATION = "default"
"""The conversation of a turn that names none."""
ASSISTANT = "assistant"
PLAN_TAG = "plan"
"""The tag of a fact that somebody intends, or that was to come when it was told. Its kind is "episode"."""
RULES = "rules"
"""What earlier releases named as the author of a fact that rules wrote, not a language model."""
DOCUMENT_FIELD = "_document"
"""The field of `Memory.meta` by which adapters mark a document or node of a framework. The others are the user's."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn of a conversation in which a memory was told.

    Attributes:
        number: The number of the turn.
        before: The turn before it, if that is not stored itself and this one may not be understood without it.
    """

    conversation: str
    number: int
    speaker: str | None = None
    at: datetime | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a memory.

    Attributes:
        name: The name as written.
        kind: What it is, such as "person" or "place".
    """

    name: str
    kind: str = "thing"


cached_mention = lru_cache(1 << 14)(Mention)
"""`Mention`, with one shared instance for each name and kind: the same names occur again and again."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A claim that a memory makes, such as "Alice", "lives_in", "Porto".

    Attributes:
        subject: The name of the entity that the claim is about.
        predicate: The predicate, such as "lives_in".
        object: The name of the other entity, or a value.
    """

    subject: str
    predicate: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} —{self.predicate}→ {self.object}"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity.

    Attributes:
        valid: When it is used.
    """

    name: str
    valid: Window = ANY_TIME


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something that memories are about.

    Attributes:
        id: The id. It stays the same when names change.
        kind: What it is, such as "person".
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

    Attributes:
        subject: The name of the entity that the claim is about.
        predicate: The predicate, such as "lives_in".
        object: The name of the other entity.
        valid: When it is true, after later claims have ended it.
        claimed_window: When it is true, as stated.
        recorded_at: When it was first learned.
        confidence: How certain it is, from 0 to 1.
        evidence: The ids of the memories that state it.
        replaced_by: The id of the relation that followed it, if the predicate has one value at a time.
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
    """A link from one memory to another.

    Attributes:
        source: The id of the memory that the link starts from.
        kind: What the link means, such as "supersedes".
        target: The id of the memory that the link goes to.
        confidence: How certain it is, from 0 to 1.
        corroborated_by: Others who stated the same since, which raises the confidence.
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
    """What an extractor found in a text.

    Attributes:
        valid: When the text is true or happened.
        times: All times that it names.
    """

    mentions: tuple[Mention, ...] = ()
    triples: tuple[Triple, ...] = ()
    valid: Window | None = None
    times: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class Utterance:
    """Input of an extractor: a turn of a conversation, or a text."""

    text: str
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FactEffect:
    """What a new fact does to one that was known before.

    Attributes:
        known_index: The index of the known fact in the list that the extractor was given.
        effect: "ends": it is no longer true. "replaces": the new fact takes its place. "confirms": it is still true.
            "extends": the new fact adds something to it, and both are true. "contradicts": which of them is true is
            not decided.
    """

    known_index: int
    effect: Literal["ends", "replaces", "confirms", "extends", "contradicts"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement taken from a conversation that can be understood without it.

    The fields up to `expires_at` become the fields of its `Memory`.

    Attributes:
        kind: "episode", "semantic" or "viewpoint".
        importance: 0 to 1: 0.3 minor, 0.6 moderate, 0.9 identity-defining.
        confidence: How certain it is, from 0 to 1.
        source_turns: The indexes of the turns it comes from.
        quotation: The words of a turn that it rests on.
        effects: What it does to facts that were known before.
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
    quotation: str = ""
    effects: tuple[FactEffect, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """How often a language model was asked, and the tokens of its prompts and answers. Of a model that does not say how
    many there were, four characters count as one token.

    >>> TokenUsage(1, 900, 40) + TokenUsage(1, 100, 10)
    TokenUsage(calls=2, tokens_in=1000, tokens_out=50)
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.tokens_in + self.tokens_out

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out
        )


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """The facts of a conversation.

    Attributes:
        by: Which extractor found them.
        model: Which language model.
        prompt: The version of the prompt.
        problem: What went wrong if a model failed, or which part of its answer was not kept.
        answered: False if another call may succeed: a background job then tries again.
        usage: The calls of the language model, and their tokens.
        unread: The indexes of the turns that were not read. Their facts are looked for with the next turns of the chat.
        confirmed: The known facts that were only said again: of each its index, and that of the turn.
        refused: Whether the service of the model refused the key (401 or 403), so that trying again is of no use.
    """

    facts: tuple[Fact, ...] = ()
    by: str = "rules"
    model: str | None = None
    prompt: str | None = None
    problem: str | None = None
    answered: bool = field(default=False, compare=False)
    usage: TokenUsage = field(default=TokenUsage(), compare=False)
    unread: tuple[int, ...] = field(default=(), compare=False)
    refused: bool = field(default=False, compare=False)
    confirmed: tuple[tuple[int, int], ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered item, in one version.

    Attributes:
        id: The id, the same for all versions.
        space: The full name of its space.
        text: The text.
        key: The name that the caller gave it.
        kind: "episode", "semantic" or "viewpoint"; "procedure" for what was done for a task.
        valid: When it is true or happened.
        recorded_at: When its first version was recorded.
        revised_at: When this version was recorded.
        told_at: When it was told: the time of its turn, or the `now` it was added with.
        importance: 0 to 1: 0.3 minor, 0.6 moderate, 0.9 identity-defining.
        confidence: How certain it is, from 0 to 1.
        strength: A factor of its decay score in upkeep, from 1 to 2.
        tags: The tags.
        source: Where it comes from.
        observed_by: Who said or saw it.
        expires_at: When it expires; from then on it is not recalled.
        mentions: The names in it.
        triples: Its claims.
        turn: Its turn in a conversation.
        meta: Fields of the caller.
        trust: How far its source is trusted, from 0 to 1.
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
