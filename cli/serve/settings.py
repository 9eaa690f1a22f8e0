"""Settings of a service, from options, the environment and tracehouse.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from tracehouse.ingest.settings_file import FILE_NAME
from tracehouse.queries.report.settings import SettingsError, describe_invalid, read_settings_tables
from tracehouse.warehouse.engine.memory_limit import ASKING
from tracehouse.warehouse.sandbox.bounds import Bounds

PREFIX = "TRACEHOUSE_SERVE_"  # environment variables begin with it: TRACEHOUSE_SERVE_PORT=8080
MOST_WAITING = 10_000  # dumps that wait to be indexed; each takes memory
_Bytes = Annotated[int, Field(ge=1 << 16)]


class ServiceSettings(BaseSettings):
    """Settings of a service; options override the environment, and that overrides the file.

    The service's documentation (docs/service.md) says what each setting means.
    """

    model_config = SettingsConfigDict(frozen=True, extra="forbid", env_prefix=PREFIX)

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    max_dump_bytes: _Bytes = 1 << 30
    max_body_bytes: _Bytes = 2 << 30
    backlog_bytes: _Bytes = 1 << 30
    concurrent_uploads: int = Field(default=256, ge=1, le=10_000)
    batch_dumps: int = Field(default=500, ge=1, le=MOST_WAITING)
    batch_seconds: float = Field(default=2.0, gt=0, le=3600)
    snapshot_seconds: float = Field(default=60.0, gt=0)
    kept_snapshots: int = Field(default=3, ge=1)
    settle_seconds: float = Field(default=300.0, ge=0)
    verify_seconds: float = Field(default=3600.0, gt=0)
    slack_url: str | None = None
    webhook_url: str | None = None
    free_bytes: int = Field(default=1 << 30, ge=0)
    query_seconds: float = Field(default=60.0, gt=0, le=3600)
    query_bytes: _Bytes = ASKING
    sql_workers: int = Field(default=2, ge=1, le=64)
    sql_seconds: float = Field(default=10.0, gt=0, le=3600)
    sql_bytes: _Bytes = 512 << 20
    answer_rows: int = Field(default=100_000, ge=1)
    answer_bytes: _Bytes = 64 << 20

    @property
    def sql_bounds(self) -> Bounds:
        """Limits of one ad-hoc statement."""
        return Bounds(self.sql_seconds, self.sql_bytes, self.answer_rows, self.answer_bytes)


def read_service_settings(
    options: Mapping[str, object], *, config: Path | None = None
) -> ServiceSettings:
    """Read the settings.

    Args:
        options: Options of the command line; None for an option that was not given.
        config: Settings file; by default ./tracehouse.toml, if it exists.

    Raises:
        SettingsError: The file cannot be read, or a setting is invalid.
    """
    found = read_settings_tables("serve", path=config).get("serve", {})
    named = {**_misspelt(), **EnvSettingsSource(ServiceSettings)()}
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return ServiceSettings.model_validate({**found, **named, **given})
    except ValidationError as error:
        name, problem = describe_invalid(error, ServiceSettings)
        place = f"{config or FILE_NAME}: serve.{name}"
        if name in given:
            place = f"--{name.replace('_', '-')}"
        elif name in named:
            place = f"{PREFIX}{name.upper()}"
        raise SettingsError(f"{place}: {problem}") from error


def _misspelt() -> dict[str, str]:
    """Values of environment variables with the prefix that name no setting, by lower-case names."""
    given = {name.lower().removeprefix(PREFIX.lower()): name for name in os.environ}
    return {
        short: os.environ[name]
        for short, name in given.items()
        if short != name.lower() and short not in ServiceSettings.model_fields
    }
