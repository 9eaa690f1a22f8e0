"""The operators that the names of a delegate's events speak of. Pure.

A backend without a delegate map still names its events after what they compute: XNNPACK runs a
linear as "Fully Connected (NC, F32) GEMM #1". That is no proof of a node, but of two methods it
tells the one that has such operators.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[a-z]+")
_FEWEST_LETTERS = 3  # add, mul, exp
_MOST_LETTERS = 16  # Multiply, Exponential: a longer word is none of a language
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


def count_unspoken(names: Iterable[str], operators: Iterable[str]) -> int:
    """How many of the names speak of no operator; each operator is spoken of once.

    >>> count_unspoken(["Fully Connected (NC) #1", "TanH (NC) #1"], ["linear", "relu", "mul"])
    1
    >>> count_unspoken(["Multiply (ND) #1", "Multiply (ND) #2"], ["mul", "max_pool2d"])
    1
    """
    left = Counter(_first_word(operator) for operator in operators)
    count = 0
    for name in names:
        spoken = next((word for word in _operator_words(name) if left[word] > 0), None)
        if spoken is None:
            count += 1
        else:
            left[spoken] -= 1
    return count


def _operator_words(name: str) -> Iterator[str]:
    """First words that an operator in this name can have, the longest first: mul for Multiply."""
    for match in _WORD.finditer(name.casefold()):
        word = match[0]
        yield from _SYNONYMS.get(word, ())
        if len(word) <= _MOST_LETTERS:
            yield from (word[:end] for end in range(len(word), _FEWEST_LETTERS - 1, -1))


def _first_word(operator: str) -> str:
    match = _WORD.search(operator)
    return match[0] if match else ""
