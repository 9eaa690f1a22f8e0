"""The attributes of devices, builds, models, clocks and environments that a manifest may state.

A line here makes the short name of a manifest field, its command-line option, its column in stores
and lakes, and its part in the identity of a device or model. The field itself is defined in
`ingest.manifest.models`; a column also needs a migration and a line in the view `named_dumps`.
The module imports nothing heavy, because the help of commands needs it.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import NamedTuple


class Attribute(NamedTuple):
    """An attribute of a section of the manifest.

    Attributes:
        doc: Its meaning: the comment of its column and the help of its option.
        metavar: Placeholder of its option's value; "" without an option.
        type: Type of its values.
    """

    doc: str
    metavar: str = "NAME"
    type: type[str | int | float | datetime] = str


# The first attribute of a device, build or model is its name, which must be stated. New attributes
# go to the end, where they leave the ids of lakes as they are.
DEVICE = {
    "name": Attribute("Name of the device."),
    "pool": Attribute("Pool that the device belongs to."),
    "os": Attribute("Operating system of the device."),
    "os_version": Attribute("Version of the operating system.", "TEXT"),
    "arch": Attribute("Architecture of the processor."),
    "soc": Attribute("System on chip or processor."),
}
BUILD = {
    "id": Attribute("Id of the build; unique.", "ID"),
    "commit": Attribute("Source revision of the build.", "TEXT"),
    "branch": Attribute("Branch of the build."),
    "committed_at": Attribute(
        "Commit time of the build, ISO 8601; the earliest that a dump states.", "TIME", datetime
    ),
    "ordinal": Attribute(
        "Position of the build, where its producer numbers builds.", "NUMBER", int
    ),
    "parent": Attribute(
        "Id of the build that it was made from, or that its branch forked from.", "ID"
    ),
    "role": Attribute(
        "'reference' for a pinned build that is recorded with others, 'adhoc' for a trial.",
        "reference|adhoc",
    ),
}
MODEL = {
    "name": Attribute("Name of the model."),
    "backend": Attribute("Backend that the model is lowered to."),
    "quantization": Attribute("Quantization of the model.", "TEXT"),
}
CLOCK = {
    "unit": Attribute("Unit of the dump's clock; ns if nothing states it.", "ns|us|ms|s|cycles"),
    "ticks_per_second": Attribute("Rate of a clock whose unit is cycles.", "NUMBER", float),
}
ENVIRONMENT = {
    "session": Attribute("Session of interleaved recordings.", ""),
    "pair": Attribute("Pair of recordings in the session, one of each build.", ""),
    "firmware": Attribute("Firmware of the device.", ""),
    "governor": Attribute("Governor of the processor's frequency.", ""),
    "threads": Attribute("Threads that are available.", "", int),
    "temperature_c": Attribute("Temperature of the device in degrees Celsius.", "", float),
}
DUMP = {
    "method": Attribute("Method of the program that ran, if it has several."),
    "captured_at": Attribute("Time of recording, ISO 8601.", "TIME", datetime),
}
SECTIONS = {
    "device": DEVICE,
    "build": BUILD,
    "model": MODEL,
    "": DUMP,
    "clock": CLOCK,
    "run": ENVIRONMENT,
}


def short_name(section: str, name: str) -> str:
    """The name without a section: for options, layouts and the top level of a manifest file.

    >>> short_name("device", "name"), short_name("device", "os")
    ('device', 'os')
    """
    return section if name in ("name", "id", "unit") else name


def compose(name: str) -> str:
    """A name as manifests, stores and filters spell it: in Unicode's composed form (NFC).

    macOS and some input methods decompose letters with accents, so that one name has two spellings.

    >>> compose("Bu\u0308ro") == "B\u00fcro"
    True
    """
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def dimension_columns(kind: str) -> tuple[str, ...]:
    """The columns of devices, builds or models, by singular name, without the number."""
    return tuple("name" if name == "id" else name for name in SECTIONS[kind])
