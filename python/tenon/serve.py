"""From requests to answers: pre-process, batch, infer and post-process, side by side.

    pipeline = tenon.serve.Pipeline(engine, preprocess=read, postprocess=boxes_of, max_batch=8)
    future = pipeline.submit("photo.jpg")        # a concurrent.futures.Future
    boxes = future.result()
    boxes = await pipeline.run("photo.jpg")      # the same in asyncio, within a coroutine

`save_tensor` and `load_tensor` are arrays as files, which C++ reads and writes as well (tenon/serve/tensor_file.h).
"""
import asyncio
import atexit
import collections
import concurrent.futures
import weakref

import numpy as np

from tenon import _native
from tenon._engine import Engine
from tenon._tensor_files import load_tensor, save_tensor

__all__ = ["JobError", "Pipeline", "load_tensor", "save_tensor"]

_WHEN_FULL = {"wait": 0, "time out": 1, "refuse": 2, "drop oldest": 3}
_pipelines = weakref.WeakSet()


class JobError(Exception):
    """Why a job has no output.

    `failure` is "refused" (the pipeline was full), "dropped" (a newer job took its place), "expired" (its
    timeout passed), "cancelled", "stopped" (the pipeline was), "failed" (a stage raised) or "instance lost".
    `stage` is where: "admission", "pre-process", "infer" or "post-process". `cause` is the stage's exception as
    text, or says what happened.
    """

    def __init__(self, failure, stage, model, cause, correlation_id):
        super().__init__(failure, stage, model, cause, correlation_id)
        self.failure, self.stage, self.model = failure, stage, model
        self.cause, self.correlation_id = cause, correlation_id

    def __str__(self):
        name = f"{self.model}, " if self.model else ""
        job = f" (job {self.correlation_id!r})" if self.correlation_id else ""
        return f"{name}{self.stage}: {self.failure}: {self.cause}{job}"


class Pipeline:
    """Answers each job that is submitted once: with its output, or with a JobError.

    `engine` is a tenon.Engine, or a function that takes a list of what `preprocess` made of the jobs of a batch
    and returns a list of as many values; a list of these is as many instances. An engine takes from `preprocess`
    an array for its input, a tuple of arrays or a dictionary by name, each without the batch axis; its outputs go
    to `postprocess` in the same way, without the batch axis.

    `preprocess(input)` and `postprocess(input, output)` run in threads of the pipeline. Without them, inputs and
    outputs are taken as they are. What they raise fails their job alone; a batch that fails is run again job by
    job.

    Options, with their defaults:
      max_jobs=256, max_bytes          bounds; a job counts until it is answered
      when_full="wait"                 or "time out" (after admission_timeout=10 seconds), "refuse", "drop oldest"
      max_batch=1, preferred_batches   in costs of jobs, which are 1 unless submit() says otherwise
      batch_sizes=()                   that engines run batches with: one of another size is filled up with zeros to the
                                       next, whose results nobody sees. Empty: all sizes on a CPU, powers of 2 and
                                       max_batch on a GPU, where kernels are prepared for each size anew
      max_wait=0.005, adaptive=True    seconds that a batch waits for more; adaptive: only while it pays
      max_prepared                     jobs that are pre-processed ahead: twice a batch for each instance
      preprocess_workers=1, postprocess_workers=1   threads of the stages; 0: the threads that submit, and those of engines
      batch_key                        a function of what `preprocess` made, whose value jobs of one batch share: the shapes of
                                       their arrays by default
      ordered=False                    answers come in the order of submission
      ageing=0.1                       seconds that a priority is worth
      model, trace_spans=0             a name for errors and metrics; how much trace_json() and trace_page() show
    """

    def __init__(self, engine, preprocess=None, postprocess=None, *, when_full="wait", batch_sizes=(),
                 batch_key=None, **options):
        if when_full not in _WHEN_FULL:
            raise ValueError(f"when_full: expected one of {', '.join(map(repr, _WHEN_FULL))}, found {when_full!r}")
        options["when_full"] = _WHEN_FULL[when_full]
        engines = engine if isinstance(engine, (list, tuple)) else [engine]
        for stage in (*engines, preprocess, postprocess, batch_key):
            if not (stage is None or callable(stage)):
                raise TypeError(f"expected a tenon.Engine or functions as stages, found {type(stage).__name__}; "
                                "tenon.load() makes engines of plans")
        max_batch = options.get("max_batch", 1)
        if not isinstance(max_batch, int) or max_batch < 1:
            max_batch = 1  # the pipeline says what is wrong with it
        if not isinstance(batch_sizes, (list, tuple)) or not all(isinstance(size, int) and size > 0 for size in batch_sizes):
            raise TypeError(f"batch_sizes: expected a list or tuple of positive int, found {batch_sizes!r}")
        for one in engines:
            if isinstance(one, Engine):
                largest = min((tensor.max[0] for tensor in one.inputs if tensor.max), default=max_batch)
                if max_batch > largest:
                    raise ValueError(f"max_batch: {max_batch} does not fit the engine, which takes at most {largest}")
        self._pipeline = _native._Pipeline(
            preprocess or (lambda value: value),
            [_run_engine(one, batch_sizes, max_batch) if isinstance(one, Engine) else one for one in engines],
            postprocess or (lambda value, output: output), batch_key or _shape_key, options)
        self._committer = concurrent.futures.ThreadPoolExecutor(1, "tenon.serve")  # starts when run() is used
        self._max_jobs = options.get("max_jobs", 256)
        _pipelines.add(self)

    def submit(self, input, *, timeout=None, priority=0, cost=1, nbytes=None,
               correlation_id="") -> concurrent.futures.Future:
        """A future of the job's output; its exception is a JobError. cancel() of the future cancels the job.

        `timeout` is in seconds from now, `nbytes` what counts for max_bytes (an array's own by default). Waits
        for room in a full pipeline, if `when_full` says so."""
        future = concurrent.futures.Future()
        self._commit(future, input, timeout, priority, cost, nbytes, correlation_id)
        return future

    def _commit(self, future, input, timeout=None, priority=0, cost=1, nbytes=None, correlation_id=""):
        cancel = _native._Cancel()

        def cancelled(done):
            if done.cancelled():
                cancel.cancel()

        def receive(output, error):
            if not future.set_running_or_notify_cancel():
                return
            if error is None:
                future.set_result(output)
            else:
                future.set_exception(JobError(*error))

        future.add_done_callback(cancelled)
        if nbytes is None:
            nbytes = getattr(input, "nbytes", 0)
        self._pipeline.submit(input, receive, cancel, timeout, priority, cost, nbytes, correlation_id)

    def map(self, inputs, **options):
        """The outputs of all inputs, in their order; at most max_jobs are ahead of the one that is asked for."""
        pending = collections.deque()
        for value in inputs:
            if len(pending) >= self._max_jobs:
                yield pending.popleft().result()
            pending.append(self.submit(value, **options))
        while pending:
            yield pending.popleft().result()

    async def run(self, input, **options):
        """The output of the job, for asyncio. Jobs are submitted in the order of the calls, in a thread that waits
        for room where submit() would; to cancel the task cancels the job."""
        future = concurrent.futures.Future()

        def commit():
            if not future.cancelled():
                self._commit(future, input, **options)

        try:
            await asyncio.get_running_loop().run_in_executor(self._committer, commit)
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            future.cancel()
            raise

    def stop(self, abort=False) -> None:
        """Lets no more jobs in, and waits until all are answered; with `abort` those that no stage works on are
        answered by an error. Then the threads end, and the stages are let go."""
        self._pipeline.stop(abort)
        self._committer.shutdown(wait=False)

    def statistics(self) -> dict:
        """Counts, and times in seconds, since the start."""
        return self._pipeline.statistics()

    def prometheus_text(self) -> str:
        """The same in Prometheus' text format."""
        return self._pipeline.prometheus_text()

    def trace_json(self) -> str:
        """The last `trace_spans` spans, for ui.perfetto.dev or chrome://tracing."""
        return self._pipeline.trace_json()

    def trace_page(self) -> str:
        """The same as a page of HTML that shows where the time goes, and has all that it needs inside."""
        return _native._trace_page(self._pipeline.trace_json())

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.stop(abort=kind is not None)


