"""What the documentation says is tried out: every example runs, every command, limit, model and folder is named.

`python tests/test_docs.py --update [PAGE...]` runs the pages and writes the outputs into them.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import os
import re
import sys
import tempfile
from pathlib import Path

import langchain_classic  # noqa: F401 - its import resets warning filters; before the tests, not within one
import pytest

from doc_sessions import differences, same, sections, updated
from remanence.cli.parser import make_parser
from remanence.index.engine import inputs
from remanence.models.catalogue import MODELS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
DOCUMENTS = [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]
RUNNABLE = [
    pytest.param(page, number, id=f"{page.stem}-{section.title or 'top'}")
    for page in PAGES
    for number, section in enumerate(sections(page.read_text("utf-8")))
    if any(block.language in {"python", "sh"} for block in section.blocks)
]


@pytest.mark.parametrize(("page", "number"), RUNNABLE)
def test_the_examples_of_a_section_print_what_it_shows(
    page: Path, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A section stands alone: it is run in an empty folder, with the reader that everybody gets."""
    monkeypatch.delenv("REMANENCE_READER", raising=False)
    monkeypatch.delenv("REMANENCE_MEMORY", raising=False)
    section = sections(page.read_text("utf-8"))[number]

    found = list(differences(section, tmp_path))

    assert not found, f"{page.name}, " + "\n".join(map(str, found))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_section_can_be_pasted(page: Path) -> None:
    """Its code has no prompts, and uses no name of another section, also where it cannot be run here."""
    for section in sections(page.read_text("utf-8")):
        code = "\n".join(block.code for block in section.blocks if block.language in {"python", "py"})
        assert ">>> " not in code
        names = compile(code, section.title, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
        made = {node.id for node in ast.walk(names) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {node.arg for node in ast.walk(names) if isinstance(node, ast.arg)}
        for node in ast.walk(names):
            if isinstance(node, ast.Import | ast.ImportFrom):
                made |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
                made.add(node.name or "")
        used = {node.id for node in ast.walk(names) if isinstance(node, ast.Name)}
        assert used <= made | set(dir(builtins)), f"{page.name}, {section.title}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_on_a_page_exist(page: Path) -> None:
    """Extras of `pip install`, targets of `make` and scripts that are run."""
    text = page.read_text("utf-8")
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = set(re.findall(r"^(\w+) = \[", project.split("[project.optional-dependencies]")[1], re.MULTILINE))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))

    asked = {
        name for group in re.findall(r'pip install "remanence-memory\[([\w,]+)\]"', text) for name in group.split(",")
    }
    assert asked <= extras
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert set(re.findall(r"^make (\w+)", shell, re.MULTILINE)) <= targets
    for script in re.findall(r"^python ([\w/]+\.py)", shell, re.MULTILINE):
        assert (ROOT / script).is_file()


def test_every_hint_to_install_names_the_distribution() -> None:
    """The package index has another project under the name that is imported."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert re.search(r'^name = "(.+)"$', project, re.MULTILINE)[1] == "remanence-memory"
    folders = ("src", "integrations", "tests", "docs", "notebooks", "benchmarks", "deploy", ".github")
    endings = {".py", ".md", ".ipynb", ".json", ".txt", ".yml", ".yaml", ".service", ".html", ".js", ""}
    files = [
        path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in endings and path.is_file()
    ]
    other = re.compile(r"""pip install (?:-\S+ )*[\\"']*remanence(?!-memory)\b|\bremanence\\?\[[a-z]""")
    for path in [*DOCUMENTS, *files, ROOT / "Makefile", ROOT / "pyproject.toml"]:
        assert not other.search(path.read_text("utf-8")), path


def test_every_page_is_in_the_navigation() -> None:
    """A page that nobody finds helps nobody: add it to `nav` in mkdocs.yml."""
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:")[1]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert set(re.findall(r"([\w/-]+\.md)\b", navigation)) == pages


