from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.support.stores import MANIFEST
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.inbox.records import Damage, Scan, pack_delivery, read_record, scan_log

KEY, OTHER = b"the key!", b"another!"
STATED = Manifest.model_validate(MANIFEST)


def record(data: bytes = b"dump", key: bytes = KEY, **more: bytes) -> bytes:
    delivery = pack_delivery(Dump.of_bytes("a.etdp", data, STATED, **more))
    return b"".join([delivery.head(key), *delivery.files])


def scan(folder: Path, data: bytes) -> Scan:
    path = folder / "log"
    path.write_bytes(data)
    with open(path, "rb") as file:
        return scan_log(file.fileno(), KEY)


def test_a_record_that_was_written_into_another_log_is_damage(tmp_path: Path) -> None:
    found = scan(tmp_path, record(b"a", OTHER) + record(b"b"))
    assert found.offsets == [len(record(b"a", OTHER))]
    assert [one.byte_count for one in found.damages] == [len(record(b"a", OTHER))]


def test_a_record_gives_back_what_was_packed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before" + record(b"dump", etrecord=b"", debug_buffer=b"values"))
    with open(path, "rb") as file:
        found = read_record(file.fileno(), 6, KEY)
        assert found is not None
        assert found.dump.name == "a.etdp"
        assert found.etrecord is not None  # empty, but there
        assert found.debug_buffer is not None
        assert os.pread(file.fileno(), 6, found.debug_buffer.offset) == b"values"
        assert (found.manifest, found.end) == (STATED.canonical_json(), path.stat().st_size)


def test_a_record_without_companions_has_none(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(record())
    with open(path, "rb") as file:
        found = read_record(file.fileno(), 0, KEY)
    assert found is not None
    assert (found.etrecord, found.debug_buffer) == (None, None)


def test_a_dump_that_holds_a_record_of_another_key_is_a_dump(tmp_path: Path) -> None:
    forged = record(b"forged", OTHER)
    damaged = bytearray(record(b"x" + forged * 3))
    damaged[-1] ^= 1
    found = scan(tmp_path, bytes(damaged) + record(b"next"))
    assert found.offsets == [len(damaged)]
    assert [one.byte_count for one in found.damages] == [len(damaged)]


def test_the_end_of_a_killed_process_is_torn(tmp_path: Path) -> None:
    whole, last = record(), record(b"last")
    for torn in (last[:3], last[:50], last[:-1], bytes(5000)):
        found = scan(tmp_path, whole + torn)
        assert found.offsets == [0]
        ((offset, byte_count, _, is_torn),) = found.damages
        assert (offset, byte_count, is_torn) == (len(whole), len(torn), True)


def test_damage_in_the_middle_costs_no_other_record(tmp_path: Path) -> None:
    whole = record()
    middle = len(whole) + 20  # in the header of the second of three
    data = bytearray(whole * 3)
    data[middle : middle + 4] = bytes(4)
    found = scan(tmp_path, bytes(data))
    assert found.offsets == [0, 2 * len(whole)]
    assert found.damages == [
        Damage(len(whole), len(whole), "a record was overwritten", is_torn=False)
    ]


def test_bytes_gone_from_a_record_cost_no_other(tmp_path: Path) -> None:
    whole = record(b"long" * 99)
    found = scan(tmp_path, whole + whole[:-40] + whole)
    assert found.offsets == [0, 2 * len(whole) - 40]
    assert "SHA-256" in found.damages[0].problem


WHOLE = [record(bytes([number]) * number) for number in range(9)]
EDGES = [sum(map(len, WHOLE[:number])) for number in range(10)]


@given(start=st.integers(0, EDGES[-1] - 1), length=st.integers(1, 300), value=st.binary(max_size=9))
def test_overwriting_bytes_loses_only_the_records_that_held_them(
    tmp_path_factory, start: int, length: int, value: bytes
) -> None:
    data = bytearray(b"".join(WHOLE))
    end = min(start + length, len(data))
    data[start:end] = (value * 300 or bytes(300))[: end - start].ljust(end - start, b"\0")
    is_same = [data[a:b] == one for a, b, one in zip(EDGES, EDGES[1:], WHOLE, strict=False)]
    found = scan(tmp_path_factory.getbasetemp(), bytes(data))
    assert found.offsets == [EDGES[i] for i, same in enumerate(is_same) if same]
    accounted = sum(one.byte_count for one in found.damages)
    assert accounted == sum(len(WHOLE[i]) for i, same in enumerate(is_same) if not same)
