"""Writing a simulated farm for `tracehouse ingest`: dumps, manifests and ``truth.json``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from tests.tools.simulation.changes import Change
from tests.tools.simulation.plan import FarmPlan, Stream
from tests.tools.simulation.recorder import ProgramRecorder
from tests.tools.simulation.timeline import Floats
from tests.tools.simulation.truth import FarmSummary, describe_truth
from tracehouse.ingest.errors import SinkError
from tracehouse.ingest.sources.file_names import FARM_TRUTH

TAGS = {"synthetic": True, "made_by": "tests.tools.simulation"}

_NIGHT_BEGINS = timedelta(hours=6)  # after the commit
_DUMP_EVERY = timedelta(seconds=2)
_MIX_SPREAD = 0.15  # variation of single operators between devices
_MISSING_DUMP_SHARE = 0.01


class FarmProgress(NamedTuple):
    """Progress: dumps written or lost, total dumps, events written."""

    done_files: int
    total_files: int
    n_events: int


class _Night(NamedTuple):
    """The dumps of one device, build and family: positions in the plan."""

    device: int
    build: int
    family: int


class FarmWriter:
    """Writes a planned farm."""

    def __init__(self, plan: FarmPlan) -> None:
        self._plan = plan
        self._recorders: dict[tuple[int, tuple[Change, ...]], ProgramRecorder] = {}

    def estimate(self) -> FarmSummary:
        """The farm's size if no dump is lost and no operator moves."""
        families = range(len(self._plan.families))
        recorders = [self._recorder(_Night(0, 0, family)) for family in families]
        dumps = self._plan.dump_count // len(recorders)
        return FarmSummary(
            dumps * len(recorders),
            dumps * sum(recorder.event_count for recorder in recorders),
            dumps * sum(recorder.template.byte_count for recorder in recorders),
        )

    def write(
        self, out: Path, progress: Callable[[FarmProgress], None] | None = None
    ) -> FarmSummary:
        """Write the farm to a folder that is new, empty, or already contains the same farm.

        `progress` is called after every folder of dumps.

        Raises:
            SinkError: The folder has other files, cannot be written or has too little space.
        """
        summary = FarmSummary()
        try:
            out.mkdir(parents=True, exist_ok=True)
            self._check(out)
            for night in self._nights():
                self._write_night(out, night, summary)
                if progress is not None:
                    done = summary.dumps + len(summary.missing_dumps)
                    progress(FarmProgress(done, self._plan.dump_count, summary.events))
            _write_json(out / FARM_TRUTH, describe_truth(self._plan, summary), indent=1)
        except OSError as error:
            raise SinkError(
                f"{error.filename or out}: {error.strerror}; wanted a writable folder"
            ) from error
        return summary

    def _check(self, out: Path) -> None:
        if any(out.iterdir()) and not self._is_written(out):
            raise SinkError(
                f"{out}: not empty; wanted a new or empty folder, or one with the same farm"
            )
        wanted, free = self.estimate().byte_count, shutil.disk_usage(out).free
        if wanted > free:
            raise SinkError(f"{out}: {free / 1e6:,.0f} MB free, wanted {wanted / 1e6:,.0f} MB")

    def _is_written(self, out: Path) -> bool:
        """Whether a folder already has this farm, so that writing changes no byte."""
        try:
            truth = json.loads((out / FARM_TRUTH).read_bytes())
        except (OSError, ValueError):
            return False
        wanted = describe_truth(self._plan, FarmSummary())
        names = ("synthetic", "seed", "size")
        return isinstance(truth, dict) and all(truth.get(n) == wanted[n] for n in names)

    def _nights(self) -> Iterator[_Night]:
        plan = self._plan
        for device in range(len(plan.devices)):
            for build in range(len(plan.builds)):
                if (device, build) not in plan.missing_nights:
                    for family in range(len(plan.families)):
                        yield _Night(device, build, family)

    def _write_night(self, out: Path, night: _Night, summary: FarmSummary) -> None:
        plan = self._plan
        device, build = plan.devices[night.device], plan.builds[night.build]
        family = plan.families[night.family]
        path = f"{device.name}/{build.id}/{family.model}-{family.backend}"
        folder = out / path
        folder.mkdir(parents=True, exist_ok=True)
        manifest = {
            "device": device.describe(),
            "build": build.describe(),
            "model": {"name": family.model, "backend": family.backend},
            "clock": device.kind.clock.describe(),
            "tags": TAGS,
        }
        _write_json(folder / "manifest.json", manifest, indent=1)
        recorder, factors = self._recorder(night), self._draw_factors(night)
        began = build.committed_at + _NIGHT_BEGINS + timedelta(minutes=night.device)
        rng = plan.draw(Stream.NIGHT, *night)
        for number in range(plan.size.dumps):
            name = f"{number:03}"
            if rng.random() < _MISSING_DUMP_SHARE:
                summary.missing_dumps.append(f"{path}/{name}.etdp")
                continue
            recording = recorder.record(device, factors, rng)
            captured_at = began + _DUMP_EVERY * (number * len(plan.families) + night.family)
            sidecar = {"captured_at": captured_at.isoformat(), "tags": TAGS}
            _write_json(folder / f"{name}.json", sidecar)
            (folder / f"{name}.etdp").write_bytes(recording.data)
            summary.add(f"{path}/{name}.etdp", recording)

    def _draw_factors(self, night: _Night) -> Floats:
        """Times of operators on the device with the build, relative to the template."""
        plan = self._plan
        device = plan.devices[night.device]
        mix = plan.draw(Stream.MIX, night.device, night.family)
        session = plan.draw(Stream.SESSION, night.device, night.build)
        shared = device.slowness * session.lognormal(0.0, device.kind.noise.session)
        own: Floats = mix.lognormal(0.0, _MIX_SPREAD, self._recorder(night).origin_count)
        return own * shared

    def _recorder(self, night: _Night) -> ProgramRecorder:
        plan = self._plan
        pool = plan.devices[night.device].kind.pool
        key = (night.family, plan.find_changes(night.family, night.build, pool))
        if key not in self._recorders:
            program = plan.program(night.family, night.build, pool)
            self._recorders[key] = ProgramRecorder(program, plan.size.iterations)
        return self._recorders[key]


def _write_json(path: Path, content: object, indent: int | None = None) -> None:
    path.write_bytes(json.dumps(content, indent=indent).encode())
