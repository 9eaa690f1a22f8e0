import pytest

from tests.support.store_rows import Event, StoreRows, run_query

PROMPT, TOKEN = 0, 9  # instructions: what tells their runs apart


def _ask(*dumps, columns=None, **params):
    """One dump for each list of runs: what they execute, their time, and their start."""
    store = StoreRows()
    for runs in dumps:
        number = store.add_dump(**columns or {})
        for what, ticks, start in runs:
            store.add_run(number, [Event("Method::execute", ticks, what, chain=-1)], start=start)
    return run_query(store.connect(), "token_latency", **params)


def _turn(prompt, *tokens, start=0):
    runs = [(PROMPT, prompt, start)]
    return [*runs, *((TOKEN, ticks, start + 100 * n) for n, ticks in enumerate(tokens, start=10))]


def test_a_turn_by_hand():
    (row,) = _ask(_turn(500, 10, 20, 30, 40))
    assert (row["position"], row["turn_count"], row["token_count"]) == (1, 1, 4)
    assert (row["first_token_ns"], row["p50_ns"], row["drift_ns"]) == (500, 25, 10)
    assert row["tokens_per_second"] == pytest.approx(1e9 / 25)
    assert row["paced_tokens_per_second"] == pytest.approx(1e9 / 100)


def test_each_prompt_begins_a_turn():
    turns = [*_turn(500, 10, 20, 30), *_turn(300, 20, 20, 20, 40, start=9000)]
    (row,) = _ask(turns, _turn(100, 5, 5, 5))
    assert (row["dump_count"], row["turn_count"], row["token_count"]) == (2, 3, 10)
    assert (row["first_token_ns"], row["drift_ns"]) == (300, 6)
    assert row["paced_tokens_per_second"] == pytest.approx(1e9 / 100)


def test_a_prompt_read_in_parts_is_one():
    (row,) = _ask([(PROMPT, 70, 0), (PROMPT, 30, 1), *_turn(20, 10, 10, 10, 10)])
    assert (row["turn_count"], row["first_token_ns"], row["token_count"]) == (1, 120, 4)


def test_where_one_method_does_both_the_first_run_is_the_prompt():
    (row,) = _ask([(TOKEN, 90, 0), (TOKEN, 10, 1), (TOKEN, 10, 2)])
    assert (row["first_token_ns"], row["token_count"], row["p50_ns"]) == (90, 2, 10)


def test_of_methods_that_run_as_often_the_later_one_decodes():
    (row,) = _ask(_turn(500, 10))
    assert (row["first_token_ns"], row["token_count"], row["p50_ns"]) == (500, 1, 10)
    assert (row["paced_tokens_per_second"], row["drift_ns"]) == (None, None)


def test_tokens_can_be_told_apart_by_position():
    rows = _ask(_turn(500, 10, 20, 30, 50, 70), step=2)
    names = ("position", "token_count", "p50_ns", "first_token_ns")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1, 2, 15, 500),
        (3, 2, 40, None),
        (5, 1, 70, None),
    ]


def test_a_clock_that_jumps_back_has_no_pace():
    (row,) = _ask([(PROMPT, 50, 0), (TOKEN, 10, 500), (TOKEN, 10, 300), (TOKEN, 10, 400)])
    assert row["paced_tokens_per_second"] == pytest.approx(1e9 / 100)


def test_starts_beyond_the_range_of_doubles_are_exact():
    far = 2**64 - 1000
    (row,) = _ask([(PROMPT, 50, far), (TOKEN, 10, far + 1), (TOKEN, 10, far + 2)])
    assert row["paced_tokens_per_second"] == pytest.approx(1e9)


def test_loads_and_incomplete_runs_are_no_tokens():
    store = StoreRows()
    number = store.add_dump()
    load = [Event("Method::init", 5, chain=-1)]
    failed = [Event("native_call_add.out", 5, 0)]
    token = [Event("Method::execute", 10, TOKEN, chain=-1)]
    for run in (load, token, token, failed, token):
        store.add_run(number, run)
    (row,) = run_query(store.connect(), "token_latency")
    assert (row["turn_count"], row["token_count"]) == (1, 2)


def test_cycles_of_unknown_rate_have_counts_alone():
    (row,) = _ask(_turn(500, 10, 20, 30), columns={"ns_per_tick": None})
    assert (row["token_count"], row["p50_ns"], row["tokens_per_second"]) == (3, None, None)
    assert (row["first_token_ns"], row["drift_ns"]) == (None, None)


@pytest.mark.parametrize("tag", ["decode_method", "model.decode_method"])
def test_a_manifest_may_name_the_runs_that_decode(tag):
    prompts = [(PROMPT, ticks, ticks) for ticks in (500, 600, 700)]
    (row,) = _ask([*prompts, (TOKEN, 10, 800)], columns={"tags": {tag: "Execute #2"}})
    assert (row["turn_count"], row["token_count"], row["first_token_ns"]) == (1, 1, 1800)


def test_a_dump_without_the_runs_that_decode_has_no_tokens():
    columns = {"tags": {"decode_method": "Execute #2"}}
    (row,) = _ask(_turn(500, 10), [(PROMPT, 500, 0), (PROMPT, 600, 1)], columns=columns)
    assert (row["dump_count"], row["token_count"], row["p50_ns"]) == (1, 1, 10)
