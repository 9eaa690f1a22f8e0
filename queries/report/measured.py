"""What a report says of measures in tables of their own: exact ones, budgets, framework tax."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """A part of a report: its fields are all there are, its numbers finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ExactChange(Part):
    """A measure without noise that changed: any difference is a verdict."""

    device: str
    model: str
    backend: str | None
    measure: str = Field(description="E.g. allocated_bytes, operator_count, dump_bytes.")
    base: float
    head: float


class Budget(Part):
    """What a limit of tracehouse.toml says of a model on a device."""

    device: str
    model: str
    backend: str | None
    measure: str
    unit: str = Field(description="Unit of value and limit: ns, bytes, /s, ...")
    value: float = Field(description="What the head has: its median over dumps, or its worst run.")
    limit: float
    bound: Literal["at most", "at least"]
    is_broken: bool


class TaxRow(Part):
    """Share of a method's time that is neither kernel nor delegate."""

    device: str
    model: str
    backend: str | None
    base_percent: float | None
    head_percent: float | None
