from __future__ import annotations

import json
import math
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tracehouse.ingest.errors import ManifestError, SourceError
from tracehouse.ingest.manifest.models import Counter, RunContext
from tracehouse.ingest.manifest.resolver import (
    Build,
    Device,
    Manifest,
    ManifestResolver,
    Model,
    check_fields,
    make_manifest,
)
from tracehouse.ingest.sources.listing import find_sources
from tracehouse.ingest.sources.places import Source

PLAIN = {"device": "pixel8", "build": "b7", "model": "mv2"}


def put(root: Path, files: dict[str, object]) -> Source:
    """Write files (text, or anything as JSON) and a dump run.etdp below root/farm/lab."""
    for name, content in {"farm/lab/run.etdp": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return Source(str(root / "farm/lab/run.etdp"))


def parse(**fields: object) -> Manifest:
    return Manifest.model_validate({**PLAIN, **fields})


def test_plain_text_names_device_build_and_model() -> None:
    manifest = Manifest.model_validate(PLAIN)
    assert manifest.device == Device(name="pixel8")
    assert manifest.build == Build(id="b7")
    assert manifest.model == Model(name="mv2")
    assert manifest == Manifest(device=manifest.device, build=manifest.build, model=manifest.model)


def test_short_names_stand_for_fields_of_sections() -> None:
    manifest = parse(backend="xnnpack", branch="main", pool="quiet", os="", arch=None, clock="us")
    assert manifest.model.backend == "xnnpack"
    assert manifest.build.branch == "main"
    assert manifest.device == Device(name="pixel8", pool="quiet")
    assert manifest.clock.unit == "us"
    assert manifest.tags == {}


def test_facts_of_a_run_have_a_section_of_their_own() -> None:
    facts = {"firmware": 7, "governor": "schedutil", "threads": "4", "temperature_c": 41}
    run = {**facts, "fan": "on", "pair": 3}
    manifest = parse(run=run, session="s1", parent="b6", role="reference")
    assert manifest.run == RunContext(
        session="s1", pair="3", firmware="7", governor="schedutil", threads=4, temperature_c=41.0
    )
    assert (manifest.build.parent, manifest.build.role) == ("b6", "reference")
    assert manifest.tags == {"run.fan": "on"}
    assert parse(**facts, session="s1", pair="3").run == manifest.run
    assert parse(run="nightly").tags == {"run": "nightly"}


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("role", "pinned", r"build\.role: found 'pinned', wanted 'reference'"),
        ("threads", 0, r"run\.threads: found 0"),
        ("temperature_c", "warm", r"run\.temperature_c: found 'warm'"),
    ],
)
def test_invalid_facts_of_a_run_are_refused(field: str, value: object, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        check_fields("options", {field: value})


def test_a_counter_has_one_value_per_dump_or_one_per_run() -> None:
    energy = {"name": "energy", "unit": "mJ", "value": 3}
    cycles = {"name": "cycles", "values": [None, 5, 2.5]}
    manifest = parse(counters=[energy, cycles])
    assert manifest.counters == [
        Counter(name="cycles", unit="count", values=[None, 5.0, 2.5]),
        Counter(name="energy", unit="mJ", value=3.0),
    ]
    text = manifest.canonical_json()
    assert '"counters":[{"name":"cycles","unit":"count","values":[null,5.0,2.5]},' in text
    assert Manifest.model_validate(json.loads(text)) == manifest
    assert parse(counters=[cycles, energy]).canonical_json() == text
    assert parse(counters=json.dumps([cycles, energy])) == manifest


@pytest.mark.parametrize(
    ("counters", "problem"),
    [
        ("energy", r"counters: found 'energy', wanted a valid list"),
        ({"energy": 5}, r"counters: found {'energy': 5}, wanted a valid list"),
        ([{"value": 5}], r"counters\.0\.name: "),
        ([{"name": "energy"}], r"counters\.0: .*, wanted either a value, or values of the runs"),
        ([{"name": "e", "value": 5, "values": [5]}], r"counters\.0: .*, wanted either a value"),
        ([{"name": "e", "value": "much"}], r"counters\.0\.value: found 'much', wanted a valid"),
        ([{"name": "e", "values": [1, "x"]}], r"counters\.0\.values\.1: found 'x', wanted a valid"),
        ([{"name": "e", "value": math.inf}], r"counters\.0\.value: found inf, wanted a finite"),
        ([{"name": "e", "value": 10**400}], r"counters\.0\.value: "),
        ([{"name": "e", "value": 1, "run": 0}], r"counters\.0\.run: "),
        ([{"name": "e", "value": 1}] * 2, r"counters: .*, wanted each name once"),
        (
            [{"name": "e", "values": [1] * 20_000}],
            r"counters: .*, wanted at most 65,536 characters",
        ),
    ],
)
def test_an_invalid_counter_is_refused(counters: object, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        check_fields("options", {"counters": counters})


def test_only_counters_of_the_nearest_manifest_count(tmp_path: Path) -> None:
    near, far = [[{"name": name, "value": 1}] for name in ("energy", "cycles")]
    files = {"farm/lab/run.json": {"counters": near}, "farm/manifest.json": {"counters": far}}
    manifest = ManifestResolver(overrides=PLAIN).resolve(put(tmp_path, {**files}))
    assert manifest.counters == [Counter(name="energy", value=1)]


@pytest.mark.parametrize("none", [{"run": {"threads": None}}, {"counters": []}])
def test_a_manifest_without_facts_of_the_run_is_written_as_ever(none: dict[str, object]) -> None:
    assert parse(**none).canonical_json() == (
        '{"build":{"id":"b7"},"clock":{"delegates":{},"unit":"ns"},"device":{"name":"pixel8"},'
        '"model":{"name":"mv2"},"tags":{}}'
    )


def test_unknown_fields_of_any_level_become_tags() -> None:
    manifest = Manifest.model_validate(
        {
            "device": {"name": "pixel8", "color": "bay"},
            "build": {"id": "b7", "flags": ["-O3"]},
            "model": "mv2",
            "clock": {"source": "tsc", "delegates": {"qnn": {"unit": "cycles", "soc": 8}}},
            "lab": {"room": 3},
            "tags": {"runtime": "1.5"},
        }
    )
    assert manifest.tags == {
        "device.color": "bay",
        "build.flags": ["-O3"],
        "clock.source": "tsc",
        "clock.delegates.qnn.soc": 8,
        "lab.room": 3,
        "runtime": "1.5",
    }


def test_a_tag_inside_another_has_the_names_of_both() -> None:
    tags = parse(tags={"in": {"h": 16, "of": {"w": 8, "none": {}}}, "in.c": [3]}).tags
    assert tags == {"in.h": 16, "in.of.w": 8, "in.of.none": {}, "in.c": [3]}
    with pytest.raises(ValidationError, match=r"tags\.in\.h: stated twice"):
        parse(tags={"in": {"h": 16}, "in.h": 8})


def test_a_tag_inside_another_stays_there_if_its_name_would_be_long() -> None:
    inner = {"b" * 150: {"c" * 49: {"d": 1}}}
    assert parse(tags={"a": inner}).tags == {f"a.{'b' * 150}": {"c" * 49: {"d": 1}}}


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2026-11-21T08:12:51.750310Z", 750310),
        ("2026-11-21T08:12:51.750310999Z", 750310),
        ("2026-11-21T10:12:51+02:00", 0),
        ("20261121T081251Z", 0),
    ],
)
def test_times_become_utc(text: str, microsecond: int) -> None:
    captured_at = parse(captured_at=text).captured_at
    assert captured_at == datetime(2026, 11, 21, 8, 12, 51, microsecond, UTC)
    assert captured_at.tzinfo is UTC


