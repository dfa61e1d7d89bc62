"""ONNX's own node tests through the whole engine, as `tenon run` has it, against the expected outputs.

src/import/onnx_cases_test.cc runs the same cases layer by layer, and docs/onnx_node_tests.json is what it
finds: which pass, which pass when their inputs are constants, and which do not, for what reason. Here they
pass the optimizer, the planner and the target's kernels, with the same result each. TENON_RUN_CASES is the
program run_cases; TENON_JOBS of them run side by side.
"""
import collections
import concurrent.futures
import os
import tempfile
import threading
import unittest

import numpy as np
import onnx

from case_runner import Runner
from node_cases import NOT_PASSED, WRONG, LacksTypes, all_folders, case_of, difference

JOBS = int(os.environ.get("TENON_JOBS", "2"))
EVERY = int(os.environ.get("TENON_EVERY", "1"))  # sanitizers take a part, to stay within minutes
HERE = threading.local()  # each thread has a runner of its own
RUNNERS = []


def tenon(model, given="-", made="-"):
    if not hasattr(HERE, "runner"):
        HERE.runner = Runner()
        RUNNERS.append(HERE.runner)
    return HERE.runner.run(model, given, made)


def refusal(folder):
    """A case that does not pass: an error, no crash."""
    answer = tenon(folder / "model.onnx")
    if answer == "ok" and (folder / "no_tensors").exists():
        return "inputs that are no tensors", ""
    return ("failed", answer) if answer in ("ok", "crashed") else ("refused", "")


def run(folder):
    """The kind of outcome, and what is wrong."""
    if folder.name in NOT_PASSED and NOT_PASSED[folder.name] != WRONG:
        return refusal(folder)
    try:
        model, fed, expected = case_of(folder)
    except LacksTypes as error:
        return "types that .npz files lack", str(error)
    with tempfile.TemporaryDirectory() as scratch:
        given, made, path = (f"{scratch}/{name}" for name in ("in.npz", "out.npz", "model.onnx"))
        onnx.save(model, path)
        np.savez(given, **fed)
        answer = tenon(path, given if fed else "-", made)
        if answer != "ok":
            return "failed", answer
        found = dict(np.load(made))
    wrong = [f"{name}: {text}" for name, value in expected.items()
             if (text := difference(found[name], value, folder))]
    if folder.name in NOT_PASSED:
        return ("contradicts", "") if wrong else ("failed", "passes, and is listed among those that do not")
    return ("wrong" if wrong else "passed"), "; ".join(wrong)


class NodeCases(unittest.TestCase):
    def test_all(self):
        folders = all_folders()[::EVERY]
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(max_workers=JOBS) as pool:
            for folder, (kind, text) in zip(folders, pool.map(run, folders)):
                counts[kind] += 1
                with self.subTest(folder.name):
                    self.assertNotIn(kind, ("failed", "wrong"), text)
        for runner in RUNNERS:
            runner.close()
        print(dict(counts))


unittest.main()