def _arrays(prepared):
    """The arrays of a job."""
    if isinstance(prepared, dict):
        return tuple(prepared[name] for name in sorted(prepared))
    return prepared if isinstance(prepared, tuple) else (prepared,)


def _shape_key(prepared):
    """Jobs of one batch have the same: the shapes of their arrays."""
    return tuple(getattr(array, "shape", None) for array in _arrays(prepared))


def _min_batch(engine):
    """The smallest batch of the profile: of inputs whose axis 0 varies, or of all where it never does."""
    inputs = [tensor for tensor in engine.inputs if tensor.min]
    varying = [tensor.min[0] for tensor in inputs if tensor.shape[0] < 0]
    return max(varying) if varying else min((tensor.min[0] for tensor in inputs), default=1)


def engine_batch_sizes(engine, batch_sizes, max_batch):
    """What batches the engine runs, ascending, as Pipeline's option `batch_sizes` has it."""
    return _native._batch_sizes(list(batch_sizes), max(_min_batch(engine), 1), max_batch, engine.gpu is None)


def _run_engine(engine, batch_sizes, max_batch):
    """A function that runs an engine on a batch."""
    names = [tensor.name for tensor in engine.inputs]
    sizes = engine_batch_sizes(engine, batch_sizes, max_batch)

    def arrays_of(job):
        arrays = tuple(job[name] for name in names) if isinstance(job, dict) else _arrays(job)
        if len(arrays) != len(names):
            raise ValueError(f"the engine takes {len(names)} arrays, and a job has {len(arrays)}")
        return arrays

    def stacked(arrays, size):
        if size == 1:
            return np.asarray(arrays[0])[None]
        return np.stack([*arrays, *[np.zeros_like(arrays[0])] * (size - len(arrays))])

    def run(batch):
        jobs = [arrays_of(job) for job in batch]
        size = next((size for size in sizes if size >= len(jobs)), len(jobs))
        outputs = engine(*(stacked(arrays, size) for arrays in zip(*jobs)))
        for tensor, output in zip(engine.outputs, outputs if isinstance(outputs, tuple) else (outputs,)):
            if output.shape[:1] != (size,):
                raise ValueError(f"output {tensor.name!r} of shape {output.shape} has no part for each of "
                                 f"{size} jobs")
        if isinstance(outputs, tuple):
            return [tuple(output[i] for output in outputs) for i in range(len(jobs))]
        return [outputs[i] for i in range(len(jobs))]

    return run


@atexit.register
def _stop_all():
    """Threads of the pipelines cannot call Python after this."""
    for pipeline in list(_pipelines):
        pipeline.stop(abort=True)
