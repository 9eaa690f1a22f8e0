"""A stand-in for ExecuTorch in later processes, and programs that control it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.support.corpus import CORPUS

VERSION = "1.5.1"


def install_stand_in(folder: Path) -> Path:
    """A folder for PYTHONPATH from which executorch and torch are imported."""
    kernels = folder / "executorch" / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "quantized.py").touch()
    shutil.copy(Path(__file__).with_name("stand_in_runtime.py"), kernels.parent / "runtime.py")
    (folder / "torch.py").write_text("def from_numpy(array):\n    return array\n")
    facts = folder / f"executorch-{VERSION}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Name: executorch\nVersion: {VERSION}\n")
    return folder


def write_program(
    path: Path,
    *,
    dump: str = "real/cnn_xnnpack_n20",
    dumps: Path | None = None,
    inputs: tuple[str, ...] = (),
    log: tuple[str, ...] = (),
    fails: str = "",
    aborts: bool = False,
) -> Path:
    """A file like a program, which makes the stand-in write this dump, or fail in this way.

    With a folder of `dumps`, every run moves one out, in order of their names; then it fails.
    """
    plan = {
        "dump": str(dumps or CORPUS / f"{dump}.etdp"),
        "inputs": inputs,
        "log": log,
        "fails": fails,
        "aborts": aborts,
    }
    path.write_bytes(b"\0\0\0\0ET12" + json.dumps(plan).encode())
    return path
