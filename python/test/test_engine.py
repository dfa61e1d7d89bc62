"""tenon.compile, tenon.load and engines on arrays."""
import gc
import logging
import pathlib
import pickle
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import protos
import pytest
import sanitizers

import tenon


def build(model, **options):
    return tenon.compile(model, progress=False, **options)


@pytest.fixture(scope="module")
def sum_and_difference():
    return build(protos.two(), shapes={"a": ((1, 3), (2, 3), (8, 3)), "b": ((1, 3), (2, 3), (8, 3))})


A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.full((2, 3), 2, np.float32)
THREE = np.zeros((3, 3), np.float32)


@pytest.mark.parametrize("as_source", [
    lambda model, folder: model,
    lambda model, folder: model.SerializeToString(),
    lambda model, folder: save(model, folder / "a.onnx"),
    lambda model, folder: str(save(model, folder / "a.onnx")),
])
def test_models_come_as_files_bytes_and_protos(as_source, tmp_path):
    engine = build(as_source(protos.scale(), tmp_path))
    np.testing.assert_array_equal(engine(A), A + A)


def save(model, path):
    path.write_bytes(model.SerializeToString())
    return path


def test_networks_are_built():
    from tenon import tensorrt as trt
    network = trt.Builder(trt.Logger()).create_network(0)
    x = network.add_input("x", trt.float32, (2, 3))
    y = network.add_elementwise(x, x, trt.ElementWiseOperation.SUM).get_output(0)
    y.name = "y"
    network.mark_output(y)
    np.testing.assert_array_equal(build(network)(A), A + A)


def test_arrays_go_in_by_order_and_by_name(sum_and_difference):
    for arguments, names in (((A, B), {}), ((A,), {"b": B}), ((), {"b": B, "a": A})):
        total, difference = sum_and_difference(*arguments, **names)
        np.testing.assert_array_equal(total, A + B)
        np.testing.assert_array_equal(difference, A - B)


def test_a_dictionary_gives_a_dictionary(sum_and_difference):
    results = sum_and_difference({"a": A, "b": B})
    assert list(results) == ["total", "difference"]
    np.testing.assert_array_equal(results["difference"], A - B)


def test_shapes_change_between_calls(sum_and_difference):
    for rows in (1, 8, 2, 8):
        a = np.random.rand(rows, 3).astype(np.float32)
        np.testing.assert_array_equal(sum_and_difference(a, a)[0], a + a)


def test_arrays_with_gaps_are_read_right(sum_and_difference):
    wide = np.random.rand(2, 6).astype(np.float32)
    np.testing.assert_array_equal(sum_and_difference(wide[:, ::2], A.T.copy().T)[0],
                                  wide[:, ::2] + A)


@pytest.mark.parametrize("kind, dtype", [
    (protos.HALF, np.float16), (protos.BFLOAT16, ml_dtypes.bfloat16), (protos.INT64, np.int64),
    (protos.TensorProto.INT32, np.int32)])
def test_element_types(kind, dtype):
    y = build(protos.scale(kind=kind))(A.astype(dtype))
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(np.float32), A + A)


def test_booleans():
    model = protos.model([protos.helper.make_node("Not", ["x"], ["y"])],
                         [("x", protos.BOOL, (2,))], [("y", protos.BOOL, (2,))])
    np.testing.assert_array_equal(build(model)(np.array([True, False])), [False, True])


def test_no_dimensions_and_no_elements():
    assert build(protos.scale(()))(np.float32(3) + np.zeros((), np.float32)) == 6
    engine = build(protos.scale(("n",)), shapes={"x": ((0,), (1,), (4,))})
    assert engine(np.zeros(0, np.float32)).shape == (0,)


def test_outputs_of_unknown_size():
    engine = build(protos.nonzero(), shapes={"x": ((1,), (4,), (9,))})
    for x in ([0, 1, 0, 2], [0, 0], [1] * 9):
        np.testing.assert_array_equal(engine(np.float32(x)), np.nonzero(x))
    out = np.empty((1, 2), np.int64)
    assert engine(np.float32([0, 1, 0, 2]), out=out) is out
    np.testing.assert_array_equal(out, [[1, 3]])
    with pytest.raises(ValueError, match=r"'y' has shape \(1, 3\), found int64 of shape \(1, 2\)"):
        engine(np.float32([1, 1, 1]), out=out)