def test_links_between_documents_lead_somewhere() -> None:
    """Also those that MkDocs does not look at: of the README and of the files beside it."""
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)\s#:]+)(?:#[\w-]*)?\)", document.read_text("utf-8")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_links_of_the_readme_are_whole_addresses_on_pypi() -> None:
    """What pyproject.toml rewrites when the package is built leaves no link that only works in the checkout."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    shown = (ROOT / "README.md").read_text("utf-8")
    for pattern, replacement in re.findall(r"^pattern = '(.*)'\nreplacement = '(.*)'$", project, re.MULTILINE):
        shown = re.sub(pattern, replacement, shown)

    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", shown)
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)]*)\)", shown)
    assert pictures
    assert all(each.startswith("https://raw.githubusercontent.com/") for each in pictures)
    assert links
    assert all(each.startswith("https://") for each in links)


def test_every_command_is_documented() -> None:
    """An undocumented command fails the build."""
    page = (DOCS / "cli.md").read_text("utf-8")
    rows = set(re.findall(r"^\| `remanence ([a-z-]+(?: [a-z]+(?:-[a-z]+)*(?![a-zA-Z=-]))?)", page, re.MULTILINE))
    assert rows == set(_commands(make_parser()))


def test_the_limits_are_the_real_ones() -> None:
    """Numbers are copied by hand, so they are compared."""
    page = (DOCS / "limits.md").read_text("utf-8")
    for limit in (
        *(inputs.MAX_TEXT_LENGTH, inputs.MAX_TAGS, inputs.MAX_NAME_LENGTH, inputs.MAX_META_LENGTH, inputs.MAX_LIMIT),
        inputs.MAX_SPACE_NAME_LENGTH,
    ):
        assert f"{limit:,}" in page


def test_every_model_and_folder_is_named() -> None:
    """What is in the code is on the map."""
    models, tree = (DOCS / "models.md").read_text("utf-8"), (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for model in MODELS:
        assert f"`{model}`" in models
    for folder in (ROOT / "src" / "remanence").iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert f"\n  {folder.name}/ " in tree


def test_the_lock_file_pins_every_package() -> None:
    """`make lock` was run after the last change of packages, and no address of a registry is in the file."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    lists = [
        *re.findall(r"^dependencies = \[(.*?)^\]", project, re.DOTALL | re.MULTILINE),
        *re.findall(
            r"^\[(?:project.optional-dependencies|dependency-groups)\]\n(.*?)^\[", project, re.DOTALL | re.MULTILINE
        ),
    ]
    declared = {name.lower() for each in lists for name in re.findall(r'"([A-Za-z][\w-]*)(?=[\[><="])', each)}
    lines = (ROOT / "requirements-dev.txt").read_text("utf-8").splitlines()[1:]
    pins = [re.match(r"([\w.-]+)(?:\[[\w,-]+\])?==[\w.+!]+(?: ; .*)?$", line) for line in lines]

    assert None not in pins
    assert declared - {"remanence-memory"} <= {pin[1] for pin in pins if pin}


def test_the_readme_is_short() -> None:
    """At most 200 lines; everything else is in docs/."""
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 200


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda page: page.stem)
def test_the_documents_are_clean(document: Path) -> None:
    """No machine's own paths, and no conflict or to-do left behind."""
    assert not re.search(r"/root/|/home/|/work/|TODO|<<<<|>>>>>", document.read_text("utf-8"))


@pytest.mark.parametrize(
    ("shown", "printed", "agree"),
    [
        ("0.81  tea\n", "0.83  tea\n", True),
        ("0.81  tea\n", "0.91  tea\n", False),
        ("3 hits\n", "4 hits\n", False),
        ("id … kept\n", "id 01a1 kept\n", True),
        (
            "      +0.10 words #1: a\n      +0.12 graph #1: b\n",
            "      +0.12 graph #1: b\n      +0.11 words #1: a\n",
            True,
        ),
        ("", "one line\n", False),
    ],
)
def test_outputs_are_compared_up_to_the_last_digits_of_scores(shown: str, printed: str, agree: bool) -> None:
    """Anything else has to be as the page shows it."""
    assert same(shown, printed) is agree


def test_new_outputs_are_written_into_a_page(tmp_path: Path) -> None:
    """A missing output is put in, a wrong one replaced, and the page is right afterwards."""
    page = "## One\n\n```python\nprint(1)\n```\n\nText.\n\n```python\nprint(2)\n```\n\n```text\n3\n```\n\n## Two\n"
    found = [difference for section in sections(page) for difference in differences(section, tmp_path)]

    after = updated(page, found)

    assert [block.shown for block in sections(after)[1].blocks] == ["1\n", "2\n"]
    assert not [difference for section in sections(after) for difference in differences(section, tmp_path)]


def _commands(parser: argparse.ArgumentParser) -> list[str]:
    """Every command that does something, `models get` and the like by both words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return [
                " ".join([name, *below]) if below else name
                for name, child in action.choices.items()
                for below in ([[word] for word in _commands(child)] or [[]])
            ]
    return []


def _update(pages: list[Path]) -> int:
    """Run the pages, write what they print into them, and report blocks that fail."""
    os.environ.pop("REMANENCE_READER", None)
    failures = 0
    for page in pages:
        text, found = page.read_text("utf-8"), []
        for section in sections(text):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                found += differences(section, Path(folder))
        for difference in found:
            if difference.error:
                print(f"{page.name}, {difference}", file=sys.stderr)
        failures += sum(bool(difference.error) for difference in found)
        page.write_text(updated(text, [difference for difference in found if not difference.error]), "utf-8")
        print(f"{page.name}: {len(found)} outputs differed")
    return 1 if failures else 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Run the pages of the documentation and rewrite their outputs.")
    arguments.add_argument("--update", action="store_true", required=True)
    arguments.add_argument("pages", nargs="*", type=Path, default=PAGES)
    sys.exit(_update(arguments.parse_args().pages))
