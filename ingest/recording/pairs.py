"""Two programs recorded alternately, so that each dump has a partner of the other program."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tracehouse.ingest.errors import RecordingError
from tracehouse.ingest.recording.session import (
    PlannedDump,
    RecordingPlan,
    fields_of_other,
    run_recording,
    session_of,
)
from tracehouse.ingest.sources.listing import DEBUG_BUFFER_SUFFIX

Watch = Callable[[int], AbstractContextManager[Callable[[int], None] | None]]


class Partners(NamedTuple):
    """The recordings of the program to compare with (base) and of the program to judge (head)."""

    base: PlannedDump
    head: PlannedDump


class PairsInterruptedError(RecordingError):
    """A recording failed after at least one pair was complete."""

    def __init__(self, error: RecordingError, whole: int, wanted: int) -> None:
        super().__init__(f"pair {whole + 1:,} of {wanted:,}: {error}")
        self.whole = whole


def plan_partners(
    plan: RecordingPlan, fields: Mapping[str, object], against: str, build: str | None
) -> Partners:
    """The recordings of a program and of the program to compare with, in one session.

    The other program's build is `build`, or else a reference build named by the program's hash. A
    program that cannot be read raises SourceError.

    Raises:
        RecordingError: Both programs would have the same build.
    """
    session = session_of(fields)
    own, digest = fields_of_other(fields, against)
    pinned = {"build": f"reference-{digest}", "role": "reference"}
    named = {"build": build} if build else pinned
    if named["build"] == fields["build"]:
        raise RecordingError(
            f"both programs have the build {named['build']}; wanted another --against-build"
        )
    return Partners(
        PlannedDump(replace(plan, program=against), {**own, **session, **named}),
        PlannedDump(plan, {**fields, **session}),
    )


def record_pairs(partners: Partners, folder: Path, pairs: int, watch: Watch) -> None:
    """Record both programs in the order A B B A, each dump with a sidecar manifest.

    A trend of the device, such as warming up, then affects both programs alike. Incomplete pairs
    are deleted.

    Args:
        partners: The recordings.
        folder: Where the dumps go, as ``base-001.etdp`` and ``head-001.etdp``.
        pairs: Number of pairs.
        watch: Called with the number of each recording, from 1; returns a callback for the
            iterations done.

    Raises:
        RecordingError: The first pair cannot be recorded.
        PairsInterruptedError: A later pair cannot be recorded; earlier pairs are kept.
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
            raise PairsInterruptedError(error, pair - 1, pairs) from error


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


class DumpPlace(NamedTuple):
    """The file of a dump, and its temporary folder, if any."""

    dump: Path
    folder: Path | None

    def keep(self) -> list[Path]:
        """Move the dump and its debug buffer from the temporary to the working folder."""
        files = sorted(self.folder.glob(f"{self.dump.stem}.*")) if self.folder else []
        return [Path(shutil.move(file, Path.cwd())) for file in files]


@contextmanager
def place_for_dump(output: str | None, program: str) -> Iterator[DumpPlace]:
    """The file `output`, or a temporary file named after the program."""
    if output:
        yield DumpPlace(Path(output), None)
        return
    with TemporaryDirectory() as folder:
        yield DumpPlace(Path(folder, f"{Path(program).stem}.etdp"), Path(folder))


class PairsPlace(NamedTuple):
    """The folder of paired dumps, and its final name."""

    folder: Path
    name: str | None

    def keep(self) -> list[Path]:
        """Move a temporary folder to the working folder, under a free name."""
        if self.name is None:
            return []
        names = chain([self.name], (f"{self.name}-{number}" for number in count(2)))
        free = next(name for name in names if not Path(f"{name}.pairs").exists())
        return [Path(shutil.move(self.folder, Path.cwd() / f"{free}.pairs"))]


@contextmanager
def place_for_pairs(output: str | None, program: str) -> Iterator[PairsPlace]:
    """A new folder `output`, or a temporary one.

    Raises:
        RecordingError: The name exists, or the folder cannot be created.
    """
    if output:
        try:
            Path(output).mkdir()
        except OSError as error:
            problem = f"cannot be created: {error.strerror or error}"
            raise RecordingError(f"{output}: {problem}; wanted a new folder") from error
        yield PairsPlace(Path(output), None)
        return
    with TemporaryDirectory() as folder:
        place = PairsPlace(Path(folder, "pairs"), Path(program).stem)
        place.folder.mkdir()
        yield place
