"""Dumps as each producer's source writes them; ingest/producers.toml names the sources."""

from __future__ import annotations

from collections.abc import Callable

from tracehouse import ETDumpWriter

RUNS = 26
CALL_NS = 30_000_000
_START = 500_000_000_000  # ticks of the device's clock when it begins


class _Clock:
    """A clock of nanoseconds that advances on demand."""

    def __init__(self) -> None:
        self.now = _START

    def __call__(self) -> int:
        return self.now

    def wait(self, ns: int) -> None:
        """Advance the clock."""
        self.now += ns


Log = Callable[[ETDumpWriter, _Clock], None]

QNN_EVENTS = {  # all levels, of an HTP
    "QNN (execute) time (us)": 29_900,
    "RPC (execute) time (us)": 29_409,
    "QNN accelerator (execute) time (us)": 28_700,
    "Accelerator (execute) time (us)": 28_100,
    "Accelerator (execute) time (cycles)": 36_123_456,
    "Accelerator (execute excluding wait) time (us)": 27_500,
    "Number of HVX threads used (count)": 4,
    "VTCM acquired (bytes)": 8_388_608,
    "RPC (execute) retries": 7,
    "Input OpId_2 (cycles)": 912_004,
    "conv2d_1:OpId_12 (cycles)": 20_400_000,
    "conv2d_2:OpId_14 (cycles)": 9_300_000,
}
VULKAN_SHADER = (
    '{"operator": {"name": "aten.convolution.default", "delegate_node_id": 4, "args": [{"type": '
    '"Tensor", "value_ref": 0, "dtype": "float", "sizes": [1, 3, 8, 8], "storage": "TEXTURE_3D", '
    '"packed_dim": 2}]}, "kernel_name": "conv2d_float", "operator_id": 3, "dispatch_id": 0}'
)
QNN_GPU_EVENTS = {"conv2d_1:OpId_12 (us)": 20_000, "relu_1:OpId_13": 9_000}


def _log(events: dict[str, int]) -> Log:
    def log(writer: ETDumpWriter, clock: _Clock) -> None:
        clock.wait(CALL_NS)
        for name, value in events.items():
            writer.log_profiling_delegate(name, 0, value)

    return log


def _xnnpack(writer: ETDumpWriter, clock: _Clock) -> None:
    start = clock.now
    clock.wait(CALL_NS)
    for name, us in (("Convolution (NHWC, F32) IGEMM #1", 9_000), ("Clamp (NC, F32) #1", 300)):
        writer.log_profiling_delegate(name, start, start + us * 1000)
        start += us * 1000


def _phases(prefix: str) -> Log:
    def log(writer: ETDumpWriter, clock: _Clock) -> None:
        with writer.profile_delegate(f"{prefix}_EXECUTE"):
            for phase, ns in (("COPY_INPUTS", 2_000_000), ("COMPUTE", 25_000_000)):
                with writer.profile_delegate(f"{prefix}_{phase}"):
                    clock.wait(ns)

    return log


def _vulkan(writer: ETDumpWriter, clock: _Clock) -> None:
    _phases("ETVK")(writer, clock)
    writer.log_profiling_delegate(VULKAN_SHADER, 77, 77 + 20_000_000)


def _core_ml(writer: ETDumpWriter, clock: _Clock) -> None:
    clock.wait(CALL_NS)
    writer.log_profiling_delegate("x_1:ios17.conv", 10, 10 + 18_000_000)
    writer.log_profiling_delegate("aten_relu_default", 10, 10 + 2_000_000)


def _core_ml_estimates(writer: ETDumpWriter, clock: _Clock) -> None:
    """A plan whose estimates exceed the call's time."""
    clock.wait(CALL_NS)
    writer.log_profiling_delegate("x_1:ios17.conv", 10, 10 + 2 * CALL_NS)


def _ethos_u(writer: ETDumpWriter, clock: _Clock) -> None:
    with writer.profile("EthosUBackend::execute()"):
        for _ in range(2):
            with writer.profile("+EthosUBackend::execute()handles.input.memcpy()"):
                clock.wait(1_000_000)
        with writer.profile("+EthosUBackend::execute()NPU"):
            clock.wait(27_000_000)


def _neutron(writer: ETDumpWriter, clock: _Clock) -> None:
    """Ticks of Neutron, counted by index; the last event adds the runtime's ticks to them."""
    clock.wait(CALL_NS)
    writer.log_profiling_delegate(0, 1000, 61_000, b"\x01")
    writer.log_profiling_delegate(1, 61_000, 90_000, b"\x02")
    writer.log_profiling_delegate(2, 90_000, 91_000 + CALL_NS, b"\x02")


def _silent(writer: ETDumpWriter, clock: _Clock) -> None:
    """Cadence, MediaTek, MPS, OpenVINO, Samsung: only the call."""
    clock.wait(CALL_NS)


PRODUCERS: dict[str, Log] = {
    "QNN": _log(QNN_EVENTS),
    "QNN GPU": _log(QNN_GPU_EVENTS),
    "XNNPACK": _xnnpack,
    "Vulkan": _vulkan,
    "VGF": _phases("VGF"),
    "Core ML": _core_ml,
    "Core ML estimates": _core_ml_estimates,
    "Ethos-U": _ethos_u,
    "Neutron": _neutron,
    "silent": _silent,
}


def producer_dump(producer: str, runs: int = RUNS) -> bytes:
    """A dump of a program that the producer's delegate runs most of, with a kernel before it."""
    clock = _Clock()
    writer = ETDumpWriter(clock=clock)
    with (
        writer.block("Load"),
        writer.profile_method("Program::load_method"),
        writer.profile_method("Method::init"),
    ):
        clock.wait(5_000_000)
        if producer == "Ethos-U":
            with writer.profile("+EthosUBackend::init()vela_bin_read()"):
                clock.wait(1_000_000)
    for run in range(runs):
        with writer.block("Execute"), writer.profile_method("Method::execute"):
            clock.wait(20_000 + 37 * run % 101)
            with (
                writer.profile("OPERATOR_CALL", instruction=0),
                writer.profile("native_call_add.out"),
            ):
                clock.wait(150_000 + 7919 * run % 1009)
            with writer.profile("DELEGATE_CALL", instruction=1):
                clock.wait(10_000)
                PRODUCERS[producer](writer, clock)
    return writer.finish().etdump
