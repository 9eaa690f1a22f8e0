"""Two programs recorded in turn, so that each dump of the one has a partner of the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ingest.errors import RecordingError
from ingest.recording.manifest import PlannedDump, fields_of_other, session_of
from ingest.recording.session import RecordingPlan, run_recording
from ingest.sources.companions import DEBUG_BUFFER_SUFFIX

Watch = Callable[[int], AbstractContextManager[Callable[[int], None] | None]]


class Partners(NamedTuple):
    """What to record in turn: the program to compare with, and the one in question."""

    base: PlannedDump
    head: PlannedDump


class PairsBrokenOffError(RecordingError):
    """A recording failed after whole pairs had been made."""

    def __init__(self, error: RecordingError, whole: int, wanted: int) -> None:
        """Tell which pair it was, and how many are whole."""
        super().__init__(f"pair {whole + 1:,} of {wanted:,}: {error}")
        self.whole = whole


def plan_partners(
    plan: RecordingPlan, fields: Mapping[str, object], against: str, build: str | None
) -> Partners:
    """The recordings of a program and of the one that it is compared with, of one session.

    The other program's build is called `build`; or else it is a reference build called by its
    content, as a pinned program is. A program that cannot be read raises SourceError.

    Raises:
        RecordingError: Both would be dumps of the same build.
    """
    session = session_of(fields)
    own, digest = fields_of_other(fields, against)
    pinned = {"build": f"reference-{digest}", "role": "reference"}
    named = {"build": build} if build else pinned
    if named["build"] == fields["build"]:
        raise RecordingError(
            f"both programs are called build {named['build']}, wanted another --against-build"
        )
    return Partners(
        PlannedDump(replace(plan, program=against), {**own, **session, **named}),
        PlannedDump(plan, {**fields, **session}),
    )


def record_pairs(partners: Partners, folder: Path, pairs: int, watch: Watch) -> None:
    """Record both programs in turn, A B B A, into a folder, each dump with a manifest beside it.

    A trend of the device over the session, be it getting warmer, falls on both alike. A pair is
    there whole or not at all.

    Args:
        partners: What to record.
        folder: Where the dumps go, ``base-001.etdp`` and ``head-001.etdp``.
        pairs: How many.
        watch: Opened for each recording with its number from 1; gives what to call with the
            iterations done.

    Raises:
        RecordingError: The first pair cannot be recorded.
        PairsBrokenOffError: A later one cannot; those before it are in the folder.
    """
    for pair in range(1, pairs + 1):
        made: list[Path] = []
        try:
            for place, (side, planned) in enumerate(_in_turn(partners, pair)):
                dump = folder / f"{side}-{pair:03}.etdp"
                made.append(dump)
                with watch(2 * pair - 1 + place) as progress:
                    _record(planned, dump, pair, progress)
        except RecordingError as error:
            _delete(made)
            if pair == 1:
                raise
            raise PairsBrokenOffError(error, pair - 1, pairs) from error


def _in_turn(partners: Partners, pair: int) -> Iterator[tuple[str, PlannedDump]]:
    sides = [*partners._asdict().items()]
    return iter(sides if pair % 2 else sides[::-1])


def _record(
    planned: PlannedDump, dump: Path, pair: int, progress: Callable[[int], None] | None
) -> None:
    at = datetime.now(UTC)
    version = run_recording(planned.plan, dump, progress=progress)
    fields = {**planned.fields, "captured_at": at, "pair": f"{pair:03}", "executorch": version}
    text = json.dumps(fields, default=_time_text)
    dump.with_suffix(".json").write_text(text, encoding="utf-8")


def _time_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _delete(dumps: Sequence[Path]) -> None:
    for dump in dumps:
        for suffix in (".etdp", ".json", DEBUG_BUFFER_SUFFIX):
            dump.with_suffix(suffix).unlink(missing_ok=True)
