"""`tenon onnx` over models that are damaged or hostile: what a verb gives is whole, or is not there and says why."""
import subprocess
import sys
import unittest

from support import SOURCE, CliTest, run

COMMANDS = [["show=shapes"], ["fold", "clean", "infer-shapes", "inline", "resolve-if", "remove-quantization"], ["set-batch=N", "opset=21", "float16"]]


class BadModels(CliTest):
    def test_every_verb(self):
        models = self.folder / "models"
        subprocess.run([sys.executable, SOURCE / "src/import/testdata/write_bad_models.py", models], check=True, capture_output=True)
        files = sorted(models.rglob("*.onnx"))
        self.assertGreater(len(files), 50)
        out = self.folder / "out.onnx"
        for model in files:
            is_readable = run("onnx", "show", model).returncode == 0  # what no verb touches stays as bad as it is
            for verbs in COMMANDS:
                with self.subTest(model=model.name, verbs=verbs):
                    done = run("onnx", *verbs, model, "-o", out)
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if done.returncode == 0:
                        if is_readable:
                            self.assertEqual(run("onnx", "show", out).returncode, 0)
                        out.unlink()
                    else:
                        self.assertFalse(out.exists())
                        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