@pytest.mark.parametrize("value", ["1700000000", 1700000000, "soon", "0001-01-01T00:00:00+05:00"])
def test_malformed_capture_times_are_refused(value: object) -> None:
    with pytest.raises(ValidationError, match="wanted an ISO 8601 time"):
        parse(captured_at=value)


@pytest.mark.parametrize(
    ("clock", "ns_per_tick"),
    [
        ({}, 1.0),
        ("us", 1e3),
        ({"unit": "ms"}, 1e6),
        ({"unit": "s"}, 1e9),
        ({"unit": "cycles"}, None),
        ({"unit": "cycles", "ticks_per_second": 2e9}, 0.5),
        ({"ticks_per_second": 19_200_000}, 1e9 / 19_200_000),
    ],
)
def test_clock_gives_nanoseconds_per_tick(clock: object, ns_per_tick: float | None) -> None:
    manifest = parse(clock=clock)
    assert manifest.clock.ns_per_tick == ns_per_tick
    assert manifest.clock.delegate_ns_per_tick("xnnpack") == ns_per_tick


def test_delegate_clock_is_found_by_backend_in_any_case() -> None:
    clock = parse(
        clock={"delegates": {"XNNPACK": "us", "qnn": {"ticks_per_second": 1e9}, "vk": "cycles"}}
    ).clock
    assert clock.delegate_ns_per_tick("xnnpack") == 1e3
    assert clock.delegate_ns_per_tick("QNN") == 1.0
    assert clock.delegate_ns_per_tick("vk") is None
    assert clock.delegate_ns_per_tick("portable") == 1.0
    assert clock.delegate_ns_per_tick(None) == 1.0


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan"), "fast"])
def test_impossible_rates_are_refused(rate: object) -> None:
    with pytest.raises(ValidationError, match=r"clock\.ticks_per_second"):
        parse(clock={"ticks_per_second": rate})


