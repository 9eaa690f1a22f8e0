from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.stores import write
from tests.tools.mutants import Score, find_tests, list_modules, main, make_mutants, restored

MODULE = b"def is_small(n: int) -> bool:\n    return n < 10\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pyproject.toml", b'[tool.pytest.ini_options]\nmarkers = ["slow"]\n')
    write(tmp_path / "yard/sizes.py", MODULE)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "mutant"),
    [
        ("a < b", "a <= b"),
        ("a and b", "a or b"),
        ("if a:\n    pass", "if not a:\n    pass"),
        ("a = 7", "a = 8"),
        ("f(a)", "None"),
    ],
)
def test_a_mutant_has_one_change(text: str, mutant: str) -> None:
    assert [changed for _, changed in make_mutants(text, 9)] == [mutant]


def test_mutants_are_a_sample() -> None:
    text = "a = 1\n" * 50
    assert len(list(make_mutants(text, 7))) == 7
    assert len(list(make_mutants(text, 99))) == 50


def test_tests_of_a_module_are_its_mirror_file_and_then_its_folder(project: Path) -> None:
    write(project / "tests/yard/test_sizes.py", b"")
    mirror = "tests/yard/test_sizes.py"
    assert find_tests(Path("yard/sizes.py")) == [[mirror], ["tests/yard", f"--ignore={mirror}"]]
    assert find_tests(Path("yard/below/other.py")) == [["tests/yard"]]


def test_modules_of_a_folder_are_those_below_it(project: Path) -> None:
    write(project / "yard/__init__.py", b"")
    write(project / "yard/below/other.py", b"")
    found = list_modules([Path("yard"), Path("yard/sizes.py")])
    assert [path.stem for path in found] == ["other", "sizes", "sizes"]


def test_a_file_is_restored_when_the_process_is_terminated(project: Path) -> None:
    path = project / "yard/sizes.py"
    with restored(path):
        path.write_text("something else")
        with pytest.raises(SystemExit):
            os.kill(os.getpid(), signal.SIGTERM)
    assert path.read_bytes() == MODULE


def test_mutants_are_noticed_by_the_mirror_file_or_by_the_rest_of_the_folder(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = "import sys; sys.path.insert(0, '.')\nfrom yard.sizes import is_small\n"
    assertions = {"sizes": "is_small(9)", "others": "not is_small(10)"}
    for name, assertion in assertions.items():
        text = f"{imported}def test_it():\n    assert {assertion}\n"
        write(project / f"tests/yard/test_{name}.py", text.encode())

    assert main(["yard", "--count", "1"]) == Score(1, 1)
    assert main(["yard/sizes.py", "tests/yard/test_sizes.py", "--count", "1"]) == Score(0, 1)
    assert "yard/sizes.py, line 2: " in capsys.readouterr().out
    assert (project / "yard/sizes.py").read_bytes() == MODULE
