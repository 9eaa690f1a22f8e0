"""Program files are read without ExecuTorch; damaged ones are refused."""

from __future__ import annotations

import struct

import pytest

from tests.support.bounded_memory import run_alone
from tests.support.corpus import CORPUS
from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.etrecord.differences import decode_program

PROGRAMS = CORPUS.parent / "programs"


def read(name):
    return (PROGRAMS / name).read_bytes()


def test_a_program_on_portable_kernels():
    program = decode_program(read("portable.pte"), "a.pte")
    [method] = program.methods
    assert (program.byte_count, method.name) == (3424, "forward")
    assert method.kernels == [
        "aten::permute_copy.out float32[8, 16]",
        "aten::addmm.out float32[1, 16]",
        "aten::relu.out float32[1, 16]",
        "aten::permute_copy.out float32[16, 4]",
        "aten::addmm.out float32[1, 4]",
        "aten::mul.out float32[1, 4]",
        "aten::sigmoid.out float32[1, 4]",
    ]
    assert method.constants == [
        *("float32[16, 8]", "float32[16]", "float32[4, 16]", "float32[4]", "float32[4]")
    ]
    # Each constant is aligned to 16 bytes: 512 + 64 + 256 + 16 + 16.
    assert [one.byte_count for one in program.constants] == [864, 0]
    assert method.planned_bytes == [608]


def test_a_program_that_is_lowered_to_a_delegate():
    program = decode_program(read("xnnpack.pte"), "a.pte")
    [method] = program.methods
    assert (method.kernels, method.delegate_calls) == ([], [0])
    assert [(one.name, one.byte_count) for one in method.delegates] == [("XnnpackBackend", 1456)]
    assert program.constants[1].byte_count == 848  # the weights: 512 + 64 + 256 + 16


def problems(contents):
    """What is said of those that are refused."""
    for content in contents:
        try:
            decode_program(content, "x")
        except SourceError as error:
            yield str(error)


@pytest.mark.parametrize("name", ["portable.pte", "xnnpack.pte"])
def test_damaged_programs_are_read_or_refused(name):
    content = read(name)
    cut = (content[:size] for size in range(0, len(content), 7))
    wrong = (
        b"".join((content[:place], bytes([content[place] ^ 255]), content[place + 1 :]))
        for place in range(8, len(content), 5)
    )
    refused = [*problems(cut), *problems(wrong)]
    assert len(refused) > 100
    assert all(text.startswith("x: is ") for text in refused)


def test_a_file_that_is_no_program_is_refused():
    with pytest.raises(SourceError, match=r"^x: is not an ExecuTorch program"):
        decode_program(b"PK\3\4" * 9, "x")


class Layout:
    """A program file laid out by hand: tables refer to later ones by offsets set afterwards."""

    def __init__(self):
        self.data = bytearray(8) + bytearray(b"\0" * 24)
        self.data[4:8] = b"ET12"

    def table(self, **fields):
        """Append a table with its vtable; fields are numbered, of 8 bytes each; returns them."""
        numbers = {int(name[1:]): value for name, value in fields.items()}
        count = max(numbers) + 1
        vtable, start = len(self.data), len(self.data) + 4 + 2 * count
        start += -start % 8
        entries = [8 * (1 + number) if number in numbers else 0 for number in range(count)]
        self.data += struct.pack(f"<HH{count}H", 4 + 2 * count, 8 * (2 + count), *entries)
        self.data += bytes(start - len(self.data)) + bytes(8 * (2 + count))
        struct.pack_into("<i", self.data, start, start - vtable)
        for number, value in numbers.items():
            struct.pack_into("<q", self.data, start + 8 * (1 + number), value)
        return {"at": start, **{number: start + 8 * (1 + number) for number in numbers}}

    def vector(self, items, form="I"):
        at = len(self.data)
        self.data += struct.pack(f"<I{len(items)}{form}", len(items), *items)
        self.data += bytes(-len(self.data) % 8)
        return at

    def point(self, place, target):
        struct.pack_into("<I", self.data, place, target - place)

    def pointers(self, count):
        """A vector of so many offsets to one table, which `aim` sets."""
        return self.vector([0] * count), count

    def aim(self, vector, target):
        at, count = vector
        places = range(at + 4, at + 4 + 4 * count, 4)
        struct.pack_into(f"<{count}I", self.data, at + 4, *(target - place for place in places))


