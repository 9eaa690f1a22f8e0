"""Options for the attributes of a manifest, which dumps themselves do not hold."""

from __future__ import annotations

from cli.options import TextOption
from ingest.schemas.attributes import SECTIONS, short_name

MANIFEST = tuple(
    TextOption(short_name(section, name), attribute.metavar, attribute.doc)
    for section, attributes in SECTIONS.items()
    for name, attribute in attributes.items()
    if attribute.metavar
)
