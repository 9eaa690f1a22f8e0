"""Makes what documents show: pictures of the page and the report, and what commands print.

`make pictures` runs `tracehouse demo`, takes the pictures with a headless Chromium, and writes what
PROSE commands print into the console blocks of TOLD. Beside the pictures, a record has the
hash of what they show; a test compares it with the present one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support.command import COMMAND, ENVIRONMENT
from tests.support.documents import DOCUMENTS, PROSE, ROOT
from tests.tools.drawings import write_drawings

PICTURES = ROOT / "docs" / "pictures"
RECORD = PICTURES / "record.json"
TOLD = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")  # with the dumps of the demo
SCHEMES = {"dark": 0, "light": 1}  # numbers of Chromium's preferredColorScheme
# What pictures show: templates and styles, wherever they are, and the dumps.
INPUTS = ("cli/**/*.jinja", "cli/**/*.css", "queries/**/*.jinja", "queries/**/*.css")
_SAMPLE = "ingest/sample/**/*"
_NAMED = re.compile(r'(?:src|srcset)="([^"]+\.png)"|!\[[^\]]*\]\(([^)\s]+\.png)\)')
_SECONDS = 60


class Picture(NamedTuple):
    """A picture, of a view of the service or of the file of the report, in CSS pixels."""

    name: str
    view: str | None
    width: int = 1200
    height: int = 640


SHOWN = (Picture("page", "/"), Picture("report", None))


def find_hash() -> str:
    """The SHA-256 of the files that the pictures depend on, and of the list of pictures."""
    files = sorted({path for glob in (*INPUTS, _SAMPLE) for path in ROOT.glob(glob)})
    hashed = hashlib.sha256(repr(SHOWN).encode())
    for path in files:
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            hashed.update(f"{path.relative_to(ROOT)}\0{path.stat().st_size}\0".encode())
            hashed.update(path.read_bytes())
    return hashed.hexdigest()


def named_pictures() -> dict[Path, set[Path]]:
    """The pictures that each document names."""
    return {
        document: {
            (document.parent / (one or other)).resolve()
            for one, other in _NAMED.findall(document.read_text(encoding="utf-8"))
        }
        for document in DOCUMENTS
    }


def retell(text: str, run: Callable[[list[str]], str]) -> str:
    """A document with what PROSE commands print now, where it shows what they print."""

    prose = tuple(f"tracehouse {name}" for name in PROSE)

    def print_anew(found: re.Match[str]) -> str:
        if not found["shown"].strip() or not found["command"].startswith(prose):
            return found[0]
        args = shlex.split(found["command"], comments=True)
        gap = "\n" * (len(found["shown"]) - len(found["shown"].rstrip("\n")))
        return f"$ {found['command']}\n{run(args[1:]).rstrip()}{gap}"

    def print_block(found: re.Match[str]) -> str:
        return re.sub(
            r"^\$ (?P<command>.*)\n(?P<shown>(?:(?!\$ ).*\n)*)", print_anew, found[0], flags=re.M
        )

    return re.sub(r"(?<=^```console\n)(?:(?!```).*\n)*", print_block, text, flags=re.M)


def main() -> int:
    """Make all pictures and what commands print anew."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("make pictures needs Chromium: apt-get install chromium", file=sys.stderr)
        return 1
    PICTURES.mkdir(exist_ok=True)
    write_drawings()
    with tempfile.TemporaryDirectory(prefix="tracehouse-pictures-") as folder:
        made = Path(folder)
        _run(["demo", "."], made)
        with _served(made / "farm.store") as url:
            for picture in SHOWN:
                address = (made / "report.html").as_uri() if picture.view is None else url
                for scheme in SCHEMES:
                    _take(chromium, picture, f"{address}{picture.view or ''}", scheme)
        (made / "farm.store").rename(made / "tracehouse.store")
        for document in TOLD:
            text = document.read_text(encoding="utf-8")
            told = retell(text, lambda args: _run(args, made))
            if told != text:
                document.write_text(told, encoding="utf-8")
    RECORD.write_text(json.dumps({"shown": find_hash()}) + "\n", encoding="utf-8")
    return 0


def _run(args: list[str], folder: Path) -> str:
    done = subprocess.run(
        [*COMMAND, *args], cwd=folder, env=_environment(), capture_output=True, check=True
    )
    return done.stdout.decode()


def _environment() -> dict[str, str]:
    named = ("TRACEHOUSE_STORE", "TRACEHOUSE_URL")
    return {name: value for name, value in ENVIRONMENT.items() if name not in named}


@contextmanager
def _served(store: Path) -> Iterator[str]:
    """The address of a service of a store, without its last slash."""
    command = [*COMMAND, "serve", "--port", "0", "--store", os.fspath(store)]
    with subprocess.Popen(
        command, env=_environment(), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = next(line for line in process.stderr if line.startswith("serving "))
        try:
            yield line.split()[-1].rstrip("/")
        finally:
            process.send_signal(signal.SIGINT)


def _take(chromium: str, picture: Picture, address: str, scheme: str) -> None:
    """Write a picture of an address; Chromium is ended if it hangs."""
    target = PICTURES / f"{picture.name}-{scheme}.png"
    subprocess.run(
        [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            f"--window-size={picture.width},{picture.height}",
            f"--screenshot={target}", address,
        ],
        timeout=_SECONDS, check=True, capture_output=True,
    )  # fmt: skip
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
