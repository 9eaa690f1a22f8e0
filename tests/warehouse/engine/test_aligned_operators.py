from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from tests.support.cross_section import cross_section
from tests.support.stores import ingest
from tests.support.traced_farm import Step, store_nights, write_nights
from tracehouse import Warehouse

BEFORE, AFTER = 2, 2
_CONVOLUTIONS = [(name, ns) for name, ns in (("Conv #1", 500_000), ("Conv #2", 200_000))]
_SHADER = '{{"operator": {{"name": "{}", "delegate_node_id": {}}}, "kernel_name": "{}"}}'


def shaders(*named: tuple[str, float]) -> list[tuple[str, float]]:
    return [(_SHADER.format(f"aten.{n}", at, n), ns) for at, (n, ns) in enumerate(named)]


# Programs before and after an edit, and the operators after it with their times in microseconds,
# under their names of the newest program.
FARMS = {
    "a kernel before its like": (
        [Step("native_call_mm.out", 500_000), Step("native_call_mm.out", 200_000)],
        [
            Step("native_call_mm.out", 90_000),
            Step("native_call_mm.out", 500_000),
            Step("native_call_mm.out", 200_000),
        ],
        {"native_call_mm.out": {2: 500, 3: 200}},
    ),
    "numbered operators of a delegate": (
        [Step("", parts=_CONVOLUTIONS)],
        [Step("", parts=[("Conv #1", 90_000), ("Conv #2", 500_000), ("Conv #3", 200_000)])],
        {"Conv #2": {1: 500}, "Conv #3": {1: 200}},
    ),
    "nodes of a Vulkan program": (
        [Step("", parts=shaders(("conv", 500_000), ("softmax", 200_000)))],
        [Step("", parts=shaders(("clone", 9_000), ("conv", 500_000), ("softmax", 200_000)))],
        {"conv #1": {1: 500}, "softmax #2": {1: 200}},
    ),
    "nodes of QNN": (
        [Step("", parts=[("conv_1:OpId_7 (cycles)", 500_000), ("add:OpId_9 (cycles)", 200_000)])],
        [Step("", parts=[("conv_2:OpId_8 (cycles)", 500_000), ("add:OpId_11 (cycles)", 200_000)])],
        {},
    ),
    "a delegated operator that falls back": (
        [Step("", parts=[("Convolution (NHWC, F32) #1", 500_000), ("Add (ND, F32) #1", 200_000)])],
        [
            Step("", parts=[("Convolution (NHWC, F32) #1", 500_000)]),
            Step("native_call_add.out", 200_000),
        ],
        {"Convolution (NHWC, F32) #1": {1: 500}, "native_call_add.out": {1: 200}},
    ),
}
_VALUES = """SELECT build, event_name, delegate_id, ordinal, kind,
round(median(value_ns) / 1e4)::INT * 10 AS us FROM operator_stats
WHERE kind IN ('kernel', 'delegate_op', 'delegate_call') GROUP BY ALL ORDER BY ALL"""


def values(store: Warehouse) -> dict[str, dict[tuple[object, ...], int]]:
    """The time of each operator in microseconds, by build."""
    found: dict[str, dict[tuple[object, ...], int]] = {}
    for row in store.sql(_VALUES).to_pylist():
        build, us = row.pop("build"), row.pop("us")
        found.setdefault(build, {})[tuple(row.values())] = us
    return found


def write_farm(folder: Path, before: Sequence[Step], after: Sequence[Step]) -> Path:
    write_nights(folder, [before] * BEFORE + [after] * AFTER, name="m", backend="b")
    return folder


def farm(name: str) -> Path:
    before, after, _ = FARMS[name]
    return store_nights({"m": [before] * BEFORE + [after] * AFTER})


@pytest.mark.parametrize("name", FARMS)
def test_operators_keep_their_names_when_the_program_changes(name: str) -> None:
    names = FARMS[name][2]
    with Warehouse.open(farm(name), read_only=True) as store:
        found = values(store)
        compared = store.query("comparison", base="b2", head="b3").to_pylist()
    for event, numbers in names.items():
        for number, us in numbers.items():
            times = [
                [
                    value
                    for key, value in found[build].items()
                    if (key[0], key[2]) == (event, number)
                ]
                for build in ("b1", "b2", "b3", "b4")
            ]
            assert all(len(own) == 1 and abs(own[0] - us) <= 0.04 * us for own in times), times
    # All old operators are known in the new program; none was taken for another.
    assert found["b1"].keys() == found["b2"].keys() <= found["b3"].keys() == found["b4"].keys()
    # Neighbouring builds have the names of their histories.
    assert {
        (row["event_name"], row["ordinal"])
        for row in compared
        if row["level"] in ("operator", "delegate")
    } == {(key[0], key[2]) for build in ("b2", "b3") for key in found[build]}


