"""The Inspector's own answers in the corpus, brought into the form of ours."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.tools.parity.durations import STATISTICS, Clock

Json = dict[str, Any]

_FLOATS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
# What the delegate_time_scale_converter that the corpus was made with divides by.
_CONVERTER_DIVISOR = 1000


def parse_metadata(metadata: list[bytes]) -> dict[str, Any]:
    """The delegate_metadata_parser that the corpus was made with."""
    return {"count": len(metadata), "bytes": sum(map(len, metadata))}


@dataclass(frozen=True)
class Variant:
    """One way in which a dump was shown to the Inspector, and what came back.

    Attributes:
        name: Name of the variant.
        args: What the Inspector was given besides the dump.
        answer: The golden file's entry.
        strings: Texts that the answer refers to.
    """

    name: str
    args: Mapping[str, Any]
    answer: Mapping[str, Any]
    strings: Sequence[str]

    @property
    def clock(self) -> Clock:
        """The time scales asked for."""
        has_converter = "delegate_time_scale_converter" in self.args
        return Clock(
            self.args.get("source_time_scale", "ns"),
            self.args.get("target_time_scale", "ms"),
            _CONVERTER_DIVISOR if has_converter else None,
        )

    @property
    def has_parser(self) -> bool:
        """Whether the Inspector was given `parse_metadata`."""
        return "delegate_metadata_parser" in self.args

    @property
    def totals(self) -> Mapping[str, float]:
        """Its time per module, of some modules."""
        found: Mapping[str, float] = self.answer.get("total_for_module", {})
        return found

    @property
    def exception(self) -> Mapping[str, str] | None:
        """What the Inspector raised, if it did."""
        found: Mapping[str, str] | None = self.answer.get("exception")
        return found

    @property
    def blocks(self) -> list[Json]:
        """Its event blocks."""
        found: list[Json] = _plain(self.answer["event_blocks"])
        for block in found:
            block["events"] = [self._event(event) for event in block["events"]]
        return found

    def _event(self, event: Json) -> Json:
        """The event with null for numbers that it lacks, and its stack traces as texts."""
        found = dict.fromkeys(("raw", *STATISTICS)) | event
        found.pop("perf", None)  # null where there are no numbers
        if "stack_traces" in event:
            found["stack_traces"] = self._texts(event["stack_traces"])
        return found

    def _texts(self, traces: Mapping[str, int | None]) -> dict[str, str | None]:
        return {node: None if i is None else self.strings[i] for node, i in traces.items()}


def read_variants(golden: Path) -> Iterator[Variant]:
    """The variants of a golden file; none if it is of something else than an ETDump."""
    content = json.loads(golden.read_text(encoding="utf-8"))
    variants = content.get("variants", {})
    for name, answer in variants.items():
        for key in ("event_blocks", "exception"):
            if "$same_as" in answer.get(key, ()):
                answer = answer | {key: variants[answer[key]["$same_as"]][key]}
        yield Variant(name, answer.get("args", {}), answer, content.get("strings", []))


def shortened(numbers: Sequence[float], like: Json) -> Json:
    """A list of numbers in the form of golden lists that are told by their ends and their hash."""
    packed = struct.pack(f"<{len(numbers)}d", *numbers)
    return {
        "$n": len(numbers),
        "first": list(numbers[: len(like["first"])]),
        "last": numbers[-1],
        "sha256_f64le": hashlib.sha256(packed).hexdigest(),
    }


def _plain(value: Any) -> Any:
    match value:
        case {"$tensor": tensor}:
            return {key: _plain(tensor[key]) for key in tensor}
        case {"$list": items}:
            return [_plain(item) for item in items]
        case {"$bytes": text}:
            return text
        case {"$float": text}:
            return _FLOATS[text]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list():
            return [_plain(item) for item in value]
    return value
