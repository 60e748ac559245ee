"""State changes: which claims an event ends, and which state follows it.

All functions read sentences in the third person, as third_person.py makes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from remanence.language.claim_extraction.claim_phrases import (
    UNNAMED_RELATIVE,
    NamesByStart,
    coordinated_subjects,
    is_employer,
    role_at,
)
from remanence.language.claim_extraction.claim_rules import LEFT_FOR_THE_DAY, find_claims
from remanence.language.claim_extraction.predicate_rules import (
    MUTUAL_PREDICATES,
    OPPOSITE_PREDICATES,
    STATES_ENDED_BY_EVENT,
    STATUS_ENDED_BY,
)
from remanence.language.lexicon.verb_forms import conjugate
from remanence.language.lexicon.word_lists import (
    PLURAL_RELATIONSHIP_NOUNS,
    compile_pattern,
    load_pattern,
    load_words,
    tags_of,
)
from remanence.language.named_entities.name_spans import NameSpan
from remanence.schema import Triple


@dataclass(frozen=True, slots=True)
class StateChange:
    """An event: its own claims, the claims it ends, and the new state as text and as claims.

    Where the other party of an ended claim is not named, it is an empty string: "got divorced" ends
    `married_to` with anybody.
    """

    event_claims: tuple[Triple, ...]
    ended_claims: tuple[Triple, ...] = ()
    state_text: str | None = None
    state_claims: tuple[Triple, ...] = ()

    @property
    def has_unspecified_end(self) -> bool:
        """Whether an ended claim has an empty subject or object."""
        return any(not (claim.subject and claim.object) for claim in self.ended_claims)


@dataclass(frozen=True, slots=True)
class Denial:
    """Claims that a sentence denies: they hold no longer, or not at all."""

    claims: tuple[Triple, ...]
    no_longer: bool


def claims_ended_by(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The states that these events end."""
    return tuple(
        Triple(subject, state, other)
        for claim in claims
        for state in STATES_ENDED_BY_EVENT.get(claim.predicate, ())
        for subject, other in (
            [(claim.subject, claim.object), (claim.object, claim.subject)]
            if claim.predicate in MUTUAL_PREDICATES
            else [(claim.subject, claim.object)]
        )
    )


def claims_opposed_to(claims: Iterable[Triple]) -> tuple[Triple, ...]:
    """The claims that cannot hold together with these."""
    claims = list(claims)
    opposed = [
        Triple(claim.subject, opposite, claim.object)
        for claim in claims
        for opposite in OPPOSITE_PREDICATES.get(claim.predicate, ())
    ]
    opposed += [
        Triple(person, "relationship_status", status)
        for claim in claims
        for status in STATUS_ENDED_BY.get(claim.predicate, ())
        for person in (claim.subject, claim.object)
    ]
    return tuple(opposed)


def find_denial(text: str, names: Sequence[NameSpan], speaker: str, claims: Sequence[Triple] = ()) -> Denial | None:
    """The claims that the text denies. Without its negation the text would make these claims.

    >>> from remanence.language.named_entities.name_rules import find_names
    >>> text = "Alice no longer lives in Porto."
    >>> [str(claim) for claim in find_denial(text, find_names(text), "me").claims]
    ['Alice —lives_in→ Porto']
    """
    for pattern, no_longer in _NEGATIONS:
        match = pattern.search(text)
        if match is None:
            continue
        start, end, verb = match.start(), match.end(), match["verb"]
        positive = conjugate(verb) if pattern in (_NOT, _USED_TO) else _FROM_GERUND.get(verb, verb)
        affirmed = _ANY_MORE.sub("", text[:start] + positive + text[end:])
        shift = len(positive) - (end - start)
        shifted = [
            name if name.end <= start else name._replace(start=name.start + shift, end=name.end + shift)
            for name in names
        ]
        denied = [claim for claim in find_claims(affirmed, shifted, speaker) if claim not in claims]
        denied += [replace(claim, predicate="loves") for claim in denied if claim.predicate == "likes"]
        if denied:
            return Denial(tuple(denied), no_longer or _ANY_MORE.search(text) is not None)
    return None