@pytest.mark.parametrize("name", cross_section(FARMS, len(FARMS)))
def test_a_lake_aligns_operators_as_the_store_does(tmp_path: Path, name: str) -> None:
    with Warehouse.open(farm(name), read_only=True) as store:
        expected = values(store)
        of_build = store.query("build_history", event="*", build="b2").to_pylist()
        store.export_lake(str(tmp_path / "lake"))
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert values(lake) == expected
        # Also if only the files of one build are read.
        assert lake.query("build_history", event="*", build="b2").to_pylist() == of_build


def test_an_open_store_realigns_operators_after_each_ingest(tmp_path: Path) -> None:
    before, after, _ = FARMS["a kernel before its like"]
    folder = write_farm(tmp_path / "in", before, after)
    with Warehouse.open(tmp_path / "store", create=True) as store:
        for build in ("b1", "b3", "b2", "b4"):
            store.ingest([folder / build])
            reader = store.reader()
            assert values(reader) == values(store)
            reader.close()
        found = values(store)
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        assert values(store) == found
    assert [key[2] for key in found["b1"]] == [2, 3]


def test_an_open_store_keeps_names_of_runs_until_it_changes(tmp_path: Path) -> None:
    before, after, _ = FARMS["a kernel before its like"]
    folder = write_farm(tmp_path / "in", before, after)
    with Warehouse.open(tmp_path / "store", create=True) as store:
        for builds in (["b1"], ["b1", "b2"]):
            store.ingest([folder / builds[-1]])
            first = store.query("tax_history")
            assert first["build"].to_pylist() == builds
            connection = store._session.answering.for_statement("FROM named_run_signatures")
            connection.execute("UPDATE kept_run_signatures SET run = 'kept'")
            assert set(store.query("tax_history")["run"].to_pylist()) == {"kept"}
        # Modules of an ETRecord align operators, so one that comes later changes names.
        store.writing.execute("UPDATE dumps SET etrecord_id = 7 WHERE dump_id = 1")
        assert "kept" not in store.query("tax_history")["run"].to_pylist()
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        assert store.query("tax_history") == first


def test_other_tools_see_operators_under_unaligned_names() -> None:
    file = farm("a kernel before its like") / "warehouse.duckdb"
    with duckdb.connect(str(file), read_only=True) as plain:
        rows = plain.execute(
            "SELECT DISTINCT ordinal FROM operator_stats WHERE build = 'b1' AND kind = 'kernel'"
        ).fetchall()
        assert sorted(rows) == [(1,), (2,)]
        assert plain.execute("FROM aligned_operators").fetchall() == []


# An operator is removed for two builds, and then inserted again beside another one.
_FULL = [Step("native_call_mm.out", 500_000), Step("native_call_relu.out", 60_000),
         Step("native_call_mm.out", 200_000)]  # fmt: skip
_RETURNS = [_FULL, _FULL, _FULL[1:], _FULL[1:],
            [*_FULL, Step("native_call_clone.out", 9_000)]]  # fmt: skip
_COMPARED = ("event_name", "ordinal", "verdict")


def compared(store: Warehouse, base: str, head: str) -> set[tuple[object, ...]]:
    rows = store.query("comparison", base=base, head=head).to_pylist()
    return {tuple(row[name] for name in _COMPARED) for row in rows if row["level"] == "operator"}


def test_a_comparison_aligns_its_two_builds_whatever_ran_between_them(tmp_path: Path) -> None:
    write_nights(tmp_path / "in", _RETURNS, name="m", backend="b")
    ingest(tmp_path / "store", tmp_path / "in", manifest={})
    mm, relu, clone = (f"native_call_{name}.out" for name in ("mm", "relu", "clone"))
    with Warehouse.open(tmp_path / "store", read_only=True) as store:
        history = values(store)
        found = compared(store, "b2", "b5")
        assert found == {(mm, 1, "unchanged"), (relu, 1, "unchanged"), (mm, 2, "unchanged"),
                         (clone, 1, "new_op")}  # fmt: skip
        back = compared(store, "b5", "b2")
        assert back == found - {(clone, 1, "new_op")} | {(clone, 1, "removed_op")}
        # Through the builds between them, the operator is another one since its return.
        assert {key[2] for key in history["b2"] if key[0] == mm} == {2, 3}
        assert values(store) == history
        store.export_lake(str(tmp_path / "lake"))
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert compared(lake, "b2", "b5") == found
        assert values(lake) == history
