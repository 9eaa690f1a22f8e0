from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracehouse.ingest.errors import SourceError
from tracehouse.ingest.settings_file import (
    FILE_NAME,
    MAX_SETTINGS_BYTES,
    MAX_SETTINGS_DEPTH,
    read_tables,
)


def test_a_missing_settings_file_has_no_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_tables("serve") == {}
    (tmp_path / FILE_NAME).write_text("[serve]\nport = 1\n[nightly]\n")
    assert read_tables("serve", "report") == {"serve": {"port": 1}}
    with pytest.raises(SourceError, match=r"^other\.toml: No such file"):
        read_tables(path="other.toml")


def test_file_that_an_editor_of_windows_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes("\ufeff[serve]\r\nport = 1\r\n".encode())
    assert read_tables("serve", path=file) == {"serve": {"port": 1}}
    file.write_bytes("[serve]".encode("utf-16"))
    with pytest.raises(SourceError, match=r"not TOML: UTF-16 text.*: save it as UTF-8"):
        read_tables(path=file)


DEEP = f"a key of more than {MAX_SETTINGS_DEPTH} names"
NESTED = f"brackets nested more than {MAX_SETTINGS_DEPTH} deep"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = " + "[" * 5_000, NESTED),
        ("a = " + "[" * 33 + "]" * 33, NESTED),
        ("a = " + "{a = " * 33, NESTED),
        (".".join("a" * 20_000) + " = 1", DEEP),
        ("[" + " . ".join(["'b.c'"] * 33) + "]", DEEP),
        ('x = 1  # "\n' + '.\t"a"' * 33, DEEP),
        ("a = " + "1" * 5_000, r"Exceeds the limit \(4300 digits\)[^;]*$"),
        ("a = ", "Invalid value"),
    ],
)
def test_a_file_that_its_parser_would_not_survive_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / FILE_NAME
    file.write_text(text)
    with pytest.raises(SourceError, match=rf"tracehouse\.toml: not TOML: {problem}"):
        read_tables(path=file)


def test_texts_and_comments_may_contain_any_brackets_and_dots(tmp_path: Path) -> None:
    marks = "[{.a" * 99
    texts = {
        "a": f'"{marks}\\" ["',
        "b": f"'{marks}\\'",
        "c": f'"""{marks}\n{marks}"""""',
        "d": f"'''{marks}\n'{marks}'''",
    }
    lines = [f"{name} = {text} # {marks}" for name, text in texts.items()]
    file = tmp_path / FILE_NAME
    file.write_text("[serve]\n" + "\n".join(lines) + "\n[serve." + ".".join("e" * 30) + "]\n")
    assert set(read_tables("serve", path=file)["serve"]) == set("abcde")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[nigthly]\n", "nigthly: no such table; there are budgets, expected, muted, nightly, own"),
        ("port = 1\n", "port: no such table"),
        ("serve = 1\n", r"serve: wanted a table headed \[serve\]"),
        ("[[nightly]]\n", r"nightly: wanted a table headed \[nightly\]"),
        ("[producers]\n", r"producers: wanted tables headed \[\[producers\]\]"),
        ("muted = [1]\n", r"muted: wanted tables headed \[\[muted\]\]"),
    ],
)
def test_tables_are_checked_whatever_is_asked_for(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / FILE_NAME
    file.write_text(text)
    with pytest.raises(SourceError, match=rf"tracehouse\.toml: {problem}"):
        read_tables("report", path=file)


def test_a_settings_file_that_is_too_large_or_not_regular_is_refused_unread(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    large.write_bytes(b" " * (MAX_SETTINGS_BYTES + 1))
    with pytest.raises(SourceError, match="is 262,145 bytes, wanted at most 262,144"):
        read_tables(path=large)
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(SourceError, match="is not a regular file"):
        read_tables(path=tmp_path / "pipe.toml")