def _find_breakup(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Broke up with Tom, or with an unnamed girlfriend; was left by an unnamed wife."""
    deserted = _find_abandonment(text, subject, names)
    match = _BROKE_UP.match(text, subject.end)
    if deserted is not None or match is None:
        return deserted
    other = names.get(match.end())
    if other is not None and other.kind not in ("person", "thing"):
        return StateChange((), _jobs_of(subject)) if match["with"] and other.kind == "organization" else None
    if other is None or other.text == subject.text or UNNAMED_RELATIVE.search(other.text):
        partner = _PARTNER.match(text, match.end() if other is None else other.end)
        return StateChange((), _partners_of(subject)) if partner or other is not None else None
    events = () if match["with"] else (Triple(subject.text, "broke_up_with", other.text),)
    return StateChange(events, _couple_claims(subject, other))


def _find_abandonment(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """ "Alice's wife left Alice" ends the relationships of Alice."""
    match = _DESERTED.match(text, subject.end)
    other = names.get(match.end()) if match else None
    if match is None or other is None or other.kind != "person" or not _CLAUSE_END.match(text, other.end):
        return None
    if _ENDS_WITH_PARTNER.search(subject.text):
        return StateChange((), _partners_of(other))
    is_person = match["left"] and not UNNAMED_RELATIVE.search(subject.text)
    return StateChange((), _couple_claims(other, subject)) if is_person else None


def _find_unspecified_ending(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Got divorced; quit their job: the partner and the employer are not named."""
    match = _ENDED.match(text, subject.end)
    if match is None:
        return None
    others = coordinated_subjects(text, subject, {name.end: name for name in names.values()})
    if not match["couple"]:
        return StateChange((), tuple(claim for person in (*others, subject) for claim in _jobs_of(person)))
    if len(others) == 1 and not UNNAMED_RELATIVE.search(others[0].text):
        return StateChange((), _couple_claims(subject, others[0]))
    return StateChange((), _partners_of(subject))


def _find_discontinued(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Sold their bike; cancelled their Netflix subscription; stopped playing chess."""
    match = _DISCONTINUED.match(text, subject.end)
    if match is None:
        return None
    if match["thing"]:
        return StateChange((), _claims_with(subject, ("has", "owns", "drives"), match["thing"]))
    if match["service"]:
        return StateChange((), _claims_with(subject, ("uses", "has"), match["service"]))
    denial = find_denial(text, sorted(names.values(), key=lambda name: name.start), subject.text)
    return StateChange((), denial.claims if denial else ())


def _claims_with(subject: NameSpan, predicates: Iterable[str], value: str) -> tuple[Triple, ...]:
    return tuple(Triple(subject.text, predicate, value) for predicate in predicates)


def _couple_claims(one: NameSpan, other: NameSpan) -> tuple[Triple, ...]:
    """Every claim that these two are a couple, in both directions."""
    pairs = ((one.text, other.text), (other.text, one.text))
    return tuple(Triple(subject, predicate, partner) for subject, partner in pairs for predicate in _COUPLE_PREDICATES)


def _partners_of(person: NameSpan) -> tuple[Triple, ...]:
    """Every claim that this person is part of a couple, in both directions."""
    directions = ((person.text, ""), ("", person.text))
    return tuple(Triple(one, predicate, other) for predicate in _COUPLE_PREDICATES for one, other in directions)


def _jobs_of(person: NameSpan) -> tuple[Triple, ...]:
    return _claims_with(person, ("works_at", "works_as"), "")


_ADVERBS = load_pattern("adverbs_after_subject")
"""Adverbs and auxiliaries between a subject and its verb."""

_ANY_MORE = re.compile(r",? (?:any ?more|any longer)\b")
_NOT = re.compile(r"\b(?:does not|doesn['’]t|do not|don['’]t) (?:really |actually |even )?(?P<verb>[a-z]+)\b")
_USED_TO = re.compile(r"\bused to (?P<verb>[a-z]+)\b")
_NO_LONGER = re.compile(r"\bno longer (?P<verb>[a-z]+)\b")
_IS_NOT = re.compile(r"\b(?P<verb>is|was|has)(?: not|n['’]t| no longer)\b(?: (?:really|actually))?")
_STOPPED = re.compile(r"\b(?:(?:has |have )?(?:stopped|quit|gave up|given up)) (?P<verb>[a-z]+ing)\b")
_NEGATIONS = ((_NO_LONGER, True), (_USED_TO, True), (_STOPPED, True), (_NOT, False), (_IS_NOT, False))
_FROM_GERUND = {
    "using": "uses", "playing": "plays", "working": "works", "living": "lives", "studying": "studies",
    "driving": "drives", "liking": "likes", "learning": "is learning", "dating": "is dating",
}  # fmt: skip
_PARTNER_NOUN = load_pattern("partner_nouns")
_BROKE_UP = compile_pattern("broke_up")
_DESERTED = re.compile(rf"{_ADVERBS} (?:(?P<left>left)|dumped|divorced|broke up with|separated from) ")
_CLAUSE_END = re.compile(rf"[.,;!]|$| (?:{load_pattern('words_after_ending')}|and|any)\b")
_PARTNER = re.compile(rf" ?(?:their|his|her) (?:[a-z]+ )?(?:{_PARTNER_NOUN})\b")
_ENDS_WITH_PARTNER = re.compile(rf" (?:{_PARTNER_NOUN})$")
_COUPLE_PREDICATES = tuple(
    "married_to engaged_to dating wife_of husband_of girlfriend_of boyfriend_of partner_of"
    " fiancé_of fiancée_of fiance_of fiancee_of spouse_of lives_with".split()
)
_ENDED = compile_pattern("ended")
_DISCONTINUED = compile_pattern("discontinued")


def find_state_change(text: str, names: Sequence[NameSpan]) -> StateChange | None:
    """The first state change of one of the names.

    >>> text = "Alice left Google last May to join Anthropic."
    >>> from remanence.language.named_entities.name_rules import find_names
    >>> change = find_state_change(text, find_names(text))
    >>> [str(claim) for claim in change.ended_claims], change.state_text
    (['Alice —works_at→ Google', 'Alice —studies_at→ Google'], 'Alice works at Anthropic')
    """
    by_start = {name.start: name for name in names}
    for name in names:
        if name.kind == "person" and text[name.end : name.end + 1] == " ":
            for find in _FINDERS:
                change = find(text, name, by_start)
                if change is not None:
                    return _with_other_subjects(text, name, names, change)
    return None


def _with_other_subjects(text: str, subject: NameSpan, names: Sequence[NameSpan], change: StateChange) -> StateChange:
    """The change for all subjects, where there are several: "Ana and Bob moved to Porto"."""
    others = coordinated_subjects(text, subject, {name.end: name for name in names})
    objects = {claim.object for claim in (*change.event_claims, *change.ended_claims)}
    if not others or change.has_unspecified_end or any(other.text in objects for other in others):
        return change
    state = change.state_text
    if state is not None:
        predicate = _plural(state[len(_at_sentence_start(text, subject)) + 1 :])
        first = _at_sentence_start(text, others[0])
        between = "".join(f", {text[other.start : other.end]}" for other in others[1:])
        state = f"{first}{between} and {text[subject.start : subject.end]} {predicate}"

    def for_all(claims: tuple[Triple, ...]) -> tuple[Triple, ...]:
        own = [claim for claim in claims if claim.subject == subject.text]
        return (*claims, *(replace(claim, subject=other.text) for other in others for claim in own))

    return StateChange(for_all(change.event_claims), for_all(change.ended_claims), state, for_all(change.state_claims))


def _find_departure(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Left Google, perhaps to join Anthropic; left Berlin and moved to Rome."""
    left = _LEFT.match(text, subject.end)
    old = names.get(left.end()) if left else None
    if old is None or old.kind == "person" or LEFT_FOR_THE_DAY.match(text, old.end):
        return None
    conjunction = _AND_MOVED.match(text, old.end)
    home = names.get(conjunction.end()) if conjunction else None
    if home is not None and home.kind != "person":
        return _move(text, subject, home.text, old)
    if old.kind == "place":
        return None
    event = Triple(subject.text, "left", old.text)
    ended = claims_ended_by([event])
    for conjunction in _TO_JOIN.finditer(text, old.end):
        new = names.get(conjunction.end())
        if new is not None and new.kind not in ("person", "place"):
            change = _job_change(text, subject, new.text, new.end)
            return replace(change, event_claims=(event, *change.event_claims), ended_claims=ended)
    return StateChange((event,), ended)


def _find_move(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    moved = _MOVED.match(text, subject.end)
    if moved is None:
        return None
    at, old = moved.end(), None
    source = _FROM.match(text, at)
    if source:
        old = names.get(source.end())
        if old is None:
            return None
        at = old.end
    target = _TO.match(text, at)
    new = names.get(target.end()) if target else None
    if new is not None and old is None:
        source = _FROM.match(text, new.end)
        old = names.get(source.end()) if source else None
    if new is not None and is_employer(text, new.kind, new.end):  # from one employer to another
        change = _job_change(text, subject, new.text, new.end)
        return replace(change, ended_claims=claims_ended_by([Triple(subject.text, "left", old.text)]) if old else ())
    if new is None or new.kind == "person":
        return None if old is None else StateChange((), (Triple(subject.text, "lives_in", old.text),))
    return _move(text, subject, new.text, old)


def _move(text: str, subject: NameSpan, home: str, old: NameSpan | None) -> StateChange:
    return StateChange(
        (Triple(subject.text, "moved_to", home),),
        (Triple(subject.text, "lives_in", old.text),) if old else (),
        _state(text, subject, f"lives in {home}"),
        (Triple(subject.text, "lives_in", home),),
    )


def _find_switch(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Switched from VS Code to Neovim; or, which is a change of job, from a bank to a startup."""
    match = _SWITCHED.match(text, subject.end)
    if match is None:
        return None
    old, new = match["old"] or match["older"], match["new"].strip()
    uses = Triple(subject.text, "uses", new)
    if not old:
        event = Triple(subject.text, "switched_to", new)
        return StateChange((event,), claims_ended_by([event]), _state(text, subject, f"uses {new}"), (uses,))
    if new.rsplit(" ", 1)[-1].lower() in _WORKPLACES and _WORKPLACES.intersection(old.lower().split()):
        change, end = _job_change(text, subject, new, len(text)), match.start("new") + len(match["new"].rstrip())
        place = names.get(end + len(" in ")) if text.startswith(" in ", end) else None
        return change if place is None else replace(change, state_text=f"{change.state_text} in {place.text}")
    change = _preference(text, subject, old, new)
    if "food" in tags_of(f"{old}, {new}"):  # "uses tea" is no English
        state = _state(text, subject, f"prefers {new} to {old}")
        return replace(change, state_text=state, state_claims=change.state_claims[1:])
    return change


def _find_replacement(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Replaced their old Honda with a Tesla, which is a possession; replaced Slack with Zulip, which is used."""
    match = _REPLACED.match(text, subject.end)
    if match is None:
        return None
    old, new = match["old"], match["new"].strip()
    change = _preference(text, subject, old, new)
    if match["own"] is None:
        return change
    possessed = tuple(Triple(subject.text, predicate, old) for predicate in ("has", "owns", "drives"))
    return StateChange(
        change.event_claims,
        (*possessed, *change.ended_claims),
        _state(text, subject, f"has {(match['article'] or '').replace('new ', '')}{new}"),
        (Triple(subject.text, "has", new),),
    )


def _preference(text: str, subject: NameSpan, old: str, new: str) -> StateChange:
    events = (Triple(subject.text, "switched_to", new), Triple(subject.text, "switched_from", old))
    claims = (Triple(subject.text, "uses", new), Triple(subject.text, "prefers", new))
    state = _state(text, subject, f"uses {new} and prefers it to {old}")
    return StateChange(events, claims_ended_by(events), state, claims)


def _find_rename(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Changed their name, email, phone number, address or job title."""
    match = _RENAMED.match(text, subject.end)
    if match is None:
        return None
    attribute, new = match["attribute"], match["new"]
    claim = Triple(subject.text, attribute.replace(" ", "_"), new)
    return StateChange((), (), f"{_at_sentence_start(text, subject)}'s {attribute} is {new}", (claim,))


def _find_new_job(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    match = _JOINED.match(text, subject.end)
    new = names.get(match.end()) if match else None
    if (
        new is None
        or new.kind in ("person", "place", "title", "product")
        or _CLUB.search(text, new.start, new.end + 12)
    ):
        return None
    return _job_change(text, subject, new.text, new.end)


def _find_post(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Took a post as a nurse at Barts; is with Acme as a buyer."""
    post, engaged = _POST.match(text, subject.end), _WITH.match(text, subject.end)
    if post:
        employer = names.get(post.end())
        if employer is None or employer.kind in ("person", "place"):
            return None
        change = _job_change(text, subject, employer.text, len(text))
        works_as = Triple(subject.text, "works_as", post["role"])
        state = f"{change.state_text} as {post['article']}{post['role']}"
        return replace(change, state_text=state, state_claims=(*change.state_claims, works_as))
    employer = names.get(engaged.end()) if engaged else None
    if employer is None or not (is_employer(text, employer.kind, employer.end) or _OF_WORK.search(text, employer.end)):
        return None
    return None if employer.kind in ("person", "place") else _job_change(text, subject, employer.text, employer.end)


def _job_change(text: str, subject: NameSpan, employer: str, end: int) -> StateChange:
    """A new employer, and the role that the text tells at `end`."""
    joined, works_at = (Triple(subject.text, predicate, employer) for predicate in ("joined", "works_at"))
    role = role_at(text, end)
    state = _state(text, subject, f"works at {employer}{f' as {role.phrase}' if role else ''}")
    works_as = (Triple(subject.text, "works_as", role.name),) if role else ()
    return StateChange((joined,), (), state, (works_at, *works_as))


def _find_marriage(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    match = _MARRIED.match(text, subject.end)
    other = names.get(match.end()) if match else None
    if other is None:
        return None
    married = Triple(subject.text, "married_to", other.text)
    return StateChange((married,), (), _state(text, subject, f"is married to {other.text}"), (married,))


def _find_count(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    """Got a third cat: there are three now, and no longer two."""
    match = _COUNTED.match(text, subject.end)
    if match is None:
        return None
    noun, before = match["noun"], _ORDINALS.index(match["ordinal"])
    plural = next((many for many, one in PLURAL_RELATIONSHIP_NOUNS.items() if one == noun), f"{noun}s")
    number, fewer = _NUMBERS[before + 1], _NUMBERS[before]
    ended = tuple(
        Triple(subject.text, "has", thing) for thing in (plural, noun, f"{fewer} {plural}", f"{fewer} {noun}")
    )
    state = _state(text, subject, f"has {number} {plural}")
    return StateChange((), ended, state, (Triple(subject.text, "has", f"{number} {plural}"),))


def _find_promotion(text: str, subject: NameSpan, names: NamesByStart) -> StateChange | None:
    match = _PROMOTED.match(text, subject.end)
    if match is None:
        return None
    job = match["job"]
    state = _state(text, subject, f"works as {'an' if job[0] in 'aeiou' else 'a'} {job}")
    return StateChange((), (), state, (Triple(subject.text, "works_as", job),))


def _state(text: str, subject: NameSpan, predicate: str) -> str:
    """The sentence for a state; after "and others" the verb is plural."""
    name = _at_sentence_start(text, subject)
    return f"{name} {_plural(predicate) if name.endswith(' others') else predicate}"


def _plural(predicate: str) -> str:
    verb, _, rest = predicate.partition(" ")
    plural = {"is": "are", "has": "have"}.get(verb, verb[:-1])
    return f"{plural} {rest.replace(' and prefers it ', ' and prefer it ')}"


def _at_sentence_start(text: str, name: NameSpan) -> str:
    """The name as the text has it, with a capital at the start of a sentence."""
    spelling = text[name.start : name.end]
    return spelling[:1].upper() + spelling[1:] if spelling.startswith("the user") else spelling


_FINDERS = (
    _find_count,
    _find_departure,
    _find_post,
    _find_move,
    _find_rename,
    _find_switch,
    _find_replacement,
    _find_new_job,
    _find_marriage,
    _find_breakup,
    _find_promotion,
    _find_discontinued,
    _find_unspecified_ending,
)  # the first that finds a change decides
_OWN_JOB = r"(?:(?:my|their|his|her|a|an|the) (?:old |new )?(?:job|position|role) (?:at|with) )?(?:the )?"
_WORKPLACES = load_words("workplaces")
_LEFT = re.compile(rf"{_ADVERBS} (?:has )?(?:{load_pattern('leaving_verbs')}) {_OWN_JOB}")
_TO_JOIN = re.compile(rf"\b(?:{load_pattern('to_join')}) {_OWN_JOB}")
_MOVED = re.compile(rf"{_ADVERBS} (?:has )?(?:moved|relocated)\b(?: back| over| out(?! of))?")
_AND_MOVED = re.compile(r"[^.;]{0,30}? (?:and (?:then )?(?:moved|relocated)|to move) to (?:the )?")
_FROM = re.compile(r" (?:from|out of) (?:the )?")
_TO = re.compile(r"(?: with [^,.;]{1,30})? (?:back )?to (?:the )?")
_SWITCHED = compile_pattern("switched")
_REPLACED = compile_pattern("replaced")
_JOINED = re.compile(rf"{_ADVERBS} (?:has )?(?:{load_pattern('joining_verbs')}) (?:the )?")
_CLUB = compile_pattern("club", re.IGNORECASE)
_MARRIED = re.compile(rf"{_ADVERBS} (?:has )?(?:got married to|married|tied the knot with|wed) ")
_COUNTED = compile_pattern("counted")
_ORDINALS = "second third fourth fifth sixth seventh".split()
_NUMBERS = "one two three four five six seven".split()
_POST = compile_pattern("post")
_WITH = compile_pattern("with_employer")
_OF_WORK = re.compile(r"\b(?:role|job|position|salary|contract|colleagues)\b")
_PROMOTED = compile_pattern("promoted")
_RENAMED = compile_pattern("renamed")
