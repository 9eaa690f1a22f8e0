"""The filter as the kernel would run it, on every machine, by an interpreter of classic BPF."""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
from pathlib import Path

import pytest

from tracehouse.warehouse.children.confinement import (
    MACHINES,
    Machine,
    build_filter,
    find_machine,
    refused_calls,
)

PROCESS = 4711
ALLOW, ERROR = 0x7FFF0000, 0x00050000
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
MOST_STEPS = 4096  # that the kernel takes
# What must not be missing from the table, whatever else is in it.
WANTED = """
fork vfork execve execveat ptrace process_vm_readv process_vm_writev
socket socketpair connect bind listen accept accept4
open openat openat2 creat unlink unlinkat rename renameat renameat2 chmod fchmodat
bpf perf_event_open io_uring_setup io_uring_enter io_uring_register
keyctl add_key request_key userfaultfd mount umount2 move_mount fsopen open_tree
kexec_load kexec_file_load init_module finit_module personality setns unshare
pidfd_open pidfd_getfd pidfd_send_signal rt_sigqueueinfo seccomp
"""
REFUSED = set(WANTED.split())
# Older forms, which machines of the last decades do not have.
NOT_ON_ARM = {"fork", "vfork", "open", "creat", "unlink", "rename", "chmod"}
machines = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def decide(
    program: list[tuple[int, int, int, int]], architecture: int, number: int, *arguments: int
) -> int:
    """The number of the error that a call ends with; 0 if it is allowed."""
    values = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number, architecture, 0, *values)
    accumulator = at = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        if code == 0x06:
            assert operand == ALLOW or operand & 0xFFFF0000 == ERROR
            return 0 if operand == ALLOW else operand & 0xFFFF
        if code == 0x20:
            accumulator = int.from_bytes(data[operand : operand + 4], "little")
        else:
            met = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: accumulator & operand != 0,
            }
            at += if_true if met[code] else if_false


def outcome(machine: Machine, number: int, *arguments: int) -> int:
    program = build_filter(machine, PROCESS)
    return decide(program, machine.audit_architecture, number, *arguments)


@machines
def test_every_refused_call_ends_with_an_error_whatever_it_is_given(machine: Machine) -> None:
    calls = refused_calls(machine)
    assert len(calls) > 80
    for name, number in calls.items():
        for argument in (0, 1, PROCESS, (1 << 64) - 1):
            assert outcome(machine, number, argument) == errno.EPERM, name


@pytest.mark.parametrize("name", MACHINES)
def test_calls_that_start_processes_or_open_files_or_sockets_are_refused(name: str) -> None:
    wanted = REFUSED - NOT_ON_ARM if name == "aarch64" else REFUSED
    assert wanted - refused_calls(MACHINES[name]).keys() == set()


@machines
def test_the_filter_allows_all_other_system_calls(machine: Machine) -> None:
    special = {435, machine.clone, *machine.of_own_process}
    others = set(range(463)) - set(refused_calls(machine).values()) - special
    assert {outcome(machine, number) for number in others} == {0}


@machines
def test_threads_may_be_started_and_processes_may_not(machine: Machine) -> None:
    thread = 0x003D0F00  # as glibc asks for one
    assert outcome(machine, machine.clone, thread) == 0
    for flags in (0, 0x01200011, 0x00004111, thread & ~0x10000):
        assert outcome(machine, machine.clone, flags) == errno.EPERM
    assert outcome(machine, 435, thread) == errno.ENOSYS  # then glibc uses clone


@machines
def test_calls_that_name_a_process_are_allowed_for_the_own_one(machine: Machine) -> None:
    kill, tgkill, prlimit = machine.of_own_process
    for number in (kill, tgkill, prlimit):
        assert outcome(machine, number, PROCESS) == 0
        for other in (1, PROCESS - 1, (1 << 32) - 1):  # the last is all processes
            assert outcome(machine, number, other) == errno.EPERM
    assert outcome(machine, kill, 0) == outcome(machine, tgkill, 0) == errno.EPERM
    assert outcome(machine, prlimit, 0) == 0


@machines
def test_calls_of_another_architecture_are_refused(machine: Machine) -> None:
    program = build_filter(machine, PROCESS)
    others = {0x40000003, 0x40000028, *(one.audit_architecture for one in MACHINES.values())}
    for architecture in others - {machine.audit_architecture}:  # i386, 32-bit Arm
        assert {decide(program, architecture, number) for number in range(500)} == {errno.EPERM}


@machines
def test_calls_of_x32_and_newer_ones_do_not_exist(machine: Machine) -> None:
    newer = (463, 470, 512, 0x40000000, 0x40000000 | 59, (1 << 32) - 1)
    assert {outcome(machine, number) for number in newer} == {errno.ENOSYS}


@machines
def test_the_kernel_takes_a_filter_of_this_form(machine: Machine) -> None:
    """Every step leads to a later one of the program, which ends with an answer."""
    program = build_filter(machine, PROCESS)
    assert len(program) <= MOST_STEPS
    assert program[-1][0] == 0x06
    for at, (code, if_true, if_false, _) in enumerate(program):
        assert code in {0x06, 0x15, 0x20, 0x35, 0x45}
        assert max(if_true, if_false) < 256
        assert at + 1 + max(if_true, if_false) < len(program) or code == 0x06


@pytest.mark.parametrize("name", MACHINES)
def test_numbers_are_those_of_the_kernel_s_headers(name: str) -> None:
    if not HEADERS[name].exists():
        pytest.skip("this machine has no headers of the kernel")
    text = HEADERS[name].read_text()
    named = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text))
    machine = MACHINES[name]
    kill, tgkill, prlimit = machine.of_own_process
    special = {"clone": machine.clone, "seccomp": machine.seccomp, "kill": kill}
    special |= {"tgkill": tgkill, "prlimit64": prlimit}
    wrong = {
        call: number
        for call, number in {**refused_calls(machine), **special}.items()
        if call in named and int(named[call]) != number
    }
    assert wrong == {}
    assert len(refused_calls(machine).keys() - named.keys()) <= 3  # older headers lack some


def test_the_system_call_table_is_found_by_the_machine_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name, machine in MACHINES.items():
        found = os.uname_result(("Linux", "", "", "", name))
        monkeypatch.setattr(os, "uname", lambda found=found: found)
        assert find_machine() == machine
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "", "", "", "riscv64")))
    assert find_machine() is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert find_machine() is None
