import numpy as np

from ingest.tables.clocks import (
    END_BEFORE_START,
    TOO_LONG,
    WRAPPED_32,
    flag_durations,
    is_wrong,
)


def test_a_corrected_wrap_is_right_and_other_flags_are_wrong():
    flags = np.array([0, WRAPPED_32, END_BEFORE_START, TOO_LONG], np.int32)
    assert is_wrong(flags).tolist() == [False, False, True, True]


def test_an_end_of_zero_is_a_wrap_only_where_zero_is_a_time():
    start, end = np.array([5, 5], np.uint64), np.array([0, 3], np.uint64)
    assert flag_durations(start, end)[1].tolist() == [WRAPPED_32, WRAPPED_32]
    durations, flags = flag_durations(start, end, zero_is_no_end=True)
    assert flags.tolist() == [END_BEFORE_START, WRAPPED_32]
    assert durations.tolist() == [-5, 2**32 - 2]
