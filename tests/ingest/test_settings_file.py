from __future__ import annotations

from pathlib import Path

import pytest

from ingest.errors import SourceError
from ingest.settings_file import FILE_NAME, read_tables


def test_without_a_file_there_are_no_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_tables() == {}
    (tmp_path / FILE_NAME).write_text("[serve]\nport = 1\n")
    assert read_tables() == {"serve": {"port": 1}}
    with pytest.raises(SourceError, match=r"^other\.toml: No such file"):
        read_tables("other.toml")


def test_file_that_an_editor_of_windows_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    file.write_bytes("\ufeff[serve]\r\nport = 1\r\n".encode())
    assert read_tables(file) == {"serve": {"port": 1}}
    file.write_bytes("[serve]".encode("utf-16"))
    with pytest.raises(SourceError, match=r"not TOML: UTF-16 text.*: save it as UTF-8"):
        read_tables(file)
