from __future__ import annotations

import json
import pickle
import zipfile

import numpy as np
import pytest

from tests.support.etrecord_builder import MODELS, build_torch_archive, build_zip
from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.ingest.errors import EtRecordError
from tracehouse.ingest.etrecord.torch_archive import read_torch_archive

TENSOR = b"ctorch._utils\n_rebuild_tensor_v2\n"
EIGHT_FLOATS = np.arange(8, dtype="<f4").tobytes()


def plain(value: object) -> bytes:
    """The opcodes that push a plain value."""
    return pickle.dumps(value, protocol=2)[2:-1]


def tensor(offset, sizes, strides, *, kind="FloatStorage", key="0", count=8, rest=(False, None)):
    """The opcodes of a tensor."""
    storage = b"(" + plain("storage") + f"ctorch\n{kind}\n".encode() + plain(key)
    storage += plain("cpu") + plain(count) + b"tQ"
    values = b"".join(map(plain, (offset, sizes, strides, *rest)))
    return TENSOR + b"(" + storage + values + b"tR"


def read(opcodes: bytes, **storages: bytes) -> object:
    return read_torch_archive(build_torch_archive(b"\x80\x02" + opcodes + b".", **storages), "x")


def refusal(opcodes: bytes, **storages: bytes) -> str:
    with pytest.raises(EtRecordError) as caught:
        read(opcodes, **storages)
    return str(caught.value)


def as_json(value: object) -> object:
    if isinstance(value, TensorValue):
        assert value.array is not None
        return {
            "dtype": value.dtype,
            "shape": value.shape,
            "sha256": value.sha256,
            "values": value.array.astype(np.float64).ravel().tolist(),
        }
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list | tuple) else value


def test_values_are_those_that_torch_load_gives():
    golden = json.loads((MODELS / "values.golden.json").read_text())
    assert as_json(read_torch_archive((MODELS / "values.pt").read_bytes(), "x")) == golden


def test_state_dict_is_a_dict_of_tensors():
    with zipfile.ZipFile(MODELS / "dyn_portable_bundled.etrecord") as archive:
        value = read_torch_archive(archive.read("exported_program_state_dict"), "x")
    assert {name: weight.shape for name, weight in value.items()} == {
        "l1.weight": [16, 8], "l1.bias": [16], "l2.weight": [3, 16], "l2.bias": [3],
    }  # fmt: skip


def test_strides_and_offset_are_honoured():
    value = read(tensor(1, (2, 3), (1, 2)), **{"0": EIGHT_FLOATS})
    assert value.array.tolist() == [[1, 3, 5], [2, 4, 6]]


def test_function_that_a_pickle_would_call_is_refused_and_not_called(tmp_path):
    target = tmp_path / "made"
    call = b"cos\nmkdir\n" + plain((str(target),)) + b"R"
    message = refusal(call)
    assert message.startswith("x!archive/data.pkl: refers to os.mkdir; wanted plain values")
    assert not target.exists()
    pickle.loads(b"\x80\x02" + call + b".")  # noqa: S301
    assert target.exists()
    assert "refers to os.mkdir" in refusal(b"ctorch\nFloatStorage\ncos\nmkdir\n")


def test_known_function_with_other_arguments_is_refused():
    for arguments in ((), (1,), ("storage", 0, (2,), (1,), False, None), (1,) * 9):
        assert "calls something other than a function" in refusal(TENSOR + plain(arguments) + b"R")
    assert "calls something other than a function" in refusal(plain("text") + plain(()) + b"R")
    assert "calls something other than a function" in refusal(
        tensor(0, (2,), (1,), rest=(False, None, {"neg": True})), **{"0": EIGHT_FLOATS}
    )


@pytest.mark.parametrize(
    ("offset", "sizes", "strides"),
    [
        (0, (9,), (1,)),
        (8, (1,), (1,)),
        (-1, (2,), (1,)),
        (0, (2, 2), (1,)),
        (0, (-1,), (1,)),
        (7, (2,), (-1,)),
        (0, (2,), (2**70,)),
        (2**70, (2,), (1,)),
        (0, (2**62, 2**62), (0, 0)),
        (0, (1 << 30,), (0,)),
        (0, (1,) * 100, (1,) * 100),
    ],
)
def test_tensor_that_leaves_its_storage_is_refused(offset, sizes, strides):
    message = refusal(tensor(offset, sizes, strides), **{"0": EIGHT_FLOATS})
    assert "does not fit into its storage (32 bytes of float32)" in message
    assert len(message) < 400


def test_a_tensor_storage_must_exist_with_the_stated_length():
    assert "has no member archive/data/0" in refusal(tensor(0, (2,), (1,)))
    short = refusal(tensor(0, (2,), (1,), count=9), **{"0": EIGHT_FLOATS})
    assert "storage 0 has 32 bytes, wanted 36" in short
    assert "refers to an external object" in refusal(plain(("module", 1)) + b"Q")


@pytest.mark.parametrize("kind", ["ComplexFloatStorage", "QInt8Storage"])
def test_elements_of_other_types_are_refused(kind):
    assert f"refers to torch.{kind}" in refusal(tensor(0, (2,), (1,), kind=kind))


@pytest.mark.parametrize(
    "opcodes",
    [
        b"",
        b"K\x01K\x02",
        b"t",
        b"a",
        b"K\x01a",
        b"]a",
        b"}K\x01s",
        b"K\x01}(K\x01u",
        b"}" + plain((1,)) + b"K\x01s",
        b"h\x05",
        b"q\x05",
        b"(",
        b"K",
        b"X\xff\xff\xff\x7fabc",
        b"X\x03\x00\x00\x00\xed\xa0\x80",
        b"}b",
        b"\x8ax",
        b"I1\n",
        b"\xff",
        b"cos\nsystem\n",
        b"\x8c\x02os\x8c\x06system\x93",
        b"(ios\nsystem\n",
        b"\x82\x01",
        b"Pstorage\n",
    ],
)
def test_unsupported_or_broken_pickle_opcodes_are_refused(opcodes):
    assert refusal(opcodes).endswith(
        "; wanted plain values and dense tensors, as torch.save writes them"
    )


def test_a_file_that_is_no_archive_is_refused():
    for data in (b"", b"\x80\x02N.", pickle.dumps([1])):
        with pytest.raises(EtRecordError, match="x: is not a zip of"):
            read_torch_archive(data, "x")
    with pytest.raises(EtRecordError, match="x: has 0 pickles"):
        read_torch_archive(build_zip({"a": b""}), "x")
    big = build_zip({"a/data.pkl": b"\x80\x02N.", "a/byteorder": b"big"})
    with pytest.raises(EtRecordError, match="big-endian"):
        read_torch_archive(big, "x")
