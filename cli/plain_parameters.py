"""Texts, paths and choices of a command line, parsed without pydantic.

Typer checks every parameter with pydantic, and importing pydantic takes as long as a small query.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer.core
from typer._coercion import RuntimeParam, TypeDescriptor, build_runtime_param

if TYPE_CHECKING:
    from typer._click import Context


@dataclass(frozen=True)
class _PlainParameter(RuntimeParam):
    """Converts texts, paths and choices itself, and leaves all other types to Typer."""

    def _coerce_value(self, value: Any, param: Any, ctx: Context) -> Any:
        kind = self.annotation
        if isinstance(kind, type):
            if isinstance(value, kind) and (kind is str or value == param.default):
                return value
            if kind is Path and isinstance(value, str):
                return Path(value)
            if issubclass(kind, Enum) and value in list(kind):
                return kind(value)
        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)


def use_plain_parameters() -> None:
    """Make Typer use `_PlainParameter`."""
    typer.core.build_runtime_param = _plain_parameter  # type: ignore[attr-defined]


def _plain_parameter(descriptor: TypeDescriptor) -> RuntimeParam:
    return _PlainParameter(descriptor.parameter_info, descriptor.annotation)
