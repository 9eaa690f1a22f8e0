"""Whatever the bytes: verdict and values of the reference reader, within time and memory."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.support.corpus import CORPUS, dump_names, read_dump
from tests.support.etdump_builder import build_etdump
from tests.support.plain_rows import decoded_rows, reference_rows
from tests.support.reference_reader import DumpFault
from tests.tools.fuzz import worst_cases
from tests.tools.fuzz.blocks import BLOCK, check_block
from tests.tools.fuzz.checks import check_batch, measure, read_or_fault
from tests.tools.fuzz.mutations import mutant
from tracehouse import DecodedBatch, Warehouse, decode_dumps

FOUND = CORPUS.parent / "regressions"


def test_mutants_decode_like_the_reference_reader():
    assert check_block(20261121, BLOCK).differences == {}


def test_mutant_depends_on_its_seed_alone():
    seeds = range(500, 600)
    dumps = [mutant(seed) for seed in seeds]
    assert [mutant(seed) for seed in reversed(seeds)] == dumps[::-1]
    assert len(set(dumps)) > 90


def test_differences_are_noticed():
    one, other = read_dump("capi/values"), read_dump("real/load_only")
    bad = read_dump("hostile/bitflip_1")
    dumps, said = [one, other, bad], [read_or_fault(dump) for dump in (one, one, bad)]
    assert check_batch(dumps, said).differences.keys() == {1}
    said = [read_or_fault(dump) for dump in (one, bad, one)]
    assert check_batch(dumps, said).differences.keys() == {1, 2}


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.etdp")), ids=lambda path: path.stem)
def test_faults_that_fuzzing_found_stay_mended(path: Path):
    for copies in (1, 3):
        dumps = [path.read_bytes()] * copies
        assert check_batch(dumps, [read_or_fault(dump) for dump in dumps]).differences == {}


def _of_logged(**value: object) -> bytes:
    return build_etdump({"run_data": [{"events": [{"debug_event": {"debug_entry": value}}]}]})


def _of_profile(**fields: object) -> bytes:
    return build_etdump({"run_data": [{"events": [{"profile_event": fields}]}]})


BUSY = 20.0  # `make fuzz` holds to the bound; here only what grows faster than the file fails
MILLION = 1_000_000
WORST = {
    "runs that share all events": lambda: worst_cases.shared_events(1000, 1000),
    "runs that share all events, paid for": lambda: (
        worst_cases.shared_events(300, 300) + bytes(720_000)
    ),
    "one long name": lambda: _of_profile(name="x" * MILLION),
    "one long name that is not UTF-8": lambda: _of_profile(name=b"\xff" * 200_000),
    "one long name of a run": lambda: build_etdump({"run_data": [{"name": "x" * MILLION}]}),
    "much metadata": lambda: _of_profile(delegate_debug_metadata=bytes(MILLION)),
    "a tensor of many dimensions": lambda: _of_logged(val="Tensor", tensor={"sizes": [1] * 99_999}),
    "many tensors": lambda: _of_logged(val="TensorList", tensor_list={"tensors": [{}] * 20_000}),
}
# A row of a table is larger than what asks for it: 8 bytes of a run, 20 of an event.
DENSE = {
    "tiny runs": lambda: worst_cases.tiny_runs(100_000),
    "one run many times, paid for": lambda: worst_cases.shared_run(100_000, 400_000),
    "distinct event signatures": lambda: worst_cases.distinct_events(25_000),
    "distinct run signatures": lambda: worst_cases.distinct_runs(25_000) + bytes(100_000),
}


@pytest.mark.parametrize("case", WORST)
def test_worst_cases_take_at_most_8_times_their_size(case):
    dump = WORST[case]()
    assert measure(dump).excess(len(dump), slack=BUSY) is None


@pytest.mark.parametrize("case", DENSE)
@pytest.mark.slow
def test_densest_dumps_take_at_most_64_times_their_size(case):
    dump = DENSE[case]()
    assert measure(dump).excess(len(dump), times=64, slack=BUSY) is None


def test_huge_vector_lengths_cost_nothing():
    dump = read_dump("real/cnn_portable_n1_debug")
    for at in range(0, len(dump), 64):
        huge = bytearray(dump)
        struct.pack_into("<I", huge, at, 0xFFFFFFF0)
        assert decode_dumps([bytes(huge)]).errors.num_rows <= 1


@pytest.mark.parametrize(
    "dump",
    [
        worst_cases.tiny_runs(3),
        worst_cases.shared_run(3, 40),
        worst_cases.shared_events(2, 2) + bytes(40),
        worst_cases.distinct_events(3),
        worst_cases.distinct_runs(3) + bytes(20),
    ],
    ids=["tiny_runs", "shared_run", "shared_events", "distinct_events", "distinct_runs"],
)
def test_bare_dumps_are_sound_until_something_is_cut_off(dump):
    cuts = [dump[:size] for size in range(len(dump), 0, -1)]
    said = [read_or_fault(cut) for cut in cuts]
    assert not isinstance(said[0], DumpFault)
    assert check_batch(cuts, said).differences == {}


@pytest.mark.slow
def test_bad_dumps_leave_499_others_exactly_as_they_are_alone():
    rng = random.Random(3)  # noqa: S311
    names = ["real/load_only", "real/mlp_xnnpack_n1", "capi/values", "real/identity_portable_n3"]
    alone = {name: decode_dumps([read_dump(name)]) for name in names}
    chosen = [rng.choice(names) for _ in range(500)]
    intact = [read_dump(name) for name in chosen]
    for bad in ("hostile/bitflip_1", "hostile/bitflip_7", "hostile/truncated_00100"):
        place = rng.randrange(500)
        batch = decode_dumps([*intact[:place], read_dump(bad), *intact[place + 1 :]])
        assert batch.errors.column("dump_index").to_pylist() == [place]
        for i in rng.sample(range(500), 50):
            assert i == place or _part(batch, i) == _part(alone[chosen[i]], 0)


def _part(batch: DecodedBatch, index: int) -> dict[str, pa.Table]:
    """One dump's rows of every table that has rows per dump."""
    return {
        name: table.filter(pc.equal(table["dump_index"], index)).drop_columns(["dump_index"])
        for name, table in batch.tables.items()
        if "dump_index" in table.column_names
    }


