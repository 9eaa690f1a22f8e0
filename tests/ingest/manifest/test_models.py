from __future__ import annotations

import re
import typing
import unicodedata

import pytest
from pydantic import ValidationError

from tests.support.documents import ROOT
from tracehouse.ingest.manifest.models import Build, Device, Manifest, Model, Rate, RunContext
from tracehouse.ingest.schemas.attributes import SECTIONS, short_name

MODELS = {"device": Device, "build": Build, "model": Model, "clock": Rate, "run": RunContext}


def _type_of(hint: object) -> object:
    if typing.get_origin(hint) is typing.Literal:
        return str
    arguments = typing.get_args(hint)
    return _type_of(arguments[0]) if arguments else hint


@pytest.mark.parametrize("section", MODELS)
def test_a_model_has_exactly_the_attributes_of_its_section(section: str) -> None:
    declared = [(name, attribute.type) for name, attribute in SECTIONS[section].items()]
    hints = typing.get_type_hints(MODELS[section])
    assert declared == [(name, _type_of(hints[name])) for name in MODELS[section].model_fields]


def test_the_page_about_manifests_names_every_attribute() -> None:
    page = (ROOT / "docs" / "manifests.md").read_text(encoding="utf-8")
    names = {(section, name) for section in SECTIONS for name in SECTIONS[section]}
    missing = [
        key
        for key in sorted(names)
        if not re.search(rf"`({key[0]}\.)?{key[1]}`", page) and f"`{short_name(*key)}`" not in page
    ]
    assert missing == []


COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "Büro") for form in ("NFC", "NFD"))


def test_names_have_one_spelling_whatever_system_wrote_them() -> None:
    manifests = [
        Manifest.model_validate(
            {
                "device": {"name": name, "pool": name},
                "build": {"id": name, "branch": name},
                "model": {"name": name, "backend": name},
                "run": {"session": name},
                "clock": {"delegates": {name: "us"}},
                "counters": [{"name": name, "value": 1}],
                "tags": {name: [name, {name: name}]},
                "method": name,
            }
        )
        for name in (COMPOSED, DECOMPOSED)
    ]
    assert manifests[0] == manifests[1]
    assert manifests[0].canonical_json() == manifests[1].canonical_json()
    assert COMPOSED in manifests[1].canonical_json()
    assert manifests[1].clock.delegate_ns_per_tick(DECOMPOSED) == 1000


def test_name_that_grows_in_its_spelling_keeps_to_the_limit() -> None:
    long = "\u0958" * 600  # becomes two letters
    with pytest.raises(ValidationError, match="at most 1000 characters"):
        Device(name=long)
