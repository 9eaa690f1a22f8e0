"""The README tells of everything a user can call, of nothing else, and no link leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from cli.app import app
from cli.commands.query import COMPUTED
from tests.support.documents import DOCUMENTS, ROOT, anchors, links
from tests.tools.site.reference import commands_page, queries_page, schema_page
from warehouse.catalogue.queries import load_catalogue
from warehouse.engine.comments import TABLES
from warehouse.engine.views import load_views

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]
QUERIES = {*load_catalogue(), *COMPUTED}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_readme_mentions_the_command(name: str) -> None:
    assert re.search(rf"tracehouse {name}(?![\w-])", README)


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_readme_has_a_line_about_the_query(name: str) -> None:
    assert re.search(rf"^\| `{name}` \| ", README, re.MULTILINE)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_mention_only_commands_and_queries_that_there_are(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:`|\$ )tracehouse ([a-z][\w-]*)", text)) <= COMMANDS
    assert set(re.findall(r"tracehouse query ([a-z]\w*)", text)) <= QUERIES


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_of_ours_that_a_document_names_are_there(path: Path) -> None:
    named = r"`((?:ingest|warehouse|queries|cli|sql|tests|docs)/[\w./-]+)`"
    for file in re.findall(named, path.read_text(encoding="utf-8")):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_of_a_document_lead_somewhere(path: Path) -> None:
    assert list(dead_links(path)) == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/*.md")), ids=lambda path: path.name)
def test_site_has_every_document(path: Path) -> None:
    site = (ROOT / "properdocs.yml").read_text(encoding="utf-8")
    assert re.search(rf"^ +- [^:]+: {re.escape(path.name)}$", site, re.MULTILINE)


def test_reference_has_every_command_query_and_table() -> None:
    titles = {
        line.removeprefix("## ")
        for page in (commands_page(), queries_page(), schema_page())
        for line in page.splitlines()
        if line.startswith("## ")
    }
    assert {f"tracehouse {name}" for name in COMMANDS} <= titles
    assert titles >= QUERIES | {*TABLES, *load_views(), "tracehouse archive get"}


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# The `first` one's\n## Other\n## Other\n[b](#other-1)\n")
    (tmp_path / "b.md").write_text(
        "[1](a.md#the-first-ones) [2](a.md#the-first) [3](gone.md) [4](#here) [5](/a.md)\n"
        "[6](https://example.org/x)\n```console\n[7](gone.md)\n# here\n```\n"
    )
    assert list(dead_links(tmp_path / "a.md")) == []
    dead = ["a.md#the-first", "gone.md", "#here", "/a.md"]
    assert list(dead_links(tmp_path / "b.md")) == dead


def dead_links(path: Path) -> list[str]:
    """Links of a document, relative to it as on GitHub, to what is not there."""
    text = path.read_text(encoding="utf-8")
    return [
        link
        for link in links(text)
        if not link.startswith(("https://", "http://")) and not leads_somewhere(path, link)
    ]


def leads_somewhere(path: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = path.parent / file if file else path
    if file.startswith("/") or not target.exists():
        return False
    return not anchor or anchor in set(anchors(target.read_text(encoding="utf-8")))
