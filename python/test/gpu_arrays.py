"""engine(x) on a GPU, with NumPy and PyTorch: where arrays come from and go to, in which order, and what it costs.

It needs both and a GPU, and is no part of the tests that run without; test_gpu_arrays.py is. It prints a line for each
check.

    PYTHONPATH=build/cuda/python python python/test/gpu_arrays.py
"""
import contextlib
import statistics
import sys
import tempfile
import threading
import time

import numpy as np
import torch

import tenon
import tenon.mmcv
import tenon.mmdeploy
import tenon.pytrt
import tenon.tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
TYPES = {torch.float32: trt.float32, torch.float16: trt.float16, torch.bfloat16: trt.bfloat16, torch.int8: trt.int8,
         torch.int32: trt.int32, torch.int64: trt.int64, torch.bool: trt.bool, torch.uint8: trt.uint8}
CHECKS = []


def check(function):
    """A function that raises when something is wrong, and returns what to print or nothing."""
    CHECKS.append(function)
    return function


class WithInterface:
    """A tensor of a GPU that shows CUDA's array interface alone."""

    def __init__(self, tensor, **entries):
        self.tensor, self.entries = tensor, entries

    @property
    def __cuda_array_interface__(self):
        stream = torch.cuda.current_stream().cuda_stream or 1
        return {**self.tensor.__cuda_array_interface__, "version": 3, "stream": stream, **self.entries}


