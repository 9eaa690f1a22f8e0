import numpy as np
import pytest

from tracehouse.ingest.etdump.dumps import find_origins, may_be_first

TOP = 2**32


@pytest.mark.parametrize(
    ("starts", "has_wrap", "expected"),
    [
        ([7, 5, 9], False, (5, False, False)),
        ([TOP - 3, 10], False, (10, False, False)),
        ([TOP - 3, 10], True, (TOP - 3, True, False)),  # modulo 2^32, 10 comes after
        ([TOP - 3, TOP + 10], True, (TOP - 3, False, True)),  # which is stored like this one
        ([TOP - 3, TOP + 10], False, (TOP - 3, False, False)),
        ([5, TOP + 10], True, (5, False, False)),
        ([2**64 - 1, 3], True, (2**64 - 1, False, False)),
    ],
)
def test_origin_is_the_earliest_start(starts, has_wrap, expected):
    start = np.array(starts, np.uint64)
    relative = (start - start[0]).view(np.int64)
    found = find_origins(
        start[:1],
        relative.min(keepdims=True),
        lowest_32=relative.astype(np.int32).astype(np.int64).min(keepdims=True),
        highest=start.max(keepdims=True),
        has_wrap=np.array([has_wrap]),
    )
    assert tuple(column[0] for column in found) == expected


def test_first_event_of_a_modular_run_has_all_others_nearer_than_half_of_it():
    offset = np.array([0, 12, 2**31, 2**31 + 1], np.uint64)
    assert may_be_first(offset, np.uint64(2**31 + 11)).tolist() == [False, True, True, False]