def test_canonical_json_is_sorted_and_without_whitespace_or_nulls() -> None:
    manifest = parse(tags={"z": None, "b": [1, None]}, captured_at="2026-11-21T08:12:51Z", os="é")
    assert manifest.canonical_json() == (
        '{"build":{"id":"b7"},"captured_at":"2026-11-21T08:12:51+00:00",'
        '"clock":{"delegates":{},"unit":"ns"},"device":{"name":"pixel8","os":"é"},'
        '"model":{"name":"mv2"},"tags":{"b":[1,null]}}'
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@pytest.mark.slow
@given(
    tags=st.dictionaries(st.text(), json_values, max_size=4),
    captured_at=st.none() | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat),
    delegates=st.dictionaries(st.text(), st.sampled_from(["us", "cycles"]), max_size=1),
    ordinal=st.none() | st.integers(-(2**63), 2**63 - 1),
)
def test_canonical_json_validates_as_the_same_manifest(
    tags: object, captured_at: object, delegates: object, ordinal: object
) -> None:
    fields = {"tags": tags, "captured_at": captured_at, "ordinal": ordinal}
    manifest = parse(**fields, clock={"delegates": delegates})
    again = Manifest.model_validate_json(manifest.canonical_json())
    assert again == manifest
    assert again.canonical_json() == manifest.canonical_json()


def test_first_place_that_states_a_field_wins(tmp_path: Path) -> None:
    fields = ["pool", "os", "os_version", "arch", "soc", "branch", "commit"]
    places: list[dict[str, object]] = [
        dict.fromkeys(fields[: i + 1], f"place{i}") for i in range(6)
    ]
    record = {"deviceInfo": {"device": "last", "os": "last 1"}, "benchmarkModel": {"name": "conv"}}
    source = put(
        tmp_path,
        {
            "farm/lab/run.json": places[1],
            "farm/lab/run.etdp.json": places[2],
            "farm/lab/manifest.json": places[3],
            "farm/manifest.json": places[4],
            "manifest.json": places[5] | {"build": "b7"},
            "farm/lab/benchmark_results.json": [record],
        },
    )
    resolver = ManifestResolver(overrides=places[0], layout="{device}/{commit}/*.etdp")
    manifest = resolver.resolve(source)
    assert manifest.model.name == "conv"
    assert manifest.device == Device(
        name="farm", pool="place0", os="place1", os_version="place2", arch="place3", soc="place4"
    )
    assert manifest.build == Build(id="b7", branch="place5", commit="lab")


def test_tags_and_delegate_clocks_merge_key_by_key(tmp_path: Path) -> None:
    source = put(
        tmp_path,
        {
            "farm/lab/run.json": {"tags": {"a": 1}, "clock": {"delegates": {"QNN": "us"}}},
            "farm/lab/manifest.json": {
                **PLAIN,
                "tags": {"a": 2, "b": 2},
                "clock": {"delegates": {"qnn": {"ticks_per_second": 5}, "vulkan": "ms"}},
            },
        },
    )
    manifest = ManifestResolver().resolve(source)
    assert manifest.tags == {"a": 1, "b": 2}
    assert manifest.clock.delegate_ns_per_tick("qnn") == 1e3
    assert manifest.clock.delegate_ns_per_tick("vulkan") == 1e6


