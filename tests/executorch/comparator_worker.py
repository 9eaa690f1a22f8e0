"""Comparators written for torch, given to the Inspector and to our drop-in, where executorch is.

comparator_worker.py FOLDER PACKAGES   prints, as JSON, what comparators say of a program recorded
                                       in FOLDER; PACKAGES has what tracehouse needs
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]
from executorch.devtools import Inspector as Original  # type: ignore[import-not-found,unused-ignore]
from executorch.devtools.inspector.numerical_comparator import (  # type: ignore[import-not-found,unused-ignore]
    MSEComparator,
    NumericalComparatorBase,
)


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        empty, rest = torch.split(torch.tanh(self.linear(x)), [0, 2])
        return torch.cat([empty * 2, rest]) + 1


class ForTensors(NumericalComparatorBase):
    """Tells how far apart tensors are, of anything else 0, and knows no empty ones."""

    def element_compare(self, a: Any, b: Any) -> Any:
        if not isinstance(a, torch.Tensor):
            return 0.0
        return (a.to(torch.float64) - b * 1.5).abs().max() + a.size()[0]


def record(folder: Path) -> dict[str, str]:
    """Files of the program's run."""
    from executorch.exir import to_edge_transform_and_lower
    from executorch.extension.pybindings import portable_lib

    torch.manual_seed(0)
    inputs = (torch.randn(2, 4),)
    exported = torch.export.export(Program().eval(), inputs)
    lowered = to_edge_transform_and_lower(exported, generate_etrecord=True).to_executorch()
    files = {name: str(folder / name) for name in ("run.pte", "dump", "buffer", "etrecord")}
    lowered.get_etrecord().update_representative_inputs(inputs)
    lowered.get_etrecord().save(files["etrecord"])
    lowered.save(files["run.pte"])
    module = portable_lib._load_for_executorch(
        files["run.pte"], enable_etdump=True, debug_buffer_size=1 << 20
    )
    module.forward(list(inputs))
    module.write_etdump_result_to_file(files["dump"], files["buffer"])
    return {
        "etdump_path": files["dump"],
        "debug_buffer_path": files["buffer"],
        "etrecord": files["etrecord"],
    }


def gaps(inspector: Any, comparator: Any) -> Any:
    """What it says, by debug handle, the types of the gaps and of the values, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = inspector.calculate_numeric_gap(comparator)
    rows = zip(frame["aot_debug_handle"], frame["gap"], strict=True)
    return {
        "gaps": [[list(handle), [float(gap) for gap in gap_list]] for handle, gap_list in rows],
        "gap_types": sorted({type(gap).__name__ for gap_list in frame["gap"] for gap in gap_list}),
        "value_types": sorted({type(v).__name__ for v in frame["aot_intermediate_output"]}),
        "warnings": [str(w.message) for w in caught if "tensors=" in str(w.message)],
    }


def errors(inspector: Any) -> dict[str, list[str]]:
    """Classes of what is raised for wrong arguments, with those that they are derived from."""
    wrong = {"metric": ("COSINE",), "graph": ("MSE", False, "nope")}
    found = {}
    for name, arguments in wrong.items():
        try:
            inspector.calculate_numeric_gap(*arguments)
        except Exception as error:
            found[name] = [kind.__name__ for kind in type(error).__mro__]
    return found


def main(folder: str, packages: str) -> None:
    files = record(Path(folder))
    sys.path.append(packages)  # last: numpy is to be that of torch
    from tracehouse import Inspector

    original = Original(**files)
    arrays, tensors = Inspector(**files), Inspector(**files, tensors="torch")
    answer = {
        "original": gaps(original, ForTensors()),
        "arrays": gaps(arrays, ForTensors()),
        "tensors": gaps(tensors, ForTensors()),
        "theirs on arrays": gaps(arrays, MSEComparator()),
        "theirs on tensors": gaps(tensors, MSEComparator()),
        "theirs": gaps(original, MSEComparator()),
        "function": gaps(tensors, lambda a, b: (a - b).abs().max()),
        "outputs": [type(value).__name__ for value in tensors.event_blocks[-1].run_output],
        "original errors": errors(original),
        "our errors": errors(arrays),
    }
    (Path(folder) / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
