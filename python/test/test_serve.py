"""tenon.serve: pipelines from Python."""
import asyncio
import concurrent.futures
import gc
import itertools
import json
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import tenon
import tenon.serve
from networks import mean_engine, sum_engine
from tenon.serve import JobError, Pipeline


def test_functions_as_stages():
    with Pipeline(lambda batch: [2 * x for x in batch], lambda x: x + 1, lambda x, y: (x, y), max_batch=4) as pipeline:
        futures = [pipeline.submit(i) for i in range(100)]
        assert [future.result() for future in futures] == [(i, 2 * i + 2) for i in range(100)]
        assert list(pipeline.map(range(3))) == [(0, 2), (1, 4), (2, 6)]
        statistics = pipeline.statistics()
    assert statistics["succeeded"] == 103
    assert statistics["stages"]["infer"]["done"] == 103


def test_an_engine_gets_batches():
    engine = sum_engine()
    with Pipeline(engine, max_batch=4, adaptive=False) as pipeline:
        rows = [np.full(3, i, np.float32) for i in range(20)]
        for i, y in enumerate(pipeline.map(rows)):
            np.testing.assert_array_equal(y, np.full(3, 2 * i))
        assert pipeline.statistics()["batch"]["mean"] > 1


@pytest.mark.parametrize("min_batch, sizes, ran", [(1, (), 1), (2, (), 2), (1, [4], 4), (1, (3, 4), 3), (3, [1, 4], 3)])
def test_batches_are_filled_up_with_zeros(min_batch, sizes, ran):
    """The mean over the batch shows how many rows the engine ran."""
    with Pipeline(mean_engine(min_batch), max_batch=4, batch_sizes=sizes) as pipeline:
        y = pipeline.submit(np.full(3, 12, np.float32)).result()
    np.testing.assert_array_equal(y, np.full(3, 12 / ran))


def test_a_stage_that_raises_fails_its_job():
    def preprocess(x):
        if x == 1:
            raise ValueError("no picture")
        return x

    with Pipeline(lambda batch: batch, preprocess, model="identity") as pipeline:
        futures = [pipeline.submit(i, correlation_id=f"job {i}") for i in range(3)]
        assert futures[0].result() == 0 and futures[2].result() == 2
        with pytest.raises(JobError) as error:
            futures[1].result()
    assert str(error.value) == "identity, pre-process: failed: ValueError: no picture (job 'job 1')"
    assert (error.value.failure, error.value.stage) == ("failed", "pre-process")


def test_asyncio_and_a_full_pipeline():
    async def all_of(pipeline):
        return await asyncio.gather(*(pipeline.run(i) for i in range(50)))

    with Pipeline(lambda batch: batch, max_jobs=2) as pipeline:
        assert asyncio.run(all_of(pipeline)) == list(range(50))
        assert pipeline.statistics()["peak_jobs"] <= 2


def test_timeouts_and_cancellation():
    gate = threading.Event()

    def preprocess(x):
        gate.wait()
        return x

    with Pipeline(lambda batch: batch, preprocess) as pipeline:
        late = pipeline.submit(1, timeout=0.01)
        with pytest.raises(JobError, match="expired"):
            late.result()
        cancelled = pipeline.submit(2)
        assert cancelled.cancel()
        with pytest.raises(concurrent.futures.CancelledError):
            cancelled.result()
        while pipeline.statistics()["failed"]["cancelled"] == 0:
            time.sleep(0.001)
        gate.set()
        assert pipeline.submit(3).result() == 3


def test_refusals():
    gate = threading.Event()
    with Pipeline(lambda batch: batch, lambda x: gate.wait() and x, max_jobs=1, when_full="refuse") as pipeline:
        first = pipeline.submit(5)
        with pytest.raises(JobError, match="the pipeline is full"):
            pipeline.submit(6).result()
        gate.set()
        assert first.result() == 5
    with pytest.raises(JobError, match="has stopped"):
        pipeline.submit(7).result()
    with pytest.raises(ValueError, match="max_batch must be 1 to 65536"):
        Pipeline(lambda batch: batch, max_batch=0)
    with pytest.raises(TypeError, match="no option max_size"):
        Pipeline(lambda batch: batch, max_size=1)
    with pytest.raises(ValueError, match="when_full"):
        Pipeline(lambda batch: batch, when_full="panic")


