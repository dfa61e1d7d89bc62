"""Enumerations, shapes, permutations, weights and what NumPy knows of data types."""
import copy
import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import tenon.tensorrt as trt

NUMPY_TYPES = {trt.float32: np.float32, trt.float16: np.float16, trt.int8: np.int8,
               trt.int32: np.int32, trt.int64: np.int64, trt.bool: np.bool_, trt.uint8: np.uint8}


def test_enumerations_behave_as_tensorrts():
    flag = trt.BuilderFlag.FP16
    assert (flag.name, flag.value, int(flag), 1 << int(flag)) == ("FP16", 0, 0, 1)
    assert str(trt.DataType.HALF) == "DataType.HALF" and repr(trt.DataType.HALF) == "<DataType.HALF: 1>"
    assert trt.DataType(1) is trt.DataType.HALF is trt.float16
    assert trt.DataType.__members__["BF16"] == trt.bfloat16
    assert [0, 10, 20][trt.DataType.INT8] == 20  # usable as an index
    assert bool(trt.DataType.FLOAT)  # `if dtype:` asks whether there is one
    with pytest.raises(ValueError):
        trt.DataType(99)


def test_enumerations_compare_within_their_kind():
    assert trt.DataType.FLOAT != 0 and trt.DataType.FLOAT != trt.ActivationType.RELU
    assert not trt.DataType.FLOAT == None  # noqa: E711
    assert trt.ProfilingVerbosity.NONE < trt.ProfilingVerbosity.DETAILED >= trt.ProfilingVerbosity.DETAILED
    assert {trt.float32: "a"}[trt.DataType.FLOAT] == "a"
    with pytest.raises(TypeError):
        trt.DataType.FLOAT < 3
    # Two names of one value.
    assert trt.BuilderFlag.WEIGHTLESS == trt.BuilderFlag.STRIP_PLAN
    assert len({trt.BuilderFlag.WEIGHTLESS, trt.BuilderFlag.STRIP_PLAN}) == 1
    assert trt.BuilderFlag.STRICT_TYPES == trt.BuilderFlag.PREFER_PRECISION_CONSTRAINTS  # of 8.x


def test_enumerations_have_the_entries_of_pybind11():
    for kind in (trt.LayerType, trt.BuilderFlag, trt.OnnxParserFlag):
        entries = getattr(kind, "__entries")
        assert {name: member for name, (member, _) in entries.items()} == dict(kind.__members__)


def test_enumerations_are_copied_and_pickled_as_themselves():
    for member in (trt.DataType.HALF, trt.TensorFormat.CHW32):
        assert pickle.loads(pickle.dumps(member)) is member and copy.deepcopy(member) is member


def test_the_module_has_its_own_name_inside():
    assert trt.tensorrt.DataType is trt.DataType  # as in TensorRT, where type hints say it


def test_data_types_and_numpy():
    for dtype, expected in NUMPY_TYPES.items():
        assert trt.nptype(dtype) is expected and dtype.itemsize == np.dtype(expected).itemsize
    assert trt.bfloat16.itemsize == 2 and trt.int4.itemsize == trt.fp4.itemsize == 0.5
    with pytest.raises(TypeError, match="no data type for DataType.BF16"):
        trt.nptype(trt.bfloat16)


def test_volume():
    assert trt.volume((2, 3, 4)) == trt.volume(trt.Dims([2, 3, 4])) == 24
    assert trt.volume(()) == 1 and trt.volume([-1, 2]) == -2


@pytest.mark.parametrize("make", [tuple, list, np.array, trt.Dims, lambda x: np.array(x, np.int32)])
def test_dims_come_from_sequences(make):
    dims = trt.Dims(make([1, -1, 3]))
    assert dims == (1, -1, 3) and dims == [1, -1, 3] and dims == trt.Dims((1, -1, 3))
    assert dims != (1, -1) and dims != None and not dims == "abc"  # noqa: E711


