from datetime import UTC, datetime

import pytest

from tracehouse.warehouse.catalogue.header import parse_header
from tracehouse.warehouse.catalogue.parameters import bind_parameters
from tracehouse.warehouse.catalogue.queries import Query
from tracehouse.warehouse.errors import ParameterError

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
--   names  STRING[] = NULL    Some names.
--   tag    TAG[] = NULL       Some tags.
--   key    TAG_KEY(pool) = NULL      Some key.
--   top    INT(1..) = NULL    Some number.
--   part   DOUBLE(0..1) = NULL       Some part.
--   low    BIGINT(..9) = NULL        Some low number.
--   until  TIMESTAMP(>since) = NULL  Some later time.
--   other  STRING(<>name) = NULL     Some other name.
--   change  SHARE(0..) = '5%'        Some change.
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


def test_defaults_fill_what_is_not_given():
    assert _bind(count=None) == {
        "name": "n",
        "count": 20,
        "total": None,
        "share": 0.5,
        "is_on": True,
        "since": None,
        "scope": "run",
        **dict.fromkeys(("names", "tag", "key", "top", "part", "low", "until", "other")),
        "change": 0.05,
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
        ({"names": "a"}, ["a"]),
        ({"names": ("a", "b*")}, ["a", "b*"]),
        ({"tag": ["a=1", "b=="]}, ["a=1", "b=="]),
        ({"key": "anything"}, "anything"),
        ({"top": "1"}, 1),
        ({"part": 0}, 0.0),
        ({"part": 1}, 1.0),
        ({"low": -(2**63)}, -(2**63)),
        ({"until": "2026-11-21"}, datetime(2026, 11, 21, tzinfo=UTC)),
        ({"other": "m"}, "m"),
        ({"change": "7%"}, 0.07),
        ({"change": "0.5"}, 0.5),
        ({"change": "500 %"}, 5.0),
        ({"change": 5}, 5.0),
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
        ({"names": []}, "[], wanted a text, or several"),
        ({"names": ["a", 5]}, "['a', 5], wanted a text, or several"),
        ({"names": {"a": "b"}}, "wanted a text, or several"),
        ({"tag": "lab"}, "'lab', wanted KEY=VALUE, or several"),
        ({"key": 5}, "5, wanted a text"),
        ({"top": "-2"}, "parameter 'top': -2, wanted at least 1"),
        ({"top": 0}, "0, wanted at least 1"),
        ({"part": 1.1}, "1.1, wanted 0 to 1"),
        ({"part": "-1e-9"}, "-1e-09, wanted 0 to 1"),
        ({"low": 10}, "10, wanted at most 9"),
        ({"change": "5"}, "'change': '5' would be 500 %: write 5%, or 500% if you mean that"),
        ({"change": "5%%"}, "'5%%', wanted a share such as 5% or 0.05"),
        ({"change": "inf"}, "'inf', wanted a share such as 5% or 0.05"),
        ({"change": "-5%"}, "-0.05, wanted at least 0"),
        (
            {"since": "2026-11-21", "until": "2026-11-20"},
            "parameter 'until': 2026-11-20T00:00:00+00:00, wanted later than 'since', 2026-11-21T0",
        ),
        ({"since": "2026-11-21", "until": "2026-11-21"}, "wanted later than 'since'"),
        (
            {"other": "n"},
            "parameter 'other': 'n', which is the value of 'name', too; wanted another value",
        ),
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
