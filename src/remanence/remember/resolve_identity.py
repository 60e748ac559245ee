"""Step of the write path: whether a version is a new memory, a revision, or a repetition; and its mentions that depend
on other memories."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from remanence.events import Remembered
from remanence.index.engine.identity import content_digest
from remanence.index.index import Index
from remanence.remember.prepare import PreparedVersion
from remanence.schema import Mention, Snapshot, Turn
from remanence.text.lexicon.word_lists import is_common_word
from remanence.text.text import normalize_name


class IdentityResolver:
    """Decides, under the write lock, whether each version is a new memory, a revision or a repetition."""

    def __init__(self, index: Index, batch: Iterable[PreparedVersion] = ()) -> None:
        """`batch` has all versions that the caller gives at once, in one transaction or several."""
        self._index, self._catalog, self._batch = index, index.catalog, batch
        self._repeated_ids: set[str] | None = None
        self._resolved: dict[str, Remembered] = {}
        self._next_turns: dict[str, int] = {}

    def resolve(self, prepared: PreparedVersion) -> tuple[str, Remembered | None]:
        """The id of the memory, and the version to write; None if it repeats a memory."""
        version = prepared.version
        if prepared.is_revision:
            return version.memory, version
        version = self._with_own_identity(version)
        earlier = self._resolved.get(version.identity)
        number = self._catalog.find_by_identity(version.identity)
        if earlier is not None:
            if earlier.content == version.content:
                return earlier.memory, None
            memory = earlier.memory
        elif number is not None:
            memory = self._catalog.ids[number]
            visible = self._catalog.hidden.is_visible(number, self._catalog.position)
            if visible and self._catalog.has_content(number, version.content):
                if not self._repeats_ended_memory(prepared, memory):
                    return memory, None
                memory = version.memory
        elif (recalled := self._recalled_memory(prepared)) is not None:
            return recalled, None
        else:
            memory = version.memory
        resolved = version
        if memory != version.memory or version.turn is not None:
            resolved = _with_memory_and_turn(version, memory, self._numbered_turn(version, memory))
        self._resolved[version.identity] = resolved
        return memory, resolved

    def _with_own_identity(self, version: Remembered) -> Remembered:
        """The version, or one of another identity if it is trusted less than the memory it would revise. That memory is
        not changed, and this version becomes a new memory."""
        if version.trust == 1.0:
            return version
        earlier = self._resolved.get(version.identity)
        number = self._catalog.find_by_identity(version.identity)
        earlier_trust = earlier.trust if earlier is not None else None
        if (
            earlier_trust is None
            and number is not None
            and self._catalog.hidden.is_visible(number, self._catalog.position)
        ):
            row = self._catalog.row_at(number, self._catalog.position)
            earlier_trust = None if row is None else float(self._catalog.attributes.trust[row])
        if earlier_trust is None or version.trust >= earlier_trust - 1e-6:  # the index has it in single precision
            return version
        return replace(version, identity=content_digest("less trusted", version.identity, version.trust))

    def _repeats_ended_memory(self, prepared: PreparedVersion, memory: str) -> bool:
        """Whether a text without key and date repeats a memory that was superseded or has ended since: then the memory
        is valid again. The same holds if a fact that was found in the memory was superseded or has ended.

        If the batch also repeats what superseded it, the batch repeats a history, and nothing is valid again.
        """
        version = prepared.version
        is_fact_without_date = version.key is None and not version.valid.has_bound
        has_claims = bool(version.triples) and (prepared.is_undated or is_fact_without_date)
        if not prepared.is_undated and not has_claims:
            return False
        snapshot = self._index.snapshot(self._catalog.position, prepared.recorded_at)
        facts = self._index.journal.facts_found_in(memory) if prepared.is_undated else set()
        told = [*facts, *([memory] if has_claims else [])]
        return any(self._has_ended(id_, snapshot) and not self._is_ended_by_batch(id_, snapshot) for id_ in told)

    def _has_ended(self, memory: str, snapshot: Snapshot) -> bool:
        """Whether a memory was superseded or its claims ended; not if it was only merged into another one."""
        row = self._index.current_row(memory, snapshot.position)
        if row is None:
            return False
        if self._index.relations.is_stale(row, snapshot):
            return True
        if not self._index.links.superseded_mask(snapshot)[self._catalog.memory_of(row)]:
            return False
        return any(
            memory not in self._sources(successor, snapshot) for successor in self._superseding(memory, snapshot)
        )

    def _is_ended_by_batch(self, memory: str, snapshot: Snapshot) -> bool:
        """Whether the batch repeats what ended a memory: a memory that superseded it or claims something else, or a
        text in which such a memory was found."""
        row = self._index.current_row(memory, snapshot.position)
        disagreements = [] if row is None else self._index.relations.disagreements(row, snapshot)
        successors = self._superseding(memory, snapshot)
        successors |= {self._catalog.ids[self._catalog.memory_of(other)] for other, _, _ in disagreements}
        texts = {source for successor in successors for source in self._sources(successor, snapshot)}
        return not self._repeated().isdisjoint(successors | texts)

    def _superseding(self, memory: str, snapshot: Snapshot) -> set[str]:
        number = self._index.require_number(memory)
        links = self._index.links.links_of(number, snapshot, kinds=("supersedes",), direction="in")
        return {link.source for link in links}

    def _sources(self, memory: str, snapshot: Snapshot) -> set[str]:
        number = self._index.require_number(memory)
        links = self._index.links.links_of(number, snapshot, kinds=("derived_from",), direction="out")
        return {link.target for link in links}

    def _repeated(self) -> set[str]:
        """The memories that the batch repeats."""
        if self._repeated_ids is None:
            numbers = (self._catalog.find_by_identity(prepared.version.identity) for prepared in self._batch)
            self._repeated_ids = {self._catalog.ids[number] for number in numbers if number is not None}
        return self._repeated_ids

    def _recalled_memory(self, prepared: PreparedVersion) -> str | None:
        """The memory whose text was just recalled and is now added again, unless it is forgotten."""
        memory = self._index.cache.recalled_id(prepared.repeat_key or "")
        visible = memory is not None and self._index.current_row(memory, self._catalog.position) is not None
        return memory if visible else None

    def _numbered_turn(self, version: Remembered, memory: str) -> Turn | None:
        """The turn of a version with its number: the next number, or the number of the earlier version."""
        turn = version.turn
        if turn is None:
            return None
        earlier = None
        if memory != version.memory:
            earlier = self._resolved.get(version.identity) or self._index.latest_version(memory)
        if earlier is not None and earlier.turn is not None and earlier.turn.conversation == turn.conversation:
            number = earlier.turn.number
        else:
            number = self._next_turns.get(turn.conversation, self._index.fields.next_turn(turn.conversation))
            self._next_turns[turn.conversation] = number + 1
        return Turn(turn.conversation, number, turn.speaker, turn.at, turn.before)


def _with_memory_and_turn(version: Remembered, memory: str, turn: Turn | None) -> Remembered:
    # Not `dataclasses.replace`, which takes three times as long: this is done for every turn that is added.
    return Remembered(
        memory=memory,
        text=version.text,
        identity=version.identity,
        content=version.content,
        kind=version.kind,
        importance=version.importance,
        confidence=version.confidence,
        strength=version.strength,
        key=version.key,
        source=version.source,
        observed_by=version.observed_by,
        valid=version.valid,
        expires_at=version.expires_at,
        tags=version.tags,
        mentions=version.mentions,
        triples=version.triples,
        times=version.times,
        turn=turn,
        passages=version.passages,
        meta=version.meta,
        told_at=version.told_at,
        trust=version.trust,
        signature=version.signature,
    )


_WORD = re.compile(r"\w+(?:[.'’&@+#-]\w+)*")


def add_registered_mentions(index: Index, prepared: PreparedVersion) -> PreparedVersion:
    """The version with the registered names in its text added to its mentions, in the order of the text: a memory is
    about the first of them. Use it with the lock of the index."""
    version = prepared.version
    if not prepared.has_extracted_names or not index.registry.has_entries:
        return prepared
    registered: dict[str, tuple[int, Mention]] = {}
    for start, mention in _registered_mentions(index, version, prepared.recorded_at):
        registered.setdefault(normalize_name(mention.name), (start, mention))
    if not registered:
        return prepared
    text = version.text.lower()
    mentions: list[tuple[int, Mention]] = []
    for mention in version.mentions:
        if mention.kind == "thing" and normalize_name(mention.name) in registered:
            continue  # the subject of a claim: these follow the names that have capitals
        registered.pop(normalize_name(mention.name), None)
        mentions.append((-1 if mention.kind == "heading" else text.find(mention.name.lower()), mention))
    for start, mention in registered.values():
        before = next((at for at, (place, _) in enumerate(mentions) if place > start), len(mentions))
        mentions.insert(before, (start, mention))
    return prepared._replace(version=replace(version, mentions=tuple(mention for _, mention in mentions)))


def _registered_mentions(index: Index, version: Remembered, at: datetime) -> Iterator[tuple[int, Mention]]:
    """The registered names in a text, the longest at each word, with the place where each begins."""
    registry, position = index.registry, index.catalog.position
    words = [(match.start(), match.end()) for match in _WORD.finditer(version.text)]
    first = 0
    while first < len(words):
        for size in range(min(6, len(words) - first), 0, -1):
            written = version.text[words[first][0] : words[first + size - 1][1]]
            number = index.names.number(written)
            if number is None or not registry.is_owned(number, position):
                continue
            spelling = registry.registered_spelling(number, position)
            if size == 1 and is_common_word(written.lower()) and written != spelling:
                continue
            entity = registry.find(spelling, position, at)
            kind = None if entity is None else registry.registered_kind(entity, position)
            yield words[first][0], Mention(spelling, kind or index.names.kinds[number])
            first += size - 1
            break
        first += 1
