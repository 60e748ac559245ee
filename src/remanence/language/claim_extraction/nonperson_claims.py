"""Claims about anything but people: "Stripe uses PostgreSQL", "the launch moved to May".

A sentence is read clause by clause as subject, verb phrase and object. The subject is a name, an identifier or a
definite description (nonperson_phrases.py). The verb is any of a general list (verb_forms.py), and the predicate is the
verb with its preposition (nonperson_verbs.py), or an attribute (nonperson_attributes.py).

Precision comes first: a sentence that asks, doubts or supposes, and a clause that denies or plans, make no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from remanence.language.claim_extraction.nonperson_attributes import (
    ABSTRACT_HEADS,
    ATTRIBUTE_OF,
    OPENERS,
    POSSESSIVE,
    attribute_claim,
    is_attribute,
    is_present,
    labelled_claims,
    may_relate_descriptions,
    relates_descriptions,
    snake_case,
    subject_claim,
)
from remanence.language.claim_extraction.nonperson_phrases import (
    BE,
    EQUALS,
    NO_SUBJECT,
    PREPOSITIONS,
    PUNCTUATION,
    Subject,
    is_adverb,
    is_bare_noun,
    is_identifier,
    is_of_group,
    is_surely_person,
    is_verb,
    names_something,
    phrase_at,
    skip_adverbs,
    split_words,
    subject_at,
    time_at,
)
from remanence.language.claim_extraction.nonperson_verbs import (
    CHANGING,
    RESCHEDULING,
    Statement,
    claims_of_verb,
    continues,
    passive_claims,
)
from remanence.language.claim_extraction.predicate_rules import ATTRIBUTE_NOUNS, is_date_predicate
from remanence.language.lexicon.verb_forms import (
    BASE_FORMS,
    GERUNDS,
    PARTICIPLES,
    PAST_FORMS,
    PRESENT_FORMS,
    participle_of,
)
from remanence.language.lexicon.word_lists import PRODUCTS, load_pattern, load_words, word_set
from remanence.language.named_entities.name_spans import NameSpan
from remanence.language.text import sentence_breaks
from remanence.schema import Triple

_MAX_SENTENCES = 40
_MAX_SENTENCE_CHARS = 300
_MAX_CLAUSES = 6
_DOUBT = re.compile(rf"\b(?:{load_pattern('doubt_words')})\b", re.IGNORECASE)
_MAY_CLAIM = re.compile(
    r"[A-HJ-Z0-9=→€$£#_`]|I(?![ '’])|[a-z][-.@/][a-z]|\b(?:tomorrow|every|next|tonight|two|three|four|five|six|ten)\b"
)
"""A sentence without a name, a number, an identifier or a time makes no claim. A fast test: most sentences fail. The
first letter of a sentence is a capital anyway, so there a name must be known, and only what is so now is claimed."""
_NEGATED = re.compile(rf"(?<![.@/-])\b(?:{load_pattern('negating_words')})\b|n['’]t\b", re.IGNORECASE)
_NOT_TAIL = re.compile(r",? (?:and )?not (?:in |on |at |to |by |the )*[\w.+#-]+(?: [\w.+#-]+){0,2}(?=[.!]?$)")
_COMMIT = re.compile(r"(?:fix|feat|chore|docs|refactor|perf|build|ci|ops|config|deps|style)(?:\([\w./-]+\))?!?: ")
_LABEL = re.compile(r"[^:.!?\n,]{2,40}: (?=\S)")
_AGENTS = word_set("we i we've i've they they've we’ve i’ve we're we’re i'm i’m they're they’re")
_PLACING_THINGS = word_set("host run store keep deploy serve publish track manage build ship")
"""Verbs of a lasting activity of "we": "we host the docs on Netlify"."""
_HANDLING = load_words("handling_verbs") | CHANGING | RESCHEDULING | _PLACING_THINGS
_CHOOSING = word_set("use used using choose chose chosen picked pick adopted selected")
_CHOOSING_PHRASES = frozenset(("went with", "go with", "gone with", "settled on", "opted for", "standardised on"))
_UNNAMED_USE = re.compile(r"\d|\b(?:now|this|that|everything|free|fun|sale|work|years?|months?|weeks?|days?)\b")
_ATTRIBUTE_VALUE = re.compile(
    r"(?P<attribute>(?:[a-z-]+ ){0,2}?[a-z-]+)(?: is| =)? (?P<value>[\d$€£#~].*|\S*[-_./]\S*)"
)
_IS_PREDICATES = word_set("is scheduled_for is_a switched_to based_in assigned_to")
_PARENT = re.compile(r"(?P<owner>[A-Z][\w&.-]*(?: [A-Z][\w&.-]*)*)['’]s (?P<role>[a-z-]+)\b")
_GENERIC_HEAD = re.compile(r"^([A-Z][\w-]+) project$")
_CALENDAR_DATE = re.compile(rf"\d|\b(?:{load_pattern('months')})\b")
_EVALUATIVE = load_words("evaluative_words")
_NAMING = word_set("named called renamed nicknamed is")
_KNOWING = word_set("learned learnt forget remember note noted noticed out confirmed see reminder fact know known")
_PRONOUNS = word_set("it it's it’s which")
_CONSEQUENCES = word_set("cost mean make cause allow help give result save take bring let lead keep explain")
_REPORTED = word_set("says say states state shows confirms")


def find_nonperson_claims(text: str, names: Sequence[NameSpan]) -> list[Triple]:
    """The claims of a text about anything but people, in order.

    >>> for claim in find_nonperson_claims("billing-api runs on Kubernetes in eu-west-1. Our launch moved to May.", []):
    ...     print(claim)
    billing-api —runs_on→ Kubernetes
    billing-api —based_in→ eu-west-1
    launch —scheduled_for→ May
    """
    kinds = {name.text: name.kind for name in reversed(names)}
    starts = {name.start for name in names if name.kind != "person"}
    claim_set: dict[Triple, None] = {}
    begin = 0
    for number, (end, start) in enumerate([*sentence_breaks(text), (len(text), len(text))]):
        if number >= _MAX_SENTENCES:
            break
        has_sign = _MAY_CLAIM.search(text, begin + 1, end) is not None
        if 8 < end - begin <= _MAX_SENTENCE_CHARS and (
            has_sign or begin in starts or may_relate_descriptions(text, begin, end)
        ):
            claims = list(_claims_of_sentence(text, begin, end, kinds, is_first=number == 0))
            if not has_sign:  # "Vercel hosts the blog" says what is so, "Ingvar ate the cake" what happened
                claims = [claim for claim in claims if is_present(claim.predicate)]
            if claims and not _DOUBT.search(text, begin, end):
                claim_set.update(dict.fromkeys(claims))
        begin = start
    return [claim for claim in claim_set if claim.subject != claim.object and not claim.subject.isdecimal()]


def _claims_of_sentence(
    text: str, begin: int, end: int, kinds: Mapping[str, str], *, is_first: bool
) -> Iterator[Triple]:
    sentence = text[begin:end]
    if "?" in sentence:
        return
    tail = _NOT_TAIL.search(sentence) if " not " in sentence else None
    if tail is not None:
        end = begin + tail.start()
    commit = _COMMIT.match(text, begin, end)
    if commit is not None:
        begin = commit.end()
    label = _LABEL.match(text, begin, end) if ": " in sentence else None
    if label is not None:
        after = split_words(text, label.end(), end)
        heads_clause = bool(after) and not after[0].text[0].isdigit() and subject_at(after, 0, text) is not None
        labelled = [] if heads_clause else list(labelled_claims(text, label, end, kinds, is_first=is_first))
        if labelled:
            yield from labelled
            return
        begin = label.end()
    statement = Statement(text, split_words(text, begin, end), kinds)
    opens = is_first and label is None
    yield from _SentenceReader(statement, is_command=commit is not None, opens_text=opens).claims()


class _SentenceReader:
    """Reads the clauses of one sentence, one after the other."""

    def __init__(self, statement: Statement, *, is_command: bool, opens_text: bool) -> None:
        self.statement, self.words, self.text = statement, statement.words, statement.text
        self.is_command, self.opens_text = is_command, opens_text
        self.subject: str | None = None
        """The subject of the last clause: "its owner" is the owner of this subject."""
        self.predicate = ""
        """The predicate of the last claim, if it is one of the last subject."""
        self.start = 0
        """Where the statement begins: after "don't forget that"."""
        self.object: str | None = None
        """The object of the last claim, if it has a name."""

    def claims(self) -> Iterator[Triple]:
        at = 0
        for _ in range(_MAX_CLAUSES):
            claims, stop = self._clause(at)
            yield from claims
            last = claims[-1].object if claims else ""
            self.predicate = claims[-1].predicate if claims and claims[-1].subject == self.subject else ""
            self.object = last if last in self.statement.kinds or is_identifier(last) else None
            if not claims and stop == at and not self._is_fronted(at):
                return  # no verb: what follows the comma belongs to this, as in "Auburn, Alabama is"
            at = self._next_clause(max(stop, at))
            if at >= len(self.words):
                return

    def _is_fronted(self, at: int) -> bool:
        """Whether the part of the sentence that begins here can stand before a clause: "In March, …", "Drop X, …"."""
        first = self.words[at].lower if at < len(self.words) else ""
        if self.is_command or first in NO_SUBJECT or first in PREPOSITIONS or first in OPENERS:
            return True
        return at < len(self.words) and is_adverb(self.words, at)

    def _next_clause(self, at: int) -> int:
        """The index after the next comma or the like, or after "and" if it stands here."""
        if at < len(self.words) and self.words[at].lower in ("and", "but", "that"):
            return at + 1
        while at < len(self.words) and self.words[at].text not in PUNCTUATION:
            at += 1
        return at + 1

    def _clause(self, at: int) -> tuple[list[Triple], int]:
        """The claims of the clause that begins at a word, and the index after it."""
        at = self._after_report(self._after_openers(at))
        if at >= len(self.words):
            return [], at
        done = self._passive_claims(at) or self._purpose_claims(at) or self._existence_claims(at)
        if done is not None:
            return done
        own = self._own_attribute(at) or self._anaphoric_claims(at)
        if own is not None:
            return own
        subject = subject_at(self.words, at, self.text)
        if subject is None:
            return self._elliptical_claims(at)
        if any(is_surely_person(name, self.statement.kinds) for name in subject.names) or (
            at > 0 and self._is_participle(subject.verb)
        ):
            return [], subject.verb
        claims, stop = self._claims_of_subject(subject)
        return ([] if claims and self._is_negated(subject.verb) else claims), stop

    def _is_participle(self, at: int) -> bool:
        """Whether what looks like a verb may belong to a noun: "and the Port Authority located at Ground Zero"."""
        lower = self.words[at].lower
        following = self.words[at + 1].lower if at + 1 < len(self.words) else ""
        is_other_form = lower in PRESENT_FORMS or lower in BASE_FORMS
        return lower in PARTICIPLES and not is_other_form and following in PREPOSITIONS and following != "to"

    def _claims_of_subject(self, subject: Subject) -> tuple[list[Triple], int]:
        all_claims: list[Triple] = []
        names = tuple(_GENERIC_HEAD.sub(r"\1", name) for name in subject.names)
        if subject.insertion is not None:
            names, all_claims = self._read_insertion(subject)
        self.subject = names[0]
        verb_index, is_plural = subject.verb, len(names) > 1 or names[0].endswith("s")
        is_passive = False
        while True:
            claims, stop = claims_of_verb(self.statement, verb_index, is_passive=is_passive)
            claims = [claim for claim in claims if self._is_definite(subject, names[0], verb_index, *claim)]
            if is_of_group(names[0].lower()):  # what else such a person or animal does is no lasting relation
                claims = [claim for claim in claims if claim[0] in _NAMING and names_something(claim[1])]
            all_claims += [
                subject_claim(self.statement.kinds, name, predicate, value)
                for predicate, value in claims
                for name in names
            ]
            conjunction = stop
            if not claims:
                conjunction = self._next_clause(stop) - 1
            was_passive = self.words[verb_index].lower in ("is", "are", "was", "were", "has", "have")
            while conjunction < len(self.words) and self.words[conjunction].lower in (",", "and", "but", ";", "then"):
                conjunction += 1
            if (
                conjunction == stop
                or not continues(self.words, conjunction, is_plural=is_plural)
                or self._is_negated(conjunction)
            ):
                return all_claims, stop
            next_verb = skip_adverbs(self.words, conjunction)
            is_passive = was_passive or is_passive
            if participle_of(self.words[next_verb].lower) is None or self.words[next_verb].lower in PRESENT_FORMS:
                is_passive = False
            elif not is_passive and next_verb + 1 < len(self.words) and self.words[next_verb + 1].lower == "by":
                return all_claims, stop  # "closed its series B, led by Ostara": of the object
            verb_index = conjunction

    def _is_definite(self, subject: Subject, name: str, verb: int, predicate: str, value: str) -> bool:
        """Whether both ends tell what is meant: "the chandelier adds a nice feel" is talk, not a relation, and "the
        meeting is on Monday" is about any of many."""
        is_plain = self.words[verb].lower in ("is", "are")
        if predicate == "scheduled_for" and is_plain and " " not in name and not _CALENDAR_DATE.search(value):
            following = self.words[verb + 1].lower if verb + 1 < len(self.words) else ""
            if participle_of(following) is None:
                return False
        attribute = ATTRIBUTE_OF.fullmatch(name)
        if attribute is not None and predicate in ("is", "is_a") and not is_attribute(attribute["attribute"]):
            head = attribute["attribute"].lower().split()[-1]
            return names_something(value) and head not in ABSTRACT_HEADS  # the reason for Brexit
        has_name = (
            is_identifier(name.partition(" ")[0])
            or any(known in name for known in self.statement.kinds)
            or any(word[0].isupper() or word[0].isdigit() for word in name.split()[1:])
            or (name.isupper() and len(name) > 1)
        )
        if not names_something(value) and not is_date_predicate(predicate):
            clause = self.text[self.words[verb].start : self.words[-1].end]
            tells = has_name or (subject.is_definite and relates_descriptions(name, clause, predicate, value))
            return tells and _EVALUATIVE.isdisjoint(value.lower().split())
        if has_name or subject.is_definite or not is_bare_noun(name) or self.words[subject.verb].text in EQUALS:
            return True
        # "Auditor was …": whose, was said before. "Prod database is …" tells.
        tells = predicate not in _IS_PREDICATES or " " in name or self.words[verb].lower not in BE
        return self.opens_text and tells

    def _read_insertion(self, subject: Subject) -> tuple[tuple[str, ...], list[Triple]]:
        """The subject with its insertion read: "our subsidiary, Orme SAS, …", "the worker, written in Elixir, …"."""
        assert subject.insertion is not None
        begin, end = subject.insertion
        inside = self.statement._replace(words=self.words[:end])
        name = subject.names[0]
        text = self.text[self.words[begin].start : self.words[end - 1].end]
        if self.words[begin].lower in ("the", "our"):
            text = text[4:]
        owned = POSSESSIVE.fullmatch(name)
        if (subject.is_definite or owned is not None) and (text in self.statement.kinds or is_identifier(text)):
            return (text,), [] if owned is None else [attribute_claim(owned, text)]
        parent = _PARENT.match(text)
        if parent is not None:
            return subject.names, [Triple(name, f"{parent['role']}_of", parent["owner"])]
        if self.words[begin].lower == "which":
            relative = subject_at(self.words[:end], begin + 1, self.text)
            if relative is None:
                claims, _ = claims_of_verb(inside, begin + 1)
            else:
                verb = self.words[relative.verb].lower
                claims = (
                    passive_claims(inside, PAST_FORMS.get(verb, verb), verb, relative.verb + 1)
                    if verb in PAST_FORMS
                    else []
                )
        elif participle_of(self.words[begin].lower) is not None:
            claims, _ = claims_of_verb(inside, begin, is_passive=True)
        else:
            claims = []
        return subject.names, [Triple(name, predicate, value) for predicate, value in claims]

    def _passive_claims(self, at: int) -> tuple[list[Triple], int] | None:
        """The claims of "we moved X to Y", "moved X to Y", and in the title of a change "move X to Y"."""
        i, has_agent = self._after_agent(at), self.words[at].lower in _AGENTS
        if not has_agent and at > 0 and not self.is_command:
            return None
        lower = self.words[i].lower if i < len(self.words) else ""
        verb = PAST_FORMS.get(lower)
        if lower in BASE_FORMS and (self.is_command or (has_agent and lower in _PLACING_THINGS)):
            verb = lower
        elif has_agent and GERUNDS.get(lower) in _PLACING_THINGS:
            verb = GERUNDS[lower]
        if verb not in _HANDLING or self._is_negated(i):
            return None
        thing = phrase_at(self.words, i + 1, self.text)
        if thing is None:
            return None
        name, stop = thing.text, thing.next
        if stop + 1 < len(self.words) and self.words[stop].lower in ("on", "of", "for"):
            owner = phrase_at(self.words, stop + 1, self.text)
            if owner is not None and is_attribute(name):
                name, stop = f"{name} {self.words[stop].lower} {owner.text}", owner.next
        claims = passive_claims(self.statement, verb, _PARTICIPLE_OF.get(verb, lower), stop)
        return [subject_claim(self.statement.kinds, name, predicate, value) for predicate, value in claims], stop

    def _after_agent(self, at: int) -> int:
        """The index of the verb after "we", "we have" or "we are"; the same one if there is no such word."""
        if self.words[at].lower not in _AGENTS:
            return at
        i = skip_adverbs(self.words, at + 1)
        if i < len(self.words) and self.words[i].lower in ("have", "had", "are", "were", "am"):
            i = skip_adverbs(self.words, i + 1)
        return i

    def _purpose_claims(self, at: int) -> tuple[list[Triple], int] | None:
        """The claims of "we use X for Y" and "we went with X for Y": Y uses X. Not of "I use VS Code for Python"."""
        i = self._after_agent(at)
        verb = " ".join(word.lower for word in self.words[i : i + 2])
        size = 2 if verb in _CHOOSING_PHRASES else 1
        if i == at or not (size == 2 or verb.partition(" ")[0] in _CHOOSING) or self._is_negated(i):
            return None
        tool = phrase_at(self.words, i + size, self.text)
        if tool is None or not names_something(tool.text) or is_surely_person(tool.text, self.statement.kinds):
            return None
        if tool.next + 1 >= len(self.words) or self.words[tool.next].lower not in ("for", "as"):
            return None
        if self.words[tool.next].lower == "as" and self.words[tool.next + 1].lower not in ("the", "our"):
            return None
        user = phrase_at(self.words, tool.next + 1, self.text)
        if user is None or user.text.lower().split()[0] in _NO_USERS or _UNNAMED_USE.search(user.text):
            return None
        if self.words[tool.next].lower == "as":  # as our CDN
            return [Triple(user.text, "is", tool.text)], user.next
        return [Triple(user.text, "uses", tool.text)], user.next

    def _existence_claims(self, at: int) -> tuple[list[Triple], int] | None:
        """The claims of "there are three replicas of users-db": users-db has three replicas."""
        if self.words[at].lower != "there" or at + 2 >= len(self.words):
            return None
        if self.words[at + 1].lower not in ("is", "are") or self._is_negated(at + 1):
            return None
        things = phrase_at(self.words, at + 2, self.text)
        if things is None:
            return None
        text, _, owner = things.text.partition(" of ")
        stop = things.next
        if not owner and stop + 1 < len(self.words) and self.words[stop].lower in ("in", "on", "at", "behind"):
            location = phrase_at(self.words, stop + 1, self.text)
            owner, stop = ("", stop) if location is None else (location.text, location.next)
        owner = owner.removeprefix("the ").removeprefix("our ")
        is_known = owner in self.statement.kinds or is_identifier(owner) or owner != owner.lower()
        return ([Triple(owner, "has", text)], stop) if is_known and names_something(text) else None

    def _own_attribute(self, at: int) -> tuple[list[Triple], int] | None:
        """The claims of "its owner is Legal" and "budget is 140k" after a clause about something."""
        if self.subject is None:
            return None
        if self.words[at].lower == "its":
            subject = subject_at(self.words, at + 1, self.text)
            if subject is None:
                return None
            claims, stop = claims_of_verb(self.statement, subject.verb)
            noun = snake_case(subject.names[0])
            return [
                Triple(self.subject, noun, value) for predicate, value in claims if predicate in _IS_PREDICATES
            ], stop
        end = self._next_clause(at) - 1
        part = self.text[self.words[at].start : self.words[end - 1].end] if end > at else ""
        value = _ATTRIBUTE_VALUE.fullmatch(part)
        if value is None or value["attribute"].split()[-1] not in ATTRIBUTE_NOUNS:
            return None
        return [Triple(self.subject, snake_case(value["attribute"]), value["value"])], end

    def _elliptical_claims(self, at: int) -> tuple[list[Triple], int]:
        """The claim of "…, ledger-ui in TypeScript" after "ledger-core is written in Rust": the verb is omitted."""
        subject = phrase_at(self.words, at, self.text)
        preposition = self.predicate.rpartition("_")[2]
        if subject is None or subject.next >= len(self.words) or self.words[subject.next].lower != preposition:
            return [], at
        value = phrase_at(self.words, subject.next + 1, self.text)
        if value is None or not names_something(value.text) or not preposition:
            return [], at
        return [Triple(subject.text, self.predicate, value.text)], value.next

    def _anaphoric_claims(self, at: int) -> tuple[list[Triple], int] | None:
        """The claims of "it's in Porto now" after a clause about something, and of "…, which runs on Redis" about what
        the last claim leads to."""
        lower = self.words[at].lower
        if lower == "which":
            subject, verb = self.object, at + 1
            after = self.words[verb].lower if verb < len(self.words) else ""
            if PRESENT_FORMS.get(after) in _CONSEQUENCES:
                return None  # all of the clause does so
        else:
            subject, verb = self.subject, at + (lower == "it")
        if subject is None or lower not in _PRONOUNS or (lower == "it" and not is_verb(self.words, verb)):
            return None
        claims, stop = claims_of_verb(self.statement, verb)
        claims = [] if self._is_negated(verb) else [claim for claim in claims if names_something(claim[1])]
        return [Triple(subject, predicate, value) for predicate, value in claims], max(stop, at)

    def _is_negated(self, at: int) -> bool:
        """Whether the clause around a word denies something, or is about the future."""
        begin = at
        while (
            begin > self.start
            and self.words[begin - 1].text not in PUNCTUATION
            and self.words[begin - 1].lower not in ("and", "but")
        ):
            begin -= 1
        end = at
        while (
            end < len(self.words)
            and self.words[end].text not in (",", ";", "—", "–")
            and self.words[end].lower not in ("and", "but")
        ):
            end += 1
        return _NEGATED.search(self.text, self.words[begin].start, self.words[end - 1].end) is not None

    def _after_report(self, at: int) -> int:
        """The index after "the wiki says that"."""
        for i in range(at + 1, min(at + 5, len(self.words) - 1)):
            if self.words[i].lower in _REPORTED and self.words[at].lower in ("the", "our"):
                return i + 1 + (self.words[i + 1].lower == "that")
        return at

    def _after_openers(self, at: int) -> int:
        """The index after "Since March", "Although", "then" and the like."""
        for i in range(at + 1, min(at + 6, len(self.words) - 1)):
            if self.words[i].lower == "that" and self.words[i - 1].lower in _KNOWING:
                self.start = at = i + 1  # just learned that, don't forget that
        lowers = [word.lower for word in self.words[at : at + 2]]
        if lowers == ["turns", "out"] or (lowers and lowers[0].startswith("@")):
            at += len(lowers) if lowers[0] == "turns" else 1
        while at < len(self.words) and self.words[at].lower in OPENERS:
            time = time_at(self.words, at + 1, self.text)
            if self.words[at].lower == "as" and at + 1 < len(self.words) and self.words[at + 1].lower == "of":
                time = time_at(self.words, at + 2, self.text)
            if self.words[at].lower == "that" and at == 0:
                return at
            if time is None and self.words[at].lower in ("in", "on", "by", "from", "at", "as"):
                return at
            at = at + 1 if time is None else time.next
        time = time_at(self.words, at, self.text)
        return at if time is None or time.next >= len(self.words) else time.next


_NO_USERS = PRODUCTS.union(GERUNDS)
_PARTICIPLE_OF = {base: form for form, base in PAST_FORMS.items()}
