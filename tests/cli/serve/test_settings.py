from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import ROOT, blocks
from tracehouse.cli.serve.settings import ServiceSettings, read_service_settings
from tracehouse.queries.report.settings import SettingsError, read_settings

FILE = """
[nightly]
noise_multiple = 5
[serve]
port = 1111
sql_seconds = 3
batch_dumps = 7
"""


@pytest.fixture(autouse=True)
def _desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_option_beats_the_environment_and_that_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tracehouse.toml").write_text(FILE)
    monkeypatch.setenv("TRACEHOUSE_SERVE_PORT", "2222")
    monkeypatch.setenv("TRACEHOUSE_SERVE_SQL_SECONDS", "4.5")
    found = read_service_settings({"port": 3333, "host": None})
    assert (found.port, found.sql_seconds, found.batch_dumps) == (3333, 4.5, 7)
    assert found.host == "127.0.0.1"
    assert read_service_settings({}).port == 2222


def test_no_service_settings_give_the_defaults() -> None:
    assert read_service_settings({}) == ServiceSettings()
    assert ServiceSettings().port == 8080


def test_a_file_may_be_named_and_may_be_about_other_things(tmp_path: Path) -> None:
    named = tmp_path / "other.toml"
    named.write_text(FILE)
    assert read_service_settings({}, config=named).port == 1111
    named.write_text("[nightly]\nnoise_multiple = 5\n")
    assert read_service_settings({}, config=named) == ServiceSettings()


def test_the_report_s_settings_stand_beside_the_service_s(tmp_path: Path) -> None:
    (tmp_path / "tracehouse.toml").write_text(FILE)
    assert read_settings().nightly.noise_multiple == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[serve]\nport = 70000\n", "x.toml: serve.port: wanted less than or equal"),
        (  # or it waited for more dumps than are taken
            "[serve]\nbatch_dumps = 10001\n",
            "x.toml: serve.batch_dumps: wanted less than or equal",
        ),
        ("[serve]\nprot = 1\n", "x.toml: serve.prot: no such field; did you mean port?"),
        ("[serve]\nhost = 1\n", "x.toml: serve.host: wanted a valid string"),
        ("serve = 1\n", "x.toml: serve: wanted a table headed [serve]"),
        ("serve\n", "x.toml: not TOML: "),
        (b"\xff", "x.toml: not TOML: "),
        (None, "x.toml: No such file"),
    ],
)
def test_an_invalid_setting_in_a_file_is_reported_with_file_and_key(
    tmp_path: Path, text: str | bytes | None, said: str
) -> None:
    file = Path("x.toml")
    if text is not None:
        file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SettingsError) as found:
        read_service_settings({}, config=file)
    assert str(found.value).startswith(said)


def test_an_invalid_option_or_variable_is_reported_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SettingsError, match=r"^--port: wanted less than"):
        read_service_settings({"port": 70000})
    monkeypatch.setenv("TRACEHOUSE_SERVE_SQL_WORKERS", "many")
    with pytest.raises(SettingsError, match=r"^TRACEHOUSE_SERVE_SQL_WORKERS: wanted"):
        read_service_settings({})


def test_a_variable_of_an_unknown_setting_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_SERVE_PROT", "1")
    said = "TRACEHOUSE_SERVE_PROT: no such field; did you mean port?"
    with pytest.raises(SettingsError, match=re.escape(said)):
        read_service_settings({})


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| .", text, re.MULTILINE)
    stated = ServiceSettings().model_dump()
    defaults = {name: "none" if value is None else str(value) for name, value in stated.items()}
    assert dict(rows) == defaults


def test_the_documented_settings_file_is_valid(tmp_path: Path) -> None:
    (shown,) = (
        block.text
        for block in blocks((ROOT / "docs" / "service.md").read_text(encoding="utf-8"))
        if block.language == "toml"
    )
    (tmp_path / "tracehouse.toml").write_text(shown)
    assert read_service_settings({}).batch_seconds == 1.0
