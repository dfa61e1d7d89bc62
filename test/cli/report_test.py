"""`tenon report`: what is on the page is what was measured, compared and planned. test/browser looks at the page itself."""
import json
import re
import unittest

import numpy as np

from support import MLP, MLP_PROFILE, RESNET, ON_CPU, CliTest


def json_of_page(path):
    text = path.read_text()
    return json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', text, re.DOTALL)[1])


class Report(CliTest):
    def report(self, *arguments):
        page = self.folder / "report.html"
        self.succeed("report", *arguments, "-o", page, "--duration=0", environment=ON_CPU)
        return page, json_of_page(page)

    def test_layers_are_those_of_the_plan(self):
        plan = self.plan()
        page, report = self.report(plan)
        inspected = json.loads(self.succeed("inspect", plan, "--json"))["Layers"]
        self.assertEqual([(l["name"], l["kind"], l["kernel"]) for l in report["layers"]],
                         [(l["Name"], l["LayerType"], l["TacticName"]) for l in inspected])
        tensors = report["tensors"]
        for layer, other in zip(report["layers"], inspected):
            self.assertEqual([tensors[t]["name"] for t in layer["outputs"]], [t["Name"] for t in other["Outputs"]])
            self.assertEqual([tensors[t]["name"] for t in layer["inputs"]], [t["Name"] for t in other["Inputs"]])
            self.assertGreater(layer["ms"], 0)
            self.assertGreater(layer["run"], 0)
            self.assertIn("its tensors are", layer["why"])
        self.assertGreater(report["peaks"]["operationsPerSecond"], 1e8)
        self.assertEqual([t["name"] for t in tensors if t["place"] == "input"], ["input"])
        (given,) = [t for t in tensors if t["place"] == "input"]
        self.assertEqual((given["shape"], given["type"], given["bytes"]), ([1, 1, 12, 12], "float32", 1 * 12 * 12 * 4))
        self.assertNotIn("errors", report)
        # It is one file, and asks for nothing.
        self.assertNotRegex(page.read_text(), r"(src|href)=[\"']?(https?:|//|[^\"'d])")

    def test_shapes_of_the_run_are_those_asked_for(self):
        _, report = self.report(self.plan(), "--shapes=input:3x1x12x12")
        (given,) = [t for t in report["tensors"] if t["place"] == "input"]
        self.assertEqual(given["shape"], [3, 1, 12, 12])
        np.savez(self.folder / "in.npz", input=np.zeros((5, 1, 12, 12), np.float32))
        _, report = self.report(MLP / "model.onnx", f"--inputs={self.folder / 'in.npz'}")
        (given,) = [t for t in report["tensors"] if t["place"] == "input"]
        self.assertEqual(given["shape"], [5, 1, 12, 12])

    def test_errors_of_a_comparison_are_joined_by_tensor(self):
        errors = self.folder / "errors.json"
        shape = "--shapes=input:1x3x32x32"
        self.succeed("compare", RESNET / "model.onnx", shape, "--layers", f"--exportJson={errors}", environment=ON_CPU)
        page, report = self.report(RESNET / "model.onnx", shape, f"--errors={errors}")
        compared = {row["tensor"]: row for key in ("outputs", "tensors") for row in json.loads(errors.read_text())[key]}
        outputs = {report["tensors"][t]["name"] for layer in report["layers"] for t in layer["outputs"]}
        self.assertTrue(outputs & set(report["errors"]))
        for name, row in report["errors"].items():
            self.assertEqual(row["total"], compared[name]["total"])

    def test_exports_json(self):
        out = self.folder / "report.json"
        page, report = self.report(self.plan(), f"--exportJson={out}")
        self.assertEqual(json.loads(out.read_text()), report)

    def test_refuses_what_is_no_comparison(self):
        plan, page, wrong = self.plan(), self.folder / "page.html", self.folder / "wrong.json"
        for text in ("", "{", "[]", '{"outputs": [], "tensors": 1}', '{"outputs": [{"tensor": 1}], "tensors": []}',
                     '{"outputs": [{"tensor": "input", "total": {"of_range": [], "rms": 0, "cosine": 1}}], "tensors": []}'):
            wrong.write_text(text)
            self.refuse("report", plan, "-o", page, f"--errors={wrong}", "--duration=0", names=["--errors: .*wrong.json: is not what"],
                        environment=ON_CPU)
        wrong.write_text('{"outputs": [{"tensor": "other", "total": {"of_range": 0, "rms": 0, "cosine": 1}}], "tensors": []}')
        self.refuse("report", plan, "-o", page, f"--errors={wrong}", "--duration=0", names=["none of its tensors is in this plan"],
                    environment=ON_CPU)

    def test_refuses_files_that_cannot_be(self):
        plan = self.plan()
        self.refuse("report", plan, names=["--output is required"])
        self.refuse("report", plan, "-o", plan, names=["would write over the file of model"])
        self.refuse("report", plan, "-o", self.folder / "none/page.html", names=["none"])
        self.refuse("report", self.folder / "none.onnx", "-o", self.folder / "page.html", names=["none.onnx"])

    def test_names_cannot_leave_their_place(self):
        """Of a file: the title and the JSON stay text."""
        harm = self.folder / "a<img src=x onerror=alert(1)>{{report}}.plan"
        self.plan().rename(harm)
        page = self.folder / "report.html"
        self.succeed("report", harm, "-o", page, "--duration=0", environment=ON_CPU)
        self.assertNotIn("<img", page.read_text())
        self.assertEqual(json_of_page(page)["model"], str(harm))


if __name__ == "__main__":
    unittest.main()
