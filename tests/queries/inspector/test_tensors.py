from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from tracehouse.ingest.debug_buffer import TensorValue
from tracehouse.queries.event_blocks.logged_values import as_array, logged_value
from tracehouse.queries.inspector.tensors import tensor_form
from tracehouse.warehouse.errors import QueryError


class LikeTorch:
    """A tensor of torch, as far as its interface is used."""

    def __init__(self, dtype, array):
        self.dtype, self._array = dtype, array

    def detach(self):
        return self

    cpu = detach

    def float(self):
        return LikeTorch("torch.float32", self._array.astype(np.float32))

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array

    def __array__(self, dtype=None, copy=None):
        raise TypeError("not for as_array")


def test_arrays_are_the_form_by_default():
    form = tensor_form("numpy")
    assert form(TensorValue.of_array("bfloat16", np.ones(2))).dtype == np.float32
    assert form(TensorValue("float32", [2], None, "no debug buffer")) is None


def test_another_form_is_a_value_error_that_names_both():
    with pytest.raises(ValueError, match="tensors='jax': wanted 'numpy' or 'torch'") as raised:
        tensor_form("jax")
    assert isinstance(raised.value, QueryError)


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_tensors_of_torch_need_torch():
    with pytest.raises(QueryError, match=r"tensors='torch' needs torch: pip install torch"):
        tensor_form("torch")


def test_tensors_of_torch_are_values_like_arrays():
    value = logged_value([LikeTorch("torch.bfloat16", np.array([1.5, 2.0]))])
    [tensor] = value
    assert (tensor.dtype, tensor.shape, tensor.array.tolist()) == ("bfloat16", [2], [1.5, 2.0])
    assert logged_value(LikeTorch("torch.int8", np.array([1], np.int8))).dtype == "int8"
    assert as_array(LikeTorch("torch.float32", np.array([1.0]))).tolist() == [1.0]
