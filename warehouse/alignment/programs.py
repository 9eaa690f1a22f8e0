"""Programs: the operators of a run signature in order of execution."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

_NUMBER = re.compile(r"(?: ?#\d+|[_:]?OpId_\d+|[_.:]\d+| ?\([a-z]+\))$")
_MOST_NUMBERS = 4  # at the end of a name
_DTYPES = re.compile(r"\([^()]*\)")
_PREFIX = re.compile(r"^(native_call_|aten::|aten\.|et_vk\.|quantized_decomposed(::|\.))")
_OTHER_THAN_WORDS = re.compile(r"[^a-z0-9_]+")
_TILE = re.compile(r"\d{0,4}[a-z]{0,6}\d{1,4}(?:x\d{1,4})?")  # such as 4x8 and f32
_MOST_WORDS = 4  # of a known beginning
_WAYS_TO_COMPUTE = frozenset({"igemm", "gemm", "dwconv", "vmulcaddc", "spmm"})
# Families of operators that do the same work, under the names of portable kernels, XNNPACK, Vulkan
# and others. A name that is not here is a family of its own.
_FAMILIES = {
    "matmul": "mm bmm addmm baddbmm matmul linear batch_matrix_multiply fully_connected "
    "fullyconnected dynamic_fully_connected linear_naive linear_tiled q_linear",
    "conv": "conv convolution conv2d conv1d conv2d_pw conv2d_dw conv_with_clamp deconvolution "
    "convolution_nhwc q_conv depthwise_convolution",
    "softmax": "softmax _softmax log_softmax _log_softmax",
    "add": "add add_scalar",
    "mul": "mul multiply mul_scalar",
    "sub": "sub subtract",
    "div": "div divide",
    "transpose": "transpose permute permute_copy transpose_copy t_copy nchw_to_nhwc",
    "reshape": "view_copy view static_reshape reshape copy clone clone_dim_order "
    "_to_dim_order_copy _clone_dim_order squeeze_copy unsqueeze_copy",
    "max_pool": "max_pooling max_pool2d_with_indices max_pool2d maxpool",
    "avg_pool": "average_pooling avg_pool2d",
    "mean": "mean mean_dim global_average_pooling",
    "relu": "relu clamp hardtanh minmax",
    "sigmoid": "sigmoid",
    "sin": "sin sine",
    "hardswish": "hardswish hard_swish hardsigmoid",
    "cat": "cat concat concatenate concatenate2",
    "norm": "native_layer_norm layer_norm batch_norm _native_batch_norm_legit_no_training",
    "slice": "slice_copy slice static_slice select_copy",
    "pad": "constant_pad_nd static_constant_pad",
    "embedding": "embedding",
}
_FAMILY_OF = {name: family for family, names in _FAMILIES.items() for name in names.split()}

KERNEL, DELEGATED, CALL = "kernel", "delegate_op", "delegate_call"
_OPERATOR_CALL = "operator_call"
_INSIDE = frozenset({DELEGATED, "delegate_phase", "delegate_counter"})
_OUTSIDE = frozenset({"control", "other"})
_OF_RUNS = frozenset({"method", "load", _OPERATOR_CALL})


@cache
def plain_name(name: str) -> str:
    """An event's name or delegate id without all that numbers it, which a new program changes.

    >>> plain_name("Convolution (NHWC, F32) IGEMM #12"), plain_name("aten_add_3:OpId_7 (cycles)")
    ('Convolution (NHWC, F32) IGEMM', 'aten_add')
    """
    if name.startswith("{"):
        return _name_shader(name) or name
    for _ in range(_MOST_NUMBERS):
        name = _NUMBER.sub("", name)
    return name.strip()


def _name_shader(text: str) -> str | None:
    """The kernel and operator in a delegate id of Vulkan, which is a JSON text."""
    try:
        shader = json.loads(text)
    except ValueError:
        return None
    operator = shader.get("operator")
    own = operator.get("name", "") if isinstance(operator, dict) else ""
    return f"{shader.get('kernel_name', '')}|{own}"


@cache
def family_of(plain: str, *, is_kernel: bool) -> str:
    """The family of an operator by its plain name: equal work, whoever runs it.

    >>> family_of("native_call_addmm.out", is_kernel=True)
    'matmul'
    >>> family_of("Fully Connected (NC, F32) GEMM", is_kernel=False)
    'matmul'
    """
    shader, _, operator = plain.partition("|")
    name = _PREFIX.sub("", operator or shader).split("::")[-1]
    name = _DTYPES.sub(" ", name)
    if is_kernel or operator:
        name = name.split(".")[0]
    words = _OTHER_THAN_WORDS.sub(" ", name.lower()).split()
    telling = [each for each in words if each not in _WAYS_TO_COMPUTE and not _TILE.fullmatch(each)]
    words = telling or words
    for count in range(_MOST_WORDS, 0, -1):  # the longest known beginning
        if family := _FAMILY_OF.get("_".join(words[:count])):
            return family
    return "_".join(words) or name.lower()


class Name(NamedTuple):
    """The name of an event in queries.

    Attributes:
        event_name: Its event name.
        delegate_id: Its delegate id, if any.
        ordinal: Number among the program's instructions with these two, from 1.
        kind: Kind of the event.
        op_type: Type of the operator, if it is one.
    """

    event_name: str
    delegate_id: str | None
    ordinal: int
    kind: str
    op_type: str | None


class Event(NamedTuple):
    """An event of a program.

    Attributes:
        id: Id of its event signature.
        instruction: Its instruction; None outside the program.
        logged_name: Its name in the file; its delegate id where it has none.
        module: Path of the module that it runs, if known.
        name: Its name in queries.
    """

    id: int
    instruction: int | None
    logged_name: str
    module: str | None
    name: Name

    @property
    def kind(self) -> str:
        """Kind of the event."""
        return self.name.kind


class Operator(NamedTuple):
    """What is aligned: a kernel, a delegate's operator, a delegate call, or another instruction.

    Attributes:
        kind: Kind of its event.
        name: Its name without numbers.
        family: Its family.
        module: Path of its module, if known.
        call: Index of the delegate call that it is inside, or -1.
    """

    kind: str
    name: str
    family: str
    module: str | None
    call: int


class Program:
    """The operators of a run signature, in order of execution; equal to one with equal operators.

    Attributes:
        events: The event of each operator.
        callers: The OPERATOR_CALL around each operator that is a kernel, else None.
        operators: The operators.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        """Read the events of a run signature, in its order; those of whole runs are left out."""
        calls = {each.instruction: each for each in events if each.kind == _OPERATOR_CALL}
        self.events: list[Event] = []
        self.callers: list[Event | None] = []
        for event in events:
            if event.kind == KERNEL:
                self._add(event, calls.pop(event.instruction, None))
            elif event.kind in _OUTSIDE and event.instruction is None:
                continue  # the program does not run it
            elif event.kind not in _OF_RUNS:
                self._add(event, None)
        for caller in calls.values():  # a kernel that logs nothing
            self._add(caller, None)
        at = {each.instruction: n for n, each in enumerate(self.events) if each.kind == CALL}
        self.operators = tuple(_operator(event, at) for event in self.events)

    def __eq__(self, other: object) -> bool:
        """Whether the operators are the same one by one."""
        return isinstance(other, Program) and self.operators == other.operators

    def __hash__(self) -> int:
        """Hash of the operators."""
        return hash(self.operators)

    def _add(self, event: Event, caller: Event | None) -> None:
        self.events.append(event)
        self.callers.append(caller)

    @cached_property
    def shape(self) -> tuple[tuple[str, str, int], ...]:
        """What two programs have in common whose operators are the same one by one."""
        return tuple((each.kind, each.name, each.call) for each in self.operators)

    @cached_property
    def contents(self) -> Mapping[int, tuple[str, ...]]:
        """The plain names inside each delegate call that logs operators, by its index."""
        inside: dict[int, list[str]] = defaultdict(list)
        for operator in self.operators:
            if operator.call >= 0:
                inside[operator.call].append(operator.name)
        return {call: tuple(sorted(names)) for call, names in inside.items()}


def _operator(event: Event, calls: Mapping[int | None, int]) -> Operator:
    name = plain_name(event.logged_name)
    call = calls.get(event.instruction, -1) if event.kind in _INSIDE else -1
    is_operator = event.kind in (KERNEL, DELEGATED)
    family = family_of(name, is_kernel=event.kind == KERNEL) if is_operator else name
    return Operator(event.kind, name, family, event.module, call)
