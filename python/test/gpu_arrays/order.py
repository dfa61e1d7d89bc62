"""In which order work is done: streams, threads and CUDA graphs."""
import threading
import time

import numpy as np
import torch

from checks import WithDlpack, WithInterface, check, doubler, same


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
