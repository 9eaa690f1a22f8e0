from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.command import Run, run_on_terminal
from tracehouse.cli.output.render import Format, write_table
from tracehouse.queries.plain_values import FormatError

Print = Callable[[pa.Table, Format], bytes]

TABLE = pa.table(
    {
        "name": pa.array(["aten::add, out", "", None]),
        "count": pa.array([2**62 + 1, 0, None], pa.int64()),
        "big": pa.array([Decimal(2**64 - 1), Decimal(0), None], pa.decimal128(20, 0)),
        "share": pa.array([0.1, float("nan"), None]),
        "time": pa.array(
            [datetime(2026, 11, 21, 8, 0, 1, 5, UTC), datetime(1970, 1, 1, tzinfo=UTC), None],
            pa.timestamp("us", "UTC"),
        ),
        "raw": pa.array([b"\x00\xff", b"", None], pa.binary()),
        "flag": pa.array([True, False, None]),
        "sizes": pa.array([[1, 2], [], None], pa.list_(pa.int64())),
    }
)
JSON = [
    {
        "name": "aten::add, out", "count": 2**62 + 1, "big": 2**64 - 1, "share": 0.1,
        "time": "2026-11-21T08:00:01.000005Z", "raw": "00ff", "flag": True, "sizes": [1, 2],
    },
    {
        "name": "", "count": 0, "big": 0, "share": "NaN", "time": "1970-01-01T00:00:00Z",
        "raw": "", "flag": False, "sizes": [],
    },
    dict.fromkeys(TABLE.column_names),
]  # fmt: skip


@pytest.fixture
def printed(capfdbinary: pytest.CaptureFixture[bytes]) -> Print:
    def print_(table: pa.Table, format_: Format) -> bytes:
        write_table(table, format_)
        return capfdbinary.readouterr().out

    return print_


def test_json_is_a_list_of_row_objects(printed: Print) -> None:
    assert json.loads(printed(TABLE, Format.JSON)) == JSON


def test_json_without_rows_is_an_empty_list(printed: Print) -> None:
    assert json.loads(printed(TABLE.slice(0, 0), Format.JSON)) == []


def test_json_names_infinities(printed: Print) -> None:
    table = pa.table({"a": [float("inf"), float("-inf")]})
    rows = json.loads(printed(table, Format.JSON))
    assert [row["a"] for row in rows] == ["Infinity", "-Infinity"]


def test_json_refuses_to_lose_a_column_of_the_same_name() -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(FormatError, match="two columns are called 'a'"):
        write_table(table, Format.JSON)


@pytest.mark.parametrize(("format_", "delimiter"), [(Format.CSV, ","), (Format.TSV, "\t")])
def test_csv_and_tsv_have_a_header_and_plain_values(
    printed: Print, format_: Format, delimiter: str
) -> None:
    text = printed(TABLE, format_).decode()
    assert list(csv.reader(io.StringIO(text), delimiter=delimiter)) == [
        TABLE.column_names,
        ["aten::add, out", str(2**62 + 1), str(2**64 - 1), "0.1", "2026-11-21T08:00:01.000005Z",
         "00ff", "true", "[1, 2]"],
        ["", "0", "0", "NaN", "1970-01-01T00:00:00Z", "", "false", "[]"],
        [""] * 8,
    ]  # fmt: skip


def test_arrow_and_parquet_round_trip(printed: Print) -> None:
    plain = TABLE.drop_columns("share")
    assert pa.ipc.open_stream(printed(plain, Format.ARROW)).read_all() == plain
    assert pq.read_table(io.BytesIO(printed(plain, Format.PARQUET))) == plain


def test_values_without_a_json_type_become_text(printed: Print) -> None:
    table = pa.table({"day": [date(2026, 11, 21)], "bag": [{"x": Decimal("0.5"), "y": [b"\n"]}]})
    (row,) = json.loads(printed(table, Format.JSON))
    assert row == {"day": "2026-11-21", "bag": {"x": 0.5, "y": ["0a"]}}


def test_table_text_is_aligned_and_rounded_for_people(printed: Print) -> None:
    table = pa.table(
        {
            "event_name": ["aten::add", None, "x"],
            "p50_ns": [1234567.8, 12.34567, 0.000123456],
            "dump_id": [1000, 20, 3],
            "n_events": [1000, 20, 3],
            "captured_at": pa.array([datetime(2026, 11, 21, 8, tzinfo=UTC), None, None]),
        }
    )
    assert printed(table, Format.TABLE).decode().splitlines() == [
        "event_name           p50  dump_id  n_events  captured_at",
        "aten::add       1.235 ms     1000     1,000  2026-11-21 08:00:00Z",
        "                12.35 ns       20        20",
        "x           0.0001235 ns        3         3",
    ]


