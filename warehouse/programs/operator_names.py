"""The operators mentioned in the names of a delegate's events. Pure.

A backend without a delegate map still names its events after operators: XNNPACK runs a linear as
"Fully Connected (NC, F32) GEMM #1". Such a name does not identify a node, but it distinguishes a
method with such an operator from a method without.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_KERNEL_PREFIX = "native_call_"  # begins names of kernels from ExecuTorch's code generator
_WORD = re.compile(r"[a-z]+")
_FEWEST_LETTERS = 3  # letters of the shortest operators: add, mul, exp
_MOST_LETTERS = 100  # letters of an event's name that are read
_NUMBER = "# 0123456789"  # at the end of a name, numbers the events of one operator
# First words of ATen operators by the word that a backend uses for them.
_SYNONYMS = {
    "fully": ("linear", "addmm", "mm"),
    "batch": ("bmm",),
    "deconvolution": ("convolution",),
    "transpose": ("permute",),
    "reshape": ("view",),
    "concatenate": ("cat",),
    "clamp": ("relu", "hardtanh"),
    "average": ("avg",),
}
# First words of operators that backends fuse into others, fold into constants, or drop.
_SILENT = {
    "relu", "hardtanh", "clamp", "batch", "native", "view", "reshape", "unsafe", "squeeze",
    "unsqueeze", "alias", "clone", "to", "permute", "transpose", "t", "expand", "constant",
    "full", "scalar", "arange", "quantize", "dequantize", "choose",
}  # fmt: skip


class UnmatchedCounts(NamedTuple):
    """Numbers of names and operators left after matching each name with one operator.

    Attributes:
        names: Names without an operator.
        operators: Operators without a name, except those that backends fuse or drop.
    """

    names: int
    operators: int


def count_unmatched(names: Iterable[str], operators: Iterable[str]) -> UnmatchedCounts:
    """Names and operators that remain when each operator is matched with at most one name.

    >>> count_unmatched(["Fully Connected (NC) #1", "TanH (NC) #1"], ["linear", "relu", "mul"])
    UnmatchedCounts(names=1, operators=1)
    >>> count_unmatched(["Multiply (ND) #1", "Multiply (ND) #2"], ["mul", "max_pool2d"])
    UnmatchedCounts(names=1, operators=1)
    """
    left = Counter(_first_word(operator) for operator in operators)
    unmatched = 0
    for name, count in Counter(name[:_MOST_LETTERS].rstrip(_NUMBER) for name in names).items():
        for word in _operator_words(name):
            matched = min(count, left[word])
            left[word] -= matched
            count -= matched
        unmatched += count
    return UnmatchedCounts(unmatched, sum(left[word] for word in left.keys() - _SILENT))


def operator_of_target(target: str) -> str:
    """Operator of a node without namespace, overload and the suffix of in-place operators.

    >>> operator_of_target("aten.index_put_.default"), operator_of_target("alloc")
    ('index_put', 'alloc')
    """
    name = target.rpartition(".")[0] or target
    return name.rpartition(".")[2].strip("_")


def operator_of_kernel(event_name: str) -> str:
    """Operator of a kernel, spelled as `operator_of_target` spells it.

    >>> operator_of_kernel("native_call_index_put_.out")
    'index_put'
    >>> operator_of_kernel("llama::custom_sdpa.out")
    'custom_sdpa'
    """
    return operator_of_target(event_name.removeprefix(_KERNEL_PREFIX).replace("::", "."))


@lru_cache(maxsize=4_096)  # names recur with other numbers, and for every method
def _operator_words(name: str) -> tuple[str, ...]:
    """Possible first words of the operator in a name, the longest first: mul for Multiply."""
    return tuple(
        first_word
        for word in _WORD.findall(name.casefold())
        for first_word in (
            *_SYNONYMS.get(word, ()),
            *(word[:end] for end in range(len(word), _FEWEST_LETTERS - 1, -1)),
        )
    )


def _first_word(operator: str) -> str:
    match = _WORD.search(operator)
    return match[0] if match else ""
