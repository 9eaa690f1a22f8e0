import pytest

from tests.support.store_rows import Event, StoreRows, run_by_device, run_query, shown
from tests.support.tiny_dumps import tiny_dump
from tracehouse import Dump, Manifest, Warehouse

PROMPT, TOKEN = 0, 9  # instructions: what tells their runs apart
FAR = 2**64 - 1000


def _turn(prompt, *tokens, start=0):
    """A prompt and what it is answered: what each run executes, its time, and its start."""
    runs = [(PROMPT, prompt, start)]
    return [*runs, *((TOKEN, ticks, start + 100 * n) for n, ticks in enumerate(tokens, start=10))]


PROMPTS = [(PROMPT, ticks, ticks) for ticks in (500, 600, 700)]
# By name: the runs of each dump, and what is answered: see FIGURES.
FIGURES = (
    "dump_count", "turn_count", "token_count", "first_token_ns", "p50_ns", "drift_ns",
    "paced_tokens_per_second",
)  # fmt: skip
ANY = object()
CASES = {
    "a turn": ([_turn(500, 10, 20, 30, 40)], [1, 1, 4, 500, 25, 10, 1e7]),
    # Each prompt begins a turn.
    "three turns": (
        [[*_turn(500, 10, 20, 30), *_turn(300, 20, 20, 20, 40, start=9000)], _turn(100, 5, 5, 5)],
        [2, 3, 10, 300, 20, 6, 1e7],
    ),
    "prompt in parts": (
        [[(PROMPT, 70, 0), (PROMPT, 30, 1), *_turn(20, 10, 10, 10, 10)]],
        [1, 1, 4, 120, 10, 0, 1e7],
    ),
    # Where one method does both, as its tag says, its first run is the prompt.
    "decode_method of all": (
        [[(TOKEN, 90, 0), (TOKEN, 10, 1), (TOKEN, 10, 2)]],
        [1, 1, 2, 90, 10, ANY, 1e9],
    ),
    # Of methods that run as often, the later one decodes.
    "as often": ([_turn(500, 10)], [1, 1, 1, 500, 10, None, None]),
    "jumps back": (
        [[(PROMPT, 50, 0), (TOKEN, 10, 500), (TOKEN, 10, 300), (TOKEN, 10, 400)]],
        [1, 1, 3, 50, 10, 0, 1e7],
    ),
    # Starts beyond the range of doubles are exact.
    "far": (
        [[(PROMPT, 50, FAR), (TOKEN, 10, FAR + 1), (TOKEN, 10, FAR + 2)]],
        [1, 1, 2, 50, 10, ANY, 1e9],
    ),
    "ticks": ([_turn(500, 10, 20, 30)], [1, 1, 3, None, None, None, ANY]),
    # A manifest may name the runs that decode; a dump without any has no tokens.
    "decode_method": ([[*PROMPTS, (TOKEN, 10, 800)]], [1, 1, 1, 1800, 10, None, None]),
    "model.decode_method": ([[*PROMPTS, (TOKEN, 10, 800)]], [1, 1, 1, 1800, 10, None, None]),
    "decode_method of one": (
        [_turn(500, 10), [(PROMPT, 500, 0), (PROMPT, 600, 1)]],
        [1, 1, 1, 500, 10, None, None],
    ),
    "five tokens": ([_turn(500, 10, 20, 30, 50, 70)], [1, 1, 5, 500, 30, ANY, 1e7]),
}


def _columns(device):
    if device == "ticks":
        return {"ns_per_tick": None}
    tag = device.partition(" ")[0]
    run = "Execute" if device.endswith(" of all") else "Execute #2"
    return {"tags": {tag: run}} if tag.endswith("decode_method") else {}


@pytest.fixture(scope="module")
def farm():
    store = StoreRows()
    for device, (dumps, _) in CASES.items():
        for runs in dumps:
            number = store.add_dump(device=device, **_columns(device))
            for what, ticks, start in runs:
                events = [Event("Method::execute", ticks, what, chain=-1)]
                store.add_run(number, events, start=start)
    token = [Event("Method::execute", 10, TOKEN, chain=-1)]
    load, failed = [Event("Method::init", 5, chain=-1)], [Event("native_call_add.out", 5, 0)]
    number = store.add_dump(device="failed", tags={"decode_method": "Execute"})
    store.add_runs(number, [load, token, token, failed, token])
    store.add_runs(store.add_dump(device="no language model"), [load, token, token, token])
    return store.connect()


@pytest.fixture(scope="module")
def rows(farm):
    return run_by_device(farm, "token_latency")


@pytest.mark.parametrize("case", CASES)
def test_turns_and_tokens(case, rows):
    (row,) = rows[case]
    for name, expected in zip(FIGURES, CASES[case][1], strict=True):
        if expected is not ANY:
            assert row[name] == pytest.approx(expected), name


def test_a_turn_is_at_the_first_position_and_has_its_rate(rows):
    (row,) = rows["a turn"]
    assert (row["position"], row["tokens_per_second"]) == (1, pytest.approx(1e9 / 25))
    assert rows["ticks"][0]["tokens_per_second"] is None


def test_loads_and_incomplete_runs_do_not_count_as_tokens(rows):
    assert shown(rows["failed"], "turn_count", "token_count") == [(1, 2)]


def test_models_of_one_kind_of_run_write_no_tokens_unless_a_tag_says_so(rows):
    assert rows["no language model"] == []


def test_a_note_says_which_models_are_left_out(tmp_path):
    with Warehouse.open(tmp_path / "store", create=True) as store:
        assert not store.query("token_latency").note
        for number in (1, 2):
            stated = Manifest.model_validate(
                {"device": {"name": "a"}, "build": {"id": "b"}, "model": {"name": f"m{number}"}}
            )
            store.ingest([Dump.of_bytes(f"{number}.etdp", tiny_dump(number), stated)])
        note = store.query("token_latency").note
        assert note.startswith("2 of 2 models of a backend are left out: they have one kind of run")
        assert not store.query("percentiles").note


def test_tokens_can_be_told_apart_by_position(farm):
    found = run_query(farm, "token_latency", device="five tokens", step=2)
    assert shown(found, "position", "token_count", "p50_ns", "first_token_ns") == [
        (1, 2, 15, 500),
        (3, 2, 40, None),
        (5, 1, 70, None),
    ]
