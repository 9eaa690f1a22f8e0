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
