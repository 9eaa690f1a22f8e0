from __future__ import annotations

import re
import typing

import pytest

from ingest.manifest.models import Build, Device, Model, Rate, RunContext
from ingest.schemas.attributes import SECTIONS, short_name
from tests.support.documents import ROOT

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