def plan_of(count, field, **fields):
    """A program of one method with a vector of so many offsets to the same table."""
    layout = Layout()
    root = layout.table(f1=0, f3=0)
    layout.point(0, root["at"])
    data = layout.pointers(1)
    layout.point(root[3], data[0])
    inline = layout.table(f0=0)
    layout.aim(data, inline["at"])
    layout.point(inline[0], layout.vector(bytes(4 * count), "B"))
    plans = layout.pointers(1)
    layout.point(root[1], plans[0])
    plan = layout.table(**{f"f{field}": 0})
    layout.aim(plans, plan["at"])
    items = layout.pointers(count)
    layout.point(plan[field], items[0])
    item = layout.table(**fields)
    layout.aim(items, item["at"])
    return layout, item


def shared_tensor(count):
    layout, value = plan_of(count, 2, f0=5, f1=0)
    tensor = layout.table(f0=6, f2=0)
    layout.point(value[1], tensor["at"])
    layout.point(tensor[2], layout.vector([7] * count))
    return layout.data


def shared_operator(count):
    layout, operator = plan_of(count, 6, f0=0, f1=0)
    layout.point(operator[0], layout.vector(b"x" * 4 * count, "B"))
    return layout.data


def shared_data(count):
    layout, delegate = plan_of(count, 7, f0=0, f1=0)
    layout.point(delegate[0], layout.vector(b"name", "B"))
    layout.point(delegate[1], layout.table(f0=0, f1=0)["at"])
    return layout.data


def shared_plan(count):
    layout = Layout()
    root = layout.table(f1=0)
    layout.point(0, root["at"])
    plans = layout.pointers(count)
    layout.point(root[1], plans[0])
    plan = layout.table(f8=0)
    layout.aim(plans, plan["at"])
    layout.point(plan[8], layout.vector([1] * count, "q"))
    return layout.data


ATTACKS = [shared_tensor, shared_operator, shared_data, shared_plan]


@pytest.mark.parametrize("attack", ATTACKS)
def test_repeated_references_in_a_program_count_towards_its_limit(attack):
    assert decode_program(bytes(attack(10)), "x").methods
    with pytest.raises(SourceError, match=r"would take more than 1\d,\d+,\d+ bytes"):
        decode_program(bytes(attack(10_000)), "x")


MEASURED = """
from pathlib import Path
from tracehouse.ingest.etrecord.differences import decode_program
from tracehouse.ingest.errors import SourceError
def run(path):
    try:
        decode_program(Path(path).read_bytes(), "x")
    except SourceError as error:
        return str(error)
"""


@pytest.mark.system
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_program_takes_memory_in_proportion_to_its_size(tmp_path, attack):
    (tmp_path / "x.pte").write_bytes(attack(100_000))
    cost = run_alone(MEASURED, str(tmp_path / "x.pte"))
    assert "would take more than" in cost.answer
    assert cost.grown_bytes < 150 << 20


def test_data_outside_of_the_file_is_refused():
    content = bytearray(read("xnnpack.pte"))
    allowed = decode_program(bytes(content), "x")
    [delegate] = allowed.methods[0].delegates
    size = struct.pack("<Q", delegate.byte_count)
    for place in (at for at in range(0, len(content), 4) if content[at : at + 8] == size):
        content[place : place + 8] = struct.pack("<Q", 1 << 40)
    with pytest.raises(SourceError, match=r"^x: is a damaged .*: data ends at byte 1,099,51\d,"):
        decode_program(bytes(content), "x")
