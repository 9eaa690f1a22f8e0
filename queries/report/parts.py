"""Parts of a report in tables: exact measures, budgets, framework tax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from tracehouse.queries.report.figures import place_text

Row = Mapping[str, Any]  # of an answer


class Part(BaseModel):
    """A part of a report, with finite numbers and no further fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, row: Row, **others: Any) -> Self:
        """A part from the columns of a row with the names of its fields, and others."""
        own = {name: row[name] for name in cls.model_fields.keys() & row.keys()}
        return cls(**own | others)


class ModelPart(Part):
    """A part about a model on a device."""

    device: str
    model: str
    backend: str | None

    @property
    def where(self) -> str:
        """Device, model and backend for people."""
        return place_text(self.device, self.model, self.backend)


class ExactChange(ModelPart):
    """A measure without noise that changed: any difference is a verdict."""

    measure: str = Field(description="E.g. allocated_bytes, operator_count, dump_bytes.")
    base: float
    head: float


class Budget(ModelPart):
    """The result of a budget in tracehouse.toml for a model on a device."""

    measure: str
    unit: str = Field(description="Unit of value and limit: ns, bytes, /s, ...")
    value: float = Field(description="Value of the head: its median over dumps, or its worst run.")
    limit: float
    bound: Literal["at most", "at least"]
    is_broken: bool


class TaxRow(ModelPart):
    """Share of a method's time that is neither kernel nor delegate."""

    base_percent: float | None
    head_percent: float | None
