"""Exports small programs, and reads ExportedPrograms through our reader, where executorch is.

program_worker.py export FOLDER           writes BACKEND.pte and BACKEND.etrecord
program_worker.py read STORE PACKAGES     prints the nodes of dump 1's ExportedProgram as JSON;
                                          PACKAGES has what tracehouse needs
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch  # type: ignore[import-not-found,unused-ignore]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))


def export(folder: Path) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    torch.manual_seed(0)
    exported = torch.export.export(Layer().eval(), (torch.ones(1, 4),))
    for backend, partitioner in (("portable", None), ("xnnpack", [XnnpackPartitioner()])):
        edge = to_edge_transform_and_lower(
            exported, partitioner=partitioner, generate_etrecord=True
        )
        lowered = edge.to_executorch()
        lowered.save(str(folder / f"{backend}.pte"))
        lowered.get_etrecord().save(str(folder / f"{backend}.etrecord"))


def read(store: str, packages: str) -> None:
    sys.path.append(packages)  # last: numpy is to be that of torch
    from tracehouse import Warehouse

    with Warehouse.open(store, read_only=True) as warehouse:
        program = warehouse.exported_program(dump_id=1)
    sys.stdout.write(json.dumps([node.name for node in program.graph.nodes]))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "export":
        export(Path(sys.argv[2]))
    else:
        read(*sys.argv[2:])
