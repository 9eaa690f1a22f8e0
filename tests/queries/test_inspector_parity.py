"""Event blocks of the corpus against the Inspector's: equal, or different for a known reason."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from ingest import decode_dumps
from queries.event_block_json import event_blocks_json
from queries.event_blocks import EventBlock, build_event_blocks
from tests.support.corpus import dump_names, read_dump, read_golden

TICKS_PER_MS = 1e6
STATISTICS = ("p10", "p50", "p90", "avg", "min", "max")

# The Inspector keeps the last of the samples that an event has in one run (I1).
REPEATING = {
    "capi/delegate_static",
    "capi/repeat",
    "capi/repeat_static",
    "capi/repeat_wrap32",
    "real/map_portable_n3",
    "real/map_portable_n3_debug",
    "synthetic/delegate_ids",
    "synthetic/repeated_event",
    "synthetic/repeated_event_counts_differ",
    "synthetic/signature_chain_ignored",
    "synthetic/signatures",
}
# The Inspector scales the readings of a delegate's clock before it subtracts them (I2).
NOISY = {
    "capi/delegate_static",
    "real/traced_int_n1_debug",
    "real/traced_int_n20",
    "real/traced_str_bulk_n3_debug",
    "real/traced_str_n1_debug",
    "real/traced_str_n20",
    "real/traced_substr_n1_debug",
    "real/traced_substr_n20",
    "real/traced_unmapped_n1_debug",
    "real/traced_unmapped_n20",
}
WRAP = "I3: a 32-bit wrap is one tick short, or for a delegate computed after scaling"
DIGITS = "I5: flatc prints 12 decimals of a double, 6 of a float"
MIXED = "I1: of two chains with the same instruction, the last one wins"
BITS = "the Inspector reads bits16 as uint16; here a dtype keeps its name"
TOO_LONG = "2^64 - 1 ticks are no duration: flagged here"
DIFFERENT_SAMPLES = {
    "capi/delegate_static": {"conv_relu": WRAP},
    "real/clock_wrap32_cnn_portable": {"OPERATOR_CALL": WRAP, "Method::execute": WRAP},
    "synthetic/uint64_limits": {"b": TOO_LONG},
    "synthetic/wrap32": {"one tick short": WRAP, "true 11": WRAP, "d": WRAP},
}
DIFFERENT_VALUES = {
    "capi/values": {0: MIXED, 18: BITS},
    "capi/values_static": {0: MIXED, 18: BITS},
    "synthetic/values_all": {6: DIGITS, 10: DIGITS, 25: BITS},
}
# The size prefix must tell the truth; the Inspector does not look at it (I22).
REFUSED = {
    "hostile/size_prefix_huge",
    "hostile/size_prefix_minus_eight",
    "hostile/size_prefix_zero",
    "hostile/trailing_garbage",
    "hostile/two_dumps_concatenated",
}
KNOWN = REPEATING | NOISY | DIFFERENT_SAMPLES.keys() | DIFFERENT_VALUES.keys()

Json = dict[str, Any]


def _answer(name: str) -> Json:
    return read_golden(name)["variants"]["plain"]


ALL = dump_names("capi", "hostile", "real", "synthetic", "upstream")
ANSWERED = [name for name in ALL if "event_blocks" in _answer(name) and name not in REFUSED]
BARE = [name for name in ALL if name.endswith(".noprefix")]


def _blocks(name: str) -> list[EventBlock]:
    batch = decode_dumps([read_dump(name)])
    assert not batch.errors.num_rows
    return build_event_blocks(batch.tables)


def _json(name: str) -> list[Json]:
    return event_blocks_json(_blocks(name))["event_blocks"]


def _close(ours: Any, theirs: Any) -> bool:
    """Equal in type and value, numbers to 1e-9 of their size."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(_close, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(_close(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9)
    return type(ours) is type(theirs) and ours == theirs


