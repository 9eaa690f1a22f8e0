"""Builds the wheel, its source archive and the list of its parts into dist/: `make dist`.

All is made of the last commit, so that equal commits give equal bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from tests.tools.site.reference import read_helps

ROOT = Path(__file__).parents[2]
_RELEASE = re.compile(r"\d+\.\d+\.\d+")
_HEADING = re.compile(r"^## (\S+) \((.+)\)$", re.MULTILINE)


class ReleaseError(Exception):
    """What stands in the way of a release, and what to do."""


def check_changelog(version: str, text: str) -> None:
    """Check that the first heading of a changelog is that of the version.

    Args:
        version: Version of a commit; only that of a tagged commit is X.Y.Z.
        text: The changelog.

    Raises:
        ReleaseError: It is of another version, or has no date.
    """
    found, day = _HEADING.findall(text)[0]
    if not _RELEASE.fullmatch(version):
        return
    if found != version:
        raise ReleaseError(f"CHANGELOG.md begins with {found}, but the tag says {version}")
    try:
        datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError as error:
        raise ReleaseError(f"CHANGELOG.md: {version} needs a date instead of ({day})") from error


def man_page(version: str) -> str:
    """The manual page of the command, in troff: the help of every subcommand."""
    parts = [
        f'.TH TRACEHOUSE 1 "" "tracehouse {version}"',
        ".SH NAME\ntracehouse \\- a warehouse for ExecuTorch ETDump traces",
        ".SH COMMANDS",
    ]
    for words, text in read_helps():
        lines = [line.replace("\\", "\\e").replace("-", "\\-") for line in text.splitlines()]
        kept = "\n".join(f"\\&{line}" for line in lines)
        parts.append(f'.SS "{" ".join(words)}"\n.nf\n{kept}\n.fi')
    return "\n".join(parts) + "\n"


def build(source: Path, target: Path, *, version: str, seconds: int) -> tuple[Path, Path]:
    """Build the wheel and the source archive of a tree.

    Args:
        source: A copy of the tree, which gets the manual page.
        target: Folder for the archives.
        version: Version of the tree.
        seconds: Time of the commit, in seconds since 1970, for all files in the archives.

    Returns:
        The source archive and the wheel.
    """
    page = source / "share" / "man" / "man1" / "tracehouse.1"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(man_page(version), encoding="utf-8")
    _run(
        *(sys.executable, "-m", "build", "--no-isolation", "--outdir", target, source),
        SETUPTOOLS_SCM_PRETEND_VERSION=version,
        SOURCE_DATE_EPOCH=str(seconds),
    )
    archive = target / f"tracehouse-{version}.tar.gz"
    return archive, target / f"tracehouse-{version}-py3-none-any.whl"


def write_parts(wheel: Path, target: Path) -> None:
    """Write what an installed wheel consists of, with versions, as CycloneDX (JSON)."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        _run(sys.executable, "-m", "venv", folder)
        limits = ("--constraint", ROOT / "requirements.txt")
        _run(python, "-m", "pip", "install", "--quiet", *limits, f"{wheel}[serve]")
        _run(
            *(sys.executable, "-m", "cyclonedx_py", "environment", python),
            *("--output-reproducible", "--output-file", target),
        )


def main() -> int:
    """Build everything into dist/ and print it; 1 if the changelog is not ready."""
    target = ROOT / "dist"
    version = _run(sys.executable, "-m", "setuptools_scm").decode().split()[0]
    try:
        check_changelog(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    except ReleaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    seconds = int(_run("git", "log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(_run("git", "archive", "HEAD"))) as archive:
            archive.extractall(folder, filter="data")
        built = build(Path(folder), target, version=version, seconds=seconds)
    parts = target / f"tracehouse-{version}.cdx.json"
    write_parts(built[1], parts)
    for path in [*built, parts]:
        sys.stdout.write(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    return 0


def _run(*command: str | Path, **variables: str) -> bytes:
    """What a command prints; raises CalledProcessError, after its own words."""
    environment: Mapping[str, str] = os.environ | variables
    return subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())
