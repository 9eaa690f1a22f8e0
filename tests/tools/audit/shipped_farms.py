"""Dumps that ship with the project: a device's two builds, its nights, and the corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from zipfile import ZipFile

from tests.support.corpus import CORPUS, FARM, dump_names, read_dump
from tests.support.reference_reader import is_well_formed
from tests.tools.audit.farms import Farm, farm, manifest


@farm
def widened() -> Farm:
    """Real dumps of two builds, one of which has a feed-forward layer that is 6.25 % wider."""
    made = Farm("widened", is_quick=False)
    for build in ("base", "f136"):
        with ZipFile(FARM / "lab-x86-quiet-ab" / f"{build}.zip") as archive:
            files = {name: archive.read(name) for name in sorted(archive.namelist())}
            _add_all(made, files, "txf-portable/")
    return made


@farm
def nights() -> Farm:
    """Real dumps of two nights, in which nothing changed."""
    made = Farm("nights", is_quick=False)
    folder = FARM / "lab-x86-quiet"
    paths = [path for path in sorted(folder.glob("qt*/conv-xnnpack/*")) if path.is_file()]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    for part in sorted({str(path.parent.relative_to(folder)) for path in paths}):
        _add_all(made, files, f"{part}/")
    return made


def _add_all(made: Farm, files: Mapping[str, bytes], folder: str) -> None:
    common = json.loads(files[f"{folder}manifest.json"])
    for name, data in files.items():
        if name.startswith(folder) and name.endswith(".etdp"):
            own = json.loads(files[f"{name.removesuffix('.etdp')}.json"])
            made.add(data, common | own)


@farm
def programs() -> Farm:
    """Real dumps with the ETRecord of their program; one program under two backends' names."""
    made = Farm("programs", is_quick=False)
    for place, (dump, record, backend) in enumerate(
        (
            ("mixed_xnnpack_n20", "mixed_xnnpack", "xnnpack"),
            ("mixed_xnnpack_n20_debug", "mixed_xnnpack", "again"),
            ("cnn_xnnpack_n20", "cnn_xnnpack", "xnnpack"),
            ("multiout_portable_n3", "multiout_portable", "portable"),
        )
    ):
        stated = manifest("host", "old", record.split("_")[0], backend, hour=place)
        made.add(read_dump(f"real/{dump}"), stated)
        made.etrecords[place] = CORPUS / "models" / f"{record}.etrecord"
    return made


@farm
def corpus() -> Farm:
    """Every well-formed dump of the corpus, each a model of its own."""
    made = Farm("corpus", is_quick=False)
    known: set[bytes] = set()
    for hour, name in enumerate(dump_names("real", "capi", "synthetic", "upstream")):
        data = read_dump(name)
        if data not in known and is_well_formed(data):
            known.add(data)
            backend = "xnnpack" if "xnnpack" in name else None
            made.add(data, manifest("host", name.split("/")[0], name, backend, hour=hour))
    return made
