import duckdb
import pytest

from tests.support.documents import ROOT
from tracehouse.warehouse.catalogue.dialect import duckdb_text
from tracehouse.warehouse.catalogue.queries import expand, find_query, load_catalogue
from tracehouse.warehouse.errors import HeaderError, UnknownQueryError


def test_catalogue_holds_the_canned_queries_under_their_names():
    files = (ROOT / "sql" / "queries").glob("*.sql")
    assert list(load_catalogue()) == sorted(file.stem for file in files)


def test_each_query_says_what_it_is_for_in_a_whole_sentence():
    purposes = [query.header.purpose for query in load_catalogue().values()]
    assert [purpose for purpose in purposes if not purpose.endswith(".")] == []


def test_unknown_query_suggests_the_nearest():
    with pytest.raises(UnknownQueryError, match="did you mean percentiles"):
        find_query("percentile")


INNER = """\
-- numbers: Numbers.
--
-- params:
--   low   INT = NULL  Lowest.
--   high  INT = NULL  Highest.
--
-- columns:
--   n  INT  Number.
SELECT n FROM (VALUES (1), (2), (3)) AS t (n)
WHERE n >= coalesce(CAST(:low AS INT), n)
    AND n <= coalesce(CAST(:high AS INT), n)
"""
OUTER = """\
-- outer: Squares of numbers.
--
-- params:
--   sign  INT = 1  Sign.
--
-- filters: numbers
--
-- columns:
--   s  INT  Square.
"""
SELECTS = (
    "SELECT n * n * CAST(:sign AS INT) AS s FROM numbers ORDER BY s",
    "WITH squares AS (SELECT n * n AS s FROM numbers)\n"
    "SELECT s * CAST(:sign AS INT) AS s FROM squares ORDER BY s",
)


def _answer(query, **params):
    values = {param.name: params.get(param.name, param.default) for param in query.header.params}
    return [row[0] for row in duckdb.execute(duckdb_text(query.sql), values).fetchall()]


@pytest.mark.parametrize("select", SELECTS)
def test_query_reads_its_filters_and_takes_their_parameters_after_its_own(select):
    query = expand(OUTER + select, "outer.sql", {"numbers": INNER})
    assert query.sql.startswith(OUTER)
    assert [param.name for param in query.header.params] == ["sign", "low", "high"]
    assert _answer(query, low=2, sign=-1) == [-9, -4]


MIDDLE = """\
-- middle: All numbers but one.
--
-- params:
--   but  INT = NULL  The one.
--
-- filters: numbers
--
-- columns:
--   n  INT  Number.
SELECT n FROM numbers WHERE n <> CAST(:but AS INT)
"""


def test_filters_may_read_filters():
    text = OUTER.replace("numbers\n", "middle\n") + SELECTS[0].replace("numbers", "middle")
    query = expand(text, "outer.sql", {"numbers": INNER, "middle": MIDDLE})
    assert [param.name for param in query.header.params] == ["sign", "but", "low", "high"]
    assert _answer(query, high=2, but=1) == [4]


def test_parameter_of_the_filters_that_is_left_out_is_never_given():
    text = OUTER.replace("numbers", "numbers without low, sign") + SELECTS[0]
    with pytest.raises(HeaderError, match=r"outer\.sql: filters 'numbers' have no sign"):
        expand(text, "outer.sql", {"numbers": INNER})
    query = expand(text.replace(", sign", ""), "outer.sql", {"numbers": INNER})
    assert [param.name for param in query.header.params] == ["sign", "high"]
    assert _answer(query, high=2) == [1, 4]


def test_unknown_filters_are_an_error_that_names_the_file():
    with pytest.raises(HeaderError, match=r"outer\.sql: no filters 'numbers' in sql/filters"):
        expand(OUTER + SELECTS[0], "outer.sql", {})


PART = """\
-- doubles: Numbers, doubled.
--
-- params:
--   plus  INT = 0  What to add.
--
-- columns:
--   n  INT  Number.
WITH twice AS (SELECT 2 * n AS n FROM numbers)
SELECT n + CAST(:plus AS INT) AS n FROM twice
"""
WHOLE = """\
-- whole: Numbers, doubled once and again.
--
-- parts: doubles AS twofold
-- parts: again
--
-- columns:
--   n  INT  Number.
SELECT n FROM again
"""


def test_query_is_made_of_parts_that_read_its_filters_and_the_parts_before_them():
    text = OUTER.replace("-- columns", "-- parts: doubles AS doubled\n--\n-- columns")
    text += SELECTS[0].replace("numbers", "doubled")
    query = expand(text, "outer.sql", {"numbers": INNER}, {"doubles": PART})
    assert [param.name for param in query.header.params] == ["sign", "plus", "low", "high"]
    assert _answer(query, low=2, plus=1) == [25, 49]


def test_parts_may_be_made_of_parts():
    again = PART.replace("numbers", "twofold").replace("plus", "more")
    parts = {"doubles": PART, "again": again, "whole": WHOLE}
    text = OUTER.replace("-- columns", "-- parts: whole\n--\n-- columns")
    query = expand(
        text + SELECTS[0].replace("numbers", "whole"), "o.sql", {"numbers": INNER}, parts
    )
    assert [param.name for param in query.header.params][:3] == ["sign", "plus", "more"]
    assert _answer(query, high=2, plus=1, more=0) == [36, 100]


def test_unknown_part_is_an_error_that_names_the_file():
    with pytest.raises(HeaderError, match=r"whole\.sql: no part 'doubles' in sql/parts"):
        expand(WHOLE, "whole.sql", {})
