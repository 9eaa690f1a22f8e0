"""What verifications found last, a small file in the store's directory."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tracehouse.ingest.durable import replacing
from tracehouse.warehouse.errors import write_errors

FILE_NAME = "verified.json"
REMEDY = "tracehouse store rebuild"  # repairs wrong rows
TURNS = 100  # A service has verified all dumps after so many turns


@dataclass(frozen=True)
class VerificationRecord:
    """What is known about a store's rows.

    Attributes:
        succeeded_at: When a verification last found nothing wrong, in seconds since 1970; 0 if
            none did.
        dumps: Tables with wrong rows, by SHA-256 of the dump, until the dump is verified again or
            the store is rebuilt.
        tables: Tables with wrong rows that dumps share, until all dumps are verified.
        turn: The next turn of a service that verifies the dumps in turn.
    """

    succeeded_at: float = 0.0
    dumps: dict[str, str] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    turn: int = 0

    @property
    def has_damages(self) -> bool:
        """Whether some rows are wrong."""
        return bool(self.dumps or self.tables)

    def success_time(self) -> datetime | None:
        """When a verification last found nothing wrong."""
        return datetime.fromtimestamp(self.succeeded_at, UTC) if self.succeeded_at else None


def read_record(store: Path) -> VerificationRecord:
    """The record of a store; an empty one if there is none, or the file is no record."""
    try:
        return VerificationRecord(**json.loads((store / FILE_NAME).read_bytes()))
    except (OSError, ValueError, TypeError):
        return VerificationRecord()


def record_verification(
    store: Path,
    verified: Collection[str],
    *,
    dumps: dict[str, str],
    tables: Collection[str],
    is_whole: bool,
    turn: int | None = None,
) -> None:
    """Record a verification that has ended now.

    Args:
        store: The store's directory.
        verified: SHA-256 of the dumps that were verified.
        dumps: Tables with wrong rows, by SHA-256 of the dump.
        tables: Tables with wrong rows that dumps share.
        is_whole: Whether all dumps were verified.
        turn: The next turn, if a service verified them.

    Raises:
        StoreError: The record cannot be written.
    """
    before, now = read_record(store), datetime.now(UTC).timestamp()
    unseen = {} if is_whole else {k: v for k, v in before.dumps.items() if k not in verified}
    known = [] if is_whole else before.tables
    succeeded_at = before.succeeded_at if dumps or tables else now
    _write(
        store,
        VerificationRecord(
            succeeded_at,
            unseen | dumps,
            sorted({*known, *tables}),
            before.turn if turn is None else turn,
        ),
    )


def forget_damages(store: Path) -> None:
    """Record that a store has new rows.

    Raises:
        StoreError: The record cannot be written.
    """
    before = read_record(store)
    if before.has_damages:
        _write(store, replace(before, dumps={}, tables=[]))


def _write(store: Path, record: VerificationRecord) -> None:
    path = store / FILE_NAME
    with write_errors(str(path), problem="cannot be written"), replacing(path, 0o600) as new:
        new.write_text(json.dumps(asdict(record)))
