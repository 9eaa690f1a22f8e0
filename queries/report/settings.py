"""A team's settings for its alerts: tracehouse.toml."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from tracehouse.ingest.errors import SourceError, pydantic_problem
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.ingest.settings_file import FILE_NAME, read_tables
from tracehouse.warehouse.catalogue.header import Header
from tracehouse.warehouse.catalogue.parameters import check_place_name, parse_share, place_of
from tracehouse.warehouse.errors import QueryError, suggest

_UNITS: dict[str, tuple[str, float]] = {
    "ns": ("ns", 1.0),
    "us": ("ns", 1e3),
    "µs": ("ns", 1e3),
    "ms": ("ns", 1e6),
    "s": ("ns", 1e9),
    "B": ("bytes", 1.0),
    "bytes": ("bytes", 1.0),
    "KB": ("bytes", 1e3),
    "MB": ("bytes", 1e6),
    "GB": ("bytes", 1e9),
    "KiB": ("bytes", 2.0**10),
    "MiB": ("bytes", 2.0**20),
    "GiB": ("bytes", 2.0**30),
    "%": ("share", 0.01),
    "/s": ("/s", 1.0),
}
_WRITTEN = re.compile(r"\s*([0-9_.,eE+-]+?)\s*([^\d\s.,+-][^\d]*)?\s*")

PlaceName = Annotated[str, Field(min_length=1), AfterValidator(check_place_name)]
Glob = Annotated[str, AfterValidator(compose)]  # a pattern for names in manifests


def in_base_unit(value: float, unit: str) -> tuple[float, str]:
    """A value in ns, bytes, a share or /s if its unit is of such a kind; otherwise unchanged.

    >>> in_base_unit(2, "mb"), in_base_unit(3, "mJ")
    ((2000000.0, 'bytes'), (3.0, 'mJ'))
    >>> in_base_unit(57, "%")
    (0.57, 'share')
    """
    known, factor = _UNITS.get(unit) or _UNITS.get(unit.upper()) or (unit, 1.0)
    return float(Decimal(repr(float(value))) * Decimal(repr(factor))), known


class Amount(NamedTuple):
    """A value and its unit: ns, bytes, share, /s or another; None for a plain number."""

    value: float
    unit: str | None


def parse_amount(value: object) -> Amount:
    """An amount as settings state it, a number or a text.

    >>> parse_amount("2.5 ms"), parse_amount("80 mJ")
    (Amount(value=2500000.0, unit='ns'), Amount(value=80.0, unit='mJ'))
    >>> parse_amount("20 MiB"), parse_amount(12)
    (Amount(value=20971520.0, unit='bytes'), Amount(value=12.0, unit=None))

    Raises:
        ValueError: The value is not an amount.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        number, unit = float(value), None
    else:
        written = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
        try:
            number = float(written[1].replace(",", "")) if written else math.nan
        except ValueError:
            number = math.nan
        unit = written[2].strip() if written and written[2] else None
    if not math.isfinite(number):
        raise ValueError("wanted a number with its unit, e.g. '10 ms', '20 MB', '30 /s' or '80 %'")
    return Amount(number, None) if unit is None else Amount(*in_base_unit(number, unit))


class SettingsError(QueryError):
    """A settings file cannot be read, or is invalid."""