@pytest.mark.parametrize(
    ("near", "far", "ns_per_tick"),
    [
        ("ns", {"ticks_per_second": 2e9}, 1.0),
        ({"ticks_per_second": 2e9}, {"unit": "ms"}, 0.5),
        ({"unit": "cycles"}, {"unit": "cycles", "ticks_per_second": 2e9}, 0.5),
    ],
)
def test_nearer_clock_replaces_unit_and_rate_together(
    tmp_path: Path, near: object, far: object, ns_per_tick: float
) -> None:
    source = put(tmp_path, {"farm/lab/run.json": {"clock": far}})
    resolver = ManifestResolver(overrides={**PLAIN, "clock": near})
    assert resolver.resolve(source).clock.ns_per_tick == ns_per_tick


def test_manifests_inside_a_zip_come_before_those_around_it(tmp_path: Path) -> None:
    put(tmp_path, {"farm/manifest.json": {**PLAIN, "os": "outside"}})
    with zipfile.ZipFile(tmp_path / "farm/b9.zip", "w") as archive:
        archive.writestr("conv/1.etdp", b"")
        archive.writestr("conv/1.json", '{"captured_at": "2026-11-21"}')
        archive.writestr("conv/manifest.json", '{"model": "conv"}')
        archive.writestr("manifest.json", '{"device": "pixel9"}')
        archive.writestr("conv/benchmark_results.json", "")
    (source,) = find_sources([tmp_path / "farm/b9.zip"])
    manifest = ManifestResolver(layout="{branch}/{commit}/*/*.etdp").resolve(source)
    assert manifest.model.name == "conv"
    assert manifest.device == Device(name="pixel9", os="outside")
    assert manifest.build == Build(id="b7", branch="farm", commit="b9")
    assert manifest.captured_at == datetime(2026, 11, 21, tzinfo=UTC)


def test_shared_files_are_read_once_per_run(tmp_path: Path) -> None:
    source = put(tmp_path, {"farm/manifest.json": PLAIN})
    resolver = ManifestResolver()
    first = resolver.resolve(source)
    put(tmp_path, {"farm/manifest.json": {**PLAIN, "device": "changed"}})
    assert resolver.resolve(source) == first
    assert ManifestResolver().resolve(source).device.name == "changed"


def test_missing_fields_are_named_with_all_ways_to_give_them(tmp_path: Path) -> None:
    source = put(tmp_path, {"farm/lab/run.json": {"build": {"branch": "main"}, "model": ""}})
    with pytest.raises(ManifestError) as caught:
        ManifestResolver(overrides={"device": "pixel8"}).resolve(source)
    assert str(caught.value) == (
        f"{source.name}: no build, model; give --build --model, or state them in a sidecar "
        "run.json, in a manifest.json from its folder up to the given one, by --layout "
        "'{build}/{model}/*.etdp'"
        ", or ExecuTorch's benchmark_results.json"
    )
    with pytest.raises(ManifestError, match=r"\*\.bin' \(the given layout does not state them"):
        ManifestResolver(layout="{build}/{model}/*.bin").resolve(source)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"device": "a",}', "not valid JSON: it has a comma before .*: line 1 column 16"),
        ("", "not valid JSON: it is empty.*: line 1 column 1"),
        ('{"a": NaN}', "line 1 column 7: found NaN, wanted a finite number"),
        ("[" * 5000, "nested more than 64 deep"),
        ("[1]", r"found \[1\], wanted a JSON object"),
        (f"[{'0,' * 70_000}0]", "has 70,001 commas, colons and brackets, wanted at most 65,536"),
        ({"device": 5.5}, r"device\.name: found 5.5, wanted a valid string"),
        ({"device": {"soc": {}}}, r"device\.soc: found \{\}, wanted a valid string"),
        ({"device": " "}, r"device\.name: found ' ', wanted a text that is not blank"),
        ({"build": {"ordinal": "x"}}, r"build\.ordinal: found 'x', wanted a valid integer"),
        ({"ordinal": 2**63}, r"build\.ordinal: found 9223372036854775808, wanted less than"),
        ({"captured_at": 7}, "captured_at: found 7, wanted an ISO 8601 time"),
        ({"clock": "min"}, r"clock\.unit: found 'min', wanted 'ns', 'us', 'ms', 's' or 'cycles'"),
        (
            {"clock": {"unit": "ns", "ticks_per_second": 5}},
            "clock: .* ticks_per_second goes with unit cycles, not ns",
        ),
        ({"clock": {"delegates": {"Qnn": 5}}}, r"clock\.delegates\.Qnn: found 5, wanted an object"),
        (
            {"clock": {"delegates": {"qnn": {"unit": "h"}}}},
            r"clock\.delegates\.qnn\.unit: found 'h', wanted 'ns'",
        ),
        ({"clock": {"delegates": []}}, r"clock\.delegates: found \[\], wanted an object"),
        ({"tags": [1]}, r"tags: found \[1\], wanted an object"),
        ('{"a": "1e999",\n"b": 1e999}', "line 2 column 6: found 1e999, wanted a number below 1.8"),
        ({"os": "a", "device": {"os": "b"}}, r"device\.os: stated twice, wanted one value"),
    ],
)
def test_malformed_manifest_is_named_with_place_and_wish(
    tmp_path: Path, content: object, problem: str
) -> None:
    source = put(tmp_path, {"manifest.json": PLAIN, "farm/lab/run.json": content})
    with pytest.raises(ManifestError, match=rf"farm/lab/run\.json: {problem}"):
        ManifestResolver().resolve(source)
    put(tmp_path, {"farm/lab/run.json": {}, "farm/manifest.json": content})
    with pytest.raises(ManifestError, match=rf"farm/manifest\.json: {problem}"):
        ManifestResolver().resolve(source)