def test_inputs_that_decide_shapes():
    engine = build(protos.reshape(), shapes={"shape": ((1, 1), (3, 4), (12, 12))})
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    for shape in ((3, 4), (12, 1), (4, 3)):
        np.testing.assert_array_equal(engine(x, np.int64(shape)), x.reshape(shape))


def test_out(sum_and_difference):
    total, difference = np.empty_like(A), np.empty_like(A)
    results = sum_and_difference(A, B, out=(total, difference))
    assert results[0] is total and results[1] is difference
    np.testing.assert_array_equal(total, A + B)
    results = sum_and_difference(A, A, out={"difference": difference})
    assert results[1] is difference and results[0] is not total
    np.testing.assert_array_equal(difference, A - A)


@pytest.mark.parametrize("out, error, text", [
    (A, TypeError, "the engine has 2 outputs"),
    ([A], TypeError, "1 arrays for 2 outputs"),
    ({"sum": A}, TypeError, "no output 'sum'"),
    ((A, np.ma.masked_array(B)), TypeError, "'difference': .*MaskedArray: the engine knows no masks"),
    ({"total": A}, ValueError, "'total' shares memory with input 'a'; give it an array of its own"),
    ({"total": THREE[:2], "difference": THREE[1:]}, ValueError, "'total' shares memory with .* 'difference'"),
    ({"total": A.astype(np.float64)}, TypeError, "'total' expects an array of float32, found float64"),
    ({"total": A[:1].copy()}, ValueError, r"'total' has shape \(2, 3\), found float32 of shape \(1, 3\)"),
    ({"total": np.empty((3, 2), np.float32)}, ValueError, r"found float32 of shape \(3, 2\)"),
    ({"total": np.empty((2, 6), np.float32)[:, ::2]}, ValueError, "not contiguous"),
    ({"total": np.frombuffer(bytes(24), np.float32).reshape(2, 3)}, ValueError, "cannot be written"),
])
def test_out_that_does_not_fit(sum_and_difference, out, error, text):
    with pytest.raises(error, match=text):
        sum_and_difference(A, B, out=out)
    np.testing.assert_array_equal(sum_and_difference(A, B)[0], A + B)


@pytest.mark.parametrize("arguments, names, error, text", [
    ((A,), {}, TypeError, "input 'b' is missing; the inputs are 'a', 'b'"),
    ((A, B, A), {}, TypeError, "3 arrays are given, but the inputs are 'a', 'b'"),
    ((A,), {"c": B}, TypeError, "there is no input 'c'; the inputs are 'a', 'b'"),
    ((A, B), {"a": B}, TypeError, "input 'a' is given twice"),
    ((A, B.astype(np.float64)), {}, TypeError,
     r"input 'b' expects an array of float32, found float64 of shape \(2, 3\)"),
    ((A, B.astype(">f4")), {}, TypeError, "input 'b' expects an array of float32, found >f4"),
    ((A, [[1.0]]), {}, TypeError, "input 'b': expected an array .* found list"),
    ((A, None), {}, TypeError, "found NoneType"),
    ((A, np.array([[object()]])), {}, TypeError, "input 'b' expects .* found object"),
    ((A, np.zeros((9, 3), np.float32)), {}, ValueError,
     r"input 'b' expects shape from \(1, 3\) to \(8, 3\) \(profile 0\), found \(9, 3\)"),
    ((A, np.zeros(3, np.float32)), {}, ValueError, r"found \(3,\)"),
    ((A, np.zeros((1,) * 12, np.float32)), {}, ValueError, "found 12 dimensions"),
    ((A, np.zeros((2, 3), "M8[s]")), {}, TypeError, r"found datetime64\[s\] of shape \(2, 3\)"),
    ((A, np.ma.masked_array(B, B > 1)), {}, TypeError, r"MaskedArray: the engine knows no masks; array.filled\("),
])
def test_inputs_that_do_not_fit(sum_and_difference, arguments, names, error, text):
    with pytest.raises(error, match=text):
        sum_and_difference(*arguments, **names)


def test_failures_carry_the_messages_of_the_engine(sum_and_difference):
    with pytest.raises(tenon.Error, match="(?s)the engine failed\n.*axis 0 is 3, but the dimension"):
        sum_and_difference(A, np.ones((3, 3), np.float32))


def test_inputs_and_outputs_are_described(sum_and_difference):
    a, _ = sum_and_difference.inputs
    assert a == ("a", "float32", (-1, 3), (1, 3), (2, 3), (8, 3))
    assert [t.name for t in sum_and_difference.outputs] == ["total", "difference"]
    text = repr(sum_and_difference)
    assert "in  a: float32 ?x3, min/opt/max 1x3, 2x3, 8x3" in text
    assert "out difference: float32 ?x3" in text
    assert "difference" in sum_and_difference.describe()


