"""`tenon onnx` over models that are damaged or hostile: what a verb gives is whole, or is not there and says why."""
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import helper

from onnx_support import model_of, tensor, value
from support import SOURCE, CliTest, run

JOBS = int(os.environ.get("TENON_JOBS", "2"))
TOGETHER = [["show=shapes"], ["fold", "clean", "infer-shapes", "inline", "resolve-if", "remove-quantization"],
            ["set-batch=N", "opset=21", "float16"]]


def good_model():
    return model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", 3)], [value("y", 3)], [tensor("w", 3)])


def verbs(folder):
    """Every verb, over what most of the models have: an input x, an output y, a constant w."""
    other, patch, arrays = folder / "good.onnx", folder / "good.json", folder / "w.npz"
    return ["show", "show=json,constants", "show=html", "extract=y", "rename=x:z", "rename-node=the_Relu:first", "fold", "clean", "unused",
            "share", "resolve-if", "inline", "set-dims=x:2", "set-dim=N:2", "set-batch=2", "set-batch=0", "delete=y",
            "swap=y:my::Other,alpha=0.5", "replace=x:y:my::Fused", "set-attribute=y:axis=1", f"set-constant=w:{arrays}",
            f"append={other}:y=x:after_", f"prepend={other}:y=x:before_", "opset=21", "opset=9", "float16", "float16=io",
            "remove-quantization", "insert-qdq=x,scale=0.1", "remove-qdq=x", "infer-shapes", "clear-shapes", f"patch={patch}"]


class BadModels(CliTest):
    def setUp(self):
        super().setUp()
        self.models = self.folder / "models"
        subprocess.run([sys.executable, SOURCE / "src/import/testdata/write_bad_models.py", self.models], check=True, capture_output=True)
        self.files = sorted(self.models.rglob("*.onnx"))
        self.numbers = itertools.count()

    def check(self, words, model, is_readable):
        """Nothing, or a message of what is wrong with the result."""
        folder = self.folder / f"out_{next(self.numbers)}"
        folder.mkdir()
        out = folder / "out.onnx"
        done = run("onnx", *words, model, "-o", out)
        left = sorted(each.name for each in folder.iterdir())
        if done.returncode not in (0, 1):
            return f"exit code {done.returncode}: {done.stderr[-300:]}"
        if done.returncode == 1:
            lines = done.stderr.strip().splitlines()
            return f"left behind: {left}" if left else "" if len(lines) == 1 else f"{len(lines)} lines: {done.stderr}"
        if left not in (["out.onnx"], ["out.onnx", "out.onnx.data"]):
            return f"files: {left}"
        if is_readable and (again := run("onnx", "show", out)).returncode != 0:
            return f"what was written cannot be read: {again.stderr}"
        return ""

    def check_all(self, commands, models, others=()):
        """`others` are models that commands name."""
        is_readable = {model: run("onnx", "show", model).returncode == 0 for model in [*models, *others]}  # else it stays as bad as it is

        def check(case):
            words, model = case
            read = [model, *(other for other in others if f"={other}:" in words[0])]
            return self.check(words, model, all(is_readable[each] for each in read))

        cases = [(words, model) for model in models for words in commands]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            found = pool.map(check, cases)
        for (words, model), wrong in zip(cases, found, strict=True):
            with self.subTest(model=model.name, verbs=words):
                self.assertEqual(wrong, "")

    def write_helpers(self):
        onnx.save(good_model(), self.folder / "good.onnx")
        np.savez(self.folder / "w.npz", w=np.ones(3, np.float32))
        self.succeed("onnx", "rename=y:z", self.folder / "good.onnx", "--patch", self.folder / "good.json")

    def test_every_model(self):
        self.assertGreater(len(self.files), 50)
        self.check_all(TOGETHER, self.files)

    def test_every_verb(self):
        """Over two models of each kind, which are numbered as the list of bad inputs is."""
        self.write_helpers()
        kinds = {}
        for model in self.files:
            kinds.setdefault(model.name[:2], []).append(model)
        self.assertGreaterEqual(len(kinds), 30)
        empty = self.models / "38_no_elements.onnx"
        onnx.save(model_of([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", 0, 3)], [value("y", 0, 3)], [tensor("w", 3)]), empty)
        every = verbs(self.folder)
        listed = run("onnx", "--help").stdout.split("Verbs, in the order")[1]
        self.assertEqual({verb.split("=")[0] for verb in every}, set(re.findall(r"^  ([a-z0-9-]+)", listed, re.MULTILINE)))
        chosen = [empty] + [model for models in kinds.values() for model in {models[0], models[-1]}]
        self.check_all([[verb] for verb in every], chosen)

    def test_bad_models_are_put_together(self):
        self.write_helpers()
        others = self.files[::3]
        self.check_all([[f"{verb}={model}:y=x:p_"] for model in others for verb in ("append", "prepend")],
                       [self.folder / "good.onnx"], others)

    def test_what_is_no_file(self):
        self.write_helpers()
        pipe = self.folder / "pipe.onnx"
        os.mkfifo(pipe)
        for model in self.folder, pipe, "/dev/zero", self.folder / "absent.onnx":
            for words in (["show"], ["fold", "clean"], [f"append={model}:y=x"]):
                is_other = words[0].startswith("append")
                with self.subTest(model=model, verbs=words):
                    self.refuse("onnx", *words, self.folder / "good.onnx" if is_other else model, "-o", self.folder / "no.onnx",
                                names=[str(model)])


if __name__ == "__main__":
    unittest.main()
