from __future__ import annotations

import pytest
from pydantic import ValidationError

from tracehouse.ingest.manifest.fields import describe_differences, near_misses
from tracehouse.ingest.manifest.resolver import Manifest

PLAIN = {"device": "pixel8", "build": "b7", "model": "mv2"}


def test_whole_numbers_are_names() -> None:
    manifest = Manifest.model_validate({**PLAIN, "build": {"id": 7}, "device": 8, "os": 16})
    assert (manifest.build.id, manifest.device.name, manifest.device.os) == ("7", "8", "16")


@pytest.mark.parametrize("value", [14.1, True, [7]])
def test_names_that_are_no_strings_are_refused(value: object) -> None:
    with pytest.raises(ValidationError, match="valid string"):
        Manifest.model_validate({**PLAIN, "build": value})


@pytest.mark.parametrize(
    ("stated", "hints"),
    [
        ({"lab": 3, "color": "red", "x" * 9_000: 1}, []),
        ({"device": "a", "device_id": "b"}, []),
        ({"Device": "a"}, ["unknown field 'Device', stored as a tag; did you mean device?"]),
        (
            {"build": {"id": 1, "brnach": "main"}},
            ["unknown field 'build.brnach', stored as a tag; did you mean build.branch?"],
        ),
    ],
)
def test_only_unknown_fields_spelt_like_a_free_one_are_hinted_at(
    stated: dict[str, object], hints: list[str]
) -> None:
    assert near_misses(stated) == hints


def test_only_ten_of_many_differences_are_described() -> None:
    here = Manifest.model_validate({**PLAIN, **{f"t{i:02}": i for i in range(13)}})
    there = Manifest.model_validate({**PLAIN, "device": {"name": "p", "os": "x"}})
    told = describe_differences(here.canonical_json(), there.canonical_json())
    assert told.startswith("device.name: 'pixel8' here, 'p' there; device.os: nothing here, 'x'")
    assert told.endswith("tags.t07: 7 here, nothing there; and 5 more")
