"""How a service gets memory from the system, and gives it back."""

from __future__ import annotations

import ctypes

import pyarrow as pa

# Of glibc's `mallopt`: what each is called there, and what it is set to.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_OPTIONS = {_ARENA_MAX: 2, _MMAP_THRESHOLD: 1 << 20, _TRIM_THRESHOLD: 8 << 20}


def hold_little_memory() -> None:
    """Let this process give back soon what it does not need any more.

    Each thread would else keep what it ever freed for itself, and Arrow's own allocator too.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        set_option = ctypes.CDLL(None).mallopt
    except AttributeError:  # another C library
        return
    for option, value in _OPTIONS.items():
        set_option(option, value)
