"""What a call costs: memory and time."""
import statistics
import time

import numpy as np
import torch

import tenon.mmdeploy
from checks import WithDlpack, WithInterface, check, doubler


def takes_no_memory(body):
    """Whether the GPU has as much memory free after it as before. Other processes take and free some for a while, so one
    try in a minute is enough."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
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
