"""Every canned query answers random filters as an independent computation does.

Faults that are planted in filters show that the comparison finds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cross_section import cross_section
from tests.tools.audit.crossed_farms import CROSSED
from tests.tools.audit.draws import LEAST, MOST, UNUSUAL, Draws
from tests.tools.audit.farms import Farm
from tests.tools.audit.filtered import QUERIES, FilterTally, audit_filters
from tests.tools.audit.oracles.places import FILTERS, chosen, is_refused, listed
from tests.tools.audit.surfaces import Ask, Surface, make_store, stored
from tracehouse import Warehouse
from tracehouse.warehouse.catalogue import name_filters
from tracehouse.warehouse.catalogue.queries import find_query, list_queries

pytestmark = pytest.mark.store
COUNT = 16  # draws of each query
LEAST_FILLED = 0.5


@pytest.fixture(scope="module")
def farm() -> Farm:
    return CROSSED["crossed"]()


@pytest.fixture(scope="module")
def store(farm: Farm, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_store(farm, tmp_path_factory.mktemp("crossed"))


def _audit(name: str, count: int) -> FilterTally:
    """Ask all queries of a farm, and more often those that have no rows by chance."""
    farm = CROSSED[name]()
    with stored(farm) as store:
        tally = audit_filters(farm, store, QUERIES[name], count)
        tally.add(audit_filters(farm, store, tally.empty, 8 * count))
    print(tally.describe())
    return tally


@pytest.mark.slow  # the values of tests/sql/test_filters.py are tried by `make test`
@pytest.mark.parametrize("name", CROSSED)
def test_random_filters_are_answered_as_if_nothing_else_were_stored(name: str) -> None:
    tally = _audit(name, COUNT)
    assert tally.faults == []
    assert tally.share >= LEAST_FILLED, tally.describe()
    assert tally.empty == [], tally.describe()


def test_every_query_is_asked_of_one_farm() -> None:
    asked = Counter(query for queries in QUERIES.values() for query in queries)
    assert asked == Counter(list_queries())
    assert QUERIES.keys() == CROSSED.keys()


def _is_usual(farm: Farm, params: Any) -> bool:
    left = len(chosen(farm.recordings, params)) / len(farm.dumps)
    return not is_refused(farm.recordings, params) and LEAST <= left <= MOST


def test_most_draws_leave_a_third_to_two_thirds_of_the_dumps(farm: Farm) -> None:
    draws = Draws(farm)
    drawn = [draws.question("coverage", number).params for number in range(3 * UNUSUAL)]
    assert sum(_is_usual(farm, params) for params in drawn) == 3 * (UNUSUAL - 2)
    assert sum(is_refused(farm.recordings, params) for params in drawn) == 3
    assert drawn == [draws.question("coverage", number).params for number in range(len(drawn))]
    assert drawn != [Draws(farm, 1).question("coverage", n).params for n in range(len(drawn))]


def test_draws_have_every_filter_alone_and_with_others_repeated_and_as_globs(farm: Farm) -> None:
    drawn = [Draws(farm).question("dumps", number).params for number in range(60)]
    assert {name for params in drawn for name in params} == {*FILTERS}
    assert {len(params) for params in drawn} >= {1, 2, 3, 4}
    texts = [
        listed(value)
        for params in drawn
        for name, value in params.items()
        if name not in ("since", "until")
    ]
    assert {len(values) for values in texts} >= {1, 2, 3}
    for letter in "*?[":
        assert any(letter in text for values in texts for text in values)


# A fault in the SQL of a query: the query, what it has, and what stands there instead.
FAULTS = {
    "since leaves out its own moment": ("dumps", "captured_at >= ", "captured_at > "),
    "until keeps its own moment": ("dumps", "captured_at < ", "captured_at <= "),
    "dumps of unknown time are in any range": (
        "coverage", "OR captured_at >= ", "OR captured_at IS NULL OR captured_at >= ",
    ),
    "one filter is left out": (
        "data_quality", "OR array_contains(CAST(:pool", "OR TRUE OR array_contains(CAST(:pool",
    ),
    "one of two filters is enough": (
        "coverage",
        "AND (CAST(:backend AS ARRAY<STRING>) IS NULL OR",
        "OR (CAST(:backend AS ARRAY<STRING>) IS NOT NULL AND",
    ),
    "one part of a query reads all dumps": (
        "device_days", "WHERE dump_id IN (SELECT dump_id FROM chosen_dumps)", "",
    ),
    "the order of builds is that of the chosen dumps": (
        "tax_history", "ORDER BY position", "ORDER BY first_captured_at",
    ),
}  # fmt: skip


def _with_fault(before: str, after: str) -> Surface:
    """The store, asked with a fault in each query."""

    @contextmanager
    def open_(store: Path) -> Iterator[Ask]:
        with Warehouse.open(store, read_only=True) as warehouse:

            def ask(name: str, /, **params: Any) -> Any:
                query = find_query(name)
                if params:
                    assert before in query.sql
                    query = query._replace(sql=query.sql.replace(before, after))
                return warehouse.query(query, **params)

            yield ask

    return Surface("with a fault", open_)


@pytest.mark.parametrize("name", cross_section(FAULTS, len(FAULTS)))
def test_fault_in_the_sql_of_a_filter_is_found(name: str, farm: Farm, store: Path) -> None:
    query, before, after = FAULTS[name]
    found = audit_filters(farm, store, [query], 24, surfaces=[_with_fault(before, after)])
    print(name, *found.faults[:2], sep="\n")
    assert found.faults


def _fold(match: Callable[[str, str], bool]) -> Callable[[str, str], bool]:
    return lambda name, glob: match(name.lower(), glob.lower())


def _first_only(tagged: Callable[..., Any]) -> Callable[..., Any]:
    return lambda place, wanted, sets: tagged(place, wanted[:1], sets)


def _as_glob(matching: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Take a name with letters of a glob as a glob, although it is a name itself."""

    def match(text: str, names: Any, *, is_glob: bool = True) -> list[str]:
        others = [name for name in names if name != text] if "[" in text else names
        return matching(text, others, is_glob=is_glob)

    return match


@pytest.mark.parametrize(
    ("function", "fault"),
    cross_section(
        [
            ("fnmatchcase", _fold),  # globs ignore case
            ("_tagged", _first_only),  # only the first of several tags counts
            ("_matching", _as_glob),  # a name is taken as a glob
            ("compose", lambda _: str),  # accents have one spelling only
        ],
        4,
    ),
)
def test_fault_in_looking_up_names_is_found(
    function: str, fault: Any, farm: Farm, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_filters, function, fault(getattr(name_filters, function)))
    found = audit_filters(farm, store, ["dumps"], 32)
    print(*found.faults[:2], sep="\n")
    assert found.faults


def test_share_of_answers_with_rows_is_counted_by_query() -> None:
    tally = FilterTally(answers=Counter(dumps=4, notes=10, warmup=1), n_refused=2)
    tally.filled.update(dumps=4, notes=2)
    assert tally.share == 6 / 15
    assert tally.empty == ["warmup"]
    assert tally.describe() == (
        "15 answers to random filters, 40% with rows; 2 refusals; 0 faults; "
        "with rows less often than 30%: notes 2 of 10, warmup 0 of 1"
    )
