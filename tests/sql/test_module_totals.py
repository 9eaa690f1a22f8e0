from collections import Counter

import pytest

from tests.support.questions import farm_for
from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown
from tests.support.stores import located_blocks, write_corpus
from tracehouse import Warehouse
from tracehouse.queries.event_blocks.module_totals import module_paths, module_totals
from tracehouse.warehouse.errors import ParameterError
from tracehouse.warehouse.programs.event_modules import modules_above

RUN = [
    Event("native_call_conv.out", 40, 1, modules=("", "layers", "layers.0")),
    Event("OPERATOR_CALL", 50, 1),
    Event("native_call_add.out", 10, 2, modules=("", "layers")),
    Event("native_call_alone.out", 5, 3),
    Event("Method::execute", 100, 0, chain=-1),
]


TWICE = [RUN[0]._replace(ticks=20), *RUN]
FLAGGED = [RUN[0]._replace(flags=2, ticks=999), *RUN[1:]]
# By device: runs of its dump, and columns of that.
CASES = {
    "one run": ([RUN], {}),
    "twice": ([TWICE, TWICE, RUN[:-1]], {}),
    "flagged": ([RUN, FLAGGED], {}),
    "no ETRecord": ([RUN], {"etrecord": None}),
    "delegate in ticks": (
        [[Event("", 7, 1, "GEMM", modules=("",)), *RUN]],
        {"delegate_ns_per_tick": None},
    ),
    "two ETRecords": ([RUN], {"etrecord": "one.etrecord"}),
}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, (runs, columns) in CASES.items():
        number = store.add_dump(**{"device": device, "etrecord": "net.etrecord", **columns})
        store.add_runs(number, runs)
    store.add_run(store.add_dump(device="two ETRecords", etrecord="two.etrecord"), RUN)
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "module_totals")


def _times(rows):
    return {row["module_path"]: (row["run_ns"], row["time_share"]) for row in rows}


def _counts(rows, module="layers.0"):
    names = ("run_count", "event_count", "run_ns")
    return shown([row for row in rows if row["module_path"] == module], *names)


def test_one_run_by_hand(rows):
    found = rows["one run"]
    assert _times(found) == {"": (50, 0.5), "layers": (50, 0.5), "layers.0": (40, 0.4)}
    assert shown(found, "module_type", "run_count", "event_count") == [
        ("Net", 1, 2),
        ("Layer", 1, 2),
        ("Layer", 1, 1),
    ]


def test_own_time_of_a_module_excludes_its_submodules(farm):
    found = run_query(farm, "module_totals", device="one run", scope="own")
    assert _times(found) == {"layers": (10, 0.1), "layers.0": (40, 0.4)}


def test_a_module_filter_matches_whole_paths(farm):
    for module, expected in {
        "layers": ["layers"],
        "": [""],
        "layers*": ["layers", "layers.0"],
    }.items():
        found = run_query(farm, "module_totals", device="one run", module=module)
        assert [*_times(found)] == expected
    with pytest.raises(ParameterError, match="'layer' is not in the store; did you mean layers"):
        run_query(farm, "module_totals", module="layer")


def test_time_is_per_complete_run_and_repeated_events_add_up(rows):
    assert _counts(rows["twice"]) == [(2, 4, 60)]
    assert _counts(rows["flagged"]) == [(1, 1, 40)]
    # Dumps of a build with two ETRecords are one row per module.
    assert _counts(rows["two ETRecords"], "layers") == [(2, 4, 50)]


def test_modules_with_unknown_time_have_no_time_or_no_row(rows):
    assert rows["no ETRecord"] == []
    expected = {"": (None, None), "layers": (50, 0.5), "layers.0": (40, 0.4)}
    assert _times(rows["delegate in ticks"]) == expected


def test_modules_next_to_each_other_add_up_to_the_whole():
    rows = run_query(farm_for("module_totals"), "module_totals", device="phone", build="new")
    whole, conv, head = (row["run_ns"] for row in rows)
    assert whole == pytest.approx(conv + head, rel=1e-12)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A store with the corpus' dumps, each as a device of its own; and what they are made of."""
    folder = tmp_path_factory.mktemp("corpus")
    written = write_corpus(folder / "in")
    with Warehouse.open(folder / "store", create=True) as warehouse:
        warehouse.ingest(
            [folder / "in"], manifest={"build": "b", "model": "m"}, layout="*/{device}.etdp"
        )
        devices = warehouse.query("dumps")["device"].to_pylist()
        yield warehouse, {name: located_blocks(*written[name]) for name in devices}


@pytest.mark.parametrize("scope", ["total", "own"])
@pytest.mark.slow
def test_totals_of_a_dump_are_those_of_its_event_blocks(corpus, scope):
    warehouse, blocks_of_dump = corpus
    expected = {
        (name, path): time
        for name, blocks in blocks_of_dump.items()
        if not any(e.flagged for block in blocks for e in block.events)
        for path, time in _times_of_blocks(blocks, is_exact=scope == "own").items()
    }
    assert len({path for _, path in expected}) > 5
    rows = warehouse.query("module_totals", scope=scope).to_pylist()
    stored = {(r["device"], r["module_path"]): r["run_ns"] * r["run_count"] for r in rows}
    assert {key: stored.get(key) for key in expected} == pytest.approx(expected, rel=1e-9)
    assert {key for key in stored if key[0] in {name for name, _ in expected}} == expected.keys()


def _times_of_blocks(blocks, *, is_exact):
    """Time of each module in all runs of blocks with a Method::execute."""
    complete = [
        b for b in blocks if any(e.kind == "method" and e.start_time is not None for e in b.events)
    ]
    paths = {above for path in ["", *module_paths(blocks)] for above in modules_above(path)}
    times = Counter()
    for path in paths:
        for block, total in zip(
            complete, module_totals(complete, path, is_exact=is_exact), strict=True
        ):
            if total.event_count:
                times[path] += total.total * len(block.outputs.runs)
    return times
