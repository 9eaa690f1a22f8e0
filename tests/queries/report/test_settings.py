from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

from tests.support.documents import ROOT, blocks
from tracehouse.queries.report.settings import (
    BudgetLimit,
    ExpectedRecordings,
    Mute,
    Nightly,
    Owner,
    ReportChoice,
    Settings,
    SettingsError,
    Threshold,
    read_settings,
)

HERE = {"device": "pixel8", "model": "mv2", "event": "native_call_add.out"}
WHOLE = """
[nightly]
base_builds = 6
q = 0.05
min_change = 0.02
noise_multiple = 4.5

[[thresholds]]
device = "pixel*"
min_change = 0.1

[[thresholds]]
event = "native_call_add.*"
model = "mv?"
min_change = 0.2

[[owners]]
owner = "runtime"

[[owners]]
device = "pixel8"
owner = "mobile"

[[muted]]
model = "mv2"
reason = "being rewritten"
until = 2026-03-01
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tracehouse.toml"


def read(file: Path, text: str) -> Settings:
    file.write_text(text, encoding="utf-8")
    return read_settings(file)


def test_the_branch_of_the_report_may_be_set_and_overridden(file: Path) -> None:
    settings = read(file, '[report]\nbranch = "main"')
    assert settings.report.branch == "main"
    assert settings.of_branch(None) == settings
    assert settings.of_branch("next").report.branch == "next"
    assert read(file, "").report.branch is None
    with pytest.raises(SettingsError, match=r"report.brnach: no such field; did you mean branch"):
        read(file, '[report]\nbrnach = "main"')


def test_every_field_is_read(file):
    settings = read(file, WHOLE)
    assert settings.nightly.model_dump() == {
        "base_builds": 6,
        "q": 0.05,
        "min_change": 0.02,
        "noise_multiple": 4.5,
    }
    assert [len(part) for part in (settings.thresholds, settings.owners, settings.muted)] == [
        2,
        2,
        1,
    ]


def test_the_documented_file_has_every_field():
    (text,) = (
        block.text
        for block in blocks((ROOT / "docs" / "regressions.md").read_text(encoding="utf-8"))
        if block.language == "toml"
    )
    shown = tomllib.loads(text)
    assert Settings.model_validate(shown).nightly == Settings().nightly
    tables = {
        "report": ReportChoice,
        "nightly": Nightly,
        "thresholds": Threshold,
        "owners": Owner,
        "muted": Mute,
        "expected": ExpectedRecordings,
        "budgets": BudgetLimit,
    }
    assert shown.keys() == tables.keys() == Settings.model_fields.keys()
    for name, table in tables.items():
        first = shown[name] if name in {"report", "nightly"} else shown[name][0]
        other = {"at_least"} if name == "budgets" else set()  # instead of at_most
        assert first.keys() | other == table.model_fields.keys()


def test_a_missing_or_empty_settings_file_gives_the_defaults(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    assert read_settings() == Settings()
    assert read(file, "") == Settings()


def test_the_file_of_the_working_directory_is_read(file, monkeypatch):
    file.write_text("[nightly]\nnoise_multiple = 5")
    monkeypatch.chdir(file.parent)
    assert read_settings().nightly.noise_multiple == 5


def test_the_last_matching_pattern_wins(file):
    settings = read(file, WHOLE)
    assert settings.min_change(**HERE) == 0.2
    assert settings.min_change(**HERE | {"event": "native_call_mul.out"}) == 0.1
    assert settings.min_change(**HERE | {"model": "mv10"}) == 0.1
    assert settings.min_change(device="s24", model="mv2", event="x") == 0.02
    assert settings.owner(**HERE) == "mobile"
    assert settings.owner(**HERE | {"device": "Pixel8"}) == "runtime"
    assert Settings().owner(**HERE) is None


def test_a_mute_holds_to_the_end_of_its_last_day(file):
    settings = read(file, WHOLE)

    def reason(on, **changes):
        return settings.mute_reason(**HERE | changes, on=on)

    assert reason(date(2026, 3, 1)) == "being rewritten"
    assert reason(date(2026, 3, 2)) is None
    assert reason(None) == "being rewritten"
    assert reason(date(2026, 1, 1), model="mv3") is None


def test_an_expired_mute_does_not_hide_another(file):
    text = '[[muted]]\nreason = "old"\nuntil = 2020-01-01\n[[muted]]\nreason = "for good"'
    assert read(file, text).mute_reason(**HERE, on=date(2026, 1, 1)) == "for good"


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("[nightly]\nbase_builds = 3", "nightly.base_builds", "greater than or equal to 4"),
        ("[nightly]\nbase_builds = 65", "nightly.base_builds", "less than or equal to 64"),
        ("[nightly]\nq = 0.5", "nightly.q", "less than 0.5"),
        ("[nightly]\nq = 0", "nightly.q", "greater than 0"),
        ("[nightly]\nmin_change = nan", "nightly.min_change", "less than or equal to 10"),
        ("[nightly]\nnoise_multiple = inf", "nightly.noise_multiple", "less than or equal to 20"),
        ('[nightly]\nnoise_multiple = "x"', "nightly.noise_multiple", "valid number"),
        ("[nightly]\nbase_build = 8", "nightly.base_build", "did you mean base_builds?"),
        (
            "[nightlies]\nnoise_multiple = 4",
            "nightlies",
            "there are budgets, expected, muted, nightly, ",
        ),
        ("[report]\nrepo_url = 'https://host/x'", "report.repo_url", "{base}...{head}"),
        ("[report]\nrepo_url = 'javascript:{base}{head}'", "report.repo_url", "https://"),
        ("[[thresholds]]\nmin_change = 0", "thresholds.0.min_change", "greater than 0"),
        ('[[thresholds]]\ndevice = "x"', "thresholds.0.min_change", "required"),
        ("[[thresholds]]\nmin_change = 0.1\ndevise = 'x'", "thresholds.0.devise", "mean device?"),
        ("thresholds = 3", "thresholds", "tables headed [[thresholds]]"),
        ("[[owners]]\nowner = ''", "owners.0.owner", "a text that is not blank"),
        ("[[owners]]\nowner = 3", "owners.0.owner", "valid string"),
        ("[[muted]]\ndevice = 'x'", "muted.0.reason", "required"),
        ("[[muted]]\nreason = 'x'\nuntil = 'soon'", "muted.0.until", "valid date"),
    ],
)
def test_an_invalid_setting_is_reported_with_file_key_and_expectation(file, text, place, wanted):
    with pytest.raises(SettingsError) as raised:
        read(file, text)
    assert str(raised.value).startswith(f"{file}: {place}: ")
    assert wanted in str(raised.value)


def test_a_settings_file_that_is_not_toml_is_reported_with_its_line(file):
    with pytest.raises(SettingsError, match=r"tracehouse.toml: not TOML: .*line 2"):
        read(file, "[nightly]\ngate 4")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not TOML"):
        read_settings(file)


def test_a_file_that_was_named_must_be_there(file):
    with pytest.raises(SettingsError, match=r"tracehouse.toml: No such file"):
        read_settings(file)
    with pytest.raises(SettingsError, match="is a folder, wanted a file"):
        read_settings(file.parent)


def test_shares_may_be_in_percent_and_a_plain_five_is_questioned(file: Path) -> None:
    settings = read(file, '[nightly]\nmin_change = "2%"\nq = "5%"\n')
    assert (settings.nightly.min_change, settings.nightly.q) == (0.02, 0.05)
    for value in ("5", '"5"'):
        with pytest.raises(SettingsError, match="would be 500 %: write 5%"):
            read(file, f"[[thresholds]]\nmin_change = {value}\n")


def test_budgets_are_amounts_with_units(file):
    text = '[[budgets]]\nmeasure = "load_time"\nmodel = "mv*"\nat_most = "10 ms"\n'
    (limit,) = read(file, text).budgets
    assert limit.bound == ("at most", (1e7, "ns"))
    assert limit.fits(device="pixel8", model="mv2", backend=None)
    assert not limit.fits(device="pixel8", model="llama", backend=None)


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ("", "either at_most or at_least"),
        ("at_most = 1\nat_least = 2", "either at_most or at_least"),
        ('at_most = "ten"', "wanted a number with its unit"),
        ("at_mots = 1", "did you mean at_most"),
    ],
)
def test_a_budget_that_limits_nothing_is_refused(file, limits, problem):
    with pytest.raises(SettingsError, match=problem):
        read(file, f'[[budgets]]\nmeasure = "load_time"\n{limits}\n')


def test_report_settings_ignore_tables_of_other_commands(file: Path) -> None:
    text = '[serve]\nport = 3\n[[producers]]\nproducer = "x"\n[nightly]\nq = "5%"\n'
    assert read(file, text).nightly.q == 0.05


def test_another_branch_keeps_the_address_of_commits() -> None:
    chosen = ReportChoice(repo_url="https://host/{base}...{head}")
    of_branch = Settings(report=chosen).of_branch("dev").report
    assert of_branch == ReportChoice(branch="dev", repo_url=chosen.repo_url)
