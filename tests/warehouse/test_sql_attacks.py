"""No statement reads a file, changes the store or leaves anything behind."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from tests.support.attack_ground import CONFIDENTIAL, AttackGround
from tests.support.cross_section import cross_section
from tests.support.sql_attacks import attacks
from tests.support.stores import write
from tracehouse import Warehouse
from tracehouse.cli.main import main
from tracehouse.warehouse.errors import StatementError

ATTACKS = attacks()


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> AttackGround:
    return AttackGround(tmp_path_factory.mktemp("ground"))


@pytest.fixture(scope="module", params=["reader", "writer"])
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Warehouse, AttackGround]]:
    """An open store, and the ground it stands on."""
    ground = AttackGround(tmp_path_factory.mktemp(request.param))
    with Warehouse.open(ground.store, read_only=request.param == "reader") as warehouse:
        yield warehouse, ground


@pytest.mark.parametrize("name", cross_section(ATTACKS, 14))
def test_python_refuses(opened: tuple[Warehouse, AttackGround], name: str) -> None:
    warehouse, ground = opened
    secret_rows = pa.table({"a": [CONFIDENTIAL]})
    before = ground.files()
    with pytest.raises(StatementError) as caught:
        warehouse.sql(ground.fill_in(ATTACKS[name]))
    assert CONFIDENTIAL not in str(caught.value)
    assert ground.files() == before
    assert warehouse.sql("SELECT count(*) AS n FROM dumps")["n"].to_pylist() == [1]
    assert secret_rows.num_rows == 1


@pytest.mark.parametrize("name", cross_section(list(ATTACKS)[::5], 8))
def test_command_line_refuses(
    ground: AttackGround,
    name: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = ground.files()
    statement = ground.fill_in(ATTACKS[name])
    question = write(ground.folder.parent / "question.sql", statement.encode())
    with question.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["sql", "-", "--store", str(ground.store)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert len(captured.err.splitlines()) == 1 or "Parser Error" in captured.err
    assert CONFIDENTIAL not in captured.err
    assert ground.files() == before


QUESTIONS = (
    "SELECT count(*) FROM named_events",
    "FROM named_dumps SELECT device",
    "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 5) FROM x",
    "WITH x AS MATERIALIZED (SELECT 1 AS a) SELECT * FROM x",
    "SELECT * FROM range(3), generate_series(1, 2)",
    "SELECT unnest([1, 2]), list_transform([1], lambda x: x + 1)",
    "SELECT * FROM unnest([{'a': 1}])",
    "SELECT quantile_cont(duration_ns, 0.5) FILTER (WHERE flags = 0) FROM named_events",
    "SELECT sum(duration_ns) OVER (PARTITION BY kind ORDER BY run_index) FROM named_events",
    "SELECT json_serialize_sql('SELECT 1')",
    "SELECT manifest->>'device', j.key FROM dumps, json_each(manifest) AS j",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM information_schema.columns",
    "SELECT table_name FROM duckdb_columns WHERE comment IS NOT NULL",
    "SHOW TABLES",
    "DESCRIBE named_events",
    "SUMMARIZE SELECT duration_ns FROM named_events",
    "SELECT * FROM histogram('dumps', 'n_events')",
    "VALUES (1), (2)",
    "EXPLAIN SELECT count(*) FROM dumps",
    "-- why\n/* so */ explain analyze FROM named_dumps",
    "PIVOT named_dumps ON device IN ('pixel8', 'other') USING count(*)",
    "FROM (UNPIVOT dumps ON n_runs, n_events)",
    "TABLE dumps",
    "SELECT * FROM dumps TABLESAMPLE 50 PERCENT (bernoulli)",
    "SELECT " + "+".join(["1"] * 900),
    "SELECT now(), current_setting('TimeZone'), random() > 2, uuid() IS NULL, setseed(0.5)",
)


@pytest.mark.slow
def test_legitimate_statements_are_answered(opened: tuple[Warehouse, AttackGround]) -> None:
    for text in QUESTIONS:
        assert opened[0].sql(text).num_columns > 0


@pytest.mark.parametrize("value", ["340282366920938463463374607431768211455", "[1]"])
def test_integers_that_arrow_lacks_are_refused(
    opened: tuple[Warehouse, AttackGround], value: str
) -> None:
    type_ = "UHUGEINT[]" if value.startswith("[") else "UHUGEINT"
    with pytest.raises(StatementError, match=r"column 'a' is UHUGEINT.*CAST it AS VARCHAR"):
        opened[0].sql(f"SELECT CAST({value} AS {type_}) AS a")


def test_files_are_read_where_that_is_asked_for(ground: AttackGround) -> None:
    goals = write(ground.folder.parent / "goals.csv", b"device,goal\npixel8,7\n")
    text = f"SELECT d.device, g.goal FROM named_dumps AS d JOIN '{goals}' AS g USING (device)"  # noqa: S608
    with Warehouse.open(ground.store, read_only=True) as warehouse:
        with pytest.raises(StatementError):
            warehouse.sql(text)
        with pytest.raises(StatementError, match="--allow-files"):
            warehouse.sql(f"FROM read_csv('{goals}')")
        assert warehouse.sql(text, allow_files=True).to_pylist() == [
            {"device": "pixel8", "goal": 7}
        ]
        assert warehouse.sql(f"FROM read_csv('{goals}')", allow_files=True).num_rows == 1


@pytest.mark.parametrize(
    "name",
    cross_section([n for n in ATTACKS if n.startswith(("copy_", "serialized", "log_"))], 18),
)
def test_statements_that_may_read_files_write_none(ground: AttackGround, name: str) -> None:
    before = ground.files()
    with (
        Warehouse.open(ground.store, read_only=True) as warehouse,
        pytest.raises(StatementError),
    ):
        warehouse.sql(ground.fill_in(ATTACKS[name]), allow_files=True)
    assert ground.files() == before
