"""What an ingest knows of a file before it is in the store."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ingest.manifest import Build, Device, Manifest, Model

if TYPE_CHECKING:
    from warehouse.programs import Program

DEVICE_COLUMNS = tuple(Device.model_fields)
MODEL_COLUMNS = tuple(Model.model_fields)
BUILD_COLUMNS = tuple(Build.model_fields)


class ManifestFacts(NamedTuple):
    """What the store keeps of a manifest.

    Attributes:
        text: The manifest as canonical JSON.
        device: Values of DEVICE_COLUMNS.
        build: Values of BUILD_COLUMNS.
        model: Values of MODEL_COLUMNS.
        backend: Backend of the model; None if not stated.
        captured_at: Time of recording; None if unknown.
        tick_unit: Unit of a tick.
        ns_per_tick: Nanoseconds per tick; None for cycles of unknown rate.
        delegate_ns_per_tick: The same of delegate events.
    """

    text: str
    device: tuple[str | None, ...]
    build: tuple[object, ...]
    model: tuple[str | None, ...]
    backend: str | None
    captured_at: datetime | None
    tick_unit: str
    ns_per_tick: float | None
    delegate_ns_per_tick: float | None

    @classmethod
    def of(cls, manifest: Manifest) -> ManifestFacts:
        """Those of a manifest."""
        device, build, model, clock = (
            manifest.device, manifest.build, manifest.model, manifest.clock,
        )  # fmt: skip
        return cls(
            text=manifest.canonical_json(),
            device=tuple(getattr(device, name) for name in DEVICE_COLUMNS),
            build=tuple(getattr(build, name) for name in BUILD_COLUMNS),
            model=tuple(getattr(model, name) for name in MODEL_COLUMNS),
            backend=model.backend,
            captured_at=manifest.captured_at,
            tick_unit=clock.unit,
            ns_per_tick=clock.ns_per_tick,
            delegate_ns_per_tick=clock.delegate_ns_per_tick(model.backend),
        )


class LoggedBuffer(NamedTuple):
    """A debug buffer and the SHA-256 of its bytes."""

    data: bytes | memoryview
    sha256: str


class NewDump(NamedTuple):
    """What the store keeps of a dump besides its content; and the files that came with it."""

    source: str
    sha256: str
    manifest: ManifestFacts
    program: Program | None = None
    debug_buffer: LoggedBuffer | None = None


class Refusal(NamedTuple):
    """A file that was refused: which, why (machine-readable), where in it, and in words."""

    source: str
    sha256: str | None
    reason: str
    byte_offset: int | None
    detail: str
