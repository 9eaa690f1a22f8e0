"""ETRecords and torch.save archives made by hand."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.corpus import CORPUS

MODELS = CORPUS / "models"
EDGE = "edge_dialect_exported_program"


def build_zip(members: Mapping[str, object], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of these members; values other than bytes become JSON."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            archive.writestr(name, data)
    return file.getvalue()


def build_etrecord(**members: object) -> bytes:
    """An ETRecord of these members; ``__`` in a name stands for ``/``."""
    named = {name.replace("__", "/"): content for name, content in members.items()}
    return build_zip({"ETRECORD_V0": b"", **named})


def build_program(*nodes: dict[str, object], **graph: object) -> dict[str, object]:
    """A serialized program whose graph has these nodes."""
    empty: dict[str, object] = {
        "inputs": [], "outputs": [], "tensor_values": {}, "sym_int_values": {},
    }  # fmt: skip
    return {"graph_module": {"graph": empty | {"nodes": list(nodes)} | graph}}


def node(
    name: str, target: str = "torch.ops.aten.relu.default", **metadata: str
) -> dict[str, object]:
    """A serialized node without arguments."""
    return {
        "name": name, "target": target, "inputs": [], "outputs": [], "metadata": metadata,
    }  # fmt: skip


def build_torch_archive(pickle: bytes, **storages: bytes) -> bytes:
    """A file of torch.save, around a pickle."""
    data = {f"archive/data/{key}": storage for key, storage in storages.items()}
    return build_zip({"archive/data.pkl": pickle, "archive/byteorder": b"little", **data})


def read_members(path: Path) -> dict[str, bytes]:
    """The members of a zip."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