def test_engines_are_saved_loaded_and_pickled(sum_and_difference, tmp_path):
    path = tmp_path / "a.plan"
    sum_and_difference.save(path)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="there is no folder '.*none' to write 'a.plan' into"):
        sum_and_difference.save(tmp_path / "none" / "a.plan")
    with pytest.raises(IsADirectoryError, match="is a folder; expected the path of a file"):
        sum_and_difference.save(tmp_path)
    for engine in (tenon.load(path), tenon.load(str(path)), tenon.load(path.read_bytes()),
                   pickle.loads(pickle.dumps(sum_and_difference))):
        assert engine.inputs == sum_and_difference.inputs
        np.testing.assert_array_equal(engine(A, B)[0], A + B)


def test_results_outlive_the_engine():
    engine = build(protos.scale())
    y = engine(A)
    del engine
    gc.collect()
    np.testing.assert_array_equal(y, A + A)


def test_profiles(sum_and_difference):
    def shapes(low, high):
        return {name: ((low, 3), (high, 3), (high, 3)) for name in "ab"}
    engine = build(protos.two(), shapes=[shapes(1, 2), shapes(4, 8)])
    many = np.ones((8, 3), np.float32)
    with pytest.raises(ValueError, match=r"to \(2, 3\) \(profile 0\)"):
        engine(many, many)
    second = engine.context(1)
    assert second.inputs[0].max == (8, 3) and "profile 1 of 2" in repr(second)
    np.testing.assert_array_equal(second(many, many)[0], many + many)
    with pytest.raises(ValueError, match="no profile 2: the engine has 2"):
        engine.context(2)
    for wrong in "a", 1.0, None:
        with pytest.raises(TypeError, match=f"profile: expected a number from 0 to 1, found {wrong!r}"):
            tenon.Engine(engine.cuda_engine, profile=wrong)