def _plain(golden: Any) -> Any:
    """A golden value in our form: bytes as hex, tensors missing (I12: the Inspector has zeros)."""
    match golden:
        case {"$tensor": tensor}:
            if 0 in tensor["shape"]:
                return tensor
            form = {"dtype": tensor["dtype"], "shape": tensor["shape"]}
            return form | {"sha256": None, "missing": "no debug buffer"}
        case {"$list": values}:
            return [_plain(value) for value in values]
        case {"$bytes": text}:
            return text
        case list():
            return [_plain(value) for value in golden]
    return golden


def _last_of_each_run(event: Json) -> Json:
    last = [end - 1 for end in itertools.accumulate(event["samples_per_run"])]
    parallel = ("raw", "start_time", "raw_delegate_debug_metadatas")
    return event | {key: [event[key][i] for i in last if event[key]] for key in parallel}


def _scaled_before_subtracting(event: Json) -> Json:
    readings = zip(event["start_time"], event["raw"], strict=True)
    raw = [
        (start + round(duration * TICKS_PER_MS)) / TICKS_PER_MS - start / TICKS_PER_MS
        for start, duration in readings
    ]
    return event | {"raw": raw}


def _as_the_inspector_errs(name: str, event: Json) -> Json:
    if not event["raw"]:
        return event
    if name in REPEATING and "samples_per_run" in event:
        event = _last_of_each_run(event)
    if name in NOISY and event["is_delegated_op"]:
        event = _scaled_before_subtracting(event)
    raw = event["raw"]
    numbers = (*np.percentile(raw, [10, 50, 90]).tolist(), float(np.mean(raw)), min(raw), max(raw))
    return event | dict(zip(STATISTICS, numbers, strict=True))


def _differing_keys(ours: Json, theirs: Json) -> set[str]:
    keys = theirs.keys() & ours.keys() - {"events"}
    return {key for key in keys if not _close(ours[key], _plain(theirs[key]))}


def _expected_differences(name: str, event: Json) -> set[str]:
    keys: set[str] = set()
    if event["name"] in DIFFERENT_SAMPLES.get(name, {}):
        keys |= {"raw", "start_time", *STATISTICS}
    if event["instruction_id"] in DIFFERENT_VALUES.get(name, {}):
        keys |= {"debug_data"}
    return keys


@pytest.mark.parametrize("name", ANSWERED)
def test_every_block_and_event_equals_the_inspectors(name):
    for ours, theirs in zip(_json(name), _answer(name)["event_blocks"], strict=True):
        assert not _differing_keys(ours, theirs)
        for event, golden in zip(ours["events"], theirs["events"], strict=True):
            if name in REPEATING | NOISY:
                event = _as_the_inspector_errs(name, event)
            assert _differing_keys(event, golden) <= _expected_differences(name, event), event


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_each_file_on_the_list_of_differences_does_differ(name):
    pairs = [
        (event, golden)
        for ours, theirs in zip(_json(name), _answer(name)["event_blocks"], strict=True)
        for event, golden in zip(ours["events"], theirs["events"], strict=True)
    ]
    assert any(_differing_keys(event, golden) for event, golden in pairs)


@pytest.mark.parametrize("name", ANSWERED)
def test_an_event_without_profile_events_has_no_numbers(name):
    for ours, theirs in zip(_json(name), _answer(name)["event_blocks"], strict=True):
        for event, golden in zip(ours["events"], theirs["events"], strict=True):
            assert (event["raw"] is None) == ("raw" not in golden)


@pytest.mark.parametrize("name", BARE)
def test_a_bare_dump_has_the_blocks_of_its_size_prefixed_twin(name):
    assert str(_json(name)) == str(_json(name.removesuffix(".noprefix")))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_size_prefix_that_lies_is_refused(name):
    batch = decode_dumps([read_dump(name)])
    assert batch.errors["reason"].to_pylist() == ["bad_size_prefix"]
