"""`tenon onnx lint`: exports with planted faults, whose fixed models ONNX's own evaluator runs as it runs the others."""
import json
import pathlib
import subprocess

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from onnx_support import model_of, value
from support import SOURCE, TENON, CliTest, run

EXPORTS = SOURCE / "lint/testdata/exports"
MODELS = pathlib.Path(SOURCE, ".cache/models")
BATCH = 2


def noise(model):
    """Arrays for a model's inputs; dynamic extents are those that the exports were traced with."""
    random = np.random.default_rng(0)
    arrays = {}
    for value in model.graph.input:
        kind = value.type.tensor_type
        shape = [dim.dim_value or BATCH for dim in kind.shape.dim]
        array = random.standard_normal(shape) * 4
        arrays[value.name] = array.astype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
    return arrays


class OnnxLint(CliTest):
    def lint(self, *words, status=0):
        done = run("onnx", "lint", *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def test_each_fix_keeps_the_numbers(self):
        expected = json.loads((EXPORTS / "expected.json").read_text())
        compared = 0
        for name, row in expected.items():
            if not row["fixed"]:
                continue
            with self.subTest(name):
                out = self.folder / f"{name}.onnx"
                text = self.lint("--fix", EXPORTS / f"{name}.onnx", "-o", out)
                self.assertIn(f"[{row['rule']}]", text.split("errors,")[0])
                self.assertIn("fixed: ", text)
                before, after = onnx.load(EXPORTS / f"{name}.onnx"), onnx.load(out)
                if any(node.domain for node in after.graph.node):  # a plugin: the engine alone runs it
                    self.succeed("build", out, "-o", self.folder / f"{name}.plan")
                    continue
                arrays = noise(before)
                results = [ReferenceEvaluator(model).run(None, arrays) for model in (before, after)]
                for one, other in zip(*results):
                    np.testing.assert_allclose(one, other, rtol=1e-6)
                onnx.checker.check_model(after)
                compared += 1
        self.assertGreaterEqual(compared, 8)

    def test_a_fixed_batch_is_dynamic(self):
        out = self.folder / "out.onnx"
        self.lint("--fix", EXPORTS / "batch_in_numbers.onnx", "-o", out)
        for batch in (1, 5):
            result, = ReferenceEvaluator(onnx.load(out)).run(None, {"x": np.ones((batch, 4, 8, 8), np.float32)})
            self.assertEqual(result.shape[0], batch)

    def test_functions_import_their_own_domains(self):
        inner = onnx.helper.make_node("Q", ["aaaaaaaaa"], ["aaaaaaaab"], domain="other")
        function = onnx.helper.make_function("my", "F", ["aaaaaaaaa"], ["aaaaaaaab"], [inner],
                                              [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("other", 3)])
        tensors = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node("F", ["x"], ["y"], "call", domain="my")], "g", tensors[:1], tensors[1:])
        imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("my", 1)]
        model, out = self.folder / "model.onnx", self.folder / "out.onnx"
        onnx.save(onnx.helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8), model)
        self.assertIn("0 errors, 0 warnings, 0 notes", self.lint("--fix", model, "-o", out))
        self.assertEqual(out.read_bytes(), model.read_bytes())

    def test_lint_looks_into_functions(self):
        inner = helper.make_function("local", "F", ["a"], ["z"], [helper.make_node("Mine", ["a"], ["z"], "mine", domain="my")],
                                     [helper.make_opsetid("", 17)])
        path = self.folder / "m.onnx"
        model = model_of([helper.make_node("F", ["x"], ["f"], domain="local"), helper.make_node("Mine", ["f"], ["y"], "outer", domain="my")],
                         [value("x", 3)], [value("y", 3)], functions=[inner], opsets=[("local", 1), ("my", 1)])
        onnx.save(model, path)
        done = run("onnx", "lint", path)
        self.assertIn("'mine' is of the domain 'my', whose version the function 'F' does not import", done.stdout + done.stderr)
        self.assertNotIn("'outer' is of the domain", done.stdout + done.stderr)
        model.functions[0].opset_import.append(helper.make_opsetid("my", 1))
        onnx.save(model, path)
        done = run("onnx", "lint", path)
        self.assertNotIn("does not import", done.stdout + done.stderr)

    def test_standard_input_and_help(self):
        with open(EXPORTS / "unused_weights.onnx", "rb") as model:
            done = subprocess.run([TENON, "onnx", "lint", "-"], stdin=model, capture_output=True, text=True, timeout=60)
        self.assertIn("[unused-initializer]", done.stdout)
        text = self.lint("--help")
        self.assertIn("lint/README.md", text)
        self.assertNotIn("Verbs, in the order", text)

    def test_reports(self):
        sarif = self.folder / "report.sarif"
        text = self.lint("--sarif", sarif, "--failOn", "warning", EXPORTS / "source_line.onnx", status=1)
        self.assertRegex(text, r"make_exports\.py:\d+: warning: .*writes into a part of .*\[slice-assignment\]")
        location = json.loads(sarif.read_text())["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        self.assertTrue(location["artifactLocation"]["uri"].endswith("make_exports.py"))
        self.assertGreater(location["region"]["startLine"], 1)

    def test_rules_of_users(self):
        rules = self.folder / "mine.json"
        rules.write_text('{"rules": [{"id": "no-resize", "severity": "error", "operator": ["Resize"], "message": "{node}"}]}')
        text = self.lint("--rules", rules, EXPORTS / "size_in_interpolate.onnx", status=1)
        self.assertIn("error: /Resize [no-resize]", text)
        rules.write_text('{"rules": [{"id": "a", "mesage": ""}]}')
        self.refuse("onnx", "lint", "--rules", rules, EXPORTS / "float64.onnx", names=["rule 'a': 'message' is missing"])

    def test_mistakes(self):
        for words, message in ((["--fix", EXPORTS / "float64.onnx"], "say with -o where"),
                               ([EXPORTS / "float64.onnx", "-o", self.folder / "o"], "-o is for --fix"),
                               ([self.folder / "none.onnx"], "none.onnx")):
            self.refuse("onnx", "lint", *words, names=[message])


class OnnxLintOfRealModels(CliTest):
    def test_no_false_alarm(self):
        """Notes are no alarms: what they say is so."""
        models = sorted(MODELS.glob("*.onnx"))
        if not models:
            self.skipTest("./dev models has not fetched the models")
        for model in models:
            with self.subTest(model.name):
                text = self.succeed("onnx", "lint", "--failOn", "warning", model)
                self.assertIn("0 errors, 0 warnings", text)
