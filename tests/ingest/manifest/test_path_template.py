from __future__ import annotations

import pytest

from tracehouse.ingest.errors import ManifestError
from tracehouse.ingest.manifest.resolver import parse_layout

FIELDS = ("device", "build", "model", "backend")


@pytest.mark.parametrize(
    ("template", "path", "found"),
    [
        ("{device}/{build}/*.etdp", "/farm/p8/b1/0.etdp", {"device": "p8", "build": "b1"}),
        ("{model}-{backend}/*", "/mv-2-xnn/0.etdp", {"model": "mv-2", "backend": "xnn"}),
        ("{device}/*/{build}.etdp", "/p8/any/b1.etdp", {"device": "p8", "build": "b1"}),
        ("f/{device}/**/b-{build}/*", "/f/p8/x/b-1/0.etdp", {"device": "p8", "build": "1"}),
        ("{device}/**/{build}.etdp", "/f/p8/b1.etdp", {"device": "p8", "build": "b1"}),
        ("f/{device}/**/{build}.etdp", "/f/p8/b1.etdp", {"device": "p8", "build": "b1"}),
        ("/f/{device}/**", "/f/p8/x/0.etdp", {"device": "p8"}),
        ("run?({build})+.etdp", "/run1(b1)+.etdp", {"build": "b1"}),
        ("{device}/*.etdump", "/p8/0.etdp", None),
        ("lab-{device}/*.etdp", "/farm/slab-p8/0.etdp", None),
        ("{device}/{build}/{model}/*.etdp", "/b1/mv2/0.etdp", None),
    ],
)
def test_layout_matches_the_end_of_the_path(
    template: str, path: str, found: dict[str, str] | None
) -> None:
    assert parse_layout(template, FIELDS).find(path) == found


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("{model}" + "*-" * 9 + ".etdp", "/" + "-" * 4000),
        ("**/a/" * 5 + "{model}.etdp", "/a" * 2000),
    ],
)
def test_a_hostile_name_takes_no_longer_than_another(template: str, path: str) -> None:
    assert parse_layout(template, FIELDS).find(path) is None  # which never ended as a regex


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{devise}/*", r"no field \{devise\}; did you mean \{device\}\? wanted device, build"),
        ("{}/*", r"no field \{\}; wanted device"),
        ("{device/*", "a brace has no partner"),
        ("device}/*", "a brace has no partner"),
        ("{device}/{device}/*", "wanted at least one field, each only once"),
        ("*.etdp", "wanted at least one field, each only once"),
    ],
)
def test_malformed_layout_is_refused(template: str, problem: str) -> None:
    with pytest.raises(ManifestError, match=rf"^layout .*: {problem}"):
        parse_layout(template, FIELDS)
