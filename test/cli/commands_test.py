"""What the other commands do when all is well."""
import json
import os
import re
import shutil
import unittest

from support import KNOWN, MLP, MLP_PROFILE, PLUGIN, RESNET, SOURCE, VIGNETTE, CliTest, run


class NewPlugin(CliTest):
    """That what it writes builds and passes is shown by test/package."""

    def test_both_spellings_write_the_same(self):
        texts = []
        for name in ("HalfOf", "half_of"):
            folder = self.folder / name
            said = self.succeed("new-plugin", name, f"--folder={folder}")
            self.assertIn(f"cd {folder}", said)
            self.assertIn("README.md there says what to do with it", said)
            texts.append({path.name: path.read_text() for path in folder.iterdir()})
        self.assertEqual(*texts)
        self.assertIn("struct HalfOf", texts[0]["half_of.cc"])
        self.assertNotRegex("".join(texts[0].values()), "(?i)my_?plugin")

    def test_the_folder_is_the_name(self):
        self.succeed("new-plugin", "HalfOf", folder=self.folder)
        self.assertTrue((self.folder / "half_of/half_of.cc").is_file())

    def test_refuses(self):
        (self.folder / "there").mkdir()
        self.refuse("new-plugin", "X", f"--folder={self.folder / 'there'}", names=["there exists", "--folder"])
        self.refuse("new-plugin", "X", f"--folder={self.folder / 'no/x'}", names=["no/x cannot be made: no such"])
        self.refuse("new-plugin", "a-b", names=["'a-b'", "my_plugin"], folder=self.folder)
        self.refuse("new-plugin", "tensor", names=["'Tensor'", "meaning"], folder=self.folder)
        self.refuse("new-plugin", "x", names=["CMakeLists.txt cannot be written: file too large"], folder=self.folder,
                    file_limit=100)


class Dump(CliTest):
    def test_every_stage(self):
        for stage in ("import", "optimize", "plan"):
            options = MLP_PROFILE if stage == "plan" else []
            text = self.succeed("dump", f"--stage={stage}", MLP / "model.onnx", *options)
            self.assertIn("input", text)
            json.loads(self.succeed("dump", f"--stage={stage}", "--json", MLP / "model.onnx", *options))

    def test_optimizing_leaves_fewer_layers(self):
        def layers(stage):
            return len(self.succeed("dump", f"--stage={stage}", RESNET / "model.onnx").splitlines())

        self.assertLess(layers("optimize"), layers("import"))


class Inspect(CliTest):
    def test_text_and_json(self):
        plan = self.plan()
        text = self.succeed("inspect", plan)
        for word in ("input", "output"):
            self.assertIn(word, text)
        self.assertRegex(text, r"for the target (cpu|cuda) \(")
        self.assertIn("12", json.dumps(json.loads(self.succeed("inspect", "--json", plan))))

    def test_names_the_plugin_that_is_absent(self):
        plan = self.plan("v.plan", VIGNETTE, ["--shapes=input:1x3x8x8", f"--plugins={PLUGIN}"])
        self.assertIn("Vignette", self.succeed("inspect", plan))
        self.assertIn("Vignette", json.dumps(json.loads(self.succeed("inspect", "--json", plan))))


class Plugins(CliTest):
    def test_lists_names_versions_and_fields(self):
        rows = {row["name"]: row for row in json.loads(self.succeed("plugins", "--json", f"--plugins={PLUGIN}"))}
        self.assertEqual(rows["DynamicTRTResize"]["version"], "1")
        corners = {"name": "align_corners", "type": "int32", "text": "Default 1."}
        self.assertEqual(rows["DynamicTRTResize"]["fields"], [corners])
        strength = {"name": "strength", "type": "float32", "text": "Default 0.5."}
        self.assertEqual(rows["Vignette"]["fields"], [strength])

    def test_library_in_the_current_folder(self):
        shutil.copy(PLUGIN, self.folder / "libvignette.so")
        self.assertIn("Vignette", self.succeed("plugins", "--plugins=libvignette.so", folder=self.folder))

    def test_library_whose_plugins_replace_others_has_some(self):
        result = run("plugins", f"--plugins={KNOWN}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("[W]", result.stderr)

    def test_library_without_plugins_is_a_warning(self):
        result = run("plugins", "--plugins=libm.so.6")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"\[W\] libm.so.6: registers no plugin")

    def test_text(self):
        text = self.succeed("plugins")
        self.assertIn("DynamicTRTResize version 1", text)
        self.assertNotIn("Vignette", text)


class Doctor(CliTest):
    def test_says_what_this_machine_has(self):
        text = self.succeed("doctor")
        facts = json.loads(self.succeed("doctor", "--json"))
        for key in facts.keys() - {"findings"}:
            self.assertIn(key, text)
        self.assertGreaterEqual(facts["plugins"], 1)
        self.assertRegex(facts["GPU"], "NVIDIA" if os.path.exists("/dev/nvidiactl") else "none found")
        self.assertEqual(set(facts["targets"]), {"cpu", "cuda"})
        self.assertIn(facts["target"], facts["targets"])
        self.assertRegex(facts["targets"]["cpu"], "^cpu: .* threads$")
        self.assertRegex(facts["targets"]["cuda"], "^(no|cuda): .+")
        for library in ("TBB", "protobuf", "flatbuffers", "libjpeg", "libpng", "libzip"):
            self.assertRegex(facts[library], r"\d+\.\d+")
        self.assertGreaterEqual(facts["threads"], 1)

    def test_says_what_is_wrong_with_the_target_that_is_wanted(self):
        result = run("doctor", environment={"TENON_TARGET": "tpu"})
        self.assertIn('there is no target "tpu"', result.stdout)
        self.assertEqual(result.returncode, 1)


class Help(CliTest):
    def test_every_command_has_help(self):
        version = re.search(r"project\(Tenon VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertIn(f"tenon {version} (TensorRT", self.succeed("--version"))
        for command in ("build", "run", "bench", "dump", "inspect", "plugins", "doctor"):
            self.assertIn(command, self.succeed("--help"))
            self.assertIn("Usage", self.succeed(command, "--help"))


if __name__ == "__main__":
    unittest.main()
