"""tenon.serve.load_tensor and save_tensor: the files of tenon/serve/tensor_file.h."""
import pathlib
import resource
import struct

import ml_dtypes
import numpy as np
import pytest

from tenon.serve import load_tensor, save_tensor

GOLDENS = pathlib.Path(__file__).resolve().parents[2] / "serve/tensor/goldens"  # which C++ reads and writes, too
TYPES = [np.float32, np.float16, np.int32, np.uint8, np.int8, np.bool_, np.int64, ml_dtypes.bfloat16,
         ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu]


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: np.dtype(kind).name)
def test_files_of_cpp_are_read_and_written_again(kind, tmp_path):
    golden = GOLDENS / f"{np.dtype(kind).name}.tensor"
    array = load_tensor(golden)
    assert array.dtype == kind and array.shape == (2, 3)
    expected = [1, 1, 2, 4, 4, 4] if kind is ml_dtypes.float8_e8m0fnu else np.arange(6).astype(kind)
    np.testing.assert_array_equal(array.astype(np.float32).ravel(), np.asarray(expected, np.float32))
    array[0, 0] = array[1, 2]  # it is the caller's
    save_tensor(tmp_path / "again", load_tensor(str(golden)))
    assert (tmp_path / "again").read_bytes() == golden.read_bytes()


def test_there_is_a_golden_of_each_type():
    assert sorted(path.stem for path in GOLDENS.iterdir()) == sorted(np.dtype(kind).name for kind in TYPES)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 8, (5, 7)])
def test_any_shape(shape, tmp_path):
    array = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    save_tensor(tmp_path / "x", array)
    np.testing.assert_array_equal(load_tensor(tmp_path / "x"), array)
    assert load_tensor(tmp_path / "x").shape == shape


def test_any_order_of_elements(tmp_path):
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for other in (array.T, array[:, ::-1], array.astype(">i4"), np.asfortranarray(array)):
        save_tensor(tmp_path / "x", other)
        found = load_tensor(tmp_path / "x")
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, other)


def test_numbers_that_mean_the_same_type(tmp_path):
    head = struct.pack("<IIIi", 0xFCCFE2E2, 1, 256, 2)  # float32 by TensorRT's number
    (tmp_path / "x").write_bytes(head + np.array([1, -2], np.float32).tobytes())
    np.testing.assert_array_equal(load_tensor(tmp_path / "x"), np.array([1, -2], np.float32))


def test_what_is_no_tensor_file(tmp_path):
    path = tmp_path / "x"
    save_tensor(path, np.arange(6, dtype=np.float32).reshape(2, 3))
    whole = path.read_bytes()

    def error(content):
        path.write_bytes(content)
        with pytest.raises(ValueError) as raised:
            load_tensor(path)
        assert str(raised.value).startswith(f"{path}: ")
        return str(raised.value)

    for length in range(len(whole)):
        error(whole[:length])
    assert "it is no tensor" in error(b"dummy" * 10)
    assert "24 bytes, and 25 are there" in error(whole + b"x")
    assert "there is no type 4" in error(whole[:8] + struct.pack("<I", 4) + whole[12:])
    assert "there is no type 265" in error(whole[:8] + struct.pack("<I", 256 + 9) + whole[12:])
    assert "9 dimensions, and 8 are possible" in error(whole[:4] + struct.pack("<I", 9) + whole[8:])
    assert "negative extent" in error(whole[:12] + struct.pack("<i", -2) + whole[16:])
    assert "takes" in error(whole[:12] + struct.pack("<ii", 0x7FFFFFFF, 0x7FFFFFFF) + whole[20:])
    with pytest.raises(FileNotFoundError):
        load_tensor(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError):
        load_tensor(tmp_path)


def test_what_cannot_be_written(tmp_path):
    for array in (np.zeros(2), np.array(["a"]), np.zeros(2, np.complex64), np.zeros(2, ml_dtypes.int4)):
        with pytest.raises(TypeError, match=f"found {array.dtype.name}"):
            save_tensor(tmp_path / "x", array)
    with pytest.raises(TypeError):
        save_tensor(tmp_path / "x", [1.0, 2.0])
    with pytest.raises(ValueError, match="at most 8 dimensions, found 9"):
        save_tensor(tmp_path / "x", np.zeros((1,) * 9, np.float32))
    with pytest.raises(FileNotFoundError):
        save_tensor(tmp_path / "no" / "folder", np.zeros(2, np.float32))
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "x"
    save_tensor(path, np.ones(3, np.float32))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # Python ignores the signal
    try:
        with pytest.raises(OSError, match="File too large"):
            save_tensor(path, np.zeros(1000, np.float32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    np.testing.assert_array_equal(load_tensor(path), np.ones(3, np.float32))
    assert [entry.name for entry in tmp_path.iterdir()] == ["x"]
