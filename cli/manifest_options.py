"""Options that state what a dump does not say itself, one per field of a manifest."""

from __future__ import annotations

from cli.options import TextOption

MANIFEST = (
    TextOption("device", "NAME", "Device that recorded the dumps."),
    TextOption("pool", "NAME", "Device pool."),
    TextOption("os", "NAME", "Operating system of the device."),
    TextOption("os_version", "TEXT", "Version of the operating system."),
    TextOption("arch", "NAME", "Processor architecture."),
    TextOption("soc", "NAME", "System on chip or processor."),
    TextOption("build", "ID", "Build that was run."),
    TextOption("commit", "TEXT", "Source revision of the build."),
    TextOption("branch", "NAME", "Branch of the build."),
    TextOption("committed_at", "TIME", "Commit time, ISO 8601."),
    TextOption("ordinal", "NUMBER", "Position of the build among builds."),
    TextOption("parent", "ID", "Build that it was made from, or that its branch forked from."),
    TextOption("role", "reference", "States that the build is pinned, and recorded beside others."),
    TextOption("model", "NAME", "Model that was run."),
    TextOption("backend", "NAME", "Backend it is lowered to."),
    TextOption("quantization", "TEXT", "Quantization scheme."),
    TextOption("method", "NAME", "Method of the program that was run, if it has several."),
    TextOption("captured_at", "TIME", "Time of recording, ISO 8601."),
    TextOption("clock", "ns|us|ms|s|cycles", "Unit of the dumps' clock; ns if nothing states it."),
    TextOption("ticks_per_second", "NUMBER", "Rate of a clock in cycles."),
)
