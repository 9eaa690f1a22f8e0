"""The attributes of devices, builds, models, clocks and environments that a manifest may state.

One line here makes a manifest field with its short name, a command-line option, a column of the
store and of lakes, and a part of what identifies a device or model. `ingest.manifest.models`
validates the values. Nothing is imported, because every command needs the options for its help.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class Attribute(NamedTuple):
    """An attribute of a section of the manifest.

    Attributes:
        doc: Its meaning: the comment of its column and the help of its option.
        metavar: What its option takes; "" without an option.
        type: Type of its values.
    """

    doc: str
    metavar: str = "NAME"
    type: type[str | int | float | datetime] = str


# The first attribute of a device, build or model is its name, which must be stated. New attributes
# go to the end, where they leave the ids of lakes as they are.
DEVICE = {
    "name": Attribute("Name of the device."),
    "pool": Attribute("Device pool it belongs to."),
    "os": Attribute("Operating system."),
    "os_version": Attribute("Version of the operating system.", "TEXT"),
    "arch": Attribute("Processor architecture."),
    "soc": Attribute("System on chip or processor."),
}
BUILD = {
    "id": Attribute("Id of the build; unique.", "ID"),
    "commit": Attribute("Source revision it was built from.", "TEXT"),
    "branch": Attribute("Branch it was built from."),
    "committed_at": Attribute(
        "Commit time, ISO 8601; the earliest that any dump states.", "TIME", datetime
    ),
    "ordinal": Attribute("Position among builds, where the producer numbers them.", "NUMBER", int),
    "parent": Attribute("Id of the build it was made from, or of its fork point.", "ID"),
    "role": Attribute("'reference' for a pinned build recorded beside others.", "reference"),
}
MODEL = {
    "name": Attribute("Name of the model."),
    "backend": Attribute("Backend it is lowered to."),
    "quantization": Attribute("Quantization scheme.", "TEXT"),
}
CLOCK = {
    "unit": Attribute("Unit of the dump's clock; ns if nothing states it.", "ns|us|ms|s|cycles"),
    "ticks_per_second": Attribute("Rate of a clock in cycles.", "NUMBER", float),
}
ENVIRONMENT = {
    "session": Attribute("Session of interleaved recordings.", ""),
    "pair": Attribute("Pair of recordings, one of either build, in the session.", ""),
    "firmware": Attribute("Firmware of the device.", ""),
    "governor": Attribute("What sets the processor's frequency.", ""),
    "threads": Attribute("Threads there are to run on.", "", int),
    "temperature_c": Attribute("Temperature of the device in degrees Celsius.", "", float),
}
DUMP = {
    "method": Attribute("Method of the program that was run, if it has several."),
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
    """The name that needs no section: in options, layouts and at the top of a manifest file.

    >>> short_name("device", "name"), short_name("device", "os")
    ('device', 'os')
    """
    return section if name in ("name", "id", "unit") else name


def dimension_columns(kind: str) -> tuple[str, ...]:
    """The columns of devices, builds or models, by singular name, without the number."""
    return tuple("name" if name == "id" else name for name in SECTIONS[kind])
