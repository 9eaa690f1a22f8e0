"""Options that state what a dump does not say itself, one per attribute of a manifest."""

from __future__ import annotations

from cli.options import TextOption
from ingest.schemas.attributes import SECTIONS, short_name

MANIFEST = tuple(
    TextOption(short_name(section, name), attribute.metavar, attribute.doc)
    for section, attributes in SECTIONS.items()
    for name, attribute in attributes.items()
    if attribute.metavar
)
