"""The service that a command line chooses, if any. Every command imports this module."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracehouse.cli.errors import UsageError

if TYPE_CHECKING:
    from tracehouse.ingest.remote.connection import ServiceConnection

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="TRACEHOUSE_URL",
        metavar="URL",
        help="Use the service at this URL instead of a local store. Its token is read from "
        "$TRACEHOUSE_TOKEN.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="Read the token from FILE instead."),
]


@dataclass(frozen=True)
class ServiceChoice:
    """A service, and the file of its token; by default the token is in $TRACEHOUSE_TOKEN.

    Attributes:
        key: Key of the service of a store of this user, in place of a token.
    """

    url: str
    token_file: Path | None = None
    key: str | None = None

    def connect(self, *, retry_seconds: float = 0.0) -> ServiceConnection:
        """A connection for one thread, opened with its first request.

        Raises:
            UsageError: The URL is malformed, or the token cannot be read.
        """
        from tracehouse.ingest.errors import ServiceError
        from tracehouse.ingest.remote.connection import ServiceConnection

        token = self.key if self.token_file is None else _read_token(self.token_file)
        try:
            return ServiceConnection(self.url, token=token, retry_seconds=retry_seconds)
        except ServiceError as error:
            raise UsageError(f"--url: {error}") from error

    def reject_settings(self, config: Path | None) -> None:
        """Check that no settings file was named.

        Raises:
            BadParameter: One was named, but a service has its own settings.
        """
        if config is not None:
            raise typer.BadParameter("a service uses its own settings", param_hint="'--config'")


_chosen: ContextVar[tuple[str | None, Path | None]] = ContextVar("service", default=(None, None))


def choose_service(url: str | None, token_file: Path | None) -> None:
    """Choose a service for this command line; without a URL, a local store."""
    _chosen.set((url, token_file))


def choose_service_of(url: str | None, token_file: Path | None) -> None:
    """Choose a service by options after a command's name, which win over those before it."""
    before = _chosen.get()
    choose_service(url or before[0], token_file or before[1])


def chosen_service() -> ServiceChoice | None:
    """The service that this command line chose; None for a local store."""
    url, token_file = _chosen.get()
    return ServiceChoice(url, token_file) if url else None


def _read_token(file: Path) -> str:
    try:
        token = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(f"--token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--token-file {file}: not a token: wanted ASCII") from error
    if not token or not token.isprintable():
        raise UsageError(f"--token-file {file}: not a token: wanted one line")
    return token
