"""A store in plain dictionaries: what must be in it after each operation."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from tests.support.etrecord_builder import EDGE, build_etrecord, build_program, node
from tests.support.tiny_dumps import tiny_dump, tiny_dump_events
from tracehouse.ingest.dump import Dump
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.load.content import describe_conflict
from tracehouse.warehouse.point import Point

BAD = b"no dump"
BAD_DETAIL = "not an ETDump, but text that begins with 'no dump'"
COMPANIONS = {
    "etrecord": [build_etrecord(**{EDGE: build_program(node(name))}) for name in ("x", "y")],
    "debug_buffer": [b"abcd", b"efgh"],
}
_OLD = "2020-01-01T00:00:00Z"
_M1 = {"name": "m1", "backend": "xnnpack"}
MANIFESTS = tuple(
    Manifest.model_validate(one)
    for one in (
        {"device": {"name": "d0", "pool": "p"}, "build": {"id": "b0"}, "model": "m0"},
        {"device": "d0", "build": {"id": "b0", "ordinal": 1}, "model": _M1},
        {"device": "d1", "build": {"id": "b0", "ordinal": 2}, "model": "m0"},
        {"device": "d1", "build": {"id": "b1"}, "model": "m0", "captured_at": _OLD},
        {"device": "d0", "build": "b2", "model": _M1, "captured_at": _OLD},
    )
)


class File(NamedTuple):
    """A dump to ingest: which one (None: a malformed one), its manifest and its companions."""

    number: int | None
    manifest: int
    etrecord: int | None = None
    debug_buffer: int | None = None

    @property
    def data(self) -> bytes:
        return BAD if self.number is None else tiny_dump(self.number)

    @property
    def companions(self) -> dict[str, bytes]:
        """The ETRecord and the debug buffer that come with the dump."""
        numbers = {"etrecord": self.etrecord, "debug_buffer": self.debug_buffer}
        return {name: COMPANIONS[name][n] for name, n in numbers.items() if n is not None}

    def incoming(self, source: str) -> Dump:
        """The dump as the store takes it."""
        return Dump.of_bytes(source, self.data, MANIFESTS[self.manifest], **self.companions)


def name_files(files: Sequence[File]) -> list[tuple[str, File]]:
    """Each file with its name: that of its number, or another where the manifests differ."""
    names: dict[int | None, int] = {}
    named = []
    for file in files:
        is_first = names.setdefault(file.number, file.manifest) == file.manifest
        named.append((f"{'' if is_first else f'copy{file.manifest}/'}{file.number}.etdp", file))
    return named


def hash_of(data: bytes | None) -> str | None:
    """The SHA-256 of bytes, if any."""
    return None if data is None else sha256(data).hexdigest()


@dataclass
class Model:
    """What is in a store, its snapshots and its lake.

    Attributes:
        dumps: By SHA-256, in order of arrival.
        errors: Rows of ingest_errors.
        decisions: Rows of group_decisions.
        forgotten: SHA-256s, once for each time.
        nights: Verdicts by build and settings.
        snapshots: What each has; the newest comes last.
        is_compaction_wanted: Whether free blocks may have dumps that were forgotten.
        lake: What the lake has by SHA-256; None without one.
        waiting: Files in each log of the inbox.
    """

    dumps: dict[str, dict[str, Any]] = field(default_factory=dict)
    errors: list[list[str | None]] = field(default_factory=list)
    decisions: list[tuple[Any, ...]] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    nights: dict[tuple[str, str], str] = field(default_factory=dict)
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    is_compaction_wanted: bool = False
    lake: dict[str, dict[str, Any]] | None = None
    waiting: list[list[tuple[str, File]]] = field(default_factory=list)
    n_loads: int = 0

    def copy(self) -> Model:
        """A model that changes without this one, which shares what no change touches."""
        return replace(
            self,
            dumps=_copied(self.dumps),
            errors=[*map(list, self.errors)],
            decisions=[*self.decisions],
            forgotten=[*self.forgotten],
            nights={**self.nights},
            lake=None if self.lake is None else _copied(self.lake),
            waiting=[*self.waiting],
        )

    def view(self) -> dict[str, Any]:
        """What a reader of the store must find, in the form of `observe`."""
        return {
            "dumps": sorted(map(self._row, self.dumps, self.dumps.values()), key=repr),
            "errors": sorted(map(tuple, self.errors), key=repr),
            "decisions": sorted(self.decisions, key=repr),
            "forgotten": sorted(self.forgotten),
            "nights": sorted(((*key, verdict) for key, verdict in self.nights.items()), key=repr),
        }

    def _row(self, hash_: str, dump: Mapping[str, Any]) -> tuple[Any, ...]:
        stated = json.loads(dump["manifest"])
        device, build, model = stated["device"], stated["build"], stated["model"]
        names = device["name"], device.get("pool"), build["id"], model["name"], model.get("backend")
        held = 0 if dump["is_dropped"] else dump["events"]
        content = dump["etrecord"], dump["debug_buffer"], dump["events"], held, dump["is_dropped"]
        ticks = sum(range(dump["events"]))
        ordinal = self._ordinal(build["id"])
        return hash_, dump["source"], dump["manifest"], *names, ordinal, *content, ticks

    def _ordinal(self, build: str) -> int | None:
        """The ordinal of a build: of its dumps that state one, the first to arrive counts."""
        stated = [
            (dump["load"], json.dumps(one, sort_keys=True, separators=(",", ":")), one["ordinal"])
            for dump in self.dumps.values()
            for one in [json.loads(dump["manifest"])["build"]]
            if one["id"] == build and one.get("ordinal") is not None
        ]
        return min(stated)[2] if stated else None

    def answer(self, query: str) -> list[dict[str, Any]]:
        """Rows of a canned query, in any order, with some of its columns."""
        if query == "notes":
            names = ("note_id", "text", "build", "device", "pool")
            withdrawn = {one[0] for one in self.decisions if one[1] == "withdrawn"}
            notes = [one for one in self.decisions if one[1] == "noted" and self.has(*one[3:])]
            rows = [(one[0], *one[2:]) for one in notes if one[0] not in withdrawn]
        elif query == "ingest_errors":
            names = ("source", "sha256", "reason", "detail", "is_resolved")
            sources = {dump["source"] for dump in self.dumps.values()}
            rows = [
                (*e[:4], e[2] != "conflict" and (e[1] in self.dumps or e[0] in sources))
                for e in self.errors
            ]
        else:
            names = ("device", "pool", "build", "model", "backend", "dump_count", "event_count")
            counts: dict[tuple[Any, ...], list[int]] = {}
            for row in self.view()["dumps"]:
                counts.setdefault(row[3:8], []).append(row[11])
            rows = [(*key, len(events), sum(events)) for key, events in counts.items()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def ingest(self, files: Sequence[tuple[str, File]]) -> list[Model]:
        """The states that an ingest commits, one after the other."""
        self.n_loads += 1
        again = self._take(files)
        states = [self.copy()]
        for error in self.errors:
            if error[2] == "conflict" and (error[0], error[1]) in {one[:2] for one in again}:
                error[2] = "settled_conflict"
        states.append(self.copy())
        for _, hash_, file in again:
            self.dumps[hash_].update(_hashes(file.companions))
        return [*states, self.copy()]

    def drain(self) -> list[Model]:
        """The states that a drain of the inbox commits, one after the other."""
        logs, self.waiting = self.waiting, []
        return self.ingest([pair for log in logs for pair in log])

    def _take(self, files: Sequence[tuple[str, File]]) -> list[tuple[str, str, File]]:
        """Take new dumps and refuse others; returns those that the store has already."""
        again = []
        known = {hash_: dump["manifest"] for hash_, dump in self.dumps.items()}
        for source, file in files:
            hash_, manifest = str(hash_of(file.data)), MANIFESTS[file.manifest].canonical_json()
            if file.number is None:
                self._refuse(source, hash_, "truncated", BAD_DETAIL, manifest)
            elif known.setdefault(hash_, manifest) != manifest:
                detail = describe_conflict(hash_, manifest, known[hash_])
                self._refuse(source, hash_, "conflict", detail, manifest)
            elif hash_ in self.dumps:
                again.append((source, hash_, file))
            else:
                self.dumps[hash_] = {
                    "source": source, "manifest": manifest, "load": self.n_loads,
                    "events": tiny_dump_events(file.number), "is_dropped": False,
                    "etrecord": None, "debug_buffer": None,
                    **_hashes(file.companions),
                }  # fmt: skip
        return again

    def _refuse(self, source: str, hash_: str, reason: str, detail: str, manifest: str) -> None:
        known = [error[:4] for error in self.errors]
        if [source, hash_, reason, detail] not in known:
            self.errors.append([source, hash_, reason, detail, manifest])

    def matching(self, build: str) -> list[str]:
        """The dumps of a build."""
        return [
            hash_
            for hash_, dump in self.dumps.items()
            if json.loads(dump["manifest"])["build"]["id"] == build
        ]

    def amend(self, build: str, corrections: Mapping[tuple[str, str], Any]) -> None:
        """Correct the manifests of the dumps of a build."""
        for hash_ in self.matching(build):
            stated = json.loads(self.dumps[hash_]["manifest"])
            for (part, name), value in corrections.items():
                stated[part][name] = value
            corrected = Manifest.model_validate(stated).canonical_json()
            self.dumps[hash_]["manifest"] = corrected

    def forget(self, build: str) -> None:
        """Delete the dumps of a build, and what only they use."""
        gone = self.matching(build)
        for hash_ in gone:
            del self.dumps[hash_]
        self.forgotten += gone
        self.errors = [error for error in self.errors if error[1] not in gone]
        self.decisions = [one for one in self.decisions if one[3] is None or self.has(*one[3:])]
        self.nights, self.snapshots, self.is_compaction_wanted = {}, [], True

    def has(self, build: str | None, device: str | None, pool: str | None) -> bool:
        """Whether a dump is of this build, and of this device and pool if they are given."""
        for dump in self.dumps.values():
            stated = json.loads(dump["manifest"])
            own = stated["device"]["name"], stated["device"].get("pool")
            is_there = device in {None, own[0]} and pool in {None, own[1]}
            if stated["build"]["id"] == build and is_there:
                return True
        return False

    def drop_old_events(self, *, days: int, kept: str | None) -> None:
        """Drop the events of dumps that are older, except those of builds that match a glob."""
        before = datetime.now(UTC) - timedelta(days=days)
        for dump in self.dumps.values():
            stated = json.loads(dump["manifest"])
            taken = stated.get("captured_at")
            is_old = datetime.fromisoformat(taken) < before if taken else days == 0
            is_kept = kept is not None and fnmatch.fnmatch(stated["build"]["id"], kept)
            dump["is_dropped"] |= is_old and not is_kept

    def decide(self, name: str, state: str, reason: str, point: Point | None = None) -> None:
        """Record a decision or a note."""
        on = (point.build, point.device, point.pool) if point else (None, None, None)
        self.decisions.append((name, state, reason, *on))

    def publish(self, kept: int) -> None:
        """Publish a snapshot, and keep that many."""
        self.snapshots = [*self.snapshots, self.view()][-kept:]

    def replace_file(self) -> None:
        """Compact or rebuild the file."""
        if self.is_compaction_wanted:
            self.snapshots = []
        self.is_compaction_wanted = False

    def export(self) -> list[Model]:
        """The states that an export commits to the lake."""
        lake = self.lake = self.lake or {}
        changed = [hash_ for hash_ in self.dumps if hash_ in lake and self._differs(hash_)]
        for hash_ in [one for one in lake if one in self.forgotten and one not in self.dumps]:
            del lake[hash_]
        for hash_ in changed:
            self._put(lake, hash_)
        states = [self.copy()]
        for hash_ in self.dumps:
            if hash_ not in lake:
                self._put(lake, hash_)
        return [*states, self.copy()]

    def _differs(self, hash_: str) -> bool:
        own, known = self.dumps[hash_], (self.lake or {})[hash_]
        names = ("etrecord", "debug_buffer")
        return own["manifest"] != known["manifest"] or any(
            own[name] not in {None, known[name]} for name in names
        )

    def _put(self, lake: dict[str, dict[str, Any]], hash_: str) -> None:
        has_events = hash_ in lake and not lake[hash_]["is_dropped"]
        lake[hash_] = {**self.dumps[hash_]}
        lake[hash_]["is_dropped"] &= not has_events


def _copied(dumps: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {hash_: {**dump} for hash_, dump in dumps.items()}


def _hashes(files: Mapping[str, bytes]) -> dict[str, str | None]:
    return {name: hash_of(data) for name, data in files.items()}
