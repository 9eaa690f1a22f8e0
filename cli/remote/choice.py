"""Which service a command line speaks to, if it speaks to one; no command waits for this import."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import UsageError

if TYPE_CHECKING:
    from ingest.remote.connection import ServiceConnection

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        envvar="TRACEHOUSE_URL",
        metavar="URL",
        help="Speak to the service there instead of a store of this machine; its token is in "
        "$TRACEHOUSE_TOKEN.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", metavar="FILE", help="The token is in FILE instead."),
]


@dataclass(frozen=True)
class ServiceChoice:
    """A service, and whose token it is shown.

    Attributes:
        url: Its address.
        token_file: File that holds the token; by default $TRACEHOUSE_TOKEN does.
    """

    url: str
    token_file: Path | None = None

    def connect(self, *, retry_seconds: float = 0.0) -> ServiceConnection:
        """A connection, for one thread, that is made with its first question.

        Raises:
            UsageError: The address is none, or the token cannot be read.
        """
        from ingest.errors import ServiceError
        from ingest.remote.connection import ServiceConnection

        token = None if self.token_file is None else _read_token(self.token_file)
        try:
            return ServiceConnection(self.url, token=token, retry_seconds=retry_seconds)
        except ServiceError as error:
            raise UsageError(f"--url: {error}") from error

    def need_no_settings(self, config: Path | None) -> None:
        """Pass if no settings file was named.

        Raises:
            BadParameter: One was; the service has its own.
        """
        if config is not None:
            raise typer.BadParameter("a service has settings of its own", param_hint="'--config'")


_chosen: ContextVar[tuple[str | None, Path | None]] = ContextVar("service", default=(None, None))


def choose_service(url: str | None, token_file: Path | None) -> None:
    """Let what follows speak to a service; to a store of this machine if there is no URL."""
    _chosen.set((url, token_file))


def choose_service_of(url: str | None, token_file: Path | None) -> None:
    """The same for options behind a command's name, which beat those before it."""
    before = _chosen.get()
    choose_service(url or before[0], token_file or before[1])


def chosen_service() -> ServiceChoice | None:
    """The service that this command line speaks to; None if to a store of this machine."""
    url, token_file = _chosen.get()
    return ServiceChoice(url, token_file) if url else None


def _read_token(file: Path) -> str:
    try:
        token = file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise UsageError(f"--token-file {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--token-file {file}: not a token, which is in ASCII") from error
    if not token or not token.isprintable():
        raise UsageError(f"--token-file {file}: not a token, which is one line")
    return token
