"""A stand-in for `executorch.runtime`, controlled by the program: see tests/support/stand_in.py."""

from __future__ import annotations

import json
import os
import shutil
import sys


class Runtime:
    @staticmethod
    def get():
        return Runtime()

    def load_program(self, path, *, enable_etdump, debug_buffer_size):
        assert enable_etdump
        with open(path, "rb") as file:
            return Program(json.loads(file.read()[8:]), debug_buffer_size)


class Program:
    def __init__(self, plan, debug_buffer_size):
        self.plan = plan
        self.debug_buffer_size = debug_buffer_size
        self.method_names = {"forward", "decode"}

    def load_method(self, name):
        return Method(self.plan)

    def write_etdump_result_to_file(self, dump, debug_buffer):
        if os.path.isdir(self.plan["dump"]):
            left = sorted(os.listdir(self.plan["dump"]))
            if not left:
                raise RuntimeError("no dump is left")
            shutil.move(os.path.join(self.plan["dump"], left[0]), dump)
        else:
            shutil.copy(self.plan["dump"], dump)
        assert bool(debug_buffer) == (self.debug_buffer_size > 0)
        if debug_buffer:
            with open(debug_buffer, "wb") as file:
                file.truncate(self.debug_buffer_size)


class Method:
    def __init__(self, plan):
        self.plan = plan
        self.metadata = self

    def num_inputs(self):
        return len(self.plan["inputs"])

    def input_tensor_meta(self, index):
        if self.plan["inputs"][index] == "number":
            raise IndexError

    def execute(self, inputs):
        print("said by a library")
        for line in self.plan["log"]:
            print(line, file=sys.stderr, flush=True)
        if self.plan["aborts"]:
            os.abort()
        if self.plan["fails"]:
            raise RuntimeError(self.plan["fails"])
        found = ["tensor" if hasattr(array, "shape") else "number" for array in inputs]
        assert found == self.plan["inputs"], found
