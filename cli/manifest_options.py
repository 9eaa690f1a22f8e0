"""Options for the attributes of a manifest, which dumps themselves do not hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tracehouse.cli.errors import as_usage_errors
from tracehouse.cli.files import etrecord_source
from tracehouse.cli.help import MANIFEST as MANIFEST_PANEL
from tracehouse.cli.options import TextOption
from tracehouse.ingest.schemas.attributes import SECTIONS, short_name

if TYPE_CHECKING:
    from tracehouse.ingest.dump import FoundDumps

MANIFEST = tuple(
    TextOption(
        short_name(section, name),
        attribute.metavar,
        attribute.doc,
        panel=MANIFEST_PANEL,
    )
    for section, attributes in SECTIONS.items()
    for name, attribute in attributes.items()
    if attribute.metavar
)


def check_manifest(options: Mapping[str, object]) -> None:
    """Check the values of these options; a malformed one raises UsageError."""
    from tracehouse.ingest.manifest.resolver import check_fields

    with as_usage_errors():
        check_fields("options", options)


def find_dumps(
    paths: Iterable[str], options: Mapping[str, str | None], layout: str | None
) -> FoundDumps:
    """The dumps at these paths, with the ETRecord and the manifest that the options give.

    A malformed option raises UsageError, an unreadable file IngestError.
    """
    from tracehouse.ingest.dump import FoundDumps

    manifest = dict(options)
    record = etrecord_source(manifest.pop("etrecord"))
    check_manifest(manifest)
    with as_usage_errors():
        return FoundDumps(paths, manifest=manifest, layout=layout, etrecord=record)
