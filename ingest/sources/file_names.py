"""What the names of files say: dumps, zips, and files that belong to dumps. Pure."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

DUMP_SUFFIXES = (".etdp", ".etdump", ".prof")
DEFAULT_DUMPS = ("etdump.in", "etdump.bin")  # as ExecuTorch's runners of LLMs and for Arm write
ZIP_SUFFIX = ".zip"
UNPACKED = {".gz": "gzip", ".zst": "zstd"}  # packings that are read
_PACKINGS = (*UNPACKED, ".xz", ".bz2", ".lz4")  # dumps in others are found, and refused
_DUMPS = tuple(end + packing for packing in ("", *_PACKINGS) for end in DUMP_SUFFIXES)
_DEFAULTS = {name + packing for packing in ("", *_PACKINGS) for name in DEFAULT_DUMPS}

ETRECORD_SUFFIX = ".etrecord"
DEBUG_BUFFER_SUFFIX = ".debug.bin"
MANIFEST_SUFFIX = ".json"
LOG_SUFFIX = ".log"
QHAS_SUFFIX = ".qhas.json"
SHARED_MANIFEST = "manifest.json"
BENCHMARK_RESULTS = "benchmark_results.json"
FARM_TRUTH = "truth.json"  # what the sample farm says of itself
DEFAULT_ETRECORD = "etrecord.bin"
DEFAULT_BUFFERS = ("debug_output.bin", "debug_buffer.bin")

COMPANION_SUFFIXES = (DEBUG_BUFFER_SUFFIX, ETRECORD_SUFFIX)
FOLDER_COMPANIONS = (DEFAULT_ETRECORD, *DEFAULT_BUFFERS)
ALL_FOLDER_COMPANIONS = tuple(
    f"{name}{packing}" for packing in ("", *UNPACKED) for name in FOLDER_COMPANIONS
)
_OWN_SUFFIXES = (*COMPANION_SUFFIXES, QHAS_SUFFIX, MANIFEST_SUFFIX, LOG_SUFFIX)

_UNPACKED_ENDS = tuple(UNPACKED)
_LONGEST_SUFFIX = 16

WANTED_DUMPS = f"*{', *'.join(DUMP_SUFFIXES)}, {', '.join(DEFAULT_DUMPS)}"
WANTED = f"{WANTED_DUMPS} or *{ZIP_SUFFIX}"


class FolderFiles(NamedTuple):
    """The files of a folder that may belong to dumps.

    Attributes:
        by_name: Their names by `plain_name`.
        dump_count: Number of dumps in the folder.
        etrecord: The only ETRecord of the folder, which is that of all its dumps; None without one.
        debug_buffer: The debug buffer that a runner wrote beside the only dump; None without one.
    """

    by_name: Mapping[str, str]
    dump_count: int
    etrecord: str | None = None
    debug_buffer: str | None = None

    @classmethod
    def of(cls, by_name: Mapping[str, str], dump_count: int) -> FolderFiles:
        """The files of these names; see the attributes."""
        records = [name for plain, name in by_name.items() if _is_etrecord(plain)]
        buffers = [by_name[name] for name in DEFAULT_BUFFERS if name in by_name]
        return cls(
            by_name,
            dump_count,
            records[0] if len(records) == 1 else None,
            buffers[0] if len(buffers) == 1 and dump_count <= 1 else None,
        )

    def find(self, wanted: str) -> str | None:
        """The file of this name; None if there is none."""
        return self.by_name.get(plain_name(wanted))

    def companions_of(self, dump: str) -> tuple[str | None, str | None]:
        """The ETRecord and the debug buffer of a dump of the folder."""
        stem = stem_of(dump)
        record = self.find(f"{stem}{ETRECORD_SUFFIX}") or self.etrecord
        return record, self.find(f"{stem}{DEBUG_BUFFER_SUFFIX}") or self.debug_buffer


def is_dump(path: str) -> bool:
    """Whether a file is a dump by its name.

    >>> [is_dump(name) for name in ("a/run.etdp", "RUN.ETDUMP.GZ", "etdump.in", "run.in")]
    [True, True, True, False]
    """
    lowered = path.lower()
    is_named = lowered.endswith(_DUMPS) or lowered.rpartition("/")[2] in _DEFAULTS
    return is_named and not is_apple_double(path)


def is_zip(path: str) -> bool:
    """Whether a file is a zip by its name."""
    return path.lower().endswith(ZIP_SUFFIX) and not is_apple_double(path)


def is_apple_double(path: str) -> bool:
    """Whether a file has attributes of another one: macOS makes a ``._NAME`` for each NAME."""
    return "._" in path and path.rpartition("/")[2].startswith("._")


def is_companion(name: str) -> bool:
    """Whether a file is an ETRecord or debug buffer by its name, without a path.

    >>> [is_companion(name) for name in ("run.debug.bin", "etrecord.bin.gz", "run.json")]
    [True, True, False]
    """
    lowered = _drop_packing(name.lower())
    is_named = lowered.endswith(COMPANION_SUFFIXES) or lowered in FOLDER_COMPANIONS
    return is_named and not is_apple_double(name)


def may_belong(name: str) -> bool:
    """Whether a file may belong to dumps by its name, without a path."""
    is_named = name.lower().endswith(_OWN_SUFFIXES)
    return (is_named and not is_apple_double(name)) or is_companion(name)


def packing_of(path: str) -> str | None:
    """The compression that the name of a file states, as Arrow calls it; None without one."""
    return UNPACKED.get(os.path.splitext(path.lower())[1])


def stem_of(path: str) -> str:
    """The path of a dump without its suffixes, which its own files begin with.

    >>> stem_of("a/run.etdp"), stem_of("a/run.etdp.gz"), stem_of("etdump.in")
    ('a/run', 'a/run', 'etdump')
    """
    stem, end = os.path.splitext(path)
    return os.path.splitext(stem)[0] if end.lower() in _PACKINGS else stem


def dump_names(stem: str) -> list[str]:
    """Names that the dump of a stem may have, unpacked or in a packing that is read."""
    defaults = (name for name in DEFAULT_DUMPS if stem_of(name) == stem)
    return _with_packed((*(f"{stem}{end}" for end in DUMP_SUFFIXES), *defaults))


def companion_stem(name: str) -> str | None:
    """The stem of the dump whose name a companion bears; None for companions of whole folders."""
    plain = _drop_packing(name)
    end = next((end for end in COMPANION_SUFFIXES if plain.lower().endswith(end)), None)
    return None if end is None else plain[: -len(end)]


def sidecar_names(dump: str) -> list[str]:
    """Paths of the manifests of a dump's own, the nearest first.

    >>> sidecar_names("run.etdp"), sidecar_names("run.etdp.gz")
    (['run.json', 'run.etdp.json'], ['run.json', 'run.etdp.json', 'run.etdp.gz.json'])
    """
    stem, end = os.path.splitext(dump)
    is_packed = end.lower() in _PACKINGS
    stems = (os.path.splitext(stem)[0], stem, dump) if is_packed else (stem, dump)
    return [f"{one}{MANIFEST_SUFFIX}" for one in dict.fromkeys(stems)]


def companion_names(dump: str) -> list[str]:
    """Paths of the files that may belong to a dump alone, existing or not.

    >>> companion_names("run.etdp")[:5]
    ['run.debug.bin', 'run.etrecord', 'run.qhas.json', 'run.json', 'run.log']
    >>> companion_names("run.etdp")[5:8]
    ['run.etdp.json', 'run.debug.bin.gz', 'run.etrecord.gz']
    """
    stem = stem_of(dump)
    packed = _with_packed([f"{stem}{end}" for end in COMPANION_SUFFIXES])[len(COMPANION_SUFFIXES) :]
    return [*(f"{stem}{end}" for end in _OWN_SUFFIXES), *sidecar_names(dump)[1:], *packed]


def plain_name(name: str) -> str:
    """A name, without a path, in the spelling by which files find each other.

    Suffixes are in lower case, and letters with accents in Unicode's composed form (NFC): some file
    systems change the former (FAT), or the latter (macOS). A packed companion is spelt as if it
    were not packed.
    """
    if name.lower().endswith(_UNPACKED_ENDS) and is_companion(name):
        name = _drop_packing(name)
    if name.islower() and name.isascii():
        return name
    lowered = name.lower()
    if lowered in _SHARED_NAMES:
        return lowered
    end = next((end for end in _OWN_SUFFIXES if lowered.endswith(end)), "")
    spelt = name[: len(name) - len(end)] + end
    return spelt if spelt.isascii() else unicodedata.normalize("NFC", spelt)


_SHARED_NAMES = frozenset((SHARED_MANIFEST, BENCHMARK_RESULTS, FARM_TRUTH, *FOLDER_COMPANIONS))


def sort_files(names: Iterable[str]) -> FolderFiles:
    """The files of a folder that may belong to dumps, of all names in it."""
    by_name: dict[str, str] = {}
    dump_count = 0
    for name in names:
        if may_belong(name):
            plain = plain_name(name)
            if plain not in by_name or not name.lower().endswith(_UNPACKED_ENDS):
                by_name[plain] = name  # a file comes before its packed copy
        elif is_dump(name):
            dump_count += 1
    return FolderFiles.of(by_name, dump_count)


def list_passed_over(names: Sequence[str], files: FolderFiles) -> list[str]:
    """The files, of all in a folder, that are neither dumps nor zips nor belong to dumps.

    `files` is the result of `sort_files` for these names.
    """
    used = {SHARED_MANIFEST, BENCHMARK_RESULTS, FARM_TRUTH}
    if files.dump_count:
        used.update(plain_name(one) for one in (files.etrecord, files.debug_buffer) if one)
    others = [name for name in names if name.startswith(".") or not name.endswith(_DUMPS)]
    plain = {name: plain_name(name) for name in others if not (is_dump(name) or is_zip(name))}
    left = [name for name, one in plain.items() if one not in used]
    if not left:
        return []
    dumps = [plain_name(name) for name in names if is_dump(name)]
    stems = {stem for dump in dumps for stem in (stem_of(dump), _without_packing(dump), dump)}
    return [name for name in left if not _is_own(plain[name], stems)]


def kind_of(name: str) -> str:
    """The kind of a file by its name, for counts of files.

    >>> [kind_of(name) for name in ("a.TXT", "n.tar.gz", "._a.etdp", ".DS_Store", "README")]
    ['*.txt', '*.tar.gz', '._*', '.*', 'without a suffix']
    """
    if name.startswith("."):
        return "._*" if is_apple_double(name) else ".*"
    bare = _without_packing(name.lower())
    end = os.path.splitext(bare)[1] + name.lower()[len(bare) :]
    if len(end) > _LONGEST_SUFFIX:
        return "of other kinds"
    return f"*{end}" if end else "without a suffix"


def _is_own(plain: str, stems: Collection[str]) -> bool:
    """Whether a file is of a dump with one of these stems."""
    end = next((end for end in _OWN_SUFFIXES if plain.endswith(end)), None)
    return end is not None and plain.removesuffix(end) in stems


def _is_etrecord(plain: str) -> bool:
    return plain.endswith(ETRECORD_SUFFIX) or plain == DEFAULT_ETRECORD


def _drop_packing(name: str) -> str:
    """The name without the suffix of a packing that is read, if it has one."""
    return os.path.splitext(name)[0] if name.lower().endswith(_UNPACKED_ENDS) else name


def _with_packed(names: Sequence[str]) -> list[str]:
    """The names, followed by those of their packed files."""
    return [*names, *(f"{name}{packing}" for packing in UNPACKED for name in names)]


def _without_packing(path: str) -> str:
    stem, end = os.path.splitext(path)
    return stem if end.lower() in _PACKINGS else path
