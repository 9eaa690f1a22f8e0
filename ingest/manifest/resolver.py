"""The manifest of a dump: device, build, model, time of capture and clock.

The manifest is merged from several places, field by field; the nearest place that states a field
wins.

Path templates extract fields from the path of a dump.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from tracehouse.ingest.errors import ManifestError, pydantic_problem
from tracehouse.ingest.manifest.fields import (
    COUNTERS,
    LAYOUT_FIELDS,
    REQUIRED,
    Fields,
    FullShape,
    flatten,
    near_misses,
    nest,
)
from tracehouse.ingest.manifest.models import Build, Clock, Device, Manifest, Model, Rate
from tracehouse.ingest.manifest.runner_output import (
    Counters,
    add_counters,
    counters_of,
    read_printed,
)
from tracehouse.ingest.manifest.sidecars import Sidecar, SidecarParser, parse_sidecar, read_sidecar
from tracehouse.ingest.manifest.times import describe_doubts
from tracehouse.ingest.schemas.attributes import compose
from tracehouse.ingest.sources.file_names import (
    BENCHMARK_RESULTS,
    LOG_SUFFIX,
    SHARED_MANIFEST,
    sidecar_names,
)
from tracehouse.ingest.sources.listing import FolderNames
from tracehouse.ingest.sources.places import Folder, Source, is_below
from tracehouse.ingest.strict_json import quote

_TOKENS = re.compile(r"(\*\*/|\*\*|\*|\?|\{[^{}/]*\})")
_REPEATED = ("**/", "**", "*")

__all__ = ["Build", "Clock", "Device", "Manifest", "ManifestResolver", "Model", "Rate"]

_MOST_PATH_LENGTH = 4_096  # letters of a path that a layout is matched with
_MOST_SEGMENT_LENGTH = 255  # letters of a name in it
_MOST_NOTES = 1_000
_SILENT = "adds no counters: no report of a known runner can be read in it"


class PathTemplate:
    """A template that finds fields in a path, in time linear in the length of the path."""

    def __init__(self, pieces: Sequence[str]) -> None:
        """Accept the pieces: literal texts, wildcards and fields in braces."""
        self._pieces = pieces

    def find(self, path: str) -> dict[str, str] | None:
        """The values of the fields; None if the end of the path does not match."""
        ends = [-1] * len(path) + [len(path)]
        found: list[tuple[str, list[int]]] = []
        for piece in reversed(self._pieces):
            ends = _find_ends(piece, path, ends)
            found.append((piece, ends))
        starts = (0, *(i + 1 for i, character in enumerate(path) if character == "/"))
        at = max((start for start in starts if ends[start] >= 0), default=None)
        if at is None:
            return None
        values = {}
        for piece, ends in reversed(found):
            if piece.startswith("{"):
                values[piece[1:-1]] = path[at : ends[at]]
            at = ends[at]
        return values


def _find_ends(piece: str, path: str, later: Sequence[int]) -> list[int]:
    """For each start in the path, the last position where a piece may end; -1 for no match."""
    size = len(path)
    if piece.startswith("{"):  # one character, then as many others as possible
        others = _find_ends("*", path, later)
        return [others[i + 1] if path[i] != "/" else -1 for i in range(size)] + [-1]
    if piece not in _REPEATED:
        count = 1 if piece == "?" else len(piece)
        fits = [
            i + count <= size
            and later[i + count] >= 0
            and (path[i] != "/" if piece == "?" else path.startswith(piece, i))
            for i in range(size + 1)
        ]
        return [i + count if fits[i] else -1 for i in range(size + 1)]
    ends = [i if later[i] >= 0 else -1 for i in range(size + 1)]
    after_segment = -1
    for i in range(size - 1, -1, -1):
        if path[i] == "/":
            after_segment = i + 1
        if piece == "**/":
            further = after_segment if path[i] != "/" else -1
        else:
            further = i + 1 if piece == "**" or path[i] != "/" else -1
        if further >= 0 and ends[further] >= 0:
            ends[i] = ends[further]
    return ends


def parse_layout(template: str, fields: Collection[str]) -> PathTemplate:
    """The template in a text.

    A template matches the end of a path. ``{field}`` takes as much of one path segment as possible,
    ``*`` and ``?`` stay within a segment, and ``**`` stands for as few segments as possible.

    >>> parse_layout("{model}-{backend}/*.etdp", ["model", "backend"]).find(
    ...     "/farm/mobilenet-v2-xnnpack/000.etdp")
    {'model': 'mobilenet-v2', 'backend': 'xnnpack'}

    Raises:
        ManifestError: if a field is unknown or used twice, or a brace has no partner.
    """
    pieces = [piece for piece in _TOKENS.split(template) if piece]
    for piece in pieces:
        _check(piece, template, fields)
    names = [piece for piece in pieces if piece.startswith("{")]
    if len(set(names)) < len(names) or not names:
        raise ManifestError(_where(template), "wanted at least one field, each only once")
    return PathTemplate(pieces)


def _check(piece: str, template: str, fields: Collection[str]) -> None:
    if piece.startswith("{") and piece.endswith("}"):
        name = piece[1:-1]
        if name not in fields:
            near = difflib.get_close_matches(name, fields, n=1)
            hint = f"did you mean {{{near[0]}}}? " if near else ""
            wanted = ", ".join(fields)
            raise ManifestError(_where(template), f"no field {piece}; {hint}wanted {wanted}")
    elif "{" in piece or "}" in piece:
        raise ManifestError(_where(template), "a brace has no partner, wanted {field}")


def _where(template: str) -> str:
    return f"layout {template!r}"


class _Layer(NamedTuple):
    """The fields of one place, and the name of the place for messages."""

    place: str
    fields: Fields


class ManifestResolver:
    """Finds the manifests of the dumps of one run, reading each shared file once.

    Attributes:
        notes: Sentences about fields that look misspelt, in order, up to a limit.
        doubts: Sentences about times and runners' output, each with the first file that it is true
            of, and their number.
        parse: Parses the files; a service has another process do it.
    """

    def __init__(
        self,
        *,
        overrides: Mapping[str, object] | None = None,
        layout: str | None = None,
        names: FolderNames | None = None,
        tops: Collection[str] | None = None,
    ) -> None:
        """Accept the settings for all dumps; a malformed one raises ManifestError.

        Args:
            overrides: fields that override all others, in any shape that a manifest file may have,
                short names included: ``{"device": "pixel8", "backend": "xnnpack", "os": None}``.
            layout: path template, e.g. ``{device}/{build}/{model}-{backend}/*.etdp``.
            names: names of files in folders; other folders are listed when needed.
            tops: folders above which no manifest.json is read; without any, only those in zips.
                By default, the search ends at the root.
        """
        self.notes: dict[str, None] = {}
        self.doubts: dict[str, tuple[str, int]] = {}
        self._now = datetime.now(UTC)
        self.parse: SidecarParser = parse_sidecar
        self._overrides = self._flatten("options", overrides or {})
        self._layout = layout
        self._pattern = None if layout is None else parse_layout(compose(layout), LAYOUT_FIELDS)
        self._inherited: dict[Folder, tuple[_Layer, ...]] = {}
        self._benchmarks: dict[Folder, tuple[_Layer, ...]] = {}
        self._names = names or FolderNames()
        self._tops = {"/"} if tops is None else {*map(os.path.abspath, tops)}
        self._shared: dict[Folder, Manifest] = {}

    def resolve(self, source: Source) -> Manifest:
        """The manifest of a dump; the first place that states a field wins.

        The places, in order: the overrides, ``NAME.json`` and ``NAME.etdp.json`` of the dump,
        each ``manifest.json`` from its folder up to the top (members of a zip continue with the
        folder of the zip), the layout, and ExecuTorch's ``benchmark_results.json`` in the folder of
        the dump. A file that exists but cannot be read raises SourceError. A runner's output in
        ``NAME.log`` or ``NAME.qhas.json`` adds counters whose names no other place states.

        Raises:
            ManifestError: if device, build or model is unknown, or a field is malformed.
        """
        manifest = self._resolve(source, source.folder)
        self._doubt_times(source, manifest)
        return manifest

    def _resolve(self, source: Source, folder: Folder) -> Manifest:
        sidecars = self._read_sidecars(source, folder)
        layout = self._match_layout(source)
        printed = read_printed(source, self._names.find(folder), self._read_counters)
        is_shared = not sidecars and not layout and not printed
        if is_shared and folder in self._shared:
            return self._shared[folder]
        inherited, benchmark = self._read_inherited(folder), self._read_benchmark(folder)
        layers = (self._overrides, *sidecars, *inherited, *layout, *benchmark)
        manifest = self._merge(source, layers, printed)
        if is_shared:
            self._shared[folder] = manifest
        return manifest

    def _doubt_times(self, source: Source, manifest: Manifest) -> None:
        for name, time in (
            ("captured_at", manifest.captured_at),
            ("build.committed_at", manifest.build.committed_at),
        ):
            for doubt in describe_doubts(name, time, self._now):
                self._doubt(doubt, source.name)

    def _doubt(self, doubt: str, place: str) -> None:
        first, count = self.doubts.get(doubt, (place, 0))
        if count or len(self.doubts) < _MOST_NOTES:
            self.doubts[doubt] = first, count + 1

    def _merge(
        self, source: Source, layers: tuple[_Layer, ...], printed: Sequence[Mapping[str, object]]
    ) -> Manifest:
        fields: Fields = {}
        for layer in reversed(layers):
            fields.update(layer.fields)
        if printed:
            fields[COUNTERS] = add_counters(fields.get(COUNTERS), printed)
        if missing := _list_missing(fields):
            raise ManifestError(source.name, self._describe_missing(missing, source))
        return _validate(fields, layers, source.name)

    def _read_sidecars(self, source: Source, folder: Folder) -> tuple[_Layer, ...]:
        files = self._names.find(folder)
        if files is not None and not files.by_name:
            return ()
        layers: tuple[_Layer, ...] = ()
        for wanted in sidecar_names(source.file_name):
            name = wanted if files is None else files.find(wanted)
            if name and name != source.file_name:
                layers += self._read_layer(folder.file(name))
        return layers

    def _read_inherited(self, folder: Folder) -> tuple[_Layer, ...]:
        unread: list[Folder] = []
        above: Folder | None = folder
        while above is not None and above not in self._inherited:
            if above.inner is not None or is_below(above.path, self._tops):
                unread.append(above)
            above = above.parent
        layers = () if above is None else self._inherited[above]
        for below in reversed(unread):
            manifest = self._names.shared_file(below, SHARED_MANIFEST)
            layers = (*self._read_layer(manifest), *layers)
            self._inherited[below] = layers
        return layers

    def _read_benchmark(self, folder: Folder) -> tuple[_Layer, ...]:
        if folder not in self._benchmarks:
            file = self._names.shared_file(folder, BENCHMARK_RESULTS)
            fields = read_sidecar(Sidecar.BENCHMARK, file, self.parse) or {}
            self._benchmarks[folder] = (self._flatten(file.name, fields),)
        return self._benchmarks[folder]

    def _read_layer(self, file: Source) -> tuple[_Layer, ...]:
        fields = read_sidecar(Sidecar.MANIFEST, file, self.parse)
        return () if fields is None else (self._flatten(file.name, fields),)

    def _read_counters(self, suffix: str, file: Source) -> Counters:
        kind = Sidecar.LOG if suffix == LOG_SUFFIX else Sidecar.QHAS
        fields = read_sidecar(kind, file, self.parse)
        counters = counters_of(fields or {})
        if fields is not None and not counters:
            self._doubt(_SILENT, file.name)
        return counters

    def _flatten(self, place: str, content: Mapping[str, object]) -> _Layer:
        """The fields of one place; fields that look misspelt become tags and give a note.

        Raises:
            ManifestError: The content is malformed.
        """
        layer = _make_layer(place, content)
        if len(self.notes) < _MOST_NOTES:
            notes = (_printable(f"{place}: {hint}") for hint in near_misses(content))
            self.notes.update(dict.fromkeys(notes))
        return layer

    def _match_layout(self, source: Source) -> tuple[_Layer, ...]:
        # Fields that share a name are tried in all ways.
        if self._pattern is None or not _is_usual(source.place):
            return ()
        found = self._pattern.find(compose(source.place))
        if found is None:
            return ()
        return (self._flatten(f"{source.name}: layout {self._layout!r}", found),)

    def _describe_missing(self, missing: list[str], source: Source) -> str:
        options = " ".join(f"--{name}" for name in missing)
        sidecar = sidecar_names(source.file_name)[0]
        template = self._layout or "/".join([*(f"{{{name}}}" for name in missing), "*.etdp"])
        matched = " (the given layout does not state them here)" if self._layout else ""
        benchmark = "" if missing == ["build"] else ", or ExecuTorch's benchmark_results.json"
        return (
            f"no {', '.join(missing)}; give {options}, or state them in a sidecar {sidecar}, "
            "in a manifest.json from its folder up to the given one, by --layout "
            f"'{template}'{matched}{benchmark}"
        )


def check_fields(place: str, content: Mapping[str, object]) -> None:
    """Check the fields of one place, independently of other places.

    Raises:
        ManifestError: The content is malformed.

    >>> check_fields("options", {"clock": "years"})
    Traceback (most recent call last):
        ...
    tracehouse.ingest.errors.ManifestError: options: clock.unit: found 'years', wanted 'ns', \
'us', 'ms', 's' or 'cycles'
    """
    _merge_into(dict.fromkeys(REQUIRED.values(), "any"), place, content)


def make_manifest(place: str, stated: Mapping[str, object], printed: Counters) -> Manifest:
    """The manifest of the fields of one place, with counters that a runner printed.

    Raises:
        ManifestError: A field is malformed, or device, build or model is missing.
    """
    manifest = _merge_into({}, place, stated)
    if not printed:
        return manifest
    counters = [counter.model_dump() for counter in manifest.counters or ()]
    fields = {COUNTERS: add_counters(counters, printed)}
    return correct_manifest(manifest.canonical_json(), place, fields)


def correct_manifest(manifest: str, place: str, stated: Fields) -> Manifest:
    """A manifest, given as canonical JSON, with corrected fields; None removes a field.

    Raises:
        ManifestError: A correction is malformed, or removes a required field.
    """
    fields = flatten(FullShape(json.loads(manifest)))
    fields.update(dict.fromkeys([key for key, value in stated.items() if value is None]))
    gone = [name for name, key in REQUIRED.items() if key in stated and stated[key] is None]
    if gone:
        raise ManifestError(place, f"{gone[0]}: found nothing, wanted a name")
    return _merge_into(fields, place, nest(stated))


def _merge_into(fields: Fields, place: str, content: Mapping[str, object]) -> Manifest:
    """The manifest with these fields and those of one place, which override them.

    Raises:
        ManifestError: The content is malformed.
    """
    layer = _make_layer(place, content)
    stated = fields | layer.fields
    if missing := _list_missing(stated):
        raise ManifestError(place, f"no {', '.join(missing)}: state them by name")
    return _validate(stated, (layer,), place)


def _make_layer(place: str, content: Mapping[str, object]) -> _Layer:
    try:
        return _Layer(place, flatten(content))
    except ValueError as error:
        raise ManifestError(place, _printable(str(error))) from error


def _list_missing(fields: Fields) -> list[str]:
    return [name for name, key in REQUIRED.items() if key not in fields]


def _validate(fields: Fields, layers: Iterable[_Layer], source: str) -> Manifest:
    try:
        return Manifest.model_validate(nest(fields))
    except ValidationError as error:
        raise ManifestError(*_locate(error, layers, source)) from error


def _is_usual(place: str) -> bool:
    """Whether a path is as short as file systems allow."""
    longest = max(map(len, place.split("/")))
    return len(place) <= _MOST_PATH_LENGTH and longest <= _MOST_SEGMENT_LENGTH


def _locate(error: ValidationError, layers: Iterable[_Layer], source: str) -> tuple[str, str]:
    """The place of the first faulty value, or else the dump; and the problem."""
    fault = error.errors(include_url=False, include_context=False)[0]
    path = ".".join(map(str, fault["loc"]))
    places = (layer.place for layer in layers if _states(layer.fields, path))
    wanted = pydantic_problem(fault["msg"])
    return next(places, source), _printable(f"{path:.200}: found {quote(fault['input'])}, {wanted}")


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _states(fields: Fields, path: str) -> bool:
    stated = (".".join(filter(None, key)) for key in fields)
    return any(f"{path}.".startswith(f"{key}.") or key.startswith(f"{path}.") for key in stated)