def test_malformed_options_are_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="options: tags: found 'x', wanted an object"):
        ManifestResolver(overrides={"tags": "x"})
    with pytest.raises(ManifestError, match=r"options: clock\.unit: found 'h', wanted 'ns'"):
        ManifestResolver(overrides={**PLAIN, "clock": "h"}).resolve(put(tmp_path, {}))


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    source = put(tmp_path, {"farm/lab/run.json": "\ufeff" + json.dumps(PLAIN)})
    assert ManifestResolver().resolve(source).device.name == "pixel8"


def test_sidecar_that_is_no_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "farm/lab/run.json").mkdir(parents=True)
    with pytest.raises(SourceError, match=r"run\.json: is a folder"):
        ManifestResolver(overrides=PLAIN).resolve(put(tmp_path, {}))


def test_sidecar_that_is_too_large_is_an_error_before_it_is_read(tmp_path: Path) -> None:
    source = put(tmp_path, {"farm/lab/run.json": " " * (1 << 20) + "{}"})
    with pytest.raises(SourceError, match=r"run\.json: is 1,048,578 bytes, wanted at most"):
        ManifestResolver(overrides=PLAIN).resolve(source)


def test_dump_is_never_its_own_sidecar(tmp_path: Path) -> None:
    put(tmp_path, {"farm/lab/odd.json": "not JSON"})
    source = Source(str(tmp_path / "farm/lab/odd.json"))
    assert ManifestResolver(overrides=PLAIN).resolve(source).device.name == "pixel8"


def test_a_manifest_can_be_stated_in_one_place_alone() -> None:
    fields = {"device": "d", "build": {"id": "b"}, "model": "m", "lab": 3}
    stated = make_manifest("header", fields, [])

    assert (stated.device.name, stated.build.id, stated.model.name) == ("d", "b", "m")
    assert stated.tags == {"lab": 3}
    counter = {"name": "e", "unit": "J", "value": 1.5}
    assert make_manifest("header", fields, [counter]).counters == [Counter(**counter)]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"device": "d"}, "header: no build, model: state them by name"),
        ({"device": "d", "build": "b", "model": "m", "clock": "years"}, "header: clock.unit"),
    ],
)
def test_a_manifest_that_is_stated_alone_has_to_be_whole(
    fields: dict[str, object], problem: str
) -> None:
    with pytest.raises(ManifestError, match=problem):
        make_manifest("header", fields, [])


def test_a_zip_resolved_by_itself_uses_only_its_own_manifests(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"device": "d", "build": "b", "model": "m"}')
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/manifest.json", '{"device": "d", "build": "b"}')
        archive.writestr("x/run.etdp", b"")
    source = Source(str(tmp_path / "a.zip"), "x/run.etdp")

    assert ManifestResolver().resolve(source).model.name == "m"
    with pytest.raises(ManifestError, match="no model"):
        ManifestResolver(tops=()).resolve(source)
