import math

import duckdb
import numpy as np
import pytest

from warehouse import Warehouse
from warehouse.engine.functions import FUNCTIONS, named_functions, register_functions
from warehouse.statistics.device_states import DELEGATE, KERNELS, WHOLE
from warehouse.statistics.paired_samples import compare_pairs
from warehouse.statistics.two_samples import compare_samples

ALL = " ".join(f"{function.name}()" for function in FUNCTIONS)


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as database:
        register_functions(database, ALL)
        yield database


@pytest.fixture
def connection(database):
    database.execute("DROP TABLE IF EXISTS pairs")
    return database


def _ask(connection, expression, *values):
    return connection.execute(f"SELECT {expression}", values).fetchone()[0]


@pytest.mark.parametrize("seed", range(8))
def test_pairs_of_builds_and_nights_have_the_same_figures(connection, seed):
    generator = np.random.default_rng(seed)
    n, m = generator.integers(4, 40, 2)
    base, head = generator.normal(0, 0.03, n), generator.normal(0.02, 0.03, m)
    slow = generator.random() < 0.5
    base[generator.random(n) < 0.4] += 0.4 * slow
    head[generator.random(m) < 0.5] += 0.4 * slow
    found = _ask(connection, "compare_samples($1, $2)", base.tolist(), head.tolist())
    night = {k: v[0] for k, v in compare_samples(base[None, :], head[None, :])._asdict().items()}
    for name in ("p", "excess", "variance", "shift", "low", "high"):
        assert found[name] == (None if math.isnan(night[name]) else night[name])
    assert found["mode_p"] == (None if math.isnan(night["split"]) else night["share_p"])


@pytest.mark.parametrize("values", [([1.0], None), (None, [1.0]), ([], [1.0]), (None, None)])
def test_without_values_on_both_sides_there_are_no_figures(connection, values):
    assert _ask(connection, "compare_samples($1::DOUBLE[], $2::DOUBLE[])", *values) is None


def test_long_and_short_lists_of_one_column_are_compared_alike(connection):
    generator = np.random.default_rng(1)
    sizes = [(8, 9), (300, 2), (1, 1), (5, 400), (30, 30), (8, 9)]
    pairs = [[generator.normal(0, 1, n).tolist() for n in size] for size in sizes]
    connection.execute("CREATE TABLE pairs (n INT, base DOUBLE[], head DOUBLE[])")
    rows = [[n, *pair] for n, pair in enumerate(pairs)]
    connection.executemany("INSERT INTO pairs VALUES (?, ?, ?)", rows)
    rows = connection.sql("SELECT compare_samples(base, head) FROM pairs ORDER BY n").fetchall()
    alone = [_ask(connection, "compare_samples($1, $2)", *pair) for pair in pairs]
    assert [row for (row,) in rows] == alone


def test_other_functions_have_no_figures_without_values(connection):
    assert _ask(connection, "find_gap($1::DOUBLE[])", [1.0]) is None
    assert _ask(connection, "find_gap($1::DOUBLE[])", None) is None
    assert _ask(connection, "smallest_change($1::DOUBLE[])", None) is None
    assert _ask(connection, "needed_dumps($1::DOUBLE)", None) is None
    assert _ask(connection, "needed_dumps(0.01)") == 8
    assert _ask(connection, "variance_components($1::DOUBLE[][])", None) is None
    assert _ask(connection, "find_change($1::DOUBLE[][])", [[1.0, 1.0], [2.0, 2.0]]) is None


def test_states_come_dump_by_dump_whatever_the_order_of_the_rows(connection):
    generator = np.random.default_rng(3)
    rows = [
        [
            dump,
            dump > 20,
            kind,
            kind,
            0,
            0.5,
            9.0 + kind + 0.1 * (dump > 20) + noise,
        ]
        for dump in (20, 10, 21, 11, 12, 22, 23, 13)
        for kind, noise in enumerate(generator.normal(0, 0.001, 4).tolist())
    ]
    connection.execute("CREATE TABLE pairs (family INT, points DOUBLE[][])")
    shuffled = [rows[n] for n in generator.permutation(len(rows))]
    connection.executemany("INSERT INTO pairs VALUES (?, ?)", [[1, rows], [2, []], [3, shuffled]])
    found = connection.sql("SELECT pair_states(points) FROM pairs ORDER BY family").fetchall()
    assert found[0] == found[2]
    assert found[1] == ([],)
    states = found[0][0]
    assert [state["dump"] for state in states[::3]] == [10, 11, 12, 13, 20, 21, 22, 23]
    assert [state["unit"] for state in states[:3]] == [KERNELS, DELEGATE, WHOLE]
    assert states[0]["shift"] == states[0]["moved"] == pytest.approx(0.1, abs=0.002)
    assert states[1]["state"] is None
    assert states[2]["moved"] == states[0]["moved"]


def test_pairs_have_the_figures_of_their_differences(connection):
    generator = np.random.default_rng(5)
    base, head = generator.normal(0, 0.03, (2, 12))
    found = _ask(connection, "compare_pairs($1)", np.stack([base, head], axis=1).tolist())
    expected = compare_pairs(base[None, :], head[None, :])._asdict()
    assert found == {k: None if math.isnan(v[0]) else v[0] for k, v in expected.items()}
    assert _ask(connection, "compare_pairs($1::DOUBLE[][])", None) is None


def test_functions_may_be_registered_twice_and_are_seen_by_transactions(connection):
    cursor = connection.cursor()
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    register_functions(connection, ALL)
    assert _ask(cursor, "needed_dumps(0.01)") == 8
    cursor.execute("ROLLBACK")


def test_a_statement_names_the_functions_that_it_calls():
    named = named_functions("SELECT find_gap(y), needed_dump (1) FROM t")
    assert [function.name for function in named] == ["find_gap"]


def test_a_statement_of_a_user_may_call_them(tmp_path):
    with Warehouse.open(tmp_path / "s", create=True) as store:
        found = store.sql("SELECT Compare_Samples ($a, $b).shift AS s", {"a": [0.0], "b": [0.5]})
    assert found.to_pylist() == [{"s": 0.5}]