def test_columns_for_people_have_units_and_values(
    printed: Print, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    table = pa.table(
        {
            "event_name": ["conv", "conv"],
            "delegate_id": ["conv", None],
            "group": pa.array([None, None], pa.string()),
            "p50_ns": [5_721_000, None],
            "peak_bytes": [4_200_000, 12],
            "tax_share": [0.009146, 0.5],
            "delta": [0.041, -0.03],
        }
    )
    assert printed(table, Format.TABLE).decode().splitlines() == [
        "event_name       p50      peak  tax_share  delta",
        "conv        5.721 ms  4.200 MB     0.91 %  0.041",
        "conv                      12 B     50.0 %  −0.03",
    ]
    write_table(table, Format.TABLE, query="comparison")
    assert capfdbinary.readouterr().out.decode().splitlines() == [
        "operator       p50      peak  tax_share   delta",
        "[conv]    5.721 ms  4.200 MB     0.91 %  +4.1 %",
        "conv                    12 B     50.0 %  −3.0 %",
    ]
    assert json.loads(printed(table, Format.JSON))[0]["p50_ns"] == 5_721_000
    write_table(table.select(["group"]), Format.TABLE, has_all=True)  # somebody chose it in SQL


def test_a_name_that_is_short_already_keeps_its_unit(printed: Print) -> None:
    table = pa.table({"a": [1], "a_ns": [2]})
    assert printed(table, Format.TABLE).decode().split() == ["a", "a_ns", "1", "2", "ns"]


def test_markdown_and_html_hold_what_a_table_has_and_nothing_that_runs(printed: Print) -> None:
    table = pa.table({"name": ["a|<b>\n&"], "p50_ns": [1500.0]})
    assert printed(table, Format.MARKDOWN).decode().splitlines() == [
        "| name | p50 |",
        "| --- | ---: |",
        r"| a\|&lt;b&gt;\n&amp; | 1.500 µs |",
    ]
    page = printed(table, Format.HTML).decode()
    assert r"<tr><td>a|&lt;b&gt;\n&amp;</td><td class=" in page
    assert ">1.500 µs</td></tr>" in page
    assert page.startswith("<!doctype html>")


def test_table_text_escapes_what_would_steer_a_terminal(printed: Print) -> None:
    table = pa.table({"name": ["a\x1b[2Jb\nc\u202e"]})
    assert printed(table, Format.TABLE).decode().splitlines()[1] == r"a\x1b[2Jb\nc\u202e"


def test_table_text_without_rows_is_the_header(printed: Print) -> None:
    assert printed(pa.table({"a": pa.array([], pa.int64())}), Format.TABLE) == b"a\n"


def test_long_table_text_is_aligned_throughout_and_complete(printed: Print) -> None:
    lines = printed(pa.table({"a": range(20_000)}), Format.TABLE).decode().splitlines()
    assert len(lines) == 20_001
    assert {len(line) for line in lines} == {6}


@pytest.mark.system
@pytest.mark.parametrize("form", ["arrow", "parquet"])
def test_binary_formats_are_not_sent_to_a_terminal(store: Path, form: str) -> None:
    outcome = run_on_terminal("query", "dumps", "--format", form, "--store", store)
    assert outcome.code == 2
    assert f"{form} is binary; send it to a file or pipe: > FILE.{form}" in outcome.text


def test_unknown_format_is_a_usage_error(run: Run, store: Path) -> None:
    outcome = run("query", "dumps", "--format", "xml", "--store", store)
    assert outcome.code == 2
    assert "'xml'" in outcome.err


STRANGE = "a\x1b[2J\u202e\x9b\x7f"
ESCAPED = r"a\x1b[2J\u202e\x9b\x7f"


def test_names_of_columns_are_escaped_too(printed: Print) -> None:
    table = pa.table({STRANGE: [1]})
    assert printed(table, Format.TABLE).decode().splitlines()[0] == ESCAPED


def test_json_escapes_what_would_steer_a_terminal_and_means_the_same(printed: Print) -> None:
    table = pa.table({STRANGE: [f"{STRANGE} größe"]})
    text = printed(table, Format.JSON).decode()
    assert text == (
        '[\n{"a\\u001b[2J\\u202e\\u009b\\u007f": "a\\u001b[2J\\u202e\\u009b\\u007f größe"}\n]\n'
    )
    assert json.loads(text) == table.to_pylist()


def test_csv_in_a_pipe_is_exact(printed: Print) -> None:
    texts = [STRANGE, "a\rb", "a\r\nb", "a\nb", '"', "'", "\t", ",", "=1"]
    for format_, delimiter in ((Format.CSV, ","), (Format.TSV, "\t")):
        text = printed(pa.table({"=": texts}), format_).decode()
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        assert [cell for (cell,) in rows] == ["=", *texts]
        assert text.startswith("=\n")


@pytest.mark.system
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_csv_on_a_terminal_is_escaped(store: Path, form: str) -> None:
    statement = "SELECT 'a' || chr(27) || chr(8238) AS \"x\x9b\", [chr(10)] AS b"
    outcome = run_on_terminal("sql", statement, "--format", form, "--store", store)
    header, row = outcome.text.splitlines()
    assert header.startswith(r"x\x9b")
    assert row.startswith(r"a\x1b\u202e")


def test_csv_safe_keeps_a_spreadsheet_from_running_texts(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    starts = ["=1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1"]
    harmless = ["a=1", "'=1", "", " x", None]
    table = pa.table({"-name": [*starts, *harmless]})
    for format_, delimiter in ((Format.CSV, ","), (Format.TSV, "\t")):
        write_table(table, format_, is_csv_safe=True)
        text = capfdbinary.readouterr().out.decode()
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        cells = [row[0] if row else "" for row in rows]
        assert cells == ["'-name", *(f"'{x}" for x in starts), *(x or "" for x in harmless)]


def test_csv_safe_leaves_numbers_alone(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    table = pa.table({"a": [-1], "b": [-0.5], "c": [float("-inf")], "d": [Decimal("-2.5")]})
    write_table(table, Format.CSV, is_csv_safe=True)
    assert capfdbinary.readouterr().out == b"a,b,c,d\n-1,-0.5,-Infinity,-2.5\n"


@pytest.mark.slow
def test_long_texts_are_cut_in_tables_and_nowhere_else(printed: Print) -> None:
    name = "n" * 7_000_000
    table = pa.table({name[:1000]: [name, "b"], "x": [[name], []]})
    header, row, other = printed(table, Format.TABLE).decode().splitlines()
    assert row.split() == [
        "n" * 225 + "…" + "n" * 74,
        '["' + "n" * 223 + "…" + "n" * 72 + '"]',
    ]
    assert header.split() == ["n" * 225 + "…" + "n" * 74, "x"]
    assert len(other) < 1000
    assert json.loads(printed(table, Format.JSON)) == table.to_pylist()
    assert printed(table, Format.CSV).count(b"n") == 1000 + 2 * len(name)


def test_wide_and_combining_characters_stay_aligned(printed: Print) -> None:
    table = pa.table({"名前": ["日本語", "e\u0301", "abc"], "x": [1, 20, 300]})
    lines = printed(table, Format.TABLE).decode().splitlines()
    assert lines == ["名前      x", "日本語    1", "e\u0301        20", "abc     300"]


TEXTS = (Format.TABLE, Format.JSON, Format.CSV, Format.TSV, Format.MARKDOWN, Format.HTML)
# SQL of a value, and the formats that cannot hold it.
VALUES: dict[str, tuple[Format, ...]] = {
    "make_timestamp(9223372036854775806)": TEXTS,
    "make_timestamp_ns(9223372036854775806)": TEXTS,
    "'infinity'::TIMESTAMPTZ": TEXTS,
    "'-infinity'::DATE": TEXTS,
    "'290000-01-01'::DATE": TEXTS,
    "TIMESTAMP_S '290000-01-01'": TEXTS,
    "MAP{make_timestamp(9223372036854775806): 2}": TEXTS,
    "[{'a': 'infinity'::TIMESTAMP}]": TEXTS,
    "'12:00:00.123456789'::TIME_NS": TEXTS,
    "INTERVAL '1000000000 months'": (Format.PARQUET,),
    "[INTERVAL '-3 days 5 microseconds']": (Format.PARQUET,),
    "union_value(num := 1)": (Format.PARQUET,),
    "uuid()": (),
    "170141183460469231731687303715884105727::HUGEINT": (),
    "'0101'::BIT": (),
    "'12:00:00+02'::TIMETZ": (),
    "'a'::ENUM('a', 'b')": (),
    "MAP{[1]: {'x': 'y'}}": (),
    "[1, 2]::INT[2]": (),
    "1e40::BIGNUM": (),
    "'{}'::VARIANT": (),
    "TIME '24:00:00'": (),
    "'-inf'::DOUBLE": (),
    "NULL": (),
}


@pytest.mark.parametrize("value", VALUES)
def test_value_that_a_format_cannot_hold_is_an_error_with_the_remedy(
    capfdbinary: pytest.CaptureFixture[bytes], value: str
) -> None:
    table = duckdb.sql(f"SELECT 1 AS a, {value} AS b").to_arrow_table()
    unfit = VALUES[value]
    for format_ in Format:
        if format_ in unfit:
            with pytest.raises(FormatError, match=r"cannot hold column 'b' .*; CAST it AS VARCHAR"):
                write_table(table, format_)
        else:
            write_table(table, format_)
    if unfit:
        text = duckdb.sql(f"SELECT CAST({value} AS VARCHAR) AS b").to_arrow_table()
        write_table(text, unfit[0])
    capfdbinary.readouterr()


def test_rounded_numbers_have_the_digits_that_tell_neighbours_apart(printed: Print) -> None:
    table = pa.table(
        {"a": [0.123451, 0.123459, None, 1.0], "b": [12345.25, 12345.3, float("nan"), float("nan")]}
    )
    lines = printed(table, Format.TABLE).decode().splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["0.123451", "0.123459"]
    assert [line.split()[1] for line in lines[1:3]] == ["12,345.2", "12,345.3"]
    same = printed(pa.table({"a": [0.123451] * 2 + [2 / 3]}), Format.TABLE).decode().split()
    assert same == ["a", "0.1235", "0.1235", "0.6667"]