def test_misuse_is_an_error():
    with pytest.raises(TypeError, match="found str; tenon.load"):
        Pipeline("model.plan")
    with pytest.raises(TypeError, match="max_batch: expected int, found str"):
        Pipeline(lambda batch: batch, max_batch="8")
    with pytest.raises(TypeError, match="max_batch: expected int, found str"):
        Pipeline(sum_engine(), max_batch="8")
    with pytest.raises(TypeError, match="adaptive: expected bool, found int"):
        Pipeline(lambda batch: batch, adaptive=1)
    with pytest.raises(TypeError, match="max_wait: expected int or float, found str"):
        Pipeline(lambda batch: batch, max_wait="1")
    with pytest.raises(TypeError, match="preferred_batches: expected list or tuple, found int"):
        Pipeline(lambda batch: batch, preferred_batches=4)
    with pytest.raises(ValueError, match="preferred_batches: \\['a'\\] does not fit"):
        Pipeline(lambda batch: batch, preferred_batches=["a"])
    with pytest.raises(ValueError, match="max_jobs: -1 does not fit"):
        Pipeline(lambda batch: batch, max_jobs=-1)
    with pytest.raises(ValueError, match="max_wait: expected seconds, found nan"):
        Pipeline(lambda batch: batch, max_wait=float("nan"))
    with pytest.raises(ValueError, match="max_wait must be from 0 to an hour"):
        Pipeline(lambda batch: batch, max_wait=1e300)
    with pytest.raises(ValueError, match="5 does not fit the engine, which takes at most 4"):
        Pipeline(sum_engine(), max_batch=5)
    with pytest.raises(ValueError, match="batch_sizes: expected ascending sizes from 1 to max_batch, 4, found 2"):
        Pipeline(sum_engine(), max_batch=4, batch_sizes=[2, 2])
    with pytest.raises(TypeError, match="batch_sizes: expected a list or tuple of positive int, found '4'"):
        Pipeline(sum_engine(), max_batch=4, batch_sizes="4")
    with Pipeline(lambda batch: batch) as pipeline:
        assert pipeline.submit(1, timeout=float("inf")).result() == 1
        with pytest.raises(ValueError, match="found nan"):
            pipeline.submit(1, timeout=float("nan"))


def test_shapes_that_differ_are_no_batch():
    sizes = []

    def run(batch):
        sizes.append({array.shape for array in batch})
        return batch

    with Pipeline(run, max_batch=4, adaptive=False) as pipeline:
        list(pipeline.map([np.zeros(i % 2 + 1) for i in range(20)]))
    assert all(len(shapes) == 1 for shapes in sizes)


def test_map_takes_generators_without_end():
    with Pipeline(lambda batch: batch, max_jobs=4) as pipeline:
        outputs = pipeline.map(itertools.count())
        assert [next(outputs) for _ in range(10)] == list(range(10))


def test_a_cancelled_task_cancels_its_job():
    gate = threading.Event()

    async def cancel_some(pipeline):
        tasks = [asyncio.create_task(pipeline.run(i)) for i in range(10)]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(gate.set)  # other work goes on
        return results

    with Pipeline(lambda batch: batch, lambda x: gate.wait() and x, max_jobs=1) as pipeline:
        results = asyncio.run(cancel_some(pipeline))
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
    assert pipeline.statistics()["succeeded"] == 0


def test_a_pipeline_that_stopped_lets_go():
    class App:
        def __init__(self):
            self.pipeline = Pipeline(lambda batch: batch, self.read)

        def read(self, x):
            return x

    app = App()
    assert app.pipeline.submit(1).result() == 1
    app.pipeline.stop()
    reference = weakref.ref(app)
    del app
    gc.collect()
    assert reference() is None


def test_the_last_reference_may_be_an_answers():
    def handle():
        pipeline = Pipeline(lambda batch: batch)
        future = pipeline.submit(1)
        future.add_done_callback(lambda _: pipeline.statistics())
        return future

    for _ in range(20):
        assert handle().result() == 1


def test_what_it_shows():
    with Pipeline(lambda batch: batch, model="identity", trace_spans=100) as pipeline:
        pipeline.submit(1).result()
    assert 'tenon_jobs_answered_total{model="identity",result="succeeded"} 1' in pipeline.prometheus_text()
    names = {event["name"] for event in json.loads(pipeline.trace_json())["traceEvents"] if event["ph"] == "X"}
    assert names == {"pre-process", "infer", "post-process"}


def test_the_interpreter_ends_with_work_under_way():
    program = """
import tenon.serve, time
pipeline = tenon.serve.Pipeline(lambda batch: batch, lambda x: time.sleep(0.01))
for i in range(100): pipeline.submit(i)
print("end")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
