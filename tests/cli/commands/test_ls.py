from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import Run


def test_people_see_a_table_for_each_kind(run: Run, store: Path) -> None:
    done = run("ls", "--store", store)
    devices, builds, models = done.text.split("\n\n")
    assert [line.split()[0] for line in devices.splitlines()] == [
        "device", "lab-x86-quiet", "lab-x86-quiet-ab",
    ]  # fmt: skip
    assert {line.split()[0] for line in builds.splitlines()} == {
        "build", "f136", "extra", "base", "ch26", "qt-qt00", "qt-qt01",
    }  # fmt: skip
    assert models.splitlines()[1].split()[:4] == ["conv", "100", "2", "5"]
    assert max(map(len, done.text.splitlines())) <= 100


def test_programs_see_one_table_of_the_chosen_kind_and_filters(run: Run, store: Path) -> None:
    done = run("ls", "builds", "--model", "txf", "--store", store, "--format", "json")
    rows = {row["name"]: row for row in json.loads(done.text)}
    assert rows.keys() == {"base", "f136"}
    assert (rows["base"]["kind"], rows["base"]["dump_count"]) == ("build", 24)


def test_unknown_kind_and_unknown_device_are_refused(run: Run, store: Path) -> None:
    assert "'devices', 'builds', 'models'" in run("ls", "dumps", "--store", store).err
    done = run("ls", "--device", "pixel", "--store", store)
    assert (done.code, done.out) == (1, b"")
    assert "'pixel' is not in the store" in done.err
