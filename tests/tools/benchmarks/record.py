"""Figures of one benchmark run, with where and on what they were measured, as JSON."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from tracehouse.warehouse.load.pipeline import count_cores

FOLDER = Path(__file__).parent
Figures = dict[str, dict[str, float]]

_PACKAGES = ("tracehouse", "numpy", "pyarrow", "duckdb")


@dataclass(frozen=True)
class Record:
    """Figures by what was measured and by unit, the day, the machine and the versions."""

    date: str
    cpu: str
    cores: int
    versions: dict[str, str]
    figures: Figures

    @classmethod
    def of(cls, figures: Figures, **versions: str) -> Record:
        """A record of figures measured here and now; `versions` are those of other software."""
        here = {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
        rounded = {
            what: {unit: float(f"{value:.4g}") for unit, value in by_unit.items()}
            for what, by_unit in figures.items()
        }
        return cls(_today(), _cpu_model(), count_cores(), {**here, **versions}, rounded)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """The record at `path`; None if there is none yet."""
        return cls(**json.loads(path.read_text())) if path.exists() else None

    def write(self, path: Path) -> None:
        """Replace the record at `path`."""
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    def describe(self) -> str:
        """Day, machine and versions in one line."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return f"{self.date}, {self.cpu}, {self.cores} cores; {versions}"


def ratio(record: Record | None, what: str, unit: str, value: float) -> str:
    """The value as a multiple of the record's, blank where the record has none."""
    before = record.figures.get(what, {}).get(unit) if record else None
    return f"{value / before:.2f}" if before else ""


def render_figure(value: float) -> str:
    """The value with three or more digits.

    >>> [render_figure(value) for value in (0.1234, 12.34, 12345.6)]
    ['0.123', '12.3', '12,346']
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
