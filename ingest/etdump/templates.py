"""What may be a template for others, of which only the times are read. Pure."""

from __future__ import annotations

import numpy as np

from tracehouse.ingest.etdump.arena import Ints, Mask
from tracehouse.ingest.etdump.columns import Runs
from tracehouse.ingest.etdump.flatbuffer import TableColumn
from tracehouse.ingest.etdump.schema import PROFILE_WIDTHS
from tracehouse.ingest.etdump.scope import Scope

_MOST_VTABLES = 64  # of a template's tables; a runtime writes about ten


def can_be_templates(scope: Scope, runs: Runs) -> Mask:
    """Whether each run can be a template: plain events, no overlaps, few vtables."""
    return _is_plain(runs) & ~_has_overlaps(scope, runs) & _has_few_vtables(scope)


def _is_plain(runs: Runs) -> Mask:
    """Whether each run has only profile events without metadata."""
    is_plain = runs.has_events.copy()
    with_metadata = runs.profiles.run[runs.profiles.metadata.codes >= 0]
    for other in (
        runs.allocators.run, runs.allocations.run, runs.debugs.run, runs.empty_event_run,
        with_metadata,
    ):  # fmt: skip
        is_plain[other] = False
    return is_plain


def _has_few_vtables(scope: Scope) -> Mask:
    """Whether each run's tables have at most _MOST_VTABLES vtables."""
    owner, table = (np.concatenate(column) for column in zip(*scope.tables, strict=True))
    vtable = table * 4 - scope.arena.i32[table]
    if len(np.unique(vtable)) <= _MOST_VTABLES:
        return np.ones(len(scope.dump), bool)
    order = np.lexsort((vtable, owner))
    owner, vtable = owner[order], vtable[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(owner) != 0) | (np.diff(vtable) != 0)
    few: Mask = np.bincount(owner[is_new], minlength=len(scope.dump)) <= _MOST_VTABLES
    return few


def _has_overlaps(scope: Scope, runs: Runs) -> Mask:
    """Whether objects in each run overlap.

    No writer does that; in such a run, a word that may differ could be part of one that may not.
    """
    overlaps = np.zeros(len(runs.has_events), bool)
    owner, begin, end = (np.concatenate(column) for column in zip(*scope.spans or [], strict=True))
    order = np.argsort(begin, kind="stable")
    overlaps[owner[order[1:]][end[order[:-1]] > begin[order[1:]]]] = True
    overlaps[find_overlapping_fields(runs.profiles.tables)] = True
    return overlaps


def find_overlapping_fields(tables: TableColumn) -> Ints:
    """Owners of the profile events with fields that overlap."""
    absent = (1 << 16) + 16 * np.arange(len(PROFILE_WIDTHS))  # arbitrary places that do not overlap
    fields = np.where(tables.fields > 0, tables.fields, absent)
    order = np.argsort(fields, axis=1)
    first = np.take_along_axis(fields, order, axis=1)
    last = first + np.array(PROFILE_WIDTHS)[order]
    overlapping: Ints = tables.owner[(last[:, :-1] > first[:, 1:]).any(axis=1)[tables.shape]]
    return overlapping


def find_times(tables: TableColumn) -> tuple[Ints, Ints]:
    """Word of the start and of the end of each profile event, -1 if absent."""
    start, end = (
        np.where(tables.has(slot), tables.word + (tables.offset(slot) >> 2), -1) for slot in (6, 7)
    )
    return start, end