CLOCKS = [
    name
    for name in dump_names("real", "capi", "synthetic")
    if any(word in name for word in ("clock_", "wrap", "uint64_limits")) and "noprefix" not in name
]


@pytest.mark.store
def test_clock_cases_are_kept_flagged_counted_and_in_no_percentile(tmp_path):
    dumps = {i: read_dump(name) for i, name in enumerate(CLOCKS)}
    batch = decode_dumps(list(dumps.values()))
    assert decoded_rows(batch) == reference_rows(dumps)
    flagged = pc.sum(pc.greater(batch.tables["events"]["flags"], 1)).as_py()
    assert flagged == pc.sum(batch.tables["dumps"]["n_flagged_events"]).as_py() > 0
    manifest = {"device": "d", "build": "b", "model": "m"}
    with Warehouse.open(tmp_path / "store", create=True) as store:
        store.ingest([CORPUS / f"{name}.etdp" for name in CLOCKS], manifest=manifest)
        kept, counted, largest = _one_row(
            store, "SELECT count(*), count(duration_ns), max(duration_ns) FROM named_events"
        )
        in_statistics, top = _one_row(
            store, "SELECT sum(sample_count), max(max_ns) FROM named_event_stats"
        )
    assert kept == batch.tables["events"].num_rows
    assert counted == in_statistics == kept - flagged
    assert top == largest < 2**63


def _one_row(store: Warehouse, sql: str) -> list[object]:
    return list(store.sql(sql).to_pylist()[0].values())
