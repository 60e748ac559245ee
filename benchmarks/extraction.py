"""How well the rules read: precision and recall of claims, relations and names on public sets.

    python benchmarks/extraction.py                          every set found
    python benchmarks/extraction.py dialogre wnut17 --json out.json
    python benchmarks/extraction.py --show dialogre          what the set calls wrong, to be judged by eye

Reads the development halves from ../shared/data (or --data FOLDER); what is absent is named and left out.
Precision comes first: the rules would rather miss a claim than invent one.

dialogre  relations of speakers in dialogues. "judged" counts claims about two arguments that the set has
          labelled; "strict" counts each other claim of a kind it labels as wrong. Who of the speakers bears
          a name is not for the rules to find out, which read one text at a time: the set says so. "told in
          a turn" counts what is to be found only where one turn has both names, or its speaker's "I" and
          the other, and the word that gives the relation away.
benchie   a claim is right if a gold triple of its sentence has its subject, and its object behind the verb
carb      as benchie
webnlg    a claim is right if its sentence has a gold triple between the same two, whatever it is called
factcon   how many facts give a claim; how many (newer, older) pairs are seen to disagree, and how many pairs
          are seen to disagree that do not
wnut17    names in noisy text, exactly and by any overlap
speakers  the people of a conversation, wherever a turn or a question names one
speed     microseconds of one core for a text of twenty words
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import combinations
from pathlib import Path
from typing import Any

from remanence.models.extractors import RuleExtractor, find_question_names
from remanence.schema import Triple
from remanence.text.claims.predicates import claim_key, claim_value
from remanence.text.named_entities.name_rules import find_names
from remanence.text.text import normalize_name

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NOW = datetime(2026, 5, 20, tzinfo=timezone.utc)
RULES = RuleExtractor()
Row = dict[str, Any]


@dataclass(frozen=True)
class Score:
    """So many found, of which so many right; so many to be found, of which so many met."""

    what: str
    right: int
    found: int
    met: int
    wanted: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.found)

    @property
    def recall(self) -> float:
        return self.met / max(1, self.wanted)


@dataclass(frozen=True)
class Note:
    """A figure that is neither."""

    what: str
    figure: str


def main() -> None:
    options = _options()
    results: list[Score | Note] = []
    for name in options.sets or MEASURES:
        measure, files = MEASURES[name]
        absent = [file for file in files if not (options.data / file).exists()]
        if absent:
            print(f"{name}: no {absent[0]} in {options.data}: left out. Pass --data FOLDER.")
            continue
        if options.show in (None, name):
            results += measure(options.data, bool(options.show))
    print(table(results))
    if options.json:
        rows = [asdict(one) | _shares(one) for one in results]
        options.json.write_text(json.dumps(rows, indent=1))


# -- relations in dialogue -----------------------------------------------------------------------------

PARENTS, CHILDREN = ("per:parents",), ("per:children",)
SIBLINGS, LOVERS, SPOUSE = ("per:siblings",), ("per:girl/boyfriend", "per:dates"), ("per:spouse",)
LABELS: dict[str, tuple[str, ...]] = {
    # what the subject is to the object in the words of the set: x "per:children" y is "y is a child of x"
    **dict.fromkeys(("mother_of", "father_of", "mom_of", "mum_of", "dad_of", "parent_of"), CHILDREN),
    **dict.fromkeys(("son_of", "daughter_of", "child_of"), PARENTS),
    **dict.fromkeys(("sister_of", "brother_of", "half_brother_of", "half_sister_of", "sibling_of"), SIBLINGS),
    **dict.fromkeys(("girlfriend_of", "boyfriend_of", "dating", "fiancé_of", "fiancée_of", "engaged_to"), LOVERS),
    **dict.fromkeys(("wife_of", "husband_of", "spouse_of", "married_to"), SPOUSE),
    **dict.fromkeys(("cousin_of", "uncle_of", "aunt_of", "nephew_of", "niece_of"), ("per:other_family",)),
    **dict.fromkeys(("grandmother_of", "grandfather_of", "grandma_of", "grandpa_of"), ("per:other_family",)),
    **dict.fromkeys(
        ("lives_in", "lived_in", "is_from", "moved_to", "grew_up_in"), ("per:place_of_residence", "per:origin")
    ),
    **dict.fromkeys(
        ("works_at", "worked_at", "works_in", "joined", "left"), ("per:employee_or_member_of", "per:place_of_work")
    ),
    **dict.fromkeys(("likes", "loves"), ("per:positive_impression",)),
    **dict.fromkeys(("hates", "dislikes"), ("per:negative_impression",)),
    **dict.fromkeys(("studies_at", "studied_at", "graduated_from"), ("per:schools_attended",)),
    "friend_of": ("per:friends",),
    "roommate_of": ("per:roommate",),
    "boss_of": ("per:subordinate",),
    "manager_of": ("per:subordinate",),
    "neighbor_of": ("per:neighbor",),
    "neighbour_of": ("per:neighbor",),
    "visited": ("per:visited_place",),
    "works_as": ("per:title",),
    "worked_as": ("per:title",),
    "name": ("per:alternate_names",),
    "called": ("per:alternate_names",),
    "age": ("per:age",),
    "born_in": ("per:place_of_birth",),
    "born_on": ("per:date_of_birth",),
    "birthday": ("per:date_of_birth",),
    "studies": ("per:major",),
    "studied": ("per:major",),
}


INVERSE = {
    "per:children": "per:parents",
    "per:parents": "per:children",
    "per:subordinate": "per:boss",
    "per:visited_place": "gpe:visitors_of_place",
    "per:place_of_residence": "gpe:residents_of_place",
    "per:place_of_birth": "gpe:births_in_place",
    "per:employee_or_member_of": "org:employees_or_members",
    "per:schools_attended": "org:students",
}
SYMMETRIC = (*SIBLINGS, *LOVERS, *SPOUSE, "per:other_family", "per:friends", "per:roommate", "per:neighbor")


def dialogre(data: Path, show: bool) -> Iterator[Score | Note]:
    """Claims about the speakers and those they name, by the labels of the set."""
    labels = {label for given in LABELS.values() for label in given} | set(INVERSE.values())
    judged = right = found = met = wanted = tellable = read_in_turns = 0
    for row in read(data / "relations_dialogre.jsonl.gz"):
        gold: dict[tuple[str, str], set[str]] = defaultdict(set)
        bearer = _bearers(row["relations"])
        within: set[tuple[tuple[str, str], str]] = set()
        for relation in row["relations"]:
            whose = _plain if "per:alternate_names" in relation["relations"] else bearer
            ends = whose(relation["x"]), whose(relation["y"])
            gold[ends].update(relation["relations"])
            within |= {
                (ends, label)
                for label, trigger in zip(relation["relations"], relation["triggers"], strict=True)
                if label in labels and _told_in_a_turn(row["dialogue"], relation, trigger, bearer)
            }
        claimed = _dialogue_claims(row["dialogue"])
        read_pairs = set()
        for claim in claimed:
            whose = _plain if claim.predicate in ("name", "called") else bearer
            pair = whose(claim.subject), whose(claim.object)
            found += 1
            if pair not in gold:
                continue
            judged += 1
            given = LABELS[claim.predicate]
            agrees = bool(gold[pair] & set(given))
            right += agrees
            if agrees:
                read_pairs |= {(pair, label) for label in given}
                read_pairs |= {(pair[::-1], INVERSE.get(one, one)) for one in given if one in (*INVERSE, *SYMMETRIC)}
            elif show:
                print(f"{row['id']}: {claim}; the set says {', '.join(sorted(gold[pair]))}")
        told = [(pair, label) for pair, given in gold.items() for label in given if label in labels]
        wanted += len(told)
        met += sum(one in read_pairs for one in told)
        tellable += len(within)
        read_in_turns += len(within & read_pairs)
    yield Score("dialogre, judged claims", right, judged, met, wanted)
    yield Score("dialogre, strict", right, found, met, wanted)
    yield Score("dialogre, told in a turn", right, judged, read_in_turns, tellable)


def _bearers(relations: Iterable[Row]) -> Callable[[str], str]:
    """Who a name stands for: the speaker that the set says is called so, else itself."""
    known = {
        _plain(relation["y"]): _plain(relation["x"])
        for relation in relations
        if "per:alternate_names" in relation["relations"] and relation["x"].startswith("Speaker ")
    }
    return lambda name: known.get(_plain(name), _plain(name))


def _told_in_a_turn(dialogue: Iterable[str], relation: Row, trigger: str, bearer: Callable[[str], str]) -> bool:
    """Whether one turn names both, or is said by one of them and names the other, with the trigger in it."""
    if not trigger:
        return False
    for line in dialogue:
        speaker, _, text = line.partition(": ")
        there = {bearer(name.text) for name in find_names(text)} | {bearer(speaker)}
        if trigger.lower() in text.lower() and {bearer(relation["x"]), bearer(relation["y"])} <= there:
            return True
    return False


def _dialogue_claims(dialogue: Iterable[str]) -> list[Triple]:
    claims: dict[Triple, None] = {}
    for line in dialogue:
        speaker, _, text = line.partition(": ")
        for claim in RULES.extract(text, now=NOW, speaker=speaker).triples:
            if claim.predicate in LABELS and not (claim.predicate in _OPINIONS and claim.object.islower()):
                claims[claim] = None
    return list(claims)


_OPINIONS = ("likes", "loves", "hates", "dislikes")  # the set labels those of people only


# -- claims in sentences -------------------------------------------------------------------------------


def benchie(data: Path, show: bool) -> Iterator[Score | Note]:
    """Open claims; each cluster of gold triples is one thing to find."""
    yield _open_claims("benchie", read(data / "triples_benchie.jsonl.gz"), lambda row: row["clusters"], show)


def carb(data: Path, show: bool) -> Iterator[Score | Note]:
    """Open claims; each gold triple is one thing to find."""
    yield _open_claims("carb", read(data / "triples_carb.jsonl.gz"), lambda row: [[t] for t in row["triples"]], show)


def _open_claims(name: str, rows: Iterable[Row], clusters: Callable[[Row], Any], show: bool) -> Score:
    right = found = met = wanted = 0
    for row in rows:
        gold = clusters(row)
        claims = _claims(row["text"])
        hits = [[any(_stands_in(claim, triple) for triple in cluster) for cluster in gold] for claim in claims]
        found, wanted = found + len(claims), wanted + len(gold)
        right += sum(any(hit) for hit in hits)
        met += sum(any(hit[number] for hit in hits) for number in range(len(gold)))
        for claim, hit in zip(claims, hits, strict=True):
            if show and not any(hit):
                print(f"{row['id']}: {claim}; in: {row['text']}")
    return Score(name, right, found, met, wanted)


def _stands_in(claim: Triple, gold: list[str]) -> bool:
    subject, relation, target = (_words(part) for part in gold[:3])
    return _words(claim.subject) <= subject and _words(claim.object) <= relation | target


def webnlg(data: Path, show: bool) -> Iterator[Score | Note]:
    """Which two things a sentence ties together."""
    right = found = met = wanted = 0
    for row in read(data / "triples_webnlg.jsonl.gz"):
        gold = [frozenset((_entity(s), _entity(o))) for s, _, o in row["triples"]]
        claims = _claims(row["text"])
        pairs = [frozenset((_entity(claim.subject), _entity(claim.object))) for claim in claims]
        found, wanted = found + len(pairs), wanted + len(gold)
        right += sum(pair in gold for pair in pairs)
        met += sum(pair in pairs for pair in gold)
        for claim, pair in zip(claims, pairs, strict=True):
            if show and pair not in gold:
                print(f"{row['id']}: {claim}; in: {row['text']}")
    yield Score("webnlg, pairs", right, found, met, wanted)


def factcon(data: Path, show: bool) -> Iterator[Score | Note]:
    """Facts of which the newer must win: are the two seen to disagree, and no others?"""
    rows = list(read(data / "factconsolidation.corpus.jsonl.gz"))
    claims = {row["id"]: _claims(row["text"]) for row in rows}
    text = {row["id"]: row["text"] for row in rows}
    covered = sum(bool(given) for given in claims.values())
    yield Note("factcon, facts with a claim", f"{covered:,} of {len(rows):,} ({100 * covered / len(rows):.1f}%)")
    pairs = same = single = 0
    for question in read(data / "factconsolidation.questions.jsonl.gz"):
        for newer in question["evidence"]:
            for older in question["superseded"]:
                pairs += 1
                same += bool(_about(claims[newer]) & _about(claims[older]))
                disagree = bool(_keys(claims[newer]) & _keys(claims[older]))
                single += disagree
                if show and not disagree:
                    print(f"not seen to disagree: {text[older]} / {text[newer]}")
    yield Note("factcon, (newer, older) pairs with one subject and predicate", f"{same} of {pairs}")
    yield Note("factcon, of these by a single-valued predicate", f"{single} of {pairs}")
    seen, alien = _disagreements(rows, claims, show)
    yield Note("factcon, pairs seen to disagree that are not one sentence with two ends", f"{alien:,} of {seen:,}")


def _disagreements(rows: Iterable[Row], claims: dict[str, tuple[Triple, ...]], show: bool) -> tuple[int, int]:
    """All pairs that share a key and differ in value; those whose sentences differ elsewhere too."""
    groups: dict[tuple[str, tuple[str, str]], dict[str, Triple]] = defaultdict(dict)
    for row in rows:
        for claim in claims[row["id"]]:
            key = claim_key(claim)
            if key is not None:
                groups[row["conversation"], key].setdefault(row["text"], claim)
    seen = alien = 0
    for texts in groups.values():
        for (one, a), (other, b) in combinations(texts.items(), 2):
            if claim_value(a) != claim_value(b):
                seen += 1
                if _frame(one, a) != _frame(other, b):
                    alien += 1
                    if show:
                        print(f"seen to disagree: {one} / {other}")
    return seen, alien


def _frame(text: str, claim: Triple) -> str:
    """The sentence up to the value that it gives."""
    value = claim.object if claim_value(claim) == normalize_name(claim.object) else claim.subject
    return text[: text.rfind(value)]


def _about(claims: Iterable[Triple]) -> set[tuple[str, str]]:
    return {(claim.subject, claim.predicate) for claim in claims} | _keys(claims)


def _keys(claims: Iterable[Triple]) -> set[tuple[str, str]]:
    return {key for claim in claims if (key := claim_key(claim)) is not None}


# -- names ---------------------------------------------------------------------------------------------

Span = tuple[int, int]
ADDRESSES = ("url", "email", "handle")


def wnut17(data: Path, show: bool) -> Iterator[Score | Note]:
    """Spans of names, exactly and by any overlap."""
    gold: list[set[Span]] = []
    found: list[set[Span]] = []
    for row in read(data / "ner_wnut17.jsonl.gz"):
        names = [name for name in find_names(row["text"]) if name.kind not in ADDRESSES]
        gold.append({_span(row, entity) for entity in row["entities"]})
        found.append({(name.start, name.end) for name in names})
        if show:
            print(row["text"], "\n   ", ", ".join(f"{name.text} ({name.kind})" for name in names) or "-")
    yield _spans("wnut17, exactly", gold, found, lambda a, b: a == b)
    yield _spans("wnut17, overlap", gold, found, lambda a, b: a[0] < b[1] and b[0] < a[1])


def _span(row: Row, entity: Row) -> Span:
    """Where an entity stands in the text, which is its tokens with one space between."""
    start = sum(len(token) + 1 for token in row["tokens"][: entity["start_token"]])
    length = sum(len(token) + 1 for token in row["tokens"][entity["start_token"] : entity["end_token"]]) - 1
    return start, start + length


def _spans(what: str, gold: list[set[Span]], found: list[set[Span]], same: Callable[[Span, Span], bool]) -> Score:
    pairs = list(zip(gold, found, strict=True))
    right = sum(any(same(f, g) for g in golds) for golds, founds in pairs for f in founds)
    met = sum(any(same(f, g) for f in founds) for golds, founds in pairs for g in golds)
    return Score(what, right, sum(map(len, found)), met, sum(map(len, gold)))


def speakers(data: Path, show: bool) -> Iterator[Score | Note]:
    """How many of the turns, and questions, that name a speaker of the conversation are read so."""
    for name in ("locomo", "realtalk"):
        turns = list(read(data / f"{name}.corpus.jsonl.gz"))
        people: dict[str, set[str]] = defaultdict(set)
        for turn in turns:
            people[turn["conversation"]].add(turn["speaker"].split()[0])
        asked = list(read(data / f"{name}.questions.jsonl.gz"))
        in_turns = [(t["text"], people[t["conversation"]], [n.text for n in find_names(t["text"])]) for t in turns]
        in_questions = [(q["question"], people[q["conversation"]], find_question_names(q["question"])) for q in asked]
        for what, given in (("turns", in_turns), ("questions", in_questions)):
            named = [(who & set(_WORD.findall(text)), set(" ".join(names).split())) for text, who, names in given]
            met = sum(len(wanted & words) for wanted, words in named)
            yield Note(f"{name}, speakers named in {what}", f"{met} of {sum(len(w) for w, _ in named)}")


def speed(data: Path, show: bool) -> Iterator[Score | Note]:
    """What reading costs on chat turns: all that `add` does, and facts."""
    texts = [row["text"] for row in read(data / "locomo.corpus.jsonl.gz")]
    words = sum(len(text.split()) for text in texts)
    best = min(_timed(texts) for _ in range(5))
    yield Note("speed, twenty words", f"{best / words * 20e6:.0f} µs")


def _timed(texts: list[str]) -> float:
    start = time.process_time()
    for text in texts:
        RULES.extract(text, now=NOW, speaker="Bob")
    return time.process_time() - start


# -- reading and printing ------------------------------------------------------------------------------

MEASURES: dict[str, tuple[Callable[[Path, bool], Iterator[Score | Note]], tuple[str, ...]]] = {
    "dialogre": (dialogre, ("relations_dialogre.jsonl.gz",)),
    "benchie": (benchie, ("triples_benchie.jsonl.gz",)),
    "carb": (carb, ("triples_carb.jsonl.gz",)),
    "webnlg": (webnlg, ("triples_webnlg.jsonl.gz",)),
    "factcon": (factcon, ("factconsolidation.corpus.jsonl.gz", "factconsolidation.questions.jsonl.gz")),
    "wnut17": (wnut17, ("ner_wnut17.jsonl.gz",)),
    "speakers": (speakers, ("locomo.corpus.jsonl.gz", "realtalk.corpus.jsonl.gz")),
    "speed": (speed, ("locomo.corpus.jsonl.gz",)),
}
_WORD = re.compile(r"\w+")
_OPTIONAL = re.compile(r"[\[\]\"]")
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_DAY = re.compile(
    r"(?P<a>\d{1,2})(?:st|nd|rd|th)? (?:of )?(?P<m>[A-Z][a-z]{2,8}),? (?P<y>\d{4})"
    r"|(?P<n>[A-Z][a-z]{2,8}) (?P<b>\d{1,2})(?:st|nd|rd|th)?,? (?P<z>\d{4})"
)


def _claims(text: str) -> tuple[Triple, ...]:
    return RULES.extract(text, now=NOW).triples


def _words(text: str) -> set[str]:
    return set(_WORD.findall(_OPTIONAL.sub("", text).lower())) - {"the", "a", "an"}


def _entity(text: str) -> str:
    """A name as it is compared; a date by its day, however it is written (the set has 1978-11-12)."""
    day = _DAY.fullmatch(text.strip('"'))
    if day is not None:
        number, month, year = day["a"] or day["b"], day["m"] or day["n"], day["y"] or day["z"]
        return f"{year} {_MONTHS.index(month[:3].lower()) // 3 + 1:02} {int(number):02}"
    return " ".join(_WORD.findall(normalize_name(_OPTIONAL.sub("", text).replace("_", " "))))


def _plain(name: str) -> str:
    return normalize_name(name)


def table(results: Iterable[Score | Note]) -> str:
    """Precision first, then recall, then what they are made of."""
    lines = [f"{'':<34}{'precision':>10}{'recall':>9}{'right/found':>14}{'met/wanted':>13}"]
    notes = []
    for one in results:
        if isinstance(one, Note):
            notes.append(f"{one.what}: {one.figure}")
            continue
        share = f"{100 * one.precision:>9.1f}%{100 * one.recall:>8.1f}%"
        counts = f"{f'{one.right}/{one.found}':>14}{f'{one.met}/{one.wanted}':>13}"
        lines.append(f"{one.what:<34}{share}{counts}")
    return "\n".join([*lines, "", *notes])


def _shares(one: Score | Note) -> dict[str, float]:
    return {} if isinstance(one, Note) else {"precision": one.precision, "recall": one.recall}


def read(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", choices=[*MEASURES, []], metavar="SET", help=", ".join(MEASURES))
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the sets")
    parser.add_argument("--show", choices=MEASURES, help="print what this set calls wrong")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
