"""Error codes: messages end with one, and `tenon explain` says what each means."""
import json
import re
import unittest

import onnx
from onnx import TensorProto, helper

from support import MLP, MLP_PROFILE, SRCNN, CliTest, run


class Explain(CliTest):
    def code_of(self, *arguments):
        """The code at the end of what a command says that fails."""
        result = run(*arguments)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        return re.search(r"\[(TN\d{4})\]\Z", result.stderr.strip())[1]

    def model(self, operator, **attributes):
        path = self.folder / f"{operator}.onnx"
        info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy"]
        graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"], **attributes)], "g", info[:1], info[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        return path

    def test_messages_end_with_the_code_of_their_kind(self):
        rubbish = self.folder / "rubbish.onnx"
        rubbish.write_bytes(b"\xff\xffno model")
        plan = self.folder / "mlp.plan"
        self.succeed("build", MLP / "model.onnx", *MLP_PROFILE, f"--saveEngine={plan}")
        damaged = self.folder / "damaged.plan"
        damaged.write_bytes(plan.read_bytes()[:-7])
        cases = {
            "TN2001": ["build", rubbish],
            "TN2002": ["build", self.model("NoSuchOperator")],
            "TN2003": ["build", self.model("Softmax", axis=7)],
            "TN4001": ["run", damaged],
            "TN8001": ["build", SRCNN, "--noSuchOption"],
        }
        for code, arguments in cases.items():
            with self.subTest(code):
                self.assertEqual(self.code_of(*arguments), code)

    def test_messages_of_the_commands_themselves_too(self):
        model = MLP / "model.onnx"
        plan = self.folder / "mlp.plan"
        self.succeed("build", model, *MLP_PROFILE, f"--saveEngine={plan}")
        gone = self.folder / "gone.onnx"
        text = self.folder / "text.npz"
        text.write_text("no arrays")
        source = self.folder / "old.cc"
        cases = [
            ("TN2001", ["onnx", text, "show"]),
            ("TN2005", ["build", gone]),
            ("TN2005", ["run", gone]),
            ("TN2005", ["compare", gone]),
            ("TN2005", ["onnx", gone, "show"]),
            ("TN2005", ["onnx", "lint", gone]),
            ("TN2005", ["migrate", gone]),
            ("TN2005", ["run", plan, f"--inputs={gone}"]),
            ("TN2005", ["build", model, *MLP_PROFILE, f"--saveEngine={self.folder}"]),
            ("TN2006", ["run", plan, f"--inputs={text}"]),
            ("TN2006", ["run", plan, f"--loadInputs=input:{text}", "--shapes=input:1x1x12x12"]),
            ("TN2006", ["quantize", model, f"--calibData={self.folder / 'empty'}"]),
            ("TN2006", ["onnx", "lint", model, f"--rules={text}"]),
            ("TN3001", ["build", model]),
            ("TN4001", ["bench", "--getPlanVersionOnly", f"--loadEngine={text}"]),
            ("TN5001", ["run", plan, "--shapes=input:9x1x12x12"]),
            ("TN6002", ["plugins", f"--plugins={text}"]),
            ("TN6002", ["plugins", "check", self.folder / "gone.so"]),
            ("TN8001", ["frobnicate"]),
            ("TN8001", ["build"]),
            ("TN8001", ["build", model, "--shapes=input:1x1x12y12"]),
            ("TN8001", ["bench", plan, "--percentile=200"]),
            ("TN8001", ["onnx", model, "fly"]),
            ("TN8001", ["new-plugin", "3x"]),
            ("TN8003", ["build", model, "--shapes=inpot:1x1x12x12"]),
            ("TN8003", ["build", model, *MLP_PROFILE, "--markDebug=nothing"]),
            ("TN8003", ["run", plan, "--shapes=inpot:1x1x12x12"]),
            ("TN8003", ["onnx", model, "extract=nothing"]),
            ("TN8004", ["migrate", source]),
        ]
        (self.folder / "empty").mkdir()
        source.write_text("void end(nvinfer1::IBuilder* builder) { builder->destroy(); }")
        for code, arguments in cases:
            with self.subTest(code, command=" ".join(map(str, arguments))):
                self.assertEqual(self.code_of(*arguments), code)

    def test_each_code_is_explained(self):
        listed = json.loads(self.succeed("explain", "--json"))
        self.assertEqual(len({row["code"] for row in listed}), len(listed))
        self.assertEqual(self.succeed("explain").count("\n"), len(listed))
        for row in listed:
            said = self.succeed("explain", row["code"])
            for key in row:
                self.assertIn(row[key], said)
            self.assertEqual(json.loads(self.succeed("explain", f"[{row['code']}]", "--json")), row)
        self.refuse("explain", "TN9999", names=["TN9999", "TN8001"])


if __name__ == "__main__":
    unittest.main()
