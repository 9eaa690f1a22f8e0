"""The attributes of this machine, as a manifest states them."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_FREQUENCY_POLICIES = Path("/sys/devices/system/cpu/cpufreq")
_PROCESSOR_KEYS = ("model name", "Model", "Hardware")  # of x86, of Arm boards, of older Arm kernels


def describe_host() -> dict[str, str]:
    """The known attributes of this machine: os, os_version, arch and soc."""
    facts = {
        "os": platform.system(),
        "os_version": platform.release(),
        "arch": platform.machine(),
        "soc": _read_processor() or platform.processor(),
    }
    return {name: fact for name, fact in facts.items() if fact}


def describe_run_context() -> dict[str, str | int]:
    """The known conditions of a run on this machine: governor and threads.

    Different governors of several processors are each named once. Threads are the processors that
    this process may use.
    """
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    facts = {"governor": ", ".join(sorted(set(_read_governors()))), "threads": usable}
    return {name: fact for name, fact in facts.items() if fact}


def _read_governors() -> list[str]:
    """The governors of the processors under Linux; empty elsewhere."""
    try:
        files = _FREQUENCY_POLICIES.glob("policy*/scaling_governor")
        return [file.read_text(encoding="utf-8").strip() for file in files]
    except (OSError, UnicodeDecodeError):
        return []


def _read_processor() -> str | None:
    """The name of the processor under Linux; None elsewhere."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    facts = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    return next((facts[key] for key in _PROCESSOR_KEYS if facts.get(key)), None)
