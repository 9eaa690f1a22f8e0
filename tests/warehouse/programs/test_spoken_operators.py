from __future__ import annotations

import pytest

from warehouse.programs.spoken_operators import count_unspoken


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("Convolution (NHWC, F32) IGEMM #1", "convolution"),
        ("Deconvolution (NHWC, F32) #1", "convolution"),
        ("Fully Connected (NC, F32) GEMM #1", "linear"),
        ("Fully Connected (NC, F32) GEMM #1", "addmm"),
        ("Multiply (ND) #1", "mul"),
        ("Subtract (ND) #1", "sub"),
        ("Max Pooling (NHWC, F32) #1", "max_pool2d_with_indices"),
        ("Average Pooling (NHWC, F32) #1", "avg_pool2d"),
        ("Softmax (NC, F32) #1", "_softmax"),
        ("Clamp (NC) #1", "hardtanh"),
        ("Static Reshape (NC) #1", "view_copy"),
        ("Transpose (ND, X32) #1", "permute_copy"),
        ("Batch Matrix Multiply (NC, F32) GEMM #1", "bmm"),
        ("Concatenate (ND) #1", "cat"),
    ],
)
def test_names_of_a_backend_speak_of_operators(name, operator):
    assert count_unspoken([name], [operator]) == 0
    assert count_unspoken([name], ["erf"]) == 1


def test_each_operator_is_spoken_of_once():
    assert count_unspoken(["Add (ND) #1", "Add (ND) #2", "Add (ND) #3"], ["add", "add"]) == 1


def test_letters_that_begin_another_word_by_chance_are_too_few():
    assert count_unspoken(["Constant #1"], ["c", "co"]) == 1


def test_only_the_beginning_of_a_long_name_is_looked_at():
    assert count_unspoken(["x " * 50 + "add"], ["add"]) == 1
    assert count_unspoken(["x " * 40 + "add"], ["add"]) == 0
