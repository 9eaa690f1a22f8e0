"""Simulated dumps decode to exactly what was planted in them."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.simulation.devices import KINDS, Noise, SimulatedDevice, TickClock
from tests.tools.simulation.noise import draw_own_times
from tests.tools.simulation.plan import FarmSize, plan_farm
from tests.tools.simulation.recorder import ProgramRecorder
from tests.tools.simulation.timeline import Timeline
from tracehouse import decode_dumps
from tracehouse.ingest.decode import DecodedBatch
from tracehouse.ingest.tables.clocks import WRAPPED_32

FAMILIES = plan_farm(FarmSize(1, 1, 3, 1, 1), 0).families
DEVICES = [SimulatedDevice(kind.name, kind, kind.slowness) for kind in KINDS]

cached_recorder = cache(
    lambda family, iterations: ProgramRecorder(FAMILIES[family].program, iterations)
)


def durations(batch: DecodedBatch) -> dict[tuple[object, ...], list[int]]:
    """Duration of each event in ticks by name, instruction and delegate id, in order of runs."""
    signatures = {
        row["event_signature_id"]: (row["name"], row["instruction_id"], row["delegate_id_str"])
        for row in batch.tables["event_signatures"].to_pylist()
    }
    found: dict[tuple[object, ...], list[int]] = {}
    for row in sorted(batch.tables["events"].to_pylist(), key=lambda row: row["run_index"]):
        key = signatures[row["event_signature_id"]]
        found.setdefault(key, []).append(row["duration_ticks"])
    return found


@given(
    seed=st.integers(0, 2**63),
    family=st.integers(0, len(FAMILIES) - 1),
    device=st.sampled_from(DEVICES),
    iterations=st.sampled_from([1, 2, 7]),
)
def test_decoded_durations_are_those_planted(seed, family, device, iterations):
    recorder = cached_recorder(family, iterations)
    program = FAMILIES[family].program
    factors = np.ones(recorder.origin_count)
    starts, ends = recorder.lay_out(device, factors, np.random.default_rng(seed))
    batch = decode_dumps([recorder.template.with_times(starts, ends)])
    assert batch.errors.num_rows == 0
    planted = (ends - starts) & np.uint64(2**device.kind.clock.bits - 1)
    wanted: dict[tuple[object, ...], list[int]] = {}
    load, events = program.list_load_events(), program.list_events()
    for (event, place), ticks in zip(load + events * iterations, planted.tolist(), strict=True):
        key = (event.name or "", place.instruction, event.delegate_id)
        wanted.setdefault(key, []).append(ticks)
    assert durations(batch) == wanted
    flags = np.unique(batch.tables["events"]["flags"].to_numpy())
    assert set(flags.tolist()) <= ({0, WRAPPED_32} if device.kind.clock.bits == 32 else {0})


def test_a_32_bit_clock_wraps_as_flagged():
    (dsp,) = (device for device in DEVICES if device.kind.clock.bits == 32)
    recorder = cached_recorder(0, 50)
    factors = np.ones(recorder.origin_count)
    for seed in range(20):
        starts, ends = recorder.lay_out(dsp, factors, np.random.default_rng(seed))
        assert max(starts.max(), ends.max()) < 2**32
        table = decode_dumps([recorder.template.with_times(starts, ends)]).tables["events"]
        flags = table["flags"].to_numpy()
        assert (flags == WRAPPED_32).sum() == (ends < starts).sum()
        assert (table["duration_ticks"].to_numpy() > 0).all()
        if flags.any():
            return
    pytest.fail("no clock wrapped")


@pytest.mark.parametrize(
    ("clock", "shown"),
    [
        (TickClock(), 12_345_678),
        (TickClock("us"), 12_345),
        (TickClock("cycles", 24_000_000), 296_296),
        (TickClock("cycles", 600_000_000, bits=16), 7_407_406 % 2**16),
    ],
)
def test_clocks_show_whole_ticks(clock, shown):
    assert clock.read(np.array([12_345_678])).tolist() == [shown]


def test_delegates_count_whole_microseconds():
    recorder = cached_recorder(1, 50)
    starts, ends = recorder.lay_out(
        DEVICES[0], np.ones(recorder.origin_count), np.random.default_rng(0)
    )
    batch = decode_dumps([recorder.template.with_times(starts, ends)])
    found = durations(batch)
    for (name, _, delegate_id), ticks in found.items():
        is_whole = all(duration % 1000 == 0 for duration in ticks)
        assert is_whole == (delegate_id is not None), (name, delegate_id)


def test_parts_lie_one_after_the_other_within_what_holds_them():
    program = FAMILIES[3].program
    timeline = Timeline.of(program.list_events())
    own = np.rint(timeline.own_ns).astype(np.int64)[None].repeat(3, axis=0)
    starts, ends, behind = timeline.lay_out(own, np.array([10, 20, 30]), 1000)
    calls = [
        i for i, (event, _) in enumerate(program.list_events()) if event.name == "DELEGATE_CALL"
    ]
    first = 0
    for call in calls:
        parts = range(first, call)
        inner = [i for i in parts if program.list_events()[i].event.delegate_id]
        for before, after in pairwise(inner):
            assert (ends[:, before] <= starts[:, after]).all()
        assert (starts[:, inner] >= starts[:, [call]]).all()
        assert (ends[:, inner] <= ends[:, [call]]).all()
        first = call + 1
    assert starts[0, -1] == 1000
    assert (starts[1:, -1] - ends[:-1, -1]).tolist() == [10, 20]
    assert behind == ends[-1, -1] + 30


def draw(noise: Noise, run_count: int = 400) -> np.ndarray:
    """Times of the events of a program relative to what is typical, one row per run."""
    timeline = Timeline.of(FAMILIES[2].program.list_events())
    rng = np.random.default_rng(5)
    own = draw_own_times(timeline, timeline.own_ns, noise, run_count, rng)
    return own / np.maximum(timeline.own_ns, 1)


STILL = Noise(jitter=0, drift=0, process=0, session=0, heating=0, outlier_share=0)


def test_a_simulated_dump_without_noise_varies_only_in_its_first_iteration():
    times = draw(STILL)
    steady = times[1:]
    assert (steady == steady[0]).all()
    assert (times[0] >= steady[0]).all()
    assert times[0].max() > 1.5


def test_time_that_a_delegate_rounds_off_stays_in_its_call():
    timeline = Timeline.of(FAMILIES[1].program.list_events())
    typical = 1.037 * timeline.own_ns
    own = draw_own_times(timeline, typical, STILL, 3, np.random.default_rng(0))[-1]
    delegated = np.flatnonzero(timeline.is_delegated)
    exact = np.rint(typical).astype(int)
    rest = exact[delegated] - own[delegated]
    assert (own[delegated] % 1000 == 0).all()
    assert ((rest >= 0) & (rest < 1000)).all()
    assert rest.any()
    (call,) = set(timeline.holder[delegated].tolist())
    assert own[call] == exact[call] + rest.sum()


def test_iterations_resemble_the_one_before():
    states = np.log(draw(Noise(jitter=0, drift=0.02, process=0, outlier_share=0))[1:, 0])
    assert 0.4 < np.corrcoef(states[1:], states[:-1])[0, 1] < 0.75


def test_a_hot_device_is_slower():
    times = draw(Noise(jitter=0, drift=0, process=0, heating=0.1, outlier_share=0))[:, 0]
    assert times[-1] / times[1] == pytest.approx(np.exp(0.1), rel=0.01)


def test_dumps_differ_by_more_than_their_iterations_explain():
    timeline = Timeline.of(FAMILIES[2].program.list_events())
    noise = Noise(jitter=0.01, drift=0, process=0.02, outlier_share=0)
    rng = np.random.default_rng(6)
    medians = [
        np.median(draw_own_times(timeline, timeline.own_ns, noise, 50, rng)[5:, 0])
        for _ in range(200)
    ]
    spread = np.diff(np.quantile(np.log(medians), [0.16, 0.84]))[0] / 2
    assert 0.015 < spread < 0.026


def test_outliers_are_rare_and_large():
    times = draw(Noise(jitter=0, drift=0, process=0, outlier_share=0.01))[1:]
    share = (times > 1.6 * np.median(times, axis=0)).mean()
    assert 0.003 < share < 0.012
