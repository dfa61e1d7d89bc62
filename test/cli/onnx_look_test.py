"""`tenon onnx show`: tables, JSON, and a page."""
import json
import re
import unittest

import onnx
from onnx import TensorProto, helper

from onnx_support import OnnxCase, classifier, model_of, value


class Look(OnnxCase):
    def test_show(self):
        onnx.save(classifier(), self.model)
        text = self.succeed("onnx", "show=shapes", self.model)
        self.assertRegex(text, r"Conv 'conv' \(x, w, b\) -> c  kernel_shape=\[3,3\]  float32\[1,4,6,6\]")
        tree = json.loads(self.succeed("onnx", "show=shapes,json", self.model))
        self.assertEqual([n["operator"] for n in tree["graph"]["nodes"]], ["Conv", "Relu", "Reshape", "MatMul"])
        self.assertEqual(tree["graph"]["nodes"][2]["outputs"][0]["shape"], [1, 144])

    def test_shapes_in_branches(self):
        branches = [helper.make_graph([helper.make_node("Relu", ["x"], [f"{n}m"]), helper.make_node("Neg", [f"{n}m"], [f"{n}o"])], n, [],
                                      [value(f"{n}o", 2, 4)]) for n in "ab"]
        onnx.save(model_of([helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])],
                           [value("x", 2, 4), value("c", element=TensorProto.BOOL)], [value("y", 2, 4)]), self.model)
        text = self.succeed("onnx", "show=shapes", self.model)
        for n in "ab":
            self.assertRegex(text, rf"Relu \(x\) -> {n}m  float32\[2,4\]")

    def test_looking_at_functions(self):
        # As types, such names are damaged.
        function = helper.make_function("my", "F", ["aaaaaaaaa"], ["aaaaaaaab"], [helper.make_node("Elu", ["aaaaaaaaa"], ["aaaaaaaab"])],
                                        [helper.make_opsetid("", 17)])
        onnx.save(model_of([helper.make_node("F", ["x"], ["y"], domain="my")], [value("x", 2, 3)], [value("y", 2, 3)],
                           functions=[function], opsets=[("my", 1)]), self.model)
        for words in (["show"], ["show=json"], ["show=shapes"], ["lint"], ["infer-shapes", "-o", self.out], ["opset=21", "-o", self.out]):
            self.succeed("onnx", *words, self.model)
        self.assertEqual(onnx.load(self.out).functions[0].opset_import[0].version, 21)
        onnx.checker.check_model(onnx.load(self.out), full_check=True)

    def test_page(self):
        """What test/browser/run_onnx.py opens; no name may end the script that it is in."""
        model = classifier()
        model.graph.node[1].name = "</script>"
        onnx.save(model, self.model)
        page = self.succeed("onnx", "show=html", self.model)
        self.assertEqual(page.count("</script>"), 2)
        tree = json.loads(re.search(r'type="application/json" id="model">(.*?)</script>', page, re.S).group(1))
        self.assertEqual(tree["graph"]["name"], "g")
        self.assertEqual(tree["graph"]["nodes"][0]["outputs"][0]["shape"], [1, 4, 6, 6])
        self.refuse("onnx", "show=htlm", self.model, names=["'htlm' is not"])


if __name__ == "__main__":
    unittest.main()
