"""Runs of two lengths whose events are equal, such as prompts and tokens, on every surface."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.planted import verified
from tests.support.store_rows import LONG_AGO
from tests.support.traced_farm import Step, traced_runs
from tracehouse import Warehouse
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.queries.event_blocks.build import build_event_blocks, decode_tables
from tracehouse.queries.numeric_gap.stored_dumps import stored_tables
from tracehouse.warehouse.upkeep.rebuild import rebuild_store

NIGHTS, CHANGED = 8, 7
SDPA = "native_call_custom_sdpa.out"
TOKEN = {"native_call_linear.out": 60_000, SDPA: 90_000, "native_call_mul.out": 20_000,
         "native_call_add.out": 9_000, "native_call_silu.out": 30_000}  # fmt: skip
PROMPT = {"native_call_linear.out": 3.0, SDPA: 3.6, "native_call_mul.out": 2.0,
          "native_call_add.out": 2.2, "native_call_silu.out": 2.9}  # fmt: skip
# By model: its runs (P of a prompt, D of a token), and what is slower in prompts from CHANGED on.
MODELS: dict[str, tuple[str, set[str]]] = {
    "turns": ("PD" * 27, set()),
    "attention": ("PD" * 27, {SDPA}),
    "prompts": ("PD" * 27, set(PROMPT)),
    "long answers": (("P" + "D" * 29) * 2, set()),
    "became fast": ("P" * 30 + "D" * 30, set()),
}
SLOWER = 1.2


def record(model: str, night: int, number: int) -> bytes:
    pattern, slower = MODELS[model]
    slower = slower if night >= CHANGED else set()
    prompt = [
        Step(name, ns * PROMPT[name] * (SLOWER if name in slower else 1))
        for name, ns in TOKEN.items()
    ]
    runs = {"P": prompt, "D": [Step(name, ns) for name, ns in TOKEN.items()]}
    seed = 1_000 * [*MODELS].index(model) + 10 * night + number
    return traced_runs([runs[one] for one in pattern], seed=seed, noise=0.005)


def ingest(folder: Path, *, nights: int = NIGHTS, count: int = 8) -> Path:
    """A store with dumps of all models."""
    dumps = []
    for model in MODELS:
        for night in range(1, nights + 1):
            for number in range(count):
                build = {"id": f"b{night}", "ordinal": night}
                at = LONG_AGO + timedelta(days=night, minutes=number)
                stated = {"device": "phone", "build": build, "model": model, "captured_at": at}
                data = record(model, night, number)
                manifest = Manifest.model_validate(stated)
                dumps.append(Dump.of_bytes(f"{model} {night} {number}.etdp", data, manifest))
    with Warehouse.open(folder, create=True) as warehouse:
        assert warehouse.ingest(dumps).n_dumps == len(dumps)
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory):
    folder = ingest(tmp_path_factory.mktemp("look_alike") / "store")
    with Warehouse.open(folder, read_only=True) as warehouse:
        yield warehouse


def names(store: Warehouse) -> dict[str, set[str]]:
    text = """
        SELECT d.model, n.run, count(*) AS count
        FROM named_run_signatures AS n JOIN named_dumps AS d ON d.dump_id = n.dump_id
        WHERE n.is_execution GROUP BY d.model, n.run
    """
    rows = store.sql(text).to_pylist()
    assert len({row["count"] for row in rows}) == 1  # in every dump of the model
    return {model: {r["run"] for r in rows if r["model"] == model} for model in MODELS}


def test_only_runs_that_alternate_are_split(store: Warehouse) -> None:
    lengths = {"Execute (long)", "Execute (short)"}
    split = dict.fromkeys(("turns", "attention", "prompts"), lengths)
    assert names(store) == split | {model: {"Execute"} for model in ("long answers", "became fast")}
    problems = store.query("data_quality").to_pylist()
    told = {row["model"] for row in problems if row["problem"] == "runs of two lengths"}
    assert told == split.keys()


def value(store: Warehouse, model: str, run: str, build: str) -> float:
    text = f"""
        SELECT median(value) FROM operator_stats
        WHERE model = '{model}' AND run = '{run}' AND build = '{build}'
            AND event_name = 'Method::execute'
    """  # noqa: S608
    (found,) = store.sql(text).column(0).to_pylist()
    return float(found)


def test_a_change_of_prompts_alone_is_theirs(store: Warehouse) -> None:
    def change(run: str) -> float:
        return value(store, "prompts", run, "b7") / value(store, "prompts", run, "b6")

    assert change("Execute (long)") == pytest.approx(SLOWER, abs=0.01)
    assert change("Execute (short)") == pytest.approx(1, abs=0.01)


@pytest.fixture(scope="module")
def verdicts(store: Warehouse) -> list[dict[str, Any]]:
    rows = store.query("nightly_verdicts", head=f"b{NIGHTS}").to_pylist()
    found = [row for row in rows if row["verdict"] in ("regression", "improvement")]
    return [row for row in found if row["event_name"] not in ("cold_start", "load_time")]


def test_the_night_finds_the_slower_prompts_and_nothing_else(verdicts) -> None:
    by_model = {
        model: {(row["run"], row["event_name"]) for row in verdicts if row["model"] == model}
        for model in MODELS
    }
    long = "Execute (long)"
    assert ("", "first_token") in by_model["prompts"]
    assert {("", "first_token"), (long, SDPA), (long, "Method::execute")} == by_model["attention"]
    assert [by_model[model] for model in ("turns", "long answers", "became fast")] == [set()] * 3
    (sdpa,) = (row["delta"] for row in verdicts if row["event_name"] == SDPA
               and row["model"] == "attention")  # fmt: skip
    assert sdpa == pytest.approx(SLOWER - 1, abs=0.03)


def test_the_inspector_sees_one_block_of_both(store: Warehouse) -> None:
    blocks = [
        (block.name, [(event.name, len(event.perf_data.raw)) for event in block.events])
        for block in build_event_blocks(decode_tables(record("turns", 1, 0), "turns 1 0"))
    ]
    assert [name for name, _ in blocks] == ["Default", "Execute"]
    dump = store.sql("SELECT dump_id FROM dumps WHERE source = 'turns 1 0.etdp'").column(0)[0]
    rows = store.query("event_blocks", dump=dump.as_py()).to_pylist()
    of_store = [
        (
            name,
            [(row["event_name"], row["sample_count"]) for row in rows if row["block_name"] == name],
        )
        for name in ("Default", "Execute")
    ]
    assert of_store == blocks
    again = build_event_blocks(stored_tables(store, dump.as_py()))
    assert [
        (block.name, [(event.name, len(event.perf_data.raw)) for event in block.events])
        for block in again
    ] == blocks


def test_decoding_again_gives_the_same_lengths(tmp_path: Path) -> None:
    folder = ingest(tmp_path / "store", nights=1, count=2)
    assert all(table.is_equal for table in rebuild_store(folder).tables)
    with Warehouse.open_to_write(folder) as rebuilt:
        assert not verified(rebuilt.writing, folder).damages
        known = names(rebuilt)
        rebuilt.export_lake(tmp_path / "lake")
    assert known["turns"] == {"Execute (long)", "Execute (short)"}
    with Warehouse.open_lake(tmp_path / "lake") as lake:
        assert names(lake) == known
