"""How fast a language model reads a prompt and writes tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from tests.tools.audit.oracles.places import Params, Row, grouped, named, series_of
from tests.tools.audit.oracles.runs import alike
from tests.tools.audit.recordings import Recording, Run
from tests.tools.audit.statistics import middle, percentile, ratio, scaled


def token_latency(dumps: Sequence[Recording], params: Params) -> list[Row]:
    step, rows = params.get("step"), []
    for place, own in grouped(dumps, params).items():
        positions: dict[int, list[Row]] = defaultdict(list)
        for dump in filter(_generates, own):
            for number, turn in enumerate(_turns(dump)):
                for row in _tokens(dump, number, turn, step):
                    positions[row["position"]].append(row)
        rows += [named(place) | _latency(at, tokens) for at, tokens in positions.items()]
    return rows


def _generates(dump: Recording) -> bool:
    """Whether it is of a model that writes tokens: it has several kinds of executions."""
    kinds = {series_of(dump, run) for run in dump.runs if run.of_kind("method")}
    return len(kinds) > 1 or any(key.endswith("decode_method") for key in dump.tags)


Turn = tuple[list[Run], list[Run], list[float | None]]


def _turns(dump: Recording) -> list[Turn]:
    """Turns: the runs of the prompt, those of its tokens, and the ticks to what starts next."""
    found = alike(dump)
    if not found:
        return []
    most = max(map(len, found.values()))
    common = [runs for runs in found.values() if len(runs) == most]
    decoding = max(common, key=lambda runs: runs[0].index)
    runs = dump.complete_runs
    tokens = set(range(len(runs))) & {i for i, run in enumerate(runs) if run in decoding}
    if len(decoding) == len(runs):
        tokens -= {0}
    turns: list[Turn] = []
    for place, run in enumerate(runs):
        is_token = place in tokens
        if not turns or (not is_token and turns[-1][1]):
            turns.append(([], [], []))
        turns[-1][1 if is_token else 0].append(run)
        if is_token:
            is_paced = place + 1 in tokens
            pace = _start_of(runs[place + 1]) - _start_of(run) if is_paced else None
            turns[-1][2].append(pace)
    return turns


def _start_of(run: Run) -> int:
    """The earliest start; where a 32-bit clock wrapped within the run, one before that."""
    starts = [event.start for event in run.events]
    wraps = max(starts) < 2**32 and max(starts) - min(starts) >= 2**31
    return min(start for start in starts if not wraps or start >= 2**31)


def _tokens(dump: Recording, number: int, turn: Turn, step: int | None) -> list[Row]:
    prompt, tokens, paces = turn
    rate = dump.ns_per_tick
    rows = []
    for place, (run, pace) in enumerate(zip(tokens, paces, strict=True), start=1):
        at = place - (place - 1) % step if step else 1
        rows.append(
            {
                "position": at,
                "turn": (dump.number, number),
                "token_ns": scaled(run.ticks("method"), rate),
                "pace_ns": scaled(pace, rate) if pace is not None and pace > 0 else None,
                "prompt_ns": scaled(sum(r.ticks("method") for r in prompt), rate)
                if place == 1 and prompt
                else None,
            }
        )
    for at in {row["position"] for row in rows}:
        own = [row for row in rows if row["position"] == at]
        own[0]["drift_ns"] = _slope([row["token_ns"] for row in own])
    return rows


def _slope(times: list[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    n = len(known)
    if n < 3:
        return None
    centre, mean = (n - 1) / 2, sum(known) / n
    above = sum((place - centre) * (time - mean) for place, time in enumerate(known))
    return above / sum((place - centre) ** 2 for place in range(n))


def _latency(position: int, tokens: list[Row]) -> Row:
    dumps = {row["turn"][0]: row["token_ns"] for row in tokens}
    untimed = sum(time is None for time in dumps.values())
    counts = {
        "position": position,
        "dump_count": len(dumps),
        "turn_count": len({row["turn"] for row in tokens}),
        "token_count": len(tokens),
        "untimed_count": untimed,
    }
    if untimed:
        return counts | dict.fromkeys(_TIMES)
    times = [row["token_ns"] for row in tokens]
    paces = [row["pace_ns"] for row in tokens if row["pace_ns"] is not None]
    shares = {"p50_ns": 0.5, "p90_ns": 0.9, "p99_ns": 0.99}
    return counts | {
        "first_token_ns": middle(row["prompt_ns"] for row in tokens),
        **{name: percentile(times, share) for name, share in shares.items()},
        "tokens_per_second": ratio(1e9 * len(times), sum(times)),
        "paced_tokens_per_second": ratio(1e9 * len(paces), sum(paces)) if paces else None,
        "drift_ns": middle(row.get("drift_ns") for row in tokens),
    }


_TIMES = (
    "first_token_ns", "p50_ns", "p90_ns", "p99_ns", "tokens_per_second", "paced_tokens_per_second",
    "drift_ns",
)  # fmt: skip