def test_threads(sum_and_difference):
    wrong = []

    def work(seed):
        a = np.random.default_rng(seed).random((seed % 8 + 1, 3), np.float32)
        for _ in range(200):
            if not np.array_equal(sum_and_difference(a, a)[0], a + a):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Dlpack:
    """A framework that knows DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def from_dlpack(array):
    return Dlpack(np.from_dlpack(array))


def test_dlpack_comes_in_and_goes_out(sum_and_difference):
    total, _ = sum_and_difference(Dlpack(A), B)
    assert isinstance(total, Dlpack)
    np.testing.assert_array_equal(total.array, A + B)


@pytest.mark.parametrize("model, options, error, text", [
    ("none.onnx", {}, FileNotFoundError, "there is no model 'none.onnx'"),
    (b"rubbish", {}, tenon.Error, "cannot read the model\n  .+"),
    (3, {}, TypeError, "found int"),
    (protos.two(), {}, ValueError, r"dynamic inputs need shapes: 'a' \(-1, 3\), 'b' \(-1, 3\)"),
    (protos.scale(), {"shapes": {"z": (2, 3)}}, ValueError, "no input 'z'; the inputs are 'x'"),
    (protos.scale(), {"shapes": {"x": (2, 4)}}, ValueError, r"'x' has shape \(2, 3\), found \(2, 4\)"),
    (protos.two(), {"shapes": {"a": ((2, 3), (1, 3), (3, 3)), "b": (1, 3)}}, ValueError,
     "expected min <= opt <= max"),
    (protos.two(), {"shapes": {"a": ((2, 3), (1, 3)), "b": (1, 3)}}, ValueError, "min, opt, max"),
    (protos.two(), {"shapes": {"a": "2x3"}}, ValueError, "expected a shape"),
    (protos.two(), {"shapes": {"a": 3}}, ValueError, "'a': expected a shape .* found 3"),
    (protos.two(), {"shapes": {"a": (2**70, 3), "b": (1, 3)}}, ValueError, "expected a shape"),
    (protos.two(), {"shapes": {"a": (1.5, 3), "b": (1, 3)}}, ValueError, "expected a shape"),
    (protos.scale(), {"shapes": 3}, TypeError, "found int"),
    (protos.scale(), {"optimization_level": 6}, ValueError, "=6: expected 0 to 5"),
    (protos.scale(), {"timing_cache": "none/cache"}, FileNotFoundError,
     "there is no folder 'none' to write 'cache' into"),
    (protos.scale(), {"workspace": -1}, ValueError, "workspace=-1"),
    (protos.scale(), {"workspace": 2**63}, ValueError, "workspace=9223372036854775808: expected bytes"),
    (protos.scale(), {"precision": "fp8"}, NotImplementedError, "precision='fp8' is not supported yet"),
    (protos.scale(), {"precision": "int8"}, ValueError, "is not quantized: give samples with calibration="),
    (protos.scale(), {"calibration": {}}, ValueError, "calibration is for precision='int8', not 'fp32'"),
    (protos.scale(), {"precision": "fp3"}, ValueError, "expected one of 'fp32', 'tf32', 'fp16', 'bf16', 'int8'"),
    (protos.scale(), {"target": "tpu"}, tenon.Error, 'there is no target "tpu"; expected cpu or cuda'),
    (protos.scale(), {"plugins": "none.so"}, tenon.Error, "none.so"),
    (protos.scale(), {"plugins": [__file__]}, tenon.Error, "test_engine"),
    (protos.scale(), {"workspace": "much"}, ValueError, "workspace='much'"),
    (protos.scale(), {"inputs": A}, TypeError, "inputs are for a torch.nn.Module"),
])
def test_builds_that_fail(model, options, error, text):
    with pytest.raises(error, match=text):
        build(model, **options)


def test_plans_that_cannot_be_loaded(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no plan"):
        tenon.load("none.plan")
    with pytest.raises(tenon.Error, match="cannot load the plan\n  .+"):
        tenon.load(b"rubbish")
    with pytest.raises(TypeError, match="expected a plan's path or bytes, found NoneType"):
        tenon.load(None)
    (tmp_path / "a.plan").write_bytes(b"rubbish")
    with pytest.raises(tenon.Error, match="cannot load '.*a.plan'\n  .+"):
        tenon.load(tmp_path / "a.plan")


def test_unknown_operators_are_named():
    node = protos.helper.make_node("Mystery", ["x"], ["y"], name="riddle", domain="own")
    model = protos.scale()
    model.graph.node[0].CopyFrom(node)
    with pytest.raises(tenon.Error, match="(?s)cannot read the model\n.*Mystery") as raised:
        build(model)
    assert raised.value.code == "TN2002"
    assert f"{type(raised.value).__module__}.{type(raised.value).__qualname__}" == "tenon.Error"
    assert tenon.Error("no code").code is None


def resident(which="VmRSS:"):
    """Bytes in memory: now, or with "VmHWM:" the most since that was forgotten."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split(which)[1].split()[0]) * 1024


def test_a_large_input_is_not_copied():
    node = protos.helper.make_node("ReduceMax", ["x"], ["y"], keepdims=0)
    shape = (25, 1024, 1024)
    engine = build(protos.model([node], [("x", protos.FLOAT, shape)], [("y", protos.FLOAT, ())]))
    x = np.ones(shape, np.float32)  # 100 MB
    engine(x)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forgets it
    before = resident()
    assert engine(x) == 1
    assert resident("VmHWM:") - before < 20e6


def test_calls_keep_nothing():
    engine = build(protos.scale((256, 1024)))
    x = np.ones((256, 1024), np.float32)  # 1 MB
    for _ in range(20):
        engine(x)
    before = resident()
    references = sys.getrefcount(x)
    for _ in range(300):
        engine(x)
        with pytest.raises(ValueError):
            engine(x[:1])
    assert sys.getrefcount(x) == references
    assert resident() - before < 20e6


def test_import_is_fast():
    """0.3 s with NumPy's half of it, on a quiet machine; here, what is Tenon's, in time of the processor."""
    code = ("import time, numpy, sys; start = time.process_time(); import tenon;"
            "print(time.process_time() - start);"
            "assert not {'torch', 'onnx', 'h5py'} & set(sys.modules)")
    times = [float(subprocess.run([sys.executable, "-c", code], check=True, text=True,
                                  capture_output=True).stdout) for _ in range(5)]
    assert min(times) < (3 if sanitizers.loaded("asan") or sanitizers.loaded("tsan") else 0.2)


def test_warnings_go_to_the_log(caplog, monkeypatch):
    monkeypatch.setenv("TENON_TARGET", "cpu")
    with caplog.at_level(logging.WARNING, "tenon"):
        from tenon import mmcv
        mmcv.onnx2trt(protos.scale(), {}, fp16_mode=True)
    assert "kFP16 changes nothing: the target cpu is no faster in float16" in caplog.text