def test_dims_are_like_tuples():
    dims = trt.Dims((1, 2, 3))
    assert (len(dims), dims[0], dims[-1], dims[1:], dims[::-1]) == (3, 1, 3, (2, 3), (3, 2, 1))
    assert tuple(dims) == (1, 2, 3) and [*dims] == [1, 2, 3] and 2 in dims
    assert str(dims) == repr(dims) == "(1, 2, 3)" and np.zeros(dims).shape == (1, 2, 3)
    dims[0] = 7
    dims[1:] = (8, 9)
    assert dims == (7, 8, 9) and len(trt.Dims()) == 0 and trt.Dims.MAX_DIMS == 8
    with pytest.raises(ValueError):
        dims[1:] = (1, 2, 3)
    with pytest.raises(TypeError):
        hash(dims)
    for index in (3, -4, 2**40):
        with pytest.raises(IndexError):
            dims[index]


def test_dims_refuse_what_is_no_shape():
    with pytest.raises(ValueError, match="Input length 9. Max expected length is 8"):
        trt.Dims([1] * 9)
    for wrong in ([1.5], "ab", [None], 3, {1: 2}):
        with pytest.raises(TypeError):
            trt.Dims(wrong)
    with pytest.raises(OverflowError):
        trt.Dims([2**70])


def test_dims_of_a_fixed_length():
    assert trt.Dims2(3, 4) == (3, 4) and trt.Dims3() == (0, 0, 0) and trt.Dims4([1, 2, 3, 4])[3] == 4
    size = trt.DimsHW((5, 6))
    size.h = 7
    assert (size.h, size.w) == (7, 6) and size == (7, 6) and isinstance(size, trt.Dims2)
    with pytest.raises(ValueError, match="not equal to expected DimsHW length, which is 2"):
        trt.DimsHW((1, 2, 3))


def test_permutation():
    order = trt.Permutation([2, 0, 1])
    assert len(order) == 8 and list(order)[:3] == [2, 0, 1] and str(order).startswith("(2, 0, 1")
    order[0] = 1
    assert order[0] == 1
    with pytest.raises(IndexError):
        order[8]
    with pytest.raises(ValueError):
        trt.Permutation([0] * 9)


@pytest.mark.parametrize("dtype", NUMPY_TYPES.values())
def test_weights_are_views_of_arrays(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    weights = trt.Weights(array)
    assert NUMPY_TYPES[weights.dtype] is dtype
    assert weights.size == len(weights) == 6 and weights.nbytes == array.nbytes
    assert np.shares_memory(weights.numpy(), array)
    np.testing.assert_array_equal(weights.numpy(), array.ravel())


def test_weights_keep_their_array():
    array = np.ones(4, np.float32)
    gone = weakref.ref(array)
    view = trt.Weights(array).numpy()
    del array
    gc.collect()
    assert gone() is not None and view.tolist() == [1] * 4
    del view
    gc.collect()
    assert gone() is None


def test_weights_that_are_not_contiguous_are_copied():
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert trt.Weights(array.T).numpy().tolist() == [0, 3, 1, 4, 2, 5]
    assert trt.Weights(np.float32(3)).numpy().tolist() == [3]


def test_weights_from_an_address_and_empty_ones():
    array = np.arange(4, dtype=np.float32)
    assert trt.Weights(trt.float32, array.ctypes.data, 4).numpy().tolist() == [0, 1, 2, 3]
    empty = trt.Weights(trt.float16)
    assert (empty.size, empty.nbytes, empty.dtype, empty.numpy().dtype) == (
        0, 0, trt.float16, np.float16)
    bits = np.zeros(4, np.uint16)
    narrow = trt.Weights(trt.bfloat16, bits.ctypes.data, 4)
    assert narrow.nbytes == 8 and narrow.numpy().dtype == trt.bfloat16  # NumPy lacks the type
    with pytest.raises(ValueError):
        trt.Weights(trt.float32, array.ctypes.data, -1)


def test_weights_refuse_other_types():
    for dtype in (np.float64, np.int16, np.uint32, np.complex64):
        with pytest.raises(ValueError, match=np.dtype(dtype).name + ".*astype"):
            trt.Weights(np.zeros(3, dtype))
    for wrong in ([1.0, 2.0], "abc", None, object()):
        with pytest.raises(TypeError):
            trt.Weights(wrong)


def test_weights_leave_reference_counts_alone():
    array = np.ones(4, np.float32)
    before = sys.getrefcount(array)
    for _ in range(100):
        trt.Weights(array).numpy()
    assert sys.getrefcount(array) == before
