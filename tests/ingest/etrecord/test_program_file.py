"""Program files are read without ExecuTorch; damaged ones are refused."""

from __future__ import annotations

import pytest

from ingest.errors import SourceError
from ingest.etrecord.program_file import decode_program
from tests.support.corpus import CORPUS

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
