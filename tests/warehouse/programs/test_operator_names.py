from __future__ import annotations

import pytest

from tracehouse.warehouse.programs.operator_names import count_unmatched


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
    assert count_unmatched([name], [operator]) == (0, 0)
    assert count_unmatched([name], ["erf"]) == (1, 1)


def test_each_operator_is_spoken_of_once():
    assert count_unmatched(["Add (ND) #1", "Add (ND) #2", "Add (ND) #3"], ["add"] * 2) == (1, 0)


def test_operators_that_backends_fuse_fold_or_drop_are_not_missing():
    operators = ["convolution", "relu", "_native_batch_norm_legit", "view_copy", "tanh", "tanh"]
    assert count_unmatched(["Convolution #1"], operators) == (0, 2)


def test_one_or_two_letters_do_not_match_a_longer_word():
    assert count_unmatched(["Constant #1"], ["c", "co"]).names == 1


def test_only_the_beginning_of_a_long_name_is_looked_at():
    assert count_unmatched(["x " * 50 + "add"], ["add"]).names == 1
    assert count_unmatched(["x " * 40 + "add"], ["add"]).names == 0
