from datetime import UTC, datetime

import pytest

from warehouse.catalogue.header import parse_header
from warehouse.catalogue.queries import (
    Query,
    bind_parameters,
    duckdb_text,
    find_query,
    load_catalogue,
)
from warehouse.errors import ParameterError, UnknownQueryError

QUERY = Query(
    parse_header(
        """\
-- probe: A query of every type.
--
-- params:
--   name   STRING             Some name.
--   count  INT = 20           Some count.
--   total  BIGINT = NULL      Some total.
--   share  DOUBLE = 0.5       Some share.
--   is_on  BOOLEAN = true     Some switch.
--   since  TIMESTAMP = NULL   Some time.
--   scope  STRING(run|all) = 'run'   Some scope.
--
-- columns:
--   c  INT  Some column.
""",
        "probe.sql",
    ),
    "",
)


def _bind(**params):
    return bind_parameters(QUERY, {"name": "n", **params})


def test_catalogue_holds_the_canned_queries_under_their_names():
    assert list(load_catalogue()) == [
        "build_history",
        "dumps",
        "event_blocks",
        "framework_tax",
        "ingest_errors",
        "module_totals",
        "operator_hotspots",
        "percentiles",
        "regression_deltas",
    ]


def test_unknown_query_suggests_the_nearest():
    with pytest.raises(UnknownQueryError, match="did you mean percentiles"):
        find_query("percentile")


def test_defaults_fill_what_is_not_given():
    assert _bind(count=None) == {
        "name": "n",
        "count": 20,
        "total": None,
        "share": 0.5,
        "is_on": True,
        "since": None,
        "scope": "run",
    }


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({"count": "-2147483648"}, -(2**31)),
        ({"total": 2**63 - 1}, 2**63 - 1),
        ({"share": "1e-3"}, 0.001),
        ({"share": 1}, 1.0),
        ({"is_on": "False"}, False),
        ({"since": "2026-11-21"}, datetime(2026, 11, 21, tzinfo=UTC)),
        ({"since": "2026-11-21T10:00:00+02:00"}, datetime(2026, 11, 21, 8, tzinfo=UTC)),
        ({"since": datetime(2026, 11, 21)}, datetime(2026, 11, 21, tzinfo=UTC)),
        ({"scope": "all"}, "all"),
    ],
)
def test_values_are_converted_to_the_declared_type(given, bound):
    (name,) = given
    assert _bind(**given)[name] == bound


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"count": "many"},
            "query 'probe', parameter 'count': 'many', wanted a whole number of 32",
        ),
        ({"count": 2**31}, "wanted a whole number of 32 bits"),
        ({"total": True}, "wanted a whole number of 64 bits"),
        ({"total": 1.5}, "wanted a whole number of 64 bits"),
        ({"share": "nan"}, "wanted a finite number"),
        ({"is_on": "maybe"}, "wanted true or false"),
        ({"since": "yesterday"}, "wanted a date or time such as"),
        ({"scope": "runs"}, "'runs', wanted one of run, all"),
        ({"name": 5}, "wanted a text"),
        ({"cuont": 5}, "parameter 'cuont': no such parameter; did you mean count?"),
    ],
)
def test_wrong_value_is_one_line_that_says_what_is_wanted(given, message):
    with pytest.raises(ParameterError) as error:
        _bind(**given)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_parameter_is_named_with_its_meaning():
    with pytest.raises(ParameterError, match=r"parameter 'name': missing: Some name\."):
        bind_parameters(QUERY, {})


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("a = :a AND b = :b_2", "a = $a AND b = $b_2"),
        ("':a' || '''x:a' || \":a\"", "':a' || '''x:a' || \":a\""),
        ("a::INT, :a::INT", "a::INT, $a::INT"),
        ("1 -- :a\n, :a", "1 -- :a\n, $a"),
        ("1 /* :a\n:a */, :a", "1 /* :a\n:a */, $a"),
    ],
)
def test_markers_become_dollars_outside_texts_and_comments(text, marked):
    assert duckdb_text(text) == marked
