"""Random edits that keep what a model computes, of ONNX's node tests and of the real models.

Done, the model gives what ONNX or ONNX Runtime expects, in the whole engine; undone, it is the file that it was. TENON_PROPERTIES_SEED is
another seed than 1, and TENON_PROPERTIES_TIMES so many times as many edits. TENON_RUN_CASES is the program run_cases.
"""
import collections
import os
import pathlib
import random
import tempfile
import unittest
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

import tenon.onnx
from case_runner import Runner
from node_cases import NOT_PASSED, LacksTypes, all_folders, case_of, difference

SEED = int(os.environ.get("TENON_PROPERTIES_SEED", "1"))
TIMES = int(os.environ.get("TENON_PROPERTIES_TIMES", "1"))
EVERY = int(os.environ.get("TENON_EVERY", "1"))
MODELS = pathlib.Path(__file__).resolve().parents[2] / ".cache/models"
ERROR = 1e-4  # of the range of an output of a real model


def inner_tensors(model):
    outputs = {name for name, _, _ in model.outputs()}
    return [name for id in model.nodes() for name in model.node(id).outputs if name and name not in outputs]


def rename_tensor(model, rng):
    if names := inner_tensors(model):
        tenon.onnx.rename_tensor(model, rng.choice(names), f"renamed {rng.randrange(1 << 30)}")


def rename_node(model, rng):
    if names := [name for id in model.nodes() if (name := model.node(id).name)]:
        tenon.onnx.rename_node(model, rng.choice(names), f"renamed node {rng.randrange(1 << 30)}")


def insert_identity(model, rng):
    """Behind a tensor within, of which all readers read it."""
    if names := inner_tensors(model):
        name, new = rng.choice(names), f"identity {rng.randrange(1 << 30)}"
        following = model.nodes()[model.nodes().index(model.producer(name)) + 1:]
        model.replace_uses(name, new)
        model.insert_node(tenon.onnx.Node("Identity", [name], [new]), before=following[0] if following else None)


def renew_nodes(model, rng):
    for id in model.nodes():
        if rng.random() < 0.3:
            model.replace_node(id, model.node(id))


def extract_all(model, rng):
    tenon.onnx.extract(model, [], [name for name, _, _ in model.outputs()])


def quantize_and_back(model, rng):
    if names := inner_tensors(model):
        name = rng.choice(names)
        tenon.onnx.insert_quantization(model, name, [0.5])
        tenon.onnx.remove_quantization_of(model, [name])


def open_batch(model, rng):
    tenon.onnx.set_batch(model, "batch")


def convert(model, rng):
    tenon.onnx.convert_opset(model, rng.randrange(max(7, model.opset() - 8), 26))


def fold(model, rng):
    tenon.onnx.fold_constants(model)


def plain(edit):
    return lambda model, rng: edit(model)


EDITS = {"fold": fold, "convert": convert, "rename_tensor": rename_tensor, "rename_node": rename_node, "insert_identity": insert_identity,
         "renew_nodes": renew_nodes, "extract": extract_all, "quantize": quantize_and_back, "open_batch": open_batch} | {
    name: plain(getattr(tenon.onnx, name)) for name in
    ("remove_unused", "remove_without_effect", "share_equal", "infer_shapes", "clear_shapes", "resolve_conditions", "inline_functions")}


class RandomEdits(unittest.TestCase):
    def setUp(self):
        self.counts, self.runner = collections.Counter(), Runner()
        self.addCleanup(self.runner.close)

    def edited(self, data, path, rng, count):
        """The model after random edits, some taken back, and their names; undoing all gives the bytes back."""
        model, done = tenon.onnx.parse(data, path), []
        for name in rng.choices(list(EDITS), k=count):
            steps = model.steps
            try:
                EDITS[name](model, rng)
                taken_back = rng.random() < 0.1
                done.append(f"{name} undone" if taken_back else name)
                if taken_back:
                    model.undo(steps)
            except RuntimeError:  # it refused, and so did nothing
                self.counts["refused"] += 1
            self.counts["edits"] += 1
        result = model.serialize()
        again = tenon.onnx.parse(data, path)
        again.apply_patch(model.patch_json())
        self.assertEqual(tenon.onnx.show(again), tenon.onnx.show(model), done)
        model.undo()
        self.assertEqual(model.serialize(), data, done)
        return result, done

    def outputs(self, data, folder, fed):
        path, given, made = (folder / name for name in ("model.onnx", "in.npz", "out.npz"))
        path.write_bytes(data)
        np.savez(given, **fed)
        answer = self.runner.run(path, given if fed else "-", made)
        return answer, dict(np.load(made)) if answer == "ok" else {}

    def test_node_cases(self):
        for folder in all_folders()[::EVERY]:
            rng = random.Random(f"{SEED} {folder.name}")
            try:
                if folder.name in NOT_PASSED:
                    raise LacksTypes
                model, fed, expected = case_of(folder)
            except LacksTypes:  # edited and undone, and not run
                self.edited((folder / "model.onnx").read_bytes(), str(folder / "model.onnx"), rng, 8 * TIMES)
                continue
            for given in list(model.graph.input):  # what is constant can be folded
                element = given.type.tensor_type.elem_type
                if element != 0 and given.name in fed and rng.random() < 0.3:
                    array = fed.pop(given.name).astype(onnx.helper.tensor_dtype_to_np_dtype(element))
                    model.graph.initializer.append(numpy_helper.from_array(array, given.name))
                    model.graph.input.remove(given)
            with self.subTest(folder.name), tempfile.TemporaryDirectory() as scratch:
                data = model.SerializeToString()
                result, done = self.edited(data, "", rng, 8 * TIMES)
                if self.outputs(data, pathlib.Path(scratch), fed)[0] != "ok":
                    continue
                left = {given.name for given in onnx.load_from_string(result).graph.input}  # an edit takes away what nobody reads
                answer, found = self.outputs(result, pathlib.Path(scratch), {name: array for name, array in fed.items() if name in left})
                self.assertEqual(answer, "ok", done)
                for name, value in expected.items():
                    self.assertEqual(difference(found[name], value, folder), "", f"{name} after {done}")
                self.counts["verified"] += 1
        print(dict(self.counts))
        self.assertGreater(self.counts["verified"], 1000 / EVERY)
        self.assertLess(self.counts["refused"], self.counts["edits"] / 3)

    def test_real_models(self):
        models = sorted(MODELS.glob("*.onnx"))
        self.assertGreater(len(models), 8, "./dev models fetches them")
        for path in models:
            cases = sorted((MODELS / path.stem).glob("*.npz"), key=lambda case: case.stat().st_size)
            arrays = dict(np.load(cases[0]))
            fed = {name[3:]: array for name, array in arrays.items() if name.startswith("in:")}
            for i in range(2 * TIMES):
                rng = random.Random(zlib.crc32(f"{SEED} {path.stem} {i}".encode()))
                with self.subTest(path.stem, i=i), tempfile.TemporaryDirectory() as scratch:
                    result, done = self.edited(path.read_bytes(), str(path), rng, 12)
                    answer, found = self.outputs(result, pathlib.Path(scratch), fed)
                    self.assertEqual(answer, "ok", done)
                    for name, value in arrays.items():
                        if name.startswith("out:"):
                            self.assertLessEqual(np.abs(found[name[4:]].astype(float) - value).max(initial=0),
                                                 ERROR * max(np.ptp(value), 1e-6) if value.size else 0, f"{name} after {done}")
        print(dict(self.counts))


if __name__ == "__main__":
    unittest.main()
