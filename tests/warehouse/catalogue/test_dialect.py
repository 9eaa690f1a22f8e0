import duckdb
import pytest

from tracehouse.warehouse.catalogue.dialect import duckdb_text, with_macros, without_parameter


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("a = :a AND b = :b_2", "a = $a AND b = $b_2"),
        ("':a' || '''x:a' || \":a\"", "':a' || '''x:a' || \":a\""),
        ("a::INT, :a::INT", "a::INT, $a::INT"),
        ("1 -- :a\n, :a", "1 -- :a\n, $a"),
        ("1 /* :a\n:a */, :a", "1 /* :a\n:a */, $a"),
        ("CAST(:a AS ARRAY<STRING>)", "CAST($a AS STRING[])"),
        ("'ARRAY<STRING>' -- ARRAY<STRING>", "'ARRAY<STRING>' -- ARRAY<STRING>"),
        ("get_json_object(a, '$.b')", "json_extract_string(a, '$.b')"),
        ("element_at(a, 2)", "list_extract(a, 2)"),
    ],
)
def test_sql_dialects_are_translated_outside_of_strings_and_comments(text, marked):
    assert duckdb_text(text) == marked


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("tick_ns(s, d) * 2", "CASE WHEN s.unit IS NOT NULL THEN s.unit_ns WHEN s.kind"),
        ("is_chosen(:run, r.run)", "(CAST(:run AS ARRAY<STRING>) IS NULL OR array_contains(CAST("),
        ("exact_sum(f(a,\n  b))", "CASE WHEN count(f(a, b)) > 0 THEN aggregate(array_sort("),
        ("steadiness_of(v, n, 5)", "steadiness(array_agg(n), array_agg(v), 5)"),
        ("tag_of(t, 'a, (b')", "try_element_at(from_json(t, 'MAP<STRING, STRING>'), 'a, (b')"),
        ("drifted(a)", "drifted(a)"),
    ],
)
def test_shared_expressions_are_written_out(text, expanded):
    assert with_macros(text).startswith(expanded)


def test_a_tag_is_read_out_of_json_by_its_whole_key():
    text = "SELECT try_element_at(from_json(:tags, 'MAP<STRING, STRING>'), :key)"
    tags = '{"a.b":"x","a":{"b":1},"\'\\"":2,"n":null}'
    values = [
        duckdb.execute(duckdb_text(text), {"tags": tags, "key": key}).fetchone()
        for key in ("a.b", "a", "'\"", "n", "b")
    ]
    assert values == [("x",), ('{"b":1}',), ("2",), (None,), (None,)]


def test_parameter_that_is_left_out_is_null_wherever_it_is_used():
    text = "SELECT ':a' || CAST(:a AS STRING) || CAST(:ab AS STRING) -- :a"
    left = "SELECT ':a' || CAST(NULL AS STRING) || CAST(:ab AS STRING) -- :a"
    assert without_parameter(text, "a") == left
