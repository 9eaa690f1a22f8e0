"""The operators that the names of a delegate's events speak of. Pure.

A backend without a delegate map still names its events after what they compute: XNNPACK runs a
linear as "Fully Connected (NC, F32) GEMM #1". That is no proof of a node, but of two methods it
tells the one that has such operators.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[a-z]+")
_FEWEST_LETTERS = 3  # add, mul, exp
_MOST_LETTERS = 100  # of a name that are looked at
_NUMBER = "# 0123456789"  # at the end of a name, tells events apart
# Where a backend has another word than ATen: first words of operators by the word in the name.
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


class Unmatched(NamedTuple):
    """What is left when each name is matched with an operator that it speaks of.

    Attributes:
        names: How many names speak of no operator that is left.
        operators: How many operators no name speaks of, though a backend would run each by itself.
    """

    names: int
    operators: int


def count_unmatched(names: Iterable[str], operators: Iterable[str]) -> Unmatched:
    """What is left when each operator is spoken of by at most one of the names.

    >>> count_unmatched(["Fully Connected (NC) #1", "TanH (NC) #1"], ["linear", "relu", "mul"])
    Unmatched(names=1, operators=1)
    >>> count_unmatched(["Multiply (ND) #1", "Multiply (ND) #2"], ["mul", "max_pool2d"])
    Unmatched(names=1, operators=1)
    """
    left = Counter(_first_word(operator) for operator in operators)
    unspoken = 0
    for name, count in Counter(name[:_MOST_LETTERS].rstrip(_NUMBER) for name in names).items():
        for word in _operator_words(name):
            spoken = min(count, left[word])
            left[word] -= spoken
            count -= spoken
        unspoken += count
    return Unmatched(unspoken, sum(left[word] for word in left.keys() - _SILENT))


@lru_cache(maxsize=4_096)  # a name comes again with other numbers, and for every method
def _operator_words(name: str) -> tuple[str, ...]:
    """First words that an operator in this name can have, the longest first: mul for Multiply."""
    return tuple(
        spoken
        for word in _WORD.findall(name.casefold())
        for spoken in (
            *_SYNONYMS.get(word, ()),
            *(word[:end] for end in range(len(word), _FEWEST_LETTERS - 1, -1)),
        )
    )


def _first_word(operator: str) -> str:
    match = _WORD.search(operator)
    return match[0] if match else ""
