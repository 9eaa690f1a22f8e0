from __future__ import annotations

from tests.support.command import Run
from tests.tools.site.reference import commands_page
from tracehouse.cli.help import column_help, query_example
from tracehouse.warehouse.catalogue.header import Column
from tracehouse.warehouse.catalogue.queries import find_query


def test_columns_are_aligned_and_their_meanings_folded_below_themselves() -> None:
    columns = [Column("n", "BIGINT", "Calls."), Column("share", "DOUBLE", "word " * 20)]
    lines = column_help(columns).splitlines()
    assert lines[:3] == ["\b", "Columns:", "  n      BIGINT     Calls."]
    assert [line.index("word") for line in lines[3:]] == [20, 20]


def test_example_gives_what_the_query_cannot_do_without() -> None:
    required = [
        param for param in find_query("regression_deltas").header.params if param.is_required
    ]
    example = query_example(find_query("regression_deltas").header)
    assert required
    assert all(f" --{param.name.replace('_', '-')} " in example for param in required)
    assert query_example(find_query("dumps").header) == "tracehouse query dumps --format json"


def test_help_is_in_the_notation_of_people() -> None:
    text = commands_page()
    assert [
        mark
        for mark in ("<str>", "list[", "<int", "range>", "[]", "x>=", "env var")
        if mark in text
    ] == []
    assert " [[" not in text


def test_options_stand_in_panels_with_the_manifest_behind_and_the_output_last(run: Run) -> None:
    text = run("ingest", "--help").text
    marks = [
        "Arguments:",
        "\nOptions:",
        "--keep-going",
        "\nManifest of all dumps:",
        "--device NAME",
    ]
    marks += ["\nStore and output:", "--store DIR", "--help", "\n  Examples:"]
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
