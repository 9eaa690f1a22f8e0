from __future__ import annotations

import json

from tracehouse.ingest.dump import Refusal
from tracehouse.ingest.manifest.models import Manifest
from tracehouse.warehouse.spark import groups
from tracehouse.warehouse.spark.groups import (
    DumpFacts,
    DumpGroup,
    KnownDump,
    decide,
    group_entries,
    partition_of,
)


def manifest(model: str = "net", day: str | None = "2026-01-01", device: str = "phone") -> str:
    stated = {"device": {"name": device}, "build": {"id": "b"}, "model": {"name": model}}
    at = {"captured_at": f"{day}T23:30:00-01:00"} if day else {}
    return Manifest.model_validate(stated | at).canonical_json()


def dump(path: str, sha256: str, stated: str | None = None, **more) -> DumpFacts:
    return DumpFacts(path, path, None, sha256, 10, stated or manifest(), **more)


def entry(path: str, stated: str, size: int = 10) -> DumpFacts:
    return DumpFacts(path, path, None, f"sha of {path}", size, stated)


def test_the_first_of_several_equal_dumps_is_taken() -> None:
    decision = decide([dump("a", "1"), dump("b", "1"), dump("c", "2")], {}, ())
    assert ([one.path for one in decision.entries], decision.n_known) == (["a", "c"], 1)


def test_dump_the_lake_has_is_known_under_its_own_manifest_only() -> None:
    known = {"1": KnownDump(manifest(), "a", "2026-01-01T00:00:00+00:00")}
    decision = decide([dump("a", "1"), dump("b", "1", manifest(device="tablet"))], known, ())
    assert (decision.entries, decision.n_known) == ([], 1)
    (refusal,) = decision.refused
    assert (refusal.source, refusal.reason) == ("b", "conflict")


def test_known_dump_is_late_once_something_lies_beside_it_that_the_lake_has_not() -> None:
    bare = KnownDump(manifest(), "a", "2026-01-01T00:00:00+00:00")
    traced = bare._replace(etrecord_id=7)
    beside = dump("a", "1", etrecord="r", etrecord_sha256="2")
    logged = dump("a", "1", debug_buffer="b", debug_buffer_sha256="3")
    both = beside._replace(debug_buffer="b", debug_buffer_sha256="3")
    refused = {Refusal("r", "2", "etrecord", None, "no zip")}

    def late(found: DumpFacts, known: KnownDump, refusals=frozenset()) -> list[KnownDump | None]:
        return [one.known for one in decide([found], {"1": known}, refusals).late]

    assert late(dump("a", "1"), bare) == late(beside, traced) == late(beside, bare, refused) == []
    assert late(logged, traced) == []  # which would lose its ETRecord
    assert late(beside, bare) == late(logged, bare) == [bare]
    assert late(both, traced, refused) == [traced]


def test_bytes_that_were_refused_are_not_tried_again_under_that_name() -> None:
    recorded = Refusal("a", "1", "truncated", None, "too short")
    decision = decide([dump("a", "1"), dump("b", "1")], {}, {recorded})
    assert ([one.path for one in decision.entries], decision.n_known) == (["b"], 1)


def test_refusal_on_record_is_not_recorded_again_but_another_is() -> None:
    recorded = Refusal("a", "1", "manifest", None, "no device")
    found = [
        dump("a", "1", reason="manifest", detail="no device"),
        dump("a", "1", reason="manifest", detail="no build"),
    ]
    decision = decide(found, {}, {recorded})
    assert (decision.n_known, [one.detail for one in decision.refused]) == (1, ["no build"])


def test_partition_is_the_day_of_capture_in_utc_and_the_model() -> None:
    assert partition_of(manifest("m")) == ("2026-01-02", "m")
    assert partition_of(manifest("m", None)) == ("unknown", "m")


def test_group_holds_neighbours_of_a_day_and_model_up_to_a_size(monkeypatch) -> None:
    monkeypatch.setattr(groups, "LEAST_BYTES", 20)
    first, second = manifest("a"), manifest("b")
    entries = [entry("1", second), entry("2", first), entry("3", first), entry("4", second, 30)]
    found = group_entries(entries, parallelism=4)
    assert [[one.path for one in group.entries] for group in found] == [["2", "3"], ["1"], ["4"]]
    assert found[0].partitions == {("2026-01-02", "a")}


def test_group_is_named_after_its_dumps_whatever_their_order() -> None:
    one, other = entry("1", manifest()), entry("2", manifest())
    names = [group_entries(some, parallelism=1)[0].name for some in ([one, other], [other, one])]
    assert names[0] == names[1] != group_entries([one], parallelism=1)[0].name


def test_name_of_files_that_were_removed_is_not_used_again() -> None:
    entries = [entry("1", manifest())]
    (first,) = group_entries(entries, parallelism=1)
    (second,) = group_entries(entries, parallelism=1, taken={first.name})
    assert first.name != second.name
    assert first.entries == second.entries


def test_group_comes_back_from_plain_values() -> None:
    (group,) = group_entries([entry("1", manifest())], parallelism=1)
    assert DumpGroup.of(group.name, [list(one) for one in group.entries]) == group
    known = KnownDump(manifest(), "1", "2026-01-01T00:00:00+00:00")
    (group,) = group_entries([entry("1", manifest())._replace(known=known)], parallelism=1)
    assert DumpGroup.of(*json.loads(json.dumps(group))) == group
