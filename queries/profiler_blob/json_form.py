"""Blocks of a profiler blob -> the JSON of `tracehouse inspect`. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tracehouse.queries.profiler_blob.blocks import ProfilerBlock


def profiler_blob_json(blocks: Sequence[ProfilerBlock]) -> dict[str, dict[str, Any]]:
    """The blocks as plain values for a JSON writer, each part by name of the block.

    A block without an execution, or without kernels and delegates, has no framework tax.
    """
    return {
        "profile": {block.name: [asdict(event) for event in block.events] for block in blocks},
        "memory": {block.name: [total._asdict() for total in block.memory] for block in blocks},
        "framework_tax": {
            block.name: block.framework_tax._asdict() for block in blocks if block.framework_tax
        },
    }
