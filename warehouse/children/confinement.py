"""The confinement of a process that works for strangers: it loses the rights it does not use.

A process confines itself once it has loaded all its modules and opened all its files. From then on
it computes, has threads, and uses what is open: it can open, create, change and delete no file,
make no socket, start no process, and reach no other one. Two layers say so, each on its own:
Landlock, which knows files, TCP and signals, and a seccomp filter, which knows system calls.

A kernel or a container may lack a layer, and a filter that the process inherited may kill whatever
asks for one. The process works without it all the same, and `tracehouse doctor` says why it is off.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tracehouse.warehouse.children.system_calls import find_machine, install_filter

_NO_NEW_PRIVILEGES, _GET_SECCOMP, _FILTERED = 38, 21, 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same numbers on all machines
_ASK_VERSION = 1
# What a version of Landlock can forbid: in files, TCP and the reach of signals.
_FILES = ((1, 13), (2, 1), (3, 1), (5, 1))  # rights that came with a version
_TCP, _TCP_VERSION = 0b11, 4
_REACH, _REACH_VERSION = 0b11, 6


class Layer(NamedTuple):
    """A layer: its name, whether it confines this process, and what it forbids or why it is off."""

    name: str
    is_active: bool
    detail: str


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("reach", ctypes.c_uint64))


def confine() -> list[Layer]:
    """Confine this process for good, as far as the system can, and tell what it did.

    Landlock confines the calling thread and all threads that it starts later.
    """
    return [_apply("landlock", restrict_access), _apply("seccomp", filter_calls)]


def restrict_access() -> str:
    """Deny this thread all files, TCP and signals to others by Landlock, which has no rules.

    Raises:
        OSError: The kernel does not have Landlock, or does not allow it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = _check(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION))
    rights = sum(count for since, count in _FILES if version >= since)
    has_tcp, has_reach = version >= _TCP_VERSION, version >= _REACH_VERSION
    handled = _Ruleset((1 << rights) - 1, _TCP * has_tcp, _REACH * has_reach)
    size = ctypes.c_size_t(ctypes.sizeof(handled))
    ruleset = _check(libc.syscall(_CREATE_RULESET, ctypes.byref(handled), size, 0))
    try:
        _forbid_new_privileges(libc)
        _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)
    denied = "no files" + ", no TCP" * has_tcp + ", no signals to others" * has_reach
    return f"ABI {version}: {denied}"


def filter_calls() -> str:
    """Let the kernel refuse system calls of this process by seccomp.

    Raises:
        OSError: The machine is not known, or the kernel does not allow it.
    """
    machine = find_machine()
    if machine is None:
        raise OSError(0, f"no filter for {os.uname().machine}")
    _forbid_new_privileges(ctypes.CDLL(None, use_errno=True))
    install_filter(machine)
    return "no new processes, no tracing, no sockets, no files"


def _apply(name: str, layer: Callable[[], str]) -> Layer:
    if sys.platform != "linux":
        return Layer(name, is_active=False, detail="only Linux has it")
    if ctypes.CDLL(None).prctl(_GET_SECCOMP, 0, 0, 0, 0) == _FILTERED and not _survives(layer):
        return Layer(
            name, is_active=False, detail="a filter of system calls kills what asks for it"
        )
    try:
        return Layer(name, is_active=True, detail=layer())
    except OSError as error:
        why = f"this kernel, container or machine does not provide it ({error.strerror})"
        return Layer(name, is_active=False, detail=why)


def _survives(layer: Callable[[], str]) -> bool:
    """Whether a process that asks for a layer lives on: systemd's filters kill by default."""
    tried = os.fork()
    if not tried:
        with suppress(OSError):
            layer()
        os._exit(0)
    return os.waitpid(tried, 0)[1] == 0


def _forbid_new_privileges(libc: ctypes.CDLL) -> None:
    _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))


def _check(result: int) -> int:
    """The result of a call.

    Raises:
        OSError: The call failed.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
