import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.ingest.tables.clocks import (
    END_BEFORE_START,
    TOO_LONG,
    WRAPPED_32,
    flag_durations,
    is_wrong,
    offsets_from,
    restore_starts,
    unwrap_starts,
)

READING = st.one_of(
    st.integers(0, 2**64 - 1),
    *(
        st.integers(-5, 5).map(lambda near, top=top: (top + near) % 2**64)
        for top in (0, 2**31, 2**32, 2**33, 2**63)
    ),
)
RUNS = st.lists(st.lists(st.tuples(READING, READING), max_size=5), min_size=1, max_size=4)


def test_a_corrected_wrap_is_right_and_other_flags_are_wrong():
    flags = np.array([0, WRAPPED_32, END_BEFORE_START, TOO_LONG], np.int32)
    assert is_wrong(flags).tolist() == [False, False, True, True]


def test_an_end_of_zero_is_a_wrap_only_if_zero_is_a_valid_time():
    start, end = np.array([5, 5], np.uint64), np.array([0, 3], np.uint64)
    assert flag_durations(start, end)[1].tolist() == [WRAPPED_32, WRAPPED_32]
    durations, flags = flag_durations(start, end, zero_is_no_end=True)
    assert flags.tolist() == [END_BEFORE_START, WRAPPED_32]
    assert durations.tolist() == [-5, 2**32 - 2]


def test_starts_after_a_32_bit_clock_wrapped_within_a_run_come_after_those_before():
    top = 2**32
    start = np.array([top - 30, top - 10, 5, top - 40, 10, 3_000_000_000, 9, 5, top], np.uint64)
    end = np.array([top - 20, 2, 7, 9, 20, 3_000_000_001, 3, 6, top + 1], np.uint64)
    counts = np.array([4, 0, 2, 3])  # in the third, nothing wraps; the last has a longer start
    offsets, earliest = unwrap_starts(start, counts, flag_durations(start, end)[1])
    assert offsets.tolist() == [10, 30, 45, 0, 0, 2_999_999_990, 4, 0, top - 5]
    assert earliest.tolist() == [top - 40, 0, 10, 5]
    in_parts = offsets_from(earliest[0], start[:4], wraps=True)
    assert in_parts.tolist() == offsets[:4].tolist()


@given(RUNS)
def test_readings_of_any_clocks_can_be_restored(runs):
    start, end = (
        np.array([pair[side] for run in runs for pair in run], np.uint64) for side in (0, 1)
    )
    counts = np.array([len(run) for run in runs])
    flags = flag_durations(start, end)[1]
    offsets, origins = unwrap_starts(start, counts, flags)
    run = np.repeat(np.arange(len(runs), dtype=np.int32), counts)
    assert restore_starts(run, origins, offsets, flags).tolist() == start.tolist()
