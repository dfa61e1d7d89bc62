"""What the properties beside this file share: random models through the whole engine, as `tenon run` has it,
against answers that were computed in another way.

A property makes cases from random numbers: a few nodes, their inputs and constants, and what must come out. The
seed is 1, so that CI repeats itself; TENON_PROPERTIES_SEED is another one, and "random" a new one each time.
TENON_PROPERTIES_TIMES multiplies the number of cases.
"""
import dataclasses
import os
import random
import tempfile
import unittest
import zlib

import numpy as np
import onnx
from onnx import helper, numpy_helper

from case_runner import Runner

WANTED = os.environ.get("TENON_PROPERTIES_SEED", "1")
SEED = random.SystemRandom().randrange(1 << 32) if WANTED == "random" else int(WANTED)
TIMES = int(os.environ.get("TENON_PROPERTIES_TIMES", "1"))
SHOWN = 5  # cases of a property that fail, before it is given up


@dataclasses.dataclass
class Case:
    """`expected` are arrays by name, or None where a refusal is right. Integers and booleans must be the same, and
    so must floats with a tolerance of 0; a NaN must be where one is expected, and nowhere else but where
    `may_be_nan` is true."""
    nodes: list
    inputs: dict
    expected: dict | None
    constants: dict = dataclasses.field(default_factory=dict)
    opset: int = 20
    tolerance: float = 0
    may_be_nan: np.ndarray | bool = False

    def model(self):
        def value(name, array):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

        made = [name for node in self.nodes for name in node.output]
        outputs = self.expected if self.expected is not None else made[-1:]
        graph = helper.make_graph(self.nodes, "g", [value(*item) for item in self.inputs.items()],
                                  [onnx.ValueInfoProto(name=name) for name in outputs],
                                  [numpy_helper.from_array(array, name) for name, array in self.constants.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)


def fed(rng, arrays):
    """Some of the arrays as inputs, at least one, and the others as constants."""
    names = list(arrays)
    inputs = {name for name in names if rng.random() < 0.5} or {names[rng.integers(len(names))]}
    return ({name: arrays[name] for name in names if name in inputs},
            {name: arrays[name] for name in names if name not in inputs})


def difference(found, expected, case):
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype.kind == "f":
        nan, found_nan = np.isnan(expected), np.isnan(found)
        wrong = (nan & ~found_nan) | (found_nan & ~nan & ~np.broadcast_to(case.may_be_nan, nan.shape))
        with np.errstate(invalid="ignore"):
            close = np.isclose(found.astype(np.float64), expected.astype(np.float64), rtol=case.tolerance,
                               atol=case.tolerance)
        wrong |= ~close & ~nan & ~found_nan
    else:
        wrong = found != expected
    if not wrong.any():
        return ""
    at = tuple(int(i[0]) for i in np.nonzero(wrong)) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} differ, at {at}: {found[at]}, expected {expected[at]}"


class Properties(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print(f"seed {SEED}: TENON_PROPERTIES_SEED={SEED} repeats it", flush=True)
        cls.runner = Runner()
        cls.scratch = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.runner.close()
        cls.scratch.cleanup()

    def outcome(self, case):
        """What is wrong, or ""."""
        given, made, path = (f"{self.scratch.name}/{name}" for name in ("in.npz", "out.npz", "model.onnx"))
        onnx.save(case.model(), path)
        np.savez(given, **case.inputs)
        answer = self.runner.run(path, given if case.inputs else "-", made)
        if case.expected is None:
            return f"expected a refusal, found \"{answer}\"" if answer in ("ok", "crashed") else ""
        if answer != "ok":
            return answer
        with np.load(made) as found:
            wrong = {name: difference(found[name], array, case) for name, array in case.expected.items()}
        return "; ".join(f"{name}: {text}" for name, text in wrong.items() if text)

    def check(self, make, count):
        """`make` gives a case for a generator of random numbers."""
        failures = []
        for i in range(count * TIMES):
            rng = np.random.default_rng([SEED, zlib.crc32(self.id().encode()), i])
            case = make(rng)
            if text := self.outcome(case):
                arrays = {name: (str(a.dtype), a.shape, a.ravel()[:8].tolist())
                          for name, a in (case.inputs | case.constants).items()}
                failures.append(f"case {i} of seed {SEED}: {text}\n{onnx.printer.to_text(case.model())}\n{arrays}")
            if len(failures) == SHOWN:
                break
        self.assertEqual(failures, [], "\n\n".join(failures))
