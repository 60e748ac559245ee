"""Writers that are killed at random, in the middle of any verb, and a comparison of what is left with what they said.

A writer prints what it is about to do, and what was acknowledged. Starting Python takes longer than a writer lives,
so one process imports everything, opens nothing, and forks each writer. `run_kills` is used by `test_crash.py` and by
`benchmarks/load.py --kills`.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import remanence
from file_contents import content
from remanence import InvalidInput, Space
from remanence.ledger import open_ledger
from remanence.testing import HashingEmbedder
from remanence.transfer import import_file
from warm_process import WarmProcess

FORKING = """
import os, sys
sys.path.insert(0, sys.argv[1])
from kill_runner import Writer

os.setsid()  # a session of its own: whatever happens, no writer outlives the run

def say(*words):
    os.write(1, (" ".join(words) + "\\n").encode())

say("ready")
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        Writer(*line.split()).run()
    say("started", str(child))
    os.waitpid(child, 0)
    say("killed", str(child))
"""
COMPARE_EVERY = 50
IMPORTED = 20
GONE = ("forget", "forget_many", "erase", "erase_many", "erase_space", "quarantine")
ERASED = ("erase", "erase_many", "erase_space")


def opened(location: str, **options: Any) -> Space:
    return remanence.open(location, embedder=HashingEmbedder(16), **options)


class Writer:
    """Calls verbs as fast as it can, on what it has added itself, and closes and opens the space in between."""

    VERBS = (
        "add add_many add_turns revise remember remember_later forget forget_many unforget erase erase_many "
        "erase_space quarantine touch register merge relate link invalidate recall rebuild compact export import_file "
        "upkeep reopen"
    ).split()

    def __init__(self, location: str, number: str, mostly: str, verbs: str, folder: str) -> None:
        self._location, self._number, self._mostly, self._folder = location, number, mostly, folder
        self._verbs = verbs.split(",")
        self._random = random.Random(number)
        self._count = 0
        self._living: list[str] = []
        self._forgotten: list[str] = []
        self._relations: list[str] = []

    def run(self) -> None:
        """Until it is killed. Half of the calls are of one verb."""
        self._open()
        while True:
            verb = self._mostly if self._random.random() < 0.5 else self._random.choice(self._verbs)
            while len(self._living) < 2:
                self._call("add")
            self._call(verb)

    def _open(self) -> None:
        self._space = opened(self._location, worker=False)

    def _call(self, verb: str) -> None:
        self._count += 1
        getattr(self, f"_{verb}")(f"Writer {self._number} noted thing {self._count} about the harbour.")

    def _say(self, *what: Any) -> None:
        os.write(1, (json.dumps(what) + "\n").encode())

    def _kept(self, verb: str, memories: Sequence[remanence.Memory]) -> None:
        self._living += [memory.id for memory in memories]
        self._say("ended", verb, {memory.id: memory.text for memory in memories})

    def _add(self, text: str) -> None:
        self._say("began", "add", [])
        self._kept("add", [self._space.add(text)])

    def _add_many(self, text: str) -> None:
        self._say("began", "add_many", [])
        self._kept("add_many", self._space.add_many([f"{text} Part {part}." for part in range(20)]))

    def _add_turns(self, text: str) -> None:
        turns = [{"speaker": who, "content": f"{text} So says {who}."} for who in ("Ada", "Bo")]
        self._say("began", "add_turns", [])
        self._kept("add_turns", self._space.add_turns(turns))

    def _revise(self, text: str) -> None:
        """One key for each writer, so that its last version is known."""
        self._say("began", "revise", [])
        memory = self._space.add(f"{text} Version {self._count:06}.", key=f"key-{self._number}")
        self._say("ended", "revise", {memory.key: self._count})

    def _remember(self, _: str) -> None:
        self._say("began", "remember", [])
        facts = self._space.remember(f"Ada{self._number}x{self._count} lives in Porto.")
        self._kept("remember", [fact for fact in facts if fact.id not in self._living])

    def _remember_later(self, _: str) -> None:
        self._say("began", "remember_later", [])
        job = self._space.remember(f"Bo{self._number}x{self._count} lives in Faro.", wait=False)
        self._say("ended", "remember_later", job.id)
        self._say("began", "work", [])
        self._space.jobs.run_due()
        self._say("ended", "work", None)

    def _forget(self, _: str) -> None:
        self._remove("forget", 1)

    def _forget_many(self, _: str) -> None:
        self._remove("forget_many", 2)

    def _erase(self, _: str) -> None:
        self._remove("erase", 1)

    def _erase_many(self, _: str) -> None:
        self._remove("erase_many", 2)

    def _remove(self, verb: str, count: int) -> None:
        taken = [self._living.pop(self._random.randrange(len(self._living))) for _ in range(count)]
        self._say("began", verb, taken)
        getattr(self._space, verb)(taken[0] if count == 1 else taken)
        self._say("ended", verb, taken)
        if verb.startswith("forget"):
            self._forgotten += taken

    def _unforget(self, text: str) -> None:
        if not self._forgotten:
            self._forget(text)
        memory = self._forgotten.pop()
        self._say("began", "unforget", [memory])
        self._space.unforget(memory)
        self._say("ended", "unforget", [memory])
        self._living.append(memory)

    def _erase_space(self, text: str) -> None:
        child = self._space.child("drafts", f"w{self._number}")
        added = child.add(f"{text} A draft.")
        self._say("ended", "draft", {added.id: added.text})
        self._say("began", "erase_space", [added.id])
        child.erase_space()
        self._say("ended", "erase_space", [added.id])

    def _quarantine(self, text: str) -> None:
        source = f"source {self._number}x{self._count}"
        self._say("began", "add", [])
        memory = self._space.add(text, source=source)
        self._say("ended", "add", {memory.id: text})
        self._say("began", "quarantine", [memory.id])
        self._space.audit.quarantine(source)
        self._say("ended", "quarantine", [memory.id])

    def _touch(self, _: str) -> None:
        self._say("began", "touch", [])
        self._space.touch(self._living[-1])
        self._say("ended", "touch", None)

    def _register(self, _: str) -> None:
        name = f"Company {self._number}x{self._count}"
        self._say("began", "register", [])
        self._space.entities.register(name, aliases=[f"C{self._number}x{self._count}"])
        self._say("ended", "register", name)

    def _merge(self, _: str) -> None:
        names = [f"{kind} {self._number}x{self._count}" for kind in ("Shop", "Store")]
        for name in names:
            self._space.entities.register(name)
        self._say("began", "merge", [])
        self._space.entities.merge(*names)
        self._say("ended", "merge", "/".join(names))

    def _relate(self, _: str) -> None:
        self._say("began", "relate", [])
        relation = self._space.graph.relate(f"Person {self._number}x{self._count}", "visited", "Porto")
        self._relations.append(relation.subject)
        self._say("ended", "relate", relation.subject)

    def _invalidate(self, text: str) -> None:
        if not self._relations:
            self._relate(text)
        name = self._relations.pop()
        self._say("began", "invalidate", [])
        self._space.graph.invalidate(name, "visited", "Porto")
        self._say("ended", "invalidate", name)

    def _link(self, _: str) -> None:
        self._say("began", "link", [])
        link = self._space.graph.link(self._living[0], "supports", self._living[1])
        self._say("ended", "link", link.id)

    def _recall(self, _: str) -> None:
        self._say("began", "recall", [])
        self._space.recall("What was noted about the harbour?")
        self._say("ended", "recall", None)

    def _rebuild(self, _: str) -> None:
        self._say("began", "rebuild", [])
        self._space.rebuild()
        self._say("ended", "rebuild", None)

    def _compact(self, _: str) -> None:
        self._say("began", "compact", [])
        self._space.admin.compact()
        self._say("ended", "compact", None)

    def _export(self, _: str) -> None:
        self._say("began", "export", [])
        self._space.admin.export(Path(self._folder) / f"{self._number}-{self._count}.jsonl.gz")
        self._say("ended", "export", None)

    def _import_file(self, text: str) -> None:
        """In several transactions, as a large file is."""
        import_file._CHUNK_LINES = 3  # type: ignore[misc]
        source, file = self._space.child("source", f"w{self._number}"), Path(self._folder) / f"{self._number}.jsonl"
        if not file.exists():
            source.add_many([f"{text} To be imported, {part}." for part in range(IMPORTED)])
            source.admin.export(file)
        child = ["imported", f"w{self._number}x{self._count}"]
        self._say("began", "import_file", [str(file), *child])
        remanence.restore(file, into=self._space.child(*child))
        self._say("ended", "import_file", [str(file), *child])

    def _upkeep(self, _: str) -> None:
        self._say("began", "upkeep", [])
        self._space.upkeep.run(steps=("decay", "clusters", "discover"))
        self._say("ended", "upkeep", None)

    def _reopen(self, _: str) -> None:
        self._say("began", "reopen", [])
        self._space.close()
        self._open()
        self._say("ended", "reopen", None)


class ForkingProcess:
    """Starts writers on one ledger and kills them."""

    def __init__(self, location: str, folder: Path) -> None:
        self._location, self._folder = location, folder
        self.process = WarmProcess(FORKING, Path(__file__).parent)
        assert self._line() == "ready"

    def kill_one(self, number: int, verb: str, verbs: Sequence[str], after: float, *, amid: bool) -> list[list[Any]]:
        """All that a writer said. It calls `verb` most, and the time runs from its start or from when it began that."""
        self.process.stdin.write(f"{self._location} {number} {verb} {','.join(verbs)} {self._folder}\n")
        self.process.stdin.flush()
        said: list[str] = []
        while not (line := self._line()).startswith("started"):
            said.append(line)
        child = int(line.split()[1])
        while amid and not any(json.loads(line)[:2] == ["began", verb] for line in said[-1:]):
            said.append(self._line())
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        while not (line := self._line()).startswith("killed"):
            said.append(line)
        return [json.loads(line) for line in said]

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _line(self) -> str:
        line = self.process.stdout.readline()
        assert line, "the process that forks writers has ended"
        return line.strip()


@dataclass
class Outcome:
    """How often each verb was cut short and how often it ended, and what was wrong afterwards."""

    kills: int = 0
    cut: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        names = sorted(self.cut.keys() | self.ended.keys())
        verbs = "  ".join(f"{verb} {self.cut[verb]}/{self.ended[verb]}" for verb in names)
        wrong = "\n".join(self.violations[:20]) or "nothing acknowledged was lost, nothing is there twice, all agrees"
        return f"{self.kills} kills; cut short/ended of each verb: {verbs}\n{wrong}"


def run_kills(
    location: str, kills: int, seed: int = 0, *, folder: Path, verbs: Sequence[str] = Writer.VERBS
) -> Outcome:
    """Kill writers on a ledger and compare. Files of theirs are put into `folder`.

    Every fifth is killed some time after it was started, which may be while it opens the ledger; the others some time
    after they have begun a verb, each verb in turn.
    """
    dice = random.Random(seed)
    exports = folder / "exports"
    exports.mkdir(parents=True)
    outcome, said = Outcome(), Said()
    writers = ForkingProcess(location, exports)
    try:
        while outcome.kills < kills:
            amid = outcome.kills % 5 != 4
            verb = verbs[(outcome.kills - outcome.kills // 5) % len(verbs)]
            after = 10 ** dice.uniform(-4.0, -1.3) if amid else dice.uniform(0.0, 0.5)
            said.read(writers.kill_one(seed * 1000 + outcome.kills, verb, verbs, after, amid=amid), outcome)
            outcome.kills += 1
            if outcome.kills % COMPARE_EVERY == 0 or outcome.kills == kills:
                outcome.violations += said.compare(location, [folder, Path(location)])
    finally:
        writers.end()
    return outcome


class Said:
    """What writers have said: what was acknowledged, and what they were about to do when they were killed."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.acts: dict[str, tuple[str, bool]] = {}  # the last verb on a memory, and whether it ended
        self.versions: dict[str, int] = {}
        self.others: dict[str, list[str]] = defaultdict(list)
        self.imports: dict[tuple[str, ...], bool] = {}  # the file and the names of the space, and whether it ended

    def read(self, lines: Sequence[Sequence[Any]], outcome: Outcome) -> None:
        for state, verb, what in lines:
            if verb == "import_file":
                self.imports[tuple(what)] = state == "ended"
            if state == "began":
                self.acts |= dict.fromkeys(what, (verb, False))
                outcome.cut[verb] += 1
                continue
            outcome.cut[verb] -= verb != "draft"
            outcome.ended[verb] += 1
            if verb == "revise":
                self.versions |= what
            elif isinstance(what, dict):
                self.texts |= what
                self.acts |= dict.fromkeys(what, (verb, True))
            elif isinstance(what, list):
                self.acts |= dict.fromkeys(what, (verb, True))
            elif what is not None:
                self.others[verb].append(what)

    def compare(self, location: str, folders: Sequence[Path]) -> list[str]:
        """What is not as it was acknowledged."""
        with opened(location) as space:
            wrong = [*self._compare_memories(space), *self._compare_graph(space), *self._compare_imports(space)]
            for job in self.others["remember_later"]:
                if space.jobs.get(job).result(timeout=60) == [] and space.jobs.get(job).status != "done":
                    wrong.append(f"job {job} is {space.jobs.get(job).status}")
            each = [space, *(space.child(*name.split("/")) for name in space.spaces())]
            wrong += [f"{one.name}: {part} differs: {how}" for one in each for part, how in one.admin.check().items()]
            deadline = time.monotonic() + 30
            while (left := space.audit.pending_erasures()) and time.monotonic() < deadline:
                if all("unused space" in pending.location for pending in left):  # of PostgreSQL, until it is compacted
                    space.admin.compact()
                time.sleep(0.1)
            wrong += [f"not finished: {pending}" for pending in space.audit.pending_erasures()]
            space.verify()
        return [*wrong, *self._compare_links(location), *self._compare_files(folders)]

    def _compare_memories(self, space: Space) -> list[str]:
        there = {memory.id: memory for memory in space.memories()}
        wrong = []
        for memory, text in self.texts.items():
            verb, ended = self.acts[memory]
            if memory in there and there[memory].text != text:
                wrong.append(f"{memory} is {there[memory].text!r}, not {text!r}")
            elif ended and (memory in there) != (verb not in (*GONE, "draft")):
                wrong.append(f"after {verb}, {text!r} is {'still there' if memory in there else 'lost'}")
        versions = {m.key: int(m.text[-7:-1]) for m in there.values() if m.key}
        # A revision may have been written and not yet acknowledged.
        wrong += [f"version {n} of {key} is lost" for key, n in self.versions.items() if versions.get(key, 0) < n]
        counts = Counter(memory.text for memory in there.values())
        return [*wrong, *(f"{text!r} is there {count} times" for text, count in counts.items() if count > 1)]

    def _compare_graph(self, space: Space) -> list[str]:
        wrong = [f"{name} is not registered" for name in self.others["register"] if not space.entities.resolve(name)]
        for name in self.others["relate"]:
            known = space.entities.resolve(name) is not None
            relations = list(space.graph.when(name, "visited", "Porto")) if known else []
            if len(relations) != 1:
                wrong.append(f"{name} has {len(relations)} relations")
            elif name in self.others["invalidate"] and relations[0].valid.end is None:
                wrong.append(f"the relation of {name} has not ended")
        for names in self.others["merge"]:
            entities = {space.entities.resolve(name) for name in names.split("/")}
            if len(entities) != 1 or None in entities:
                wrong.append(f"{names} are not one entity")
        return wrong

    def _compare_imports(self, space: Space) -> list[str]:
        """What was cut short is continued by importing the same file again."""
        wrong = []
        for (file, *names), ended in self.imports.items():
            child = space.child(*names)
            if not ended:
                with suppress(InvalidInput):  # it was complete, and only not acknowledged
                    remanence.restore(file, into=child)
            if child.count() != IMPORTED:
                wrong.append(f"{child.count()} memories were imported into {child.name}, acknowledged: {ended}")
        self.imports = dict.fromkeys(self.imports, True)
        return wrong

    def _compare_links(self, location: str) -> list[str]:
        ledger = open_ledger(location)
        subjects = {entry.subject for space in ledger.spaces() for entry in ledger.read(space)}
        ledger.close()
        return [f"link {link} is lost" for link in self.others["link"] if link not in subjects]

    def _compare_files(self, folders: Sequence[Path]) -> list[str]:
        """No file of ours has a text whose erasure was acknowledged, and no export is half written."""
        erased = [self.texts[m].encode() for m, (verb, ended) in self.acts.items() if ended and verb in ERASED]
        wrong = []
        for path in {path for folder in folders for path in folder.rglob("*") if path.is_file()}:
            if path.name.endswith(".jsonl.gz"):
                with gzip.open(path, "rt") as lines:
                    wrong += [f"{path} has {line!r}" for line in lines if not isinstance(json.loads(line), dict)]
                continue
            held = content(path)
            wrong += [f"{path} has {text!r}" for text in erased if text in held]
        return wrong
