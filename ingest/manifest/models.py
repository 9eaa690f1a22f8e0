"""The models of a manifest: what may stand in it, and how long it may be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    model_validator,
)
from pydantic_core import from_json

from ingest.manifest.fields import FullShape, flatten, nest

MAX_NAME_LETTERS = 1_000
MAX_TAGS_LETTERS = 64 << 10  # as JSON; each dump keeps its copy
MAX_DELEGATE_CLOCKS = 100
MAX_COUNTERS_LETTERS = 64 << 10  # as JSON; each dump keeps its copy

_NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=datetime.isoformat
)


def _parse_time(value: object) -> datetime:
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("wanted an ISO 8601 time, e.g. 2026-11-21T08:12:51Z") from None


def _write_out(value: object) -> object:
    """A whole number as text; others are no names, for 14.10 comes out of JSON as 14.1."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_name(text: str) -> str:
    if "\0" in text:
        raise ValueError("wanted a text without NUL")
    return text


def _check_tags(tags: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        text = _CANONICAL.encode(tags)
        text.encode()
    except RecursionError:
        raise ValueError("wanted values that are not nested so deeply") from None
    except ValueError as error:  # half a surrogate pair, an integer of too many digits
        raise ValueError(f"wanted what JSON can hold ({error})") from None
    if len(text) > MAX_TAGS_LETTERS:
        raise ValueError(
            f"wanted at most {MAX_TAGS_LETTERS:,} letters as JSON, these take {len(text):,}"
        )
    return tags


def _parse_counters(value: object) -> object:
    """A list that was written as text, as in ``--set``; what is none is told by its type."""
    try:
        return from_json(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _check_counters(counters: list[Counter] | None) -> list[Counter] | None:
    # In order, and None without any, so that equal manifests are equal texts.
    counters = sorted(counters or (), key=lambda counter: counter.name)
    if len({counter.name for counter in counters}) < len(counters):
        raise ValueError("wanted each name once")
    taken = len(_CANONICAL.encode([counter.model_dump() for counter in counters]))
    if taken > MAX_COUNTERS_LETTERS:
        raise ValueError(
            f"wanted at most {MAX_COUNTERS_LETTERS:,} letters as JSON, these take {taken:,}"
        )
    return counters or None


def _check_backends(rates: dict[str, Rate]) -> dict[str, Rate]:
    for name in rates:
        if len(name) > MAX_NAME_LETTERS:
            raise ValueError(f"wanted names of at most {MAX_NAME_LETTERS:,} letters")
        name.encode()
    return rates


Name = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME_LETTERS),
    AfterValidator(_check_name),
    BeforeValidator(_write_out),
]
Time = Annotated[datetime, PlainValidator(_parse_time)]


class _Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False
    )


class Device(_Frozen):
    """A device as it was when the dump was recorded."""

    name: Name
    pool: Name | None = None
    os: Name | None = None
    os_version: Name | None = None
    arch: Name | None = None
    soc: Name | None = None


class Build(_Frozen):
    """A build of the runtime and the program.

    `parent` is the id of the build before it, or of the one that its branch forked from; one of
    role ``reference`` is pinned, and recorded beside others to tell what the device does.
    """

    id: Name
    commit: Name | None = None
    branch: Name | None = None
    committed_at: Time | None = None
    ordinal: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    parent: Name | None = None
    role: Literal["reference"] | None = None


class Model(_Frozen):
    """A model, lowered to a backend and quantized in some way."""

    name: Name
    backend: Name | None = None
    quantization: Name | None = None


class RunContext(_Frozen):
    """What may make the same code faster or slower on the same device, as it was at recording.

    `session` is shared by dumps that were recorded interleaved, and `pair` by two of them, one of
    either build, that were recorded one after the other. `governor` is what sets the processor's
    frequency, and `threads` how many there are to run on.
    """

    session: Name | None = None
    pair: Name | None = None
    firmware: Name | None = None
    governor: Name | None = None
    threads: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    temperature_c: Annotated[float, Field(ge=-273.15, le=1e4)] | None = None


class Counter(_Frozen):
    """What was counted or used up in a recording, as energy or a processor's events.

    Either `value` is that of the whole dump, or `values` are those of its runs in their order, None
    where one is not known. `source` says who stated it, if not the manifest itself.
    """

    name: Name
    unit: Name = "count"
    source: Name | None = None
    value: float | None = None
    values: list[float | None] | None = None

    @model_validator(mode="after")
    def _check_values(self) -> Counter:
        if (self.value is None) == (self.values is None):
            raise ValueError("wanted either a value, or values of the runs")
        return self


class Rate(_Frozen):
    """How long a tick is: a unit of time, or cycles, whose rate may be known."""

    unit: Literal["ns", "us", "ms", "s", "cycles"] = "ns"
    ticks_per_second: Annotated[float, Field(ge=1e-3, le=1e15)] | None = None

    @model_validator(mode="after")
    def _check_rate(self) -> Rate:
        if self.ticks_per_second is not None and self.unit != "cycles":
            raise ValueError(f"ticks_per_second goes with unit cycles, not {self.unit}")
        return self

    @property
    def ns_per_tick(self) -> float | None:
        """Nanoseconds per tick; None for cycles of unknown rate."""
        if self.ticks_per_second is not None:
            return 1e9 / self.ticks_per_second
        return _NS_PER_UNIT.get(self.unit)


class Clock(Rate):
    """The dump's clock, and the clocks of delegates that use another one."""

    delegates: Annotated[
        dict[str, Rate], Field(max_length=MAX_DELEGATE_CLOCKS), AfterValidator(_check_backends)
    ] = {}

    def delegate_ns_per_tick(self, backend: str | None) -> float | None:
        """Nanoseconds per tick of a backend's events, whatever its case; None if unknown."""
        wanted = (backend or "").casefold()
        named = (rate for name, rate in self.delegates.items() if name.casefold() == wanted)
        return next(named, self).ns_per_tick


class Manifest(_Frozen):
    """Everything known about a dump besides its bytes.

    `method` is the method of the program that all its runs are of, stated where the ETRecord alone
    cannot tell.

    Validates from any shape that a manifest file may have: `device`, `build`, `model` and
    `clock` may be plain text, and unknown fields become tags (``device.color`` for a device's).

    >>> Manifest.model_validate({"device": "pixel8", "build": "b7", "model": "mv2", "lab": 3}).tags
    {'lab': 3}
    """

    device: Device
    build: Build
    model: Model
    method: Name | None = None
    captured_at: Time | None = None
    clock: Clock = Clock()
    run: RunContext | None = None
    counters: Annotated[
        list[Counter] | None,
        AfterValidator(_check_counters),
        BeforeValidator(_parse_counters),
    ] = None
    tags: Annotated[dict[str, JsonValue], AfterValidator(_check_tags)] = {}

    @model_validator(mode="before")
    @classmethod
    def _normalise(cls, data: object) -> object:
        if isinstance(data, FullShape) or not isinstance(data, Mapping):
            return data
        return nest(flatten(data))

    def canonical_json(self) -> str:
        """The manifest as JSON with sorted keys, without whitespace and nulls.

        Equal manifests give equal text, and the text validates as the same manifest.
        """
        return self._canonical_json

    @cached_property
    def _canonical_json(self) -> str:
        return _CANONICAL.encode(self.model_dump(exclude_none=True) | {"tags": self.tags})
