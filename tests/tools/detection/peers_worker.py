"""Runs another project's detector over series, night by night, in an environment that has it.

Reads a JSON list of series, each a list of values by build; writes a JSON list of
[series, night, build, direction]: what its report of each night names. Defaults throughout.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence

FEWEST = 4  # builds, before there is anything to say

Levels = Sequence[float]
Names = Iterator[tuple[int, int]]


def name_with_otava(levels: Levels) -> Names:
    """Change points of Apache Otava with the options that its command line starts from."""
    from otava.analysis import compute_change_points  # type: ignore[import-not-found,unused-ignore]
    from otava.series import AnalysisOptions  # type: ignore[import-not-found,unused-ignore]

    options = AnalysisOptions()
    points, _ = compute_change_points(
        list(levels),
        window_len=options.window_len,
        max_pvalue=options.max_pvalue,
        min_magnitude=options.min_magnitude,
    )
    for point in points:
        yield int(point.index), 1 if point.stats.mean_2 > point.stats.mean_1 else -1


def name_with_asv(levels: Levels) -> Names:
    """Regressions that `asv publish` lists, with the threshold that it has unless told another."""
    from asv.step_detect import detect_regressions, detect_steps  # type: ignore[import-not-found,unused-ignore]

    _, _, regressions = detect_regressions(detect_steps(list(levels)), threshold=0.05)
    for _, build, _, _ in regressions or ():
        yield int(build), 1


DETECTORS: dict[str, Callable[[Levels], Names]] = {
    "otava": name_with_otava,
    "asv": name_with_asv,
}


def main(name: str) -> None:
    """Answer what is on stdin."""
    answers, sys.stdout = sys.stdout, sys.stderr
    detect = DETECTORS[name]
    named = [
        (number, night, build, direction)
        for number, levels in enumerate(json.load(sys.stdin))
        for night in range(FEWEST, len(levels))
        for build, direction in detect(levels[: night + 1])
    ]
    json.dump(named, answers)


if __name__ == "__main__":
    main(sys.argv[1])
