"""A model that answers: an engine behind a pipeline, which takes arrays by name and batches requests."""
import asyncio

import numpy as np

from tenon import serve
from tenon._engine import Engine
from tenon.ray.protocol import RequestError, datatype

_STATUSES = {"refused": 429, "dropped": 429, "expired": 504, "cancelled": 499, "stopped": 503, "instance lost": 503}


def request_error(error):
    """The RequestError of a JobError. What pre-processing raises is the request's fault."""
    is_request = error.failure == "failed" and error.stage == "pre-process"
    return RequestError(400 if is_request else _STATUSES.get(error.failure, 500), str(error))


class FunctionModel:
    """Stages as tenon.serve.Pipeline has them: a job is what `preprocess` takes, an answer what `postprocess` gives."""

    def __init__(self, name, engine, preprocess, postprocess, **options):
        self.name = name
        self._pipeline = serve.Pipeline(engine, preprocess, postprocess, model=name, **{"when_full": "refuse", **options})

    async def run(self, input, **job):
        """Raises RequestError. To cancel the task cancels the job."""
        try:
            return await asyncio.wrap_future(self._pipeline.submit(input, **job))
        except serve.JobError as error:
            raise request_error(error) from None

    def statistics(self):
        return self._pipeline.statistics()

    def close(self):
        """Answers what came, and refuses what comes."""
        self._pipeline.stop()

    def __del__(self):  # which Ray's multiplexing calls when it lets a model go
        if hasattr(self, "_pipeline"):
            self.close()


class EngineModel(FunctionModel):
    """An engine that takes arrays by name, whose axis 0 is the batch where `max_batch` is more than 1.

    Requests of several rows are jobs of that cost. `max_batch` is by default the most that the engine's profile takes, and
    1 where axis 0 of some input or output is fixed: then requests are not put together, and have the engine's own shapes."""

    def __init__(self, name, engine, *, version="1", max_batch=None, batch_sizes=(), **options):
        if not isinstance(engine, Engine):
            raise TypeError(f"{name}: expected a tenon.Engine, found {type(engine).__name__}; functions as engines need "
                            "preprocess= or postprocess=")
        self.version, self.engine = version, engine
        possible = _possible_batch(engine)
        if max_batch is not None and max_batch > possible:
            raise ValueError(f"{name}: max_batch: the engine takes batches of at most {possible}, found {max_batch}")
        self.max_batch = possible if max_batch is None else max_batch
        sizes = serve.engine_batch_sizes(engine, batch_sizes, self.max_batch)
        run = (lambda jobs: self._run_rows(jobs, sizes)) if self.max_batch > 1 else self._run_apart
        super().__init__(name, run, None, None, max_batch=self.max_batch, batch_key=self._batch_key, **options)
        self._warm_up()

    def metadata(self):
        """As the protocol has it."""
        return {"name": self.name, "versions": [self.version], "platform": "tensorrt_plan",
                **{kind: [{"name": tensor.name, "datatype": datatype(tensor.dtype), "shape": list(tensor.shape)}
                          for tensor in tensors]
                   for kind, tensors in (("inputs", self.engine.inputs), ("outputs", self.engine.outputs))}}

    async def infer(self, inputs, *, outputs=(), timeout=None, priority=0, correlation_id=""):
        """Arrays by name, of the outputs that are wanted (all by default). Raises RequestError."""
        arrays = self._check(inputs, outputs)
        made = await self.run(arrays, timeout=timeout, priority=priority, correlation_id=correlation_id,
                              cost=len(arrays[0]) if self.max_batch > 1 else 1, nbytes=sum(array.nbytes for array in arrays))
        named = dict(zip((tensor.name for tensor in self.engine.outputs), made))
        return {name: named[name] for name in outputs or named}

    def _check(self, inputs, outputs):
        """The arrays in the engine's order."""
        if not isinstance(inputs, dict):
            raise RequestError(400, f"{self.name}: expected {{input: array}}, found {type(inputs).__name__}")
        known = {tensor.name for tensor in self.engine.inputs}
        for name in inputs:
            if name not in known:
                raise RequestError(400, f"{self.name}: there is no input '{name[:100]}'")
        for name in outputs:
            if all(tensor.name != name for tensor in self.engine.outputs):
                raise RequestError(400, f"{self.name}: there is no output '{name[:100]}'")
        arrays = [self._check_input(tensor, inputs) for tensor in self.engine.inputs]
        if self.max_batch > 1 and len({len(array) for array in arrays}) > 1:
            raise RequestError(400, f"{self.name}: inputs have batches of {', '.join(str(len(a)) for a in arrays)}; expected the same")
        return arrays

    def _check_input(self, tensor, inputs):
        label = f"{self.name}: input '{tensor.name}'"
        if tensor.name not in inputs:
            raise RequestError(400, f"{label} is missing")
        array = np.asarray(inputs[tensor.name])
        if array.dtype.name != tensor.dtype:
            raise RequestError(400, f"{label} has the element type {array.dtype.name}; expected {tensor.dtype}")
        low, high = list(tensor.min), list(tensor.max)
        if self.max_batch > 1:
            low[0], high[0] = 1, self.max_batch
        if array.ndim != len(low) or not all(a <= b <= c for a, b, c in zip(low, array.shape, high)):
            raise RequestError(400, f"{label} has the shape {list(array.shape)}; expected {low} to {high}")
        return array

    def _batch_key(self, arrays):
        return tuple(array.shape[1:] for array in arrays)

    def _run_apart(self, jobs):
        return [_as_tuple(self.engine(*job)) for job in jobs]

    def _run_rows(self, jobs, sizes):
        """One batch of the rows of all jobs, filled up with zeros to the next of `sizes`."""
        rows = [len(job[0]) for job in jobs]
        total = sum(rows)
        size = next((size for size in sizes if size >= total), total)
        outputs = _as_tuple(self.engine(*(_stacked(arrays, size - total) for arrays in zip(*jobs))))
        for tensor, output in zip(self.engine.outputs, outputs):
            if output.shape[:1] != (size,):
                raise ValueError(f"output {tensor.name!r} of shape {output.shape} has no row for each of {size}")
        ends = np.cumsum(rows)
        return [tuple(output[end - count:end] for output in outputs) for end, count in zip(ends, rows)]

    def _warm_up(self):
        """Runs the engine once, unless its inputs may be shapes, so that the first request does not wait for kernels."""
        if all(tensor.dtype.startswith(("float", "uint8")) or len(tensor.opt) > 1 for tensor in self.engine.inputs):
            self.engine(*(np.zeros(tensor.opt, tensor.dtype) for tensor in self.engine.inputs))


def _possible_batch(engine):
    if any(tensor.shape[:1] != (-1,) for tensor in (*engine.inputs, *engine.outputs)):
        return 1
    return max(min((tensor.max[0] for tensor in engine.inputs), default=1), 1)


def _stacked(arrays, padding):
    if len(arrays) == 1 and padding == 0:
        return arrays[0]
    return np.concatenate([*arrays, np.zeros((padding, *arrays[0].shape[1:]), arrays[0].dtype)])


def _as_tuple(outputs):
    return outputs if isinstance(outputs, tuple) else (outputs,)
