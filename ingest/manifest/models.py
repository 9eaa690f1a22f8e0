"""The models of a manifest: fields, types and length limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
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

from tracehouse.ingest.manifest.fields import FullShape, flatten, nest
from tracehouse.ingest.manifest.times import parse_time, write_time
from tracehouse.ingest.schemas.attributes import compose

MAX_NAME_LENGTH = 1_000
MAX_TAGS_LENGTH = 64 << 10  # as JSON; each dump stores a copy
MAX_DELEGATE_CLOCKS = 100
MAX_COUNTERS_LENGTH = 64 << 10  # likewise

_NS_PER_UNIT = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=write_time
)


def _as_name(value: object) -> object:
    """A name in its one spelling; a whole number as text.

    Other numbers are refused: JSON turns 14.10 into 14.1.
    """
    if isinstance(value, str):
        return compose(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _check_name(text: str) -> str:
    if "\0" in text:
        raise ValueError("wanted a text without NUL")
    return text


def _check_tags(tags: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        tags = {compose(name): _compose_all(value) for name, value in tags.items()}
        text = _CANONICAL.encode(tags)
        text.encode()
    except RecursionError:
        raise ValueError("wanted values that are nested less deeply") from None
    except ValueError as error:  # half a surrogate pair, an integer of too many digits
        raise ValueError(f"wanted values that JSON can represent ({error})") from None
    if len(text) > MAX_TAGS_LENGTH:
        raise ValueError(
            f"wanted at most {MAX_TAGS_LENGTH:,} characters as JSON, found {len(text):,}"
        )
    return tags


def _compose_all(value: JsonValue) -> JsonValue:
    """A value with all texts in their one spelling."""
    if isinstance(value, str):
        return compose(value)
    if isinstance(value, list):
        return [_compose_all(item) for item in value]
    if isinstance(value, dict):
        return {compose(name): _compose_all(item) for name, item in value.items()}
    return value


def _parse_counters(value: object) -> object:
    """The list in a JSON text, as in ``--set``; other values are left to the type check."""
    try:
        return from_json(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _check_counters(counters: list[Counter] | None) -> list[Counter] | None:
    # Sorted, and None if empty, so that equal manifests have equal canonical JSON.
    counters = sorted(counters or (), key=lambda counter: counter.name)
    if len({counter.name for counter in counters}) < len(counters):
        raise ValueError("wanted each name once")
    length = len(_CANONICAL.encode([counter.model_dump() for counter in counters]))
    if length > MAX_COUNTERS_LENGTH:
        raise ValueError(
            f"wanted at most {MAX_COUNTERS_LENGTH:,} characters as JSON, found {length:,}"
        )
    return counters or None


def _check_backends(rates: dict[str, Rate]) -> dict[str, Rate]:
    for name in rates:
        if len(name) > MAX_NAME_LENGTH:
            raise ValueError(f"wanted names of at most {MAX_NAME_LENGTH:,} characters")
        name.encode()
    return {compose(name): rate for name, rate in rates.items()}


Name = Annotated[
    str,
    Field(min_length=1, max_length=MAX_NAME_LENGTH),
    AfterValidator(_check_name),
    BeforeValidator(_as_name),
]
Time = Annotated[datetime, PlainValidator(parse_time)]


class _Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False
    )


class Device(_Frozen):
    """A device, in the state in which it recorded the dump."""

    name: Name
    pool: Name | None = None
    os: Name | None = None
    os_version: Name | None = None
    arch: Name | None = None
    soc: Name | None = None


class Build(_Frozen):
    """A build of the runtime and the program.

    `parent` is the id of the previous build, or of the build that its branch forked from. A build
    of role ``reference`` is pinned and recorded with other builds, to distinguish changes of the
    device from changes of the code. A build of role ``adhoc`` is a trial, which reports of other
    builds leave out.
    """

    id: Name
    commit: Name | None = None
    branch: Name | None = None
    committed_at: Time | None = None
    ordinal: Annotated[int, Field(ge=-(2**63), lt=2**63)] | None = None
    parent: Name | None = None
    role: Literal["reference", "adhoc"] | None = None


class Model(_Frozen):
    """A model, with the backend that it is lowered to and its quantization."""

    name: Name
    backend: Name | None = None
    quantization: Name | None = None


class RunContext(_Frozen):
    """Conditions of a recording that make the same code faster or slower on the same device.

    Dumps whose recordings alternated share a `session`. Two dumps of a session, one of each build,
    share a `pair` if they were recorded right after each other. The `governor` sets the frequency
    of the processor; `threads` is the number of threads available.
    """

    session: Name | None = None
    pair: Name | None = None
    firmware: Name | None = None
    governor: Name | None = None
    threads: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    temperature_c: Annotated[float, Field(ge=-273.15, le=1e4)] | None = None


class Counter(_Frozen):
    """A quantity that was counted or consumed during a recording, such as energy or cycles.

    It has either one `value` for the whole dump, or `values` of its runs in order, None where a
    value is unknown. `source` names the tool that reported it, if that is not the manifest.
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
    """The length of a tick: a unit of time, or cycles with an optional rate."""

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
    """The clock of a dump, and the clocks of those delegates that use another one."""

    delegates: Annotated[
        dict[str, Rate], Field(max_length=MAX_DELEGATE_CLOCKS), AfterValidator(_check_backends)
    ] = {}

    def delegate_ns_per_tick(self, backend: str | None) -> float | None:
        """Nanoseconds per tick of a backend's events, ignoring case; None if unknown."""
        wanted = compose(backend or "").casefold()
        named = (rate for name, rate in self.delegates.items() if name.casefold() == wanted)
        return next(named, self).ns_per_tick


class Manifest(_Frozen):
    """The metadata of a dump.

    `method` names the method of the program that all runs executed, in case the ETRecord does not
    determine it.

    Any shape of a manifest file validates: `device`, `build`, `model` and `clock` may be plain
    text, and unknown fields become tags (an unknown field of a device the tag ``device.color``).

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
        list[Counter] | None, AfterValidator(_check_counters), BeforeValidator(_parse_counters)
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
