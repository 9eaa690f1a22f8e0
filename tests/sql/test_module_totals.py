from collections import Counter

import pytest

from queries.event_blocks.module_totals import module_paths, module_totals
from tests.support.small_farm import small_farm
from tests.support.store_rows import Event, StoreRows, run_query
from tests.support.stores import located_blocks, write_corpus
from warehouse import Warehouse
from warehouse.errors import ParameterError
from warehouse.programs.event_modules import modules_above

RUN = [
    Event("native_call_conv.out", 40, 1, modules=("", "layers", "layers.0")),
    Event("OPERATOR_CALL", 50, 1),
    Event("native_call_add.out", 10, 2, modules=("", "layers")),
    Event("native_call_alone.out", 5, 3),
    Event("Method::execute", 100, 0, chain=-1),
]


def _ask(*runs, dump=None, **params):
    store = StoreRows()
    number = store.add_dump(**{"etrecord": "net.etrecord", **(dump or {})})
    for run in runs:
        store.add_run(number, run)
    return run_query(store.connect(), "module_totals", **params)


def _times(rows):
    return {row["module_path"]: (row["run_ns"], row["time_share"]) for row in rows}


def test_one_run_by_hand():
    rows = _ask(RUN)
    assert _times(rows) == {"": (50, 0.5), "layers": (50, 0.5), "layers.0": (40, 0.4)}
    assert [(row["module_type"], row["run_count"], row["event_count"]) for row in rows] == [
        ("Net", 1, 2),
        ("Layer", 1, 2),
        ("Layer", 1, 1),
    ]


def test_own_time_is_that_outside_the_modules_inside():
    assert _times(_ask(RUN, scope="own")) == {"layers": (10, 0.1), "layers.0": (40, 0.4)}


def test_one_module_is_asked_for_by_its_whole_path():
    assert list(_times(_ask(RUN, module="layers"))) == ["layers"]
    assert list(_times(_ask(RUN, module=""))) == [""]
    with pytest.raises(ParameterError, match="called 'layer'; did you mean layers"):
        _ask(RUN, module="layer")
    assert list(_times(_ask(RUN, module="layers*"))) == ["layers", "layers.0"]


def test_time_is_per_complete_run_and_repeated_events_add_up():
    twice = [RUN[0]._replace(ticks=20), *RUN]
    rows = _ask(twice, twice, RUN[:-1], module="layers.0")
    assert [(r["run_count"], r["event_count"], r["run_ns"]) for r in rows] == [(2, 4, 60)]


def test_a_run_with_a_flagged_event_is_left_out():
    flagged = [RUN[0]._replace(flags=2, ticks=999), *RUN[1:]]
    (row,) = _ask(RUN, flagged, module="layers.0")
    assert (row["run_count"], row["run_ns"], row["time_share"]) == (1, 40, 0.4)


def test_dumps_without_an_etrecord_are_left_out():
    assert _ask(RUN, dump={"etrecord": None}) == []


def test_delegate_timed_in_cycles_of_unknown_rate_has_no_time():
    run = [Event("", 7, 1, "GEMM", modules=("",)), *RUN]
    rows = _ask(run, dump={"delegate_ns_per_tick": None})
    assert _times(rows) == {"": (None, None), "layers": (50, 0.5), "layers.0": (40, 0.4)}


def test_dumps_of_a_build_with_two_etrecords_are_one_row_per_module():
    store = StoreRows()
    for record in ("one.etrecord", "two.etrecord"):
        store.add_run(store.add_dump(etrecord=record), RUN)
    rows = run_query(store.connect(), "module_totals", module="layers")
    assert [(row["run_count"], row["event_count"], row["run_ns"]) for row in rows] == [(2, 4, 50)]


def test_modules_next_to_each_other_add_up_to_the_whole():
    rows = run_query(small_farm(), "module_totals", device="phone", build="new")
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
        if not any(e.samples and e.samples.flagged for block in blocks for e in block.events)
        for path, time in _times_of_blocks(blocks, is_exact=scope == "own").items()
    }
    assert len({path for _, path in expected}) > 5
    rows = warehouse.query("module_totals", scope=scope).to_pylist()
    stored = {(r["device"], r["module_path"]): r["run_ns"] * r["run_count"] for r in rows}
    assert {key: stored.get(key) for key in expected} == pytest.approx(expected, rel=1e-9)
    assert {key for key in stored if key[0] in {name for name, _ in expected}} == expected.keys()


def _times_of_blocks(blocks, *, is_exact):
    """Time of each module in all runs of blocks with a Method::execute."""
    complete = [b for b in blocks if any(e.kind == "method" and e.samples for e in b.events)]
    paths = {above for path in ["", *module_paths(blocks)] for above in modules_above(path)}
    times = Counter()
    for path in paths:
        for block, total in zip(
            complete, module_totals(complete, path, is_exact=is_exact), strict=True
        ):
            if total.event_count:
                times[path] += total.total * len(block.outputs.runs)
    return times
