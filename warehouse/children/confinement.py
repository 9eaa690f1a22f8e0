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
import errno
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

# Name, number on x86_64, number on aarch64; a machine may lack an older form of a call.
_REFUSED = """
fork 57 -, vfork 58 -, execve 59 221, execveat 322 281,
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
process_mrelease 448 448, kcmp 312 272, move_pages 279 239, migrate_pages 256 238,
pidfd_open 434 434, pidfd_getfd 438 438, pidfd_send_signal 424 424, tkill 200 130,
rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
setns 308 268, unshare 272 97, personality 135 92, modify_ldt 154 -, seccomp 317 277,
socket 41 198, socketpair 53 199, connect 42 203, bind 49 200, listen 50 201, accept 43 202,
accept4 288 242, mq_open 240 180, mq_unlink 241 181, shmget 29 194, shmat 30 196, shmctl 31 195,
semget 64 190, msgget 68 186,
open 2 -, openat 257 56, openat2 437 437, creat 85 -, open_by_handle_at 304 265,
name_to_handle_at 303 264, truncate 76 45, rename 82 -, renameat 264 38, renameat2 316 276,
link 86 -, linkat 265 37, symlink 88 -, symlinkat 266 36, unlink 87 -, unlinkat 263 35,
mkdir 83 -, mkdirat 258 34, rmdir 84 -, mknod 133 -, mknodat 259 33,
chmod 90 -, fchmodat 268 53, fchmodat2 452 452, chown 92 -, lchown 94 -, fchownat 260 54,
utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, setxattr 188 5, lsetxattr 189 6,
removexattr 197 14, lremovexattr 198 15, chroot 161 51, pivot_root 155 41, inotify_init 253 -,
inotify_init1 294 26, fanotify_init 300 262, fanotify_mark 301 263, uselib 134 -,
mount 165 40, umount2 166 39, mount_setattr 442 442, move_mount 429 429, open_tree 428 428,
fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, swapon 167 224,
swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443,
bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425,
io_uring_enter 426 426, io_uring_register 427 427, io_setup 206 0, io_submit 209 2,
add_key 248 217, request_key 249 218, keyctl 250 219, init_module 175 105,
finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294,
reboot 169 142, syslog 103 116, settimeofday 164 170, clock_settime 227 112, adjtimex 159 171,
clock_adjtime 305 266, sethostname 170 161, setdomainname 171 162, iopl 172 -, ioperm 173 -,
lookup_dcookie 212 18, vhangup 153 58, nfsservctl 180 42
"""
_NEWEST = 462  # a call that is newer is answered as by a kernel that does not have it
_CLONE3 = 435  # its flags are in memory, where no filter sees them: glibc uses clone instead

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in what the kernel hands to a filter
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_CLONE_THREAD = 0x00010000
_SET_FILTER, _ALL_THREADS, _KEEP_SPECULATION = 1, 1, 4  # the last keeps the speed of all memory
_Instruction = tuple[int, int, int, int]  # code, steps if true, steps if false, operand
_NO_NEW_PRIVILEGES, _GET_SECCOMP, _FILTERED = 38, 21, 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same numbers on all machines
_ASK_VERSION = 1
# What a version of Landlock can forbid: in files, TCP and the reach of signals.
_FILES = ((1, 13), (2, 1), (3, 1), (5, 1))  # rights that came with a version
_TCP, _TCP_VERSION = 0b11, 4
_REACH, _REACH_VERSION = 0b11, 6


class Machine(NamedTuple):
    """What a filter has to know of a machine: numbers of its calls, and how the kernel names it."""

    audit_architecture: int
    column: int
    clone: int
    of_own_process: tuple[int, ...]  # kill, tgkill and prlimit64 name a process
    seccomp: int


MACHINES = {
    "x86_64": Machine(0xC000003E, 1, 56, (62, 234, 302), 317),
    "aarch64": Machine(0xC00000B7, 2, 220, (129, 131, 261), 277),
}


class _Program(ctypes.Structure):
    _fields_ = (("count", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class _Step(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_ushort),
        ("if_true", ctypes.c_ubyte),
        ("if_false", ctypes.c_ubyte),
        ("operand", ctypes.c_uint),
    )


def refused_calls(machine: Machine) -> dict[str, int]:
    """Numbers of the refused calls of a machine by name."""
    calls = (call.split() for call in _REFUSED.split(","))
    return {call[0]: int(call[machine.column]) for call in calls if call[machine.column] != "-"}


def build_filter(machine: Machine, process: int) -> list[_Instruction]:
    """The program that refuses calls of this process on a machine.

    Calls of another architecture of the same machine are refused, too; those of x32 have numbers
    above all others.
    """
    refuse, allow = (_RETURN, 0, 0, _REFUSE | errno.EPERM), (_RETURN, 0, 0, _ALLOW)
    unknown = (_RETURN, 0, 0, _REFUSE | errno.ENOSYS)
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit_architecture),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        *((_AT_LEAST, 0, 1, _NEWEST + 1), unknown),
        *((_EQUAL, 0, 1, _CLONE3), unknown),
    ]
    for number in sorted(refused_calls(machine).values()):
        program += [(_EQUAL, 0, 1, number), refuse]
    program += [(_EQUAL, 0, 4, machine.clone), (_LOAD, 0, 0, _FIRST_ARGUMENT)]
    program += [(_ANY_BIT, 0, 1, _CLONE_THREAD), allow, refuse]
    kill, tgkill, prlimit = machine.of_own_process
    for number, processes in ((kill, [process]), (tgkill, [process]), (prlimit, [0, process])):
        program += _refuse_unless_own(number, processes)
    return [*program, allow]


def _refuse_unless_own(number: int, processes: Iterable[int]) -> list[_Instruction]:
    """Steps that allow a call only with one of these processes as its first argument."""
    checks = [
        step for process in processes for step in ((_EQUAL, 0, 1, process), (_RETURN, 0, 0, _ALLOW))
    ]
    inside = [
        (_LOAD, 0, 0, _FIRST_ARGUMENT), *checks, (_RETURN, 0, 0, _REFUSE | errno.EPERM),
    ]  # fmt: skip
    return [(_EQUAL, 0, len(inside), number), *inside]


def find_machine() -> Machine | None:
    """This machine, if its calls are listed here."""
    is_linux = sys.platform == "linux" and sys.maxsize > 1 << 32
    return MACHINES.get(os.uname().machine) if is_linux else None


def install_filter(machine: Machine) -> None:
    """Refuse calls of all threads of this process, for good.

    The process needs the attribute "no new privileges".

    Raises:
        OSError: The kernel or a container does not allow it.
    """
    steps = build_filter(machine, os.getpid())
    instructions = (_Step * len(steps))(*(_Step(*step) for step in steps))
    program = _Program(len(steps), ctypes.cast(instructions, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    flags = _ALL_THREADS | _KEEP_SPECULATION
    failed = libc.syscall(machine.seccomp, _SET_FILTER, flags, ctypes.byref(program))
    if failed:  # -1, or the number of a thread that has a filter of its own
        number = ctypes.get_errno() if failed == -1 else errno.EBUSY
        raise OSError(number, os.strerror(number))


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