def _parse_share(value: object) -> object:
    """A share as text or number; a plain 5 is refused as ambiguous."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 1:
        return parse_share(f"{value:g}")
    return parse_share(value) if isinstance(value, str) else value


Share = Annotated[float, BeforeValidator(_parse_share)]
Limit = Annotated[Amount, PlainValidator(parse_amount)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Pattern(_Table):
    """The series that a setting applies to: globs, all by default."""

    device: Glob = "*"
    model: Glob = "*"
    event: str = "*"

    def fits(self, *, device: str, model: str, event: str) -> bool:
        """Whether the setting applies to a series."""
        return (
            fnmatchcase(device, self.device)
            and fnmatchcase(model, self.model)
            and fnmatchcase(event, self.event)
        )


class Threshold(_Pattern):
    """The smallest relevant change of some series, as a share."""

    min_change: Share = Field(gt=0, le=10)


class Owner(_Pattern):
    """The owner of some series."""

    owner: str = Field(min_length=1)


class Mute(_Pattern):
    """Muted series, with reason and expiry."""

    reason: str = Field(min_length=1)
    until: date | None = None


class ExpectedRecordings(_Table):
    """Expected recordings of every night: each of the models on each of the devices."""

    devices: list[PlaceName] = Field(min_length=1)
    models: list[PlaceName] = Field(min_length=1)
    backends: list[PlaceName] = []


class BudgetLimit(_Table):
    """A limit of a measure; an amount without a unit is in the measure's unit."""

    measure: str = Field(min_length=1)
    device: Glob = "*"
    model: Glob = "*"
    backend: Glob = "*"
    at_most: Limit | None = None
    at_least: Limit | None = None

    @model_validator(mode="after")
    def _need_one(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("wanted either at_most or at_least")
        return self

    @property
    def bound(self) -> tuple[Literal["at most", "at least"], Amount]:
        """The direction of the limit, and the limit."""
        if self.at_most is not None:
            return "at most", self.at_most
        return "at least", self.at_least or Amount(0.0, None)

    @property
    def unit(self) -> str | None:
        """The unit of the limit; None without one."""
        return self.bound[1].unit

    def fits(self, *, device: str, model: str, backend: str | None) -> bool:
        """Whether the budget applies to a model on a device."""
        pairs = ((device, self.device), (model, self.model), (backend or "", self.backend))
        return all(fnmatchcase(name, pattern) for name, pattern in pairs)


class Nightly(_Table):
    """The thresholds of the nightly rule; see docs/regressions.md."""

    base_builds: int = Field(default=16, ge=4, le=64)
    q: Share = Field(default=0.01, gt=0, lt=0.5)
    min_change: Share = Field(default=0.03, gt=0, le=10)
    noise_multiple: float = Field(default=3.5, ge=1, le=20)


def _check_repo_url(url: str) -> str:
    """The address, which must have a place for each of two commits.

    Raises:
        ValueError: It has no such places, or is not an address of the web.
    """
    is_web = url.startswith(("https://", "http://"))
    if not is_web or "{base}" not in url or "{head}" not in url:
        raise ValueError("wanted an address such as https://host/repo/compare/{base}...{head}")
    return url


class ReportChoice(_Table):
    """The builds that the nightly report is about, and where their commits are compared."""

    branch: Annotated[Glob, Field(min_length=1)] | None = None
    repo_url: Annotated[str, AfterValidator(_check_repo_url)] | None = None


class Settings(_Table):
    """A settings file; of several matching patterns, the last one wins."""

    report: ReportChoice = ReportChoice()
    nightly: Nightly = Nightly()
    thresholds: list[Threshold] = []
    owners: list[Owner] = []
    muted: list[Mute] = []
    expected: list[ExpectedRecordings] = []
    budgets: list[BudgetLimit] = []

    @property
    def expected_places(self) -> list[str]:
        """Expected recordings, as a parameter of `coverage_gaps`."""
        return [
            place_of(*names)
            for each in self.expected
            for names in product(each.devices, each.models, each.backends or [""])
        ]

    def with_expected(self, header: Header, params: Mapping[str, object]) -> dict[str, object]:
        """Parameters of a query, with `expected` from the settings unless given."""
        takes = any(parameter.name == "expected" for parameter in header.params)
        own = {"expected": self.expected_places} if takes and self.expected else {}
        return {**own, **params}

    def of_branch(self, branch: str | None) -> Settings:
        """The settings with another branch of the report, if one is given."""
        if branch is None:
            return self
        report = self.report.model_copy(update={"branch": compose(branch)})
        return self.model_copy(update={"report": report})

    def min_change(self, *, device: str, model: str, event: str) -> float:
        """The smallest relevant change of a series."""
        names = {"device": device, "model": model, "event": event}
        fitting = [each.min_change for each in self.thresholds if each.fits(**names)]
        return fitting[-1] if fitting else self.nightly.min_change

    def owner(self, *, device: str, model: str, event: str) -> str | None:
        """The owner of a series, if any."""
        names = {"device": device, "model": model, "event": event}
        fitting = [each.owner for each in self.owners if each.fits(**names)]
        return fitting[-1] if fitting else None

    def mute_reason(self, *, device: str, model: str, event: str, on: date | None) -> str | None:
        """Why a series is muted on a day; None if it is not. Without a day, no mute has expired."""
        for mute in self.muted:
            expired = mute.until is not None and on is not None and on > mute.until
            if not expired and mute.fits(device=device, model=model, event=event):
                return mute.reason
        return None


def read_settings(path: str | os.PathLike[str] | None = None) -> Settings:
    """The settings of a file; by default of ./tracehouse.toml, or defaults without it.

    Raises:
        SettingsError: The file cannot be read, is not TOML, or has an invalid field or value.
    """
    tables = read_settings_tables(*Settings.model_fields, path=path)
    try:
        return Settings.model_validate(tables)
    except ValidationError as error:
        key, problem = describe_invalid(error, Settings)
        raise SettingsError(f"{path or FILE_NAME}: {key}: {problem}") from error


def read_settings_tables(*names: str, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """The tables of these names in a settings file; see `read_tables`.

    Raises:
        SettingsError: The file cannot be read, is not TOML, or has an unknown table.
    """
    try:
        return read_tables(*names, path=path)
    except SourceError as error:
        raise SettingsError(str(error)) from error


def describe_invalid(error: ValidationError, model: type[BaseModel]) -> tuple[str, str]:
    """The key of the first invalid value of a model or of a table in it, and the problem."""
    first = error.errors()[0]
    keys, problem = first["loc"], pydantic_problem(first["msg"])
    if first["type"] == "extra_forbidden":
        table: Any = model
        if len(keys) > 1:
            kind = model.model_fields[str(keys[0])].annotation
            table = next(iter(get_args(kind)), kind)  # for a list, the type of its items
        problem = f"no such field{suggest(str(keys[-1]), list(table.model_fields))}"
    return ".".join(map(str, keys)), problem