class WithDlpack:
    """A tensor of a GPU that shows DLPack alone."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**arguments)


def network_of(add, **inputs):
    """A network: `add` adds layers behind inputs {name: (type, shape, min, opt, max)} and gives the outputs."""
    network = trt.Builder(LOGGER).create_network(0)
    tensors = [network.add_input(name, dtype, shape) for name, (dtype, shape, *_) in inputs.items()]
    for i, output in enumerate(add(network, *tensors)):
        output.name = f"y{i}"
        network.mark_output(output)
    return network


def engine_of(add, target="cuda", **inputs):
    """The engine of such a network."""
    shapes = {name: tuple(profile) for name, (_, _, *profile) in inputs.items() if profile}
    return tenon.compile(network_of(add, **inputs), shapes=shapes, target=target)


def add(network, a, b):
    return network.add_elementwise(a, b, trt.ElementWiseOperation.SUM).get_output(0)


def doubler(dtype=trt.float32, columns=3, most=4096, target="cuda"):
    return engine_of(lambda n, x: [add(n, x, x)], target, x=(dtype, (-1, columns), (0, columns), (4, columns),
                                                             (most, columns)))


def same(found, expected):
    """Whether a result is a tensor of the GPU with these elements."""
    assert isinstance(found, torch.Tensor) and found.is_cuda, found
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@contextlib.contextmanager
def refused(error, text):
    try:
        yield
    except error as found:
        assert text in str(found), f"said {found}"
    else:
        raise AssertionError(f"was not refused: {text}")


@check
def the_engine_is_on_the_gpu():
    assert doubler().gpu == torch.cuda.current_device()


@check
def arrays_of_numpy():
    engine = doubler()
    for rows in 4, 4096, 1, 0, 33:
        x = np.random.default_rng(rows).random((rows, 3), np.float32)
        y = engine(x)
        assert type(y) is np.ndarray
        np.testing.assert_array_equal(y, x + x)
    x = np.ones((3, 8), np.float32).T
    np.testing.assert_array_equal(engine(x), x + x)
    out = np.empty_like(x, order="C")
    assert engine(x, out=out) is out
    np.testing.assert_array_equal(out, x + x)


@check
def tensors_of_the_host():
    x = torch.randn(5, 3)
    for given in x, x.pin_memory(), x.t().contiguous().t():
        y = doubler()(given)
        assert y.device.type == "cpu"
        torch.testing.assert_close(y, x + x, rtol=0, atol=0)


@check
def tensors_of_the_gpu():
    engine = doubler()
    for rows in 4, 4096, 1, 0, 33:
        x = torch.randn(rows, 3, device="cuda")
        same(engine(x), x + x)
    x = torch.randn(3, 8, device="cuda").t()
    same(engine(x), x + x)
    x = torch.randn(34, 3, device="cuda", requires_grad=True)[1:]  # its address is aligned to 4 bytes alone
    same(engine(x), (x + x).detach())
    product = engine_of(lambda n, x: [n.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.TRANSPOSE)
                                      .get_output(0)], x=(trt.float32, (33, 3)))
    torch.testing.assert_close(product(x), (x @ x.t()).detach(), rtol=1e-5, atol=1e-5)
    x = x.detach()
    out = torch.empty(33, 3, device="cuda")
    assert engine(x, out=out) is out
    same(out, x + x)


def takes_no_memory(body):
    """Whether the GPU has as much memory free after it as before. Other processes take and free some, so one try is enough."""
    for _ in range(50):
        torch.cuda.synchronize()
        free = torch.cuda.mem_get_info()[0]
        body()
        torch.cuda.synchronize()
        if torch.cuda.mem_get_info()[0] == free:
            return True
    return False


@check
def nothing_is_copied():
    engine = doubler(columns=1 << 20, most=16)
    x = torch.ones(16, 1 << 20, device="cuda")
    y = engine(x)
    del y
    before = torch.cuda.memory_allocated()
    y = engine(x)
    assert torch.cuda.memory_allocated() - before == y.nbytes
    del y
    assert takes_no_memory(lambda: engine(x))


@check
def all_types():
    for torch_type, dtype in TYPES.items():
        engine = engine_of(lambda n, x: [n.add_identity(x).get_output(0)],
                           x=(dtype, (2, -1), (2, 0), (2, 3), (2, 9)))
        x = torch.randint(0, 2, (2, 3), device="cuda").to(torch_type)
        same(engine(x), x)
        same(torch.from_dlpack(engine(WithDlpack(x))), x)
        assert torch.equal(engine(x.cpu()), x.cpu())
        if torch_type != torch.bfloat16:
            same(torch.as_tensor(engine(WithInterface(x)), device="cuda"), x)
        same(engine(x[:, :0]), x[:, :0])


@check
def the_call_does_not_wait():
    engine = doubler(columns=1024)
    x = torch.ones(64, 1024, device="cuda")
    for given in x, WithInterface(x), WithDlpack(x):
        engine(given)
        torch.cuda.synchronize()
        torch.cuda._sleep(1_000_000_000)  # about half a second
        start = time.perf_counter()
        for _ in range(3):
            engine(given)
        took = time.perf_counter() - start
        assert not torch.cuda.current_stream().query(), "the stream was too quick to tell"
        assert took < 0.1, f"took {took:.3f} s"
        torch.cuda.synchronize()


@check
def work_is_in_the_order_of_the_stream():
    engine = doubler(columns=1024)
    for wrap in lambda x: x, WithInterface:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            x = torch.zeros(1024, 1024, device="cuda")
            torch.cuda._sleep(200_000_000)
            x.fill_(3)
            y = engine(wrap(x))
            x.zero_()  # comes after the run
            y = torch.as_tensor(y, device="cuda")
            same(y, torch.full_like(y, 6))
    # DLPack says only what comes before, and so does an interface whose maker waits for nothing.
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.zeros(1024, 1024, device="cuda")
        torch.cuda._sleep(200_000_000)
        x.fill_(3)
        y = torch.from_dlpack(engine(WithDlpack(x)))
        same(y, torch.full_like(y, 6))


@check
def streams_one_after_the_other():
    engine = doubler(columns=1024)
    streams = [torch.cuda.Stream() for _ in range(3)]
    results = []
    for i in range(30):
        with torch.cuda.stream(streams[i % 3]):
            results.append(engine(torch.full((512, 1024), float(i), device="cuda")))
    torch.cuda.synchronize()
    for i, y in enumerate(results):
        same(y, torch.full_like(y, 2.0 * i))


@check
def memory_of_both():
    engine = engine_of(lambda n, a, b: [n.add_elementwise(a, b, trt.ElementWiseOperation.SUB).get_output(0)],
                       a=(trt.float32, (4, 3)), b=(trt.float32, (4, 3)))
    a, b = torch.randn(4, 3), torch.randn(4, 3)
    assert torch.equal(engine(a, b.cuda()), a - b)
    same(engine(a.cuda(), b), (a - b).cuda())
    same(engine(a.cuda(), b.pin_memory()), (a - b).cuda())
    same(engine(a.cuda(), b.numpy()), (a - b).cuda())
    assert isinstance(engine(a.numpy(), b.cuda()), np.ndarray)
    out = np.empty((4, 3), np.float32)
    engine(a.cuda(), b, out=out)
    np.testing.assert_array_equal(out, (a - b).numpy())
    same(engine(WithInterface(a.cuda()).tensor, WithInterface(b.cuda())), (a - b).cuda())
    for _ in range(100):  # memory of the host may change as soon as the call returns
        pinned = b.pin_memory()
        y = engine(a.cuda(), pinned)
        pinned.zero_()
        same(y, (a - b).cuda())


@check
def sizes_that_depend_on_data():
    engine = engine_of(lambda n, x: [n.add_non_zero(x).get_output(0), n.add_identity(x).get_output(0)],
                       x=(trt.float32, (-1,), (1,), (8,), (64,)))
    for size, count in (8, 3), (64, 64), (5, 0), (64, 1):
        x = torch.zeros(size)
        x[:count] = 1
        expected = x.nonzero().t()
        for given in x.cuda(), x:
            indices, copy = engine(given)
            assert indices.device == given.device
            assert torch.equal(indices.cpu().long(), expected) and torch.equal(copy.cpu(), x)
        indices, copy = engine(WithInterface(x.cuda()))
        assert torch.equal(torch.as_tensor(indices, device="cuda").cpu().long(), expected)


@check
def an_input_that_decides_shapes():
    network = trt.Builder(LOGGER).create_network(0)
    layer = network.add_shuffle(network.add_input("x", trt.float32, (4, 3)))
    layer.set_input(1, network.add_input("shape", trt.int32, (2,)))
    layer.get_output(0).name = "y0"
    network.mark_output(layer.get_output(0))
    engine = tenon.compile(network, shapes={"shape": ((1, 1), (4, 3), (12, 12))}, target="cuda")
    x = torch.randn(4, 3, device="cuda")
    for new in (2, 6), (12, 1):
        for shape in torch.tensor(new, dtype=torch.int32), torch.tensor(new, dtype=torch.int32, device="cuda"):
            same(engine(x, shape), x.reshape(new))


@check
def threads():
    engine = doubler(columns=256)
    problems = []

    def work(seed):
        try:
            generator = torch.Generator().manual_seed(seed)
            with torch.cuda.stream(torch.cuda.Stream()):
                for i in range(100):
                    x = torch.rand(1 + (seed + i) % 64, 256, generator=generator)
                    if (seed + i) % 3 == 0:
                        assert np.array_equal(engine(x.numpy()), (x + x).numpy())
                    elif (seed + i) % 3 == 1:
                        y = engine(x.cuda())
                        assert torch.equal(y.cpu(), x + x)
                    else:
                        y = torch.as_tensor(engine(WithInterface(x.cuda())), device="cuda")
                        assert torch.equal(y.cpu(), x + x)
        except BaseException as error:
            problems.append(f"thread {seed}, call {i}: {error}")

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems, problems[0]


@check
def results_outlive_the_engine():
    x = torch.randn(4096, 3)
    on_host, on_gpu, other = (doubler()(given) for given in (x.numpy(), x.cuda(), WithInterface(x.cuda())))
    np.testing.assert_array_equal(on_host, (x + x).numpy())
    same(on_gpu, (x + x).cuda())
    same(torch.as_tensor(other, device="cuda"), (x + x).cuda())


@check
def what_is_refused():
    engine = doubler()
    x = torch.randn(4, 3, device="cuda")
    with refused(TypeError, "input 'x' expects an array of float32, found float64 of shape (4, 3)"):
        engine(x.double())
    with refused(ValueError, "input 'x' expects shape from (0, 3) to (4096, 3)"):
        engine(x.t().contiguous())
    with refused(TypeError, "the tensor is on meta; the engine runs on GPU 0"):
        engine(x.to("meta"))
    with refused(ValueError, "input 'x': the array is not C-contiguous, and lies on a GPU"):
        engine(WithInterface(torch.randn(3, 4, device="cuda").t()))
    with refused(ValueError, "input 'x': its address is in no memory of a GPU"):
        engine(WithInterface(x, data=(np.zeros((4, 3), np.float32).ctypes.data, False)))
    with refused(ValueError, "out: output 'y0': the array cannot be written to"):
        engine(x, out=WithInterface(x, data=(x.data_ptr(), True)))
    with refused(ValueError, "out: output 'y0' has shape (4, 3), found float32 of shape (2, 3)"):
        engine(x, out=torch.empty(2, 3, device="cuda"))
    with refused(ValueError, "shares memory with input 'x'"):
        engine(x, out=x)
    same(engine(x), x + x)
    if torch.cuda.device_count() > 1:
        with refused(TypeError, "the tensor is on cuda:1; the engine runs on GPU 0"):
            engine(x.to("cuda:1"))
        with refused(TypeError, "in the memory of GPU 1; the engine runs on GPU 0"):
            engine(WithInterface(x.to("cuda:1")))


@check
def an_engine_on_the_cpu():
    engine = doubler(target="cpu")
    assert engine.gpu is None
    x = torch.randn(4, 3)
    assert torch.equal(engine(x), x + x)
    np.testing.assert_array_equal(engine(x.numpy()), (x + x).numpy())
    with refused(TypeError, "input 'x': the tensor is on cuda:0; the engine runs on the CPU: use .cpu()"):
        engine(x.cuda())
    with refused(TypeError, "input 'x': an array of WithInterface is in CUDA memory; the engine runs on the CPU"):
        engine(WithInterface(x.cuda()))
    with refused(TypeError, "input 'x': "):
        engine(WithDlpack(x.cuda()))


@check
def wrappers():
    for target in "cuda", "cpu":
        engine = doubler(target=target)
        plan = engine.cuda_engine
        for x in torch.randn(4, 3), torch.randn(4, 3, device="cuda"):
            for wrapper in tenon.mmcv.TRTWrapper(plan, ["x"], ["y0"]), tenon.mmdeploy.TRTWrapper(plan):
                y = wrapper({"x": x})["y0"]
                assert y.device == x.device and torch.equal(y, x + x)
        infer = tenon.pytrt.Infer(plan)
        x = torch.randn(4, 3)
        assert torch.equal(infer(x), x + x)
        np.testing.assert_array_equal(infer(x.numpy()), (x + x).numpy())
        if target == "cuda":
            same(infer(x.cuda()), (x + x).cuda())
        with tempfile.TemporaryDirectory() as folder:
            engine.save(f"{folder}/plan")
            wrapper = tenon.mmdeploy.TRTWrapper(f"{folder}/plan", device_id=0)
            again = tenon.mmcv.TRTWrapper(f"{folder}/plan")
            again.load_state_dict(wrapper.state_dict())
        assert torch.equal(again({"x": x.cuda()})["y0"].cpu(), x + x)


@check
def numbers_of_64_bits_become_those_of_32():
    wrapper = tenon.mmcv.TRTWrapper(doubler(trt.int32).cuda_engine)
    x = torch.arange(12, device="cuda").reshape(4, 3)
    same(wrapper({"x": x})["y0"], (x + x).int())


@check
def a_cuda_graph():
    engine = doubler(columns=64, most=64).context()
    x = torch.ones(64, 64, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        engine(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        y = engine(x)
    for value in 3, 5:
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        same(y, torch.full_like(y, 2 * value))


@check
def steady_calls_take_no_memory():
    engine = doubler(columns=4096)
    x = torch.randn(64, 4096)
    arrays = [x.numpy(), x, x.cuda(), WithInterface(x.cuda()), WithDlpack(x.cuda())]
    for given in arrays * 20:
        engine(given)

    def calls():
        for given in arrays * 50:
            engine(given)

    assert takes_no_memory(calls)


def microseconds(call, repeats=2000):
    """The median time of a call on the host, from rounds that begin with an idle GPU."""
    times = []
    for _ in range(repeats // 50):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(50):
            call()
        times.append((time.perf_counter() - start) / 50 * 1e6)
    return statistics.median(times)


@check
def what_a_call_costs():
    engine = doubler(columns=1024, most=16)
    x = torch.randn(16, 1024, device="cuda")
    context = engine.cuda_engine.create_execution_context()
    y = torch.empty_like(x)
    context.set_input_shape("x", tuple(x.shape))
    context.set_tensor_address("x", x.data_ptr())
    context.set_tensor_address("y0", y.data_ptr())
    stream = torch.cuda.Stream()
    lines = []
    with torch.cuda.stream(stream):
        enqueue = microseconds(lambda: context.execute_async_v3(stream.cuda_stream))
        empty = microseconds(lambda: torch.empty_like(x))
        new = microseconds(lambda: engine(x))
        given = microseconds(lambda: engine(x, out=y))
        other = microseconds(lambda: engine(WithInterface(x)))
        wrapper = tenon.mmdeploy.TRTWrapper(engine.cuda_engine)
        wrapped = microseconds(lambda: wrapper({"x": x}))
        host = x.cpu()
        copied = microseconds(lambda: engine(host))
        by_torch = microseconds(lambda: engine(host.cuda()).cpu())
    lines.append(f"enqueue alone {enqueue:.1f} us, torch.empty {empty:.1f}; tensors {new:.1f}, with out {given:.1f}, "
                 f"array interface {other:.1f}, TRTWrapper {wrapped:.1f}; tensors of the host {copied:.1f}, "
                 f"copied by PyTorch {by_torch:.1f}")
    assert new - enqueue < 20, lines[0]
    return lines[0]


@check
def what_copies_cost():
    engine = doubler(columns=1 << 20, most=32)
    x = np.ones((32, 1 << 20), np.float32)  # 128 MiB each way

    def seconds(call):
        call()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return statistics.median(times)

    ours = seconds(lambda: engine(x))
    torchs = seconds(lambda: engine(torch.from_numpy(x).cuda()).cpu())
    gigabytes = 2 * x.nbytes / 1e9
    return f"NumPy there and back: {gigabytes / ours:.1f} GB/s, through PyTorch's copies {gigabytes / torchs:.1f} GB/s"


def main():
    names = sys.argv[1:]
    failed = 0
    for function in CHECKS:
        if names and function.__name__ not in names:
            continue
        title = function.__name__.replace("_", " ")
        try:
            said = function()
            print(f"ok      {title}" + (f": {said}" if said else ""), flush=True)
        except Exception as error:
            failed += 1
            line = error.__traceback__.tb_next
            where = f"line {line.tb_lineno}: " if line else ""
            print(f"FAILED  {title}: {where}{type(error).__name__}: {error}", flush=True)
    print(f"{len(CHECKS) - failed} of {len(CHECKS)} checks passed" if not names else f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
