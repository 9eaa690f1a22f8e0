from __future__ import annotations

import pytest

from tracehouse.warehouse.alignment.programs import family_of, plain_name

SHADER = '{"operator": {"name": "aten.add", "delegate_node_id": 4}, "kernel_name": "binary_add"}'


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Convolution (NHWC, F32) IGEMM #12", "Convolution (NHWC, F32) IGEMM"),
        ("aten_linear_default_3:OpId_17 (cycles)", "aten_linear_default"),
        ("aten_linear_default_3:OpId_17 (us)", "aten_linear_default"),
        (SHADER, "binary_add|aten.add"),
        (SHADER.replace("4", "17"), "binary_add|aten.add"),
        ('{"cut', '{"cut'),
        ('{"operator": 7}', "|"),
        ("native_call_add.out", "native_call_add.out"),
        ("12", "12"),
    ],
)
def test_a_plain_name_has_no_numbers(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@pytest.mark.parametrize(
    ("kernel", "delegated"),
    [
        ("native_call_convolution.out", "Convolution (NHWC, F32) IGEMM"),
        ("native_call_addmm.out", "Fully Connected (NC, F32) GEMM"),
        ("native_call_permute_copy.out", "Transpose (ND, X32)"),
        ("native_call__softmax.out", "binary|aten._softmax.default"),
        ("quantized_decomposed::add.out", "Add (ND, F32)"),
    ],
)
def test_kernels_and_delegated_operators_of_equal_work_are_a_family(
    kernel: str, delegated: str
) -> None:
    assert family_of(kernel, is_kernel=True) == family_of(delegated, is_kernel=False)


def test_an_unknown_name_is_a_family_of_its_own() -> None:
    families = {
        family_of(name, is_kernel=True)
        for name in ("llama::sdpa.out", "llama::rope.out", "native_call_add.out", "#", "()")
    }
    assert len(families) == 5
