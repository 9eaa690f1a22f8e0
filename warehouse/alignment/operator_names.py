"""Names of operators without numbers, and the families that names of several backends belong to."""

from __future__ import annotations

import json
import re
from functools import cache

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
