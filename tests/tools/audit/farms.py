"""Farms: dumps with what is stated of them, and what happens to them in a store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.tools.audit.recordings import Recording


@dataclass(frozen=True)
class Amendment:
    """Manifests that were wrong: which, as `tracehouse store amend` takes it, and what is right."""

    where: Mapping[str, str]
    stated: tuple[str, ...]
    right: Mapping[str, Any]


@dataclass
class Farm:
    """Dumps in order of arrival.

    Attributes:
        name: Its name.
        dumps: Bytes and manifest of each.
        copies: Dumps, by their position, that come once more under another name.
        amendments: What is corrected after the ingest.
        is_quick: Whether the quick audit has it.
        broken: Files that are no dumps, by name.
        etrecords: ETRecords that lie beside dumps, by the dump's position.
        notes: What somebody writes notes on: names of points.
    """

    name: str
    dumps: list[tuple[bytes, dict[str, Any]]] = field(default_factory=list)
    copies: tuple[int, ...] = ()
    amendments: tuple[Amendment, ...] = ()
    is_quick: bool = True
    broken: dict[str, bytes] = field(default_factory=dict)
    etrecords: dict[int, Path] = field(default_factory=dict)
    notes: list[dict[str, str]] = field(default_factory=list)

    def add(self, data: bytes, manifest: Mapping[str, Any]) -> None:
        """One more dump."""
        self.dumps.append((data, dict(manifest)))

    @cached_property
    def recordings(self) -> list[Recording]:
        """What the oracles are told: each dump once, with what is right of it."""
        return [
            Recording(number, data, self._right(manifest), self.etrecords.get(number - 1))
            for number, (data, manifest) in enumerate(self.dumps, start=1)
        ]

    def write(self, folder: Path) -> list[Path]:
        """Write its files; the paths to ingest, in order."""
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"{number:03}" for number in range(1, len(self.dumps) + 1)]
        listed = [*zip(names, self.dumps, strict=True)]
        listed += [(f"copy-{names[place]}", self.dumps[place]) for place in self.copies]
        for name, (data, facts) in listed:
            (folder / f"{name}.etdp").write_bytes(data)
            (folder / f"{name}.json").write_text(json.dumps(facts))
        for position, etrecord in self.etrecords.items():
            (folder / f"{names[position]}.etrecord").write_bytes(etrecord.read_bytes())
        for name, data in self.broken.items():
            (folder / name).write_bytes(data)
            stated = json.dumps(manifest("phone", "broken"))
            (folder / name).with_suffix(".json").write_text(stated)
        return [folder / f"{name}.etdp" for name, _ in listed] + [folder / n for n in self.broken]

    def _right(self, manifest: dict[str, Any]) -> dict[str, Any]:
        for amendment in self.amendments:
            if all(_stated(manifest, path) == value for path, value in amendment.where.items()):
                manifest = _merged(manifest, amendment.right)
        return manifest


def manifest(
    device: str,
    build: str,
    model: str = "net",
    backend: str | None = None,
    *,
    hour: int = 0,
    build_facts: Mapping[str, Any] | None = None,
    device_facts: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A manifest in full shape."""
    day, hour = divmod(hour, 24)
    return {
        "device": {"name": device, **(device_facts or {})},
        "build": {"id": build, **(build_facts or {})},
        "model": {"name": model} | ({} if backend is None else {"backend": backend}),
        "captured_at": f"2026-01-{1 + day:02}T{hour:02}:00:00Z",
        **more,
    }


def _stated(manifest: Mapping[str, Any], path: str) -> object:
    short = {"device": "device.name", "build": "build.id", "model": "model.name"}
    value: Any = manifest
    for name in short.get(path, path).split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _merged(manifest: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(manifest)
    for name, value in right.items():
        old = merged.get(name)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[name] = _merged(old, value) if both else value
    return merged


MAKERS: dict[str, Callable[[], Farm]] = {}


def farm(make: Callable[[], Farm]) -> Callable[[], Farm]:
    """A farm that the audit has, under its function's name."""
    MAKERS[make.__name__] = make
    return make
