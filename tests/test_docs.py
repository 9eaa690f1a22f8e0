"""The documents name everything that a user can call and nothing else, and their links work."""

from __future__ import annotations

import re
from pathlib import Path

from typer.main import get_command

import tracehouse
from tests.support.documents import DOCUMENTS, ROOT, anchors, links
from tests.tools.site.reference import commands_page, queries_page, schema_page
from tracehouse import Inspector
from tracehouse.cli.app import app
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.queries.questions import QUESTIONS
from tracehouse.warehouse.catalogue.queries import list_headers, list_queries
from tracehouse.warehouse.catalogue.views import load_views
from tracehouse.warehouse.engine.tables import TABLES

TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
COMMANDS = set(get_command(app).commands)  # type: ignore[attr-defined]
QUERIES = {*list_queries()}
# Of ExecuTorch's devtools/inspector.
INSPECTOR_NAMES = (
    "DebugHandle",
    "Event",
    "EventBlock",
    "Inspector",
    "IntermediateOutputMapping",
    "L1Comparator",
    "MSEComparator",
    "NumericalComparatorBase",
    "PerfData",
    "SNRComparator",
    "TimeScale",
    "compare_results",
    "parse_vgf_neural_statistics_delegate_metadata",
    "parse_vgf_neural_statistics_metadata",
)
# Of ExecuTorch's profiler/parse_profiler_results.py; other functions there are steps of these.
PROFILER_FUNCTIONS = (
    "deserialize_profile_results",
    "deserialize_profile_results_files",
    "mem_profile_table",
    "profile_aggregate_framework_tax",
    "profile_framework_tax_table",
    "profile_table",
)


def named_in_documents(pattern: str) -> dict[str, set[str]]:
    """The matches of a pattern in each document."""
    return {name: set(re.findall(pattern, text)) for name, text in TEXTS.items()}


def test_commands_page_names_every_command() -> None:
    named = set(re.findall(r"`tracehouse (?:--url URL )?([\w-]+)", TEXTS["docs/commands.md"]))
    assert COMMANDS - named == set()


def test_questions_page_names_only_queries_and_columns_that_exist() -> None:
    table = TEXTS["docs/questions.md"].partition("| question | answer |")[2].partition("\n\n")[0]
    columns = {column.name for header in list_headers() for column in header.columns}
    named = set(re.findall(r"`([a-z]+(?:_\w+)*)[` ]", table)) - COMMANDS - {"tracehouse"}
    assert named <= QUERIES | columns


def test_migration_page_names_all_that_a_script_may_have_used() -> None:
    text = TEXTS["docs/migration.md"]
    methods = [name for name in vars(Inspector) if not name.startswith("_")]
    assert set(INSPECTOR_NAMES) <= set(tracehouse.__all__)
    for name in (*INSPECTOR_NAMES, *methods, *PROFILER_FUNCTIONS):
        assert re.search(rf"\b{name}\b", text), name


def test_manifests_page_names_every_field() -> None:
    schema = Manifest.model_json_schema()
    models = [schema, *schema["$defs"].values()]
    fields = {name for model in models for name in model.get("properties", {})}
    named = re.findall(r"`([\w.]+)`", TEXTS["docs/manifests.md"])
    assert fields - {part for name in named for part in name.split(".")} == set()


def test_documents_mention_only_commands_and_queries_that_exist() -> None:
    commands = named_in_documents(r"(?:`|\$ )tracehouse ([a-z][\w-]*)")
    assert {name: found - COMMANDS for name, found in commands.items() if found - COMMANDS} == {}
    queries = named_in_documents(r"tracehouse query ([a-z]\w*)")
    assert {name: found - QUERIES for name, found in queries.items() if found - QUERIES} == {}


def test_files_that_documents_name_exist() -> None:
    named = named_in_documents(
        r"`((?:ingest|warehouse|queries|cli|sql|tests|docs|action|deploy)/[\w./-]+)`"
    )
    files = [(name, file) for name, found in named.items() for file in found]
    assert [(name, file) for name, file in files if not (ROOT / file).exists()] == []


def test_make_targets_that_documents_name_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    named = named_in_documents(r"`make\s+([\w-]+)(?:`| [A-Z]+=)")
    wrong = {name: found - set(targets) for name, found in named.items()}
    assert {name: found for name, found in wrong.items() if found} == {}


def test_links_of_documents_work() -> None:
    assert {str(path): dead for path in DOCUMENTS if (dead := dead_links(path))} == {}


def test_site_has_every_document() -> None:
    site = (ROOT / "properdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- [^:]+: (\S+)$", site, re.MULTILINE))
    assert {path.name for path in ROOT.glob("docs/*.md")} - listed == set()


def test_warnings_fail_the_build_of_the_site() -> None:
    """With --quiet, --strict sees none."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"properdocs build(.*)", makefile) == [" --strict"]


def test_reference_has_every_command_query_and_table() -> None:
    titles = {
        line.removeprefix("## ")
        for page in (commands_page(), queries_page(), schema_page())
        for line in page.splitlines()
        if line.startswith("## ")
    }
    assert {f"tracehouse {name}" for name in COMMANDS} <= titles
    assert titles >= QUERIES | {*TABLES, *load_views(), "tracehouse store archive get"}


def test_reference_begins_with_every_query_by_question() -> None:
    table = queries_page().partition("\n## ")[0]
    rows = re.findall(r"^\| \[`(\w+)`\]", table, re.MULTILINE)
    assert rows == [name for names in QUESTIONS.values() for name in names]


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
    """Links of a document, relative to it as on GitHub, whose target does not exist."""
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


def test_documents_import_public_names_and_no_modules() -> None:
    for name, text in TEXTS.items():
        imported = set(re.findall(r"^(?:from|import) (tracehouse[\w.]*)", text, re.MULTILINE))
        assert imported <= {"tracehouse"}, name
