"""How a service is set up: its options, the environment, tracehouse.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from ingest.errors import pydantic_problem
from ingest.settings_file import FILE_NAME
from queries.report.settings import SettingsError, read_settings_file
from warehouse.errors import suggest
from warehouse.sandbox.bounds import Bounds

PREFIX = "TRACEHOUSE_SERVE_"  # of environment variables: TRACEHOUSE_SERVE_PORT=8080
MOST_WAITING = 10_000  # dumps to be indexed: each takes memory, however small it is
_Bytes = Annotated[int, Field(ge=1 << 16)]


class ServiceSettings(BaseSettings):
    """A service's settings; an option beats the environment, and that beats the file's [serve].

    Attributes:
        host: Address it listens on; one that others reach needs tokens.
        port: Port; 0 for any that is free.
        max_dump_bytes: Size of the largest dump, or file that comes with it, after decompression.
        max_body_bytes: Size of the largest request.
        backlog_bytes: Size of what was accepted and is not yet indexed, from which on uploads are
            put off (429).
        concurrent_uploads: Uploads that are taken at a time; more are put off (429).
        batch_dumps: Accepted dumps that are indexed at once, without waiting for more; so are
            128 MiB of them.
        batch_seconds: Time after which fewer are.
        snapshot_seconds: Time from one snapshot to the next, while something changes.
        free_bytes: Room on the store's disk below which uploads are refused (507).
        query_seconds: Time that a canned query, a report or a view of the page may take.
        sql_workers: Ad-hoc statements that are answered at a time.
        sql_seconds: Time that one may take.
        sql_bytes: Memory that one may take.
        answer_rows: Rows of the longest answer to one.
        answer_bytes: Size of the longest answer to one.
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
    free_bytes: int = Field(default=1 << 30, ge=0)
    query_seconds: float = Field(default=60.0, gt=0, le=3600)
    sql_workers: int = Field(default=2, ge=1, le=64)
    sql_seconds: float = Field(default=10.0, gt=0, le=3600)
    sql_bytes: _Bytes = 512 << 20
    answer_rows: int = Field(default=100_000, ge=1)
    answer_bytes: _Bytes = 64 << 20

    @property
    def sql_bounds(self) -> Bounds:
        """What one ad-hoc statement may take."""
        return Bounds(self.sql_seconds, self.sql_bytes, self.answer_rows, self.answer_bytes)


def read_service_settings(
    options: Mapping[str, object], *, config: Path | None = None
) -> ServiceSettings:
    """The settings that hold.

    Args:
        options: Those given on the command line; None stands for one that was not.
        config: Settings file; by default ./tracehouse.toml, if there is one.

    Raises:
        SettingsError: The file cannot be read, or something says what it may not.
    """
    found = _table(config)
    named = {**_misspelt(), **EnvSettingsSource(ServiceSettings)()}
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return ServiceSettings.model_validate({**found, **named, **given})
    except ValidationError as error:
        first = error.errors()[0]
        name, problem = ".".join(map(str, first["loc"])), pydantic_problem(first["msg"])
        if name in given:
            place = f"--{name.replace('_', '-')}"
        else:
            place = (
                f"{PREFIX}{name.upper()}"
                if name in named
                else f"{config or FILE_NAME}: serve.{name}"
            )
        if first["type"] == "extra_forbidden":
            problem = f"there is no such field{suggest(name, list(ServiceSettings.model_fields))}"
        raise SettingsError(f"{place}: {problem}") from error


def _misspelt() -> dict[str, str]:
    """What the environment says of settings that there are not, as lower case names them."""
    given = {name.lower().removeprefix(PREFIX.lower()): name for name in os.environ}
    return {
        short: os.environ[name]
        for short, name in given.items()
        if short != name.lower() and short not in ServiceSettings.model_fields
    }


def _table(path: Path | None) -> dict[str, object]:
    table = read_settings_file(path).get("serve", {})
    if not isinstance(table, dict):
        raise SettingsError(f"{path or FILE_NAME}: serve: not a table")
    return table
