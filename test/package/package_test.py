"""Installs a build and uses it as a stranger does: every example is built against it and run."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from PIL import Image

import workflow
from people_examples import PeopleExamples
from programs import EXAMPLES, MODELS, SOURCE, run
from yolo_example import YoloExample

BUILD = os.environ["TENON_BUILD"]
CMAKE = os.environ.get("CMAKE", "cmake")
COMPILER = os.environ.get("CXX", "c++")
SANITIZE = os.environ.get("TENON_SANITIZE", "")
FLAGS = f"-fsanitize={SANITIZE}" if SANITIZE else ""


class Package(PeopleExamples, YoloExample, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="tenon_package_"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        cls.prefix = cls.root / "prefix"
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        cls.examples = cls.root / "examples"  # which need nothing of the source tree
        shutil.copytree(EXAMPLES, cls.examples)
        if shutil.which("ccache"):  # hits although the folder's name differs each time
            os.environ |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(cls.root),
                           "CCACHE_NOHASHDIR": "1"}
        cls.tenon = cls.prefix / "bin/tenon"

    def setUp(self):
        self.folder = self.root / self.id().rsplit(".", 1)[-1]
        self.folder.mkdir()

    def build(self, example):
        self.build_in(self.folder, self.examples / example)

    def build_in(self, folder, source):
        run(CMAKE, "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_CXX_FLAGS=-Wall -Wextra {FLAGS}")
        run(CMAKE, "--build", folder)

    def ctest(self, folder):
        run(CMAKE.removesuffix("cmake") + "ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error")

    def write_cases(self, folder):
        environment = {**os.environ, "PYTHONPATH": str(self.prefix / "share/tenon")}
        subprocess.run([sys.executable, "-B", folder / "make_cases.py"], check=True, env=environment)

    def test_every_example_has_a_test(self):
        tested = {name.removeprefix("test_example_") for name in dir(self) if name.startswith("test_example_")}
        self.assertEqual(tested, {p.parent.name for p in EXAMPLES.glob("*/CMakeLists.txt")})

    def test_example_readme(self):
        self.build("readme")
        self.ctest(self.folder)

    def test_example_classify10(self):
        self.build("classify10")
        model = SOURCE / "test/golden/mini_mobilenet"
        golden = np.load(model / "case_2x3x50x75.npz")
        golden["in:input"].tofile(self.folder / "images.bin")
        run(self.tenon, "build", model / "model.onnx", "-o", self.folder / "net.plan", "--shapes=input:2x3x50x75")
        said = run(self.folder / "classify", self.folder / "net.plan", self.folder / "images.bin", 50, 75)
        self.expect_scores(said, golden["out:output"])

    def expect_scores(self, said, expected):
        rows = re.findall(r"image (\d+): class (\d+), score (-?[\d.]+)", said)
        self.assertEqual(len(rows), len(expected))
        for image, best, score in rows:
            row = expected[int(image)]
            self.assertEqual(int(best), row.argmax())
            self.assertAlmostEqual(float(score), row.max(), delta=2e-5 + 1e-3 * abs(row.max()))
        self.assertRegex(said, r"(?m)^[\d.]+ ms$")

    def test_example_classify8(self):
        self.build("classify8")
        run(sys.executable, EXAMPLES / "classify8/make_weights.py", self.folder)
        said = run(self.folder / "lenet", self.folder / "lenet.wts", self.folder / "images.bin")
        actual = np.array([list(map(float, line.split())) for line in said.splitlines()])
        np.testing.assert_allclose(actual, np.load(self.folder / "expected.npy"), rtol=1e-3, atol=1e-5)

    def test_example_ocr(self):
        self.build("ocr")
        page = EXAMPLES / "ocr/page.png"
        models = [MODELS / f"{name}.onnx" for name in ("ppocrv4_det", "ppocr_cls", "ppocrv4_rec")]
        said = run(self.folder / "ocr", *models, page, self.folder / "boxes.png")
        rows = [line.split("  ", 1) for line in said.splitlines()]
        expected = ["INVOICE 2026-0417", "Open inference engine", "Total 1,284.50 EUR", "Thank you for your order",
                    "Printed upside down"]
        self.assertEqual([text for _, text in rows], expected)
        self.assertTrue(all(float(score) > 0.9 for score, _ in rows), said)
        self.expect_drawn(page, self.folder / "boxes.png")

    def test_example_upscale(self):
        """Tiles, and one for all, are what ONNX Runtime makes of the whole picture: no seams, everywhere."""
        self.build("upscale")
        golden = np.load(MODELS / "realesr_animevideov3_x4/page.npz")
        pixels, expected = (np.rint(255 * golden[name][0].clip(0, 1)).transpose(1, 2, 0)
                            for name in ("in:data", "out:output"))
        picture, model = self.folder / "picture.png", MODELS / "realesr_animevideov3_x4.onnx"
        Image.fromarray(pixels.astype(np.uint8)).save(picture)
        for tile in (96, 139, 256):
            run(self.folder / "upscale", model, picture, self.folder / f"{tile}.png", tile)
            actual = np.asarray(Image.open(self.folder / f"{tile}.png"), float)
            self.assertEqual(actual.shape, expected.shape)
            self.assertLessEqual(abs(actual - expected).max(), 1, tile)
        with self.assertRaisesRegex(AssertionError, "(?m)^upscale: tiles of 50 pixels do not fit a picture of 230: "):
            run(self.folder / "upscale", model, picture, self.folder / "50.png", 50)
        self.write_model(self.folder / "wrong.onnx", np.zeros((1, 6, 8400), np.float32), {})
        with self.assertRaisesRegex(AssertionError, "(?m)^upscale: .*: expected one output.* outputs -1x6x8400$"):
            run(self.folder / "upscale", self.folder / "wrong.onnx", picture, self.folder / "wrong.png")

    def expect_drawn(self, before, after):
        """Some pixels differ, and most do not."""
        one, other = (np.asarray(Image.open(path).convert("RGB"), int) for path in (before, after))
        share = (abs(one - other).max(axis=2) > 16).mean()
        self.assertTrue(0.005 < share < 0.15, share)

    def test_example_plugin(self):
        self.build("plugin")
        library = f"--plugins={self.folder / 'libvignette.so'}"
        rows = json.loads(run(self.tenon, "plugins", "--json", library))
        self.assertIn("Vignette", [row["name"] for row in rows])
        Image.new("RGB", (40, 20), (200, 100, 50)).save(self.folder / "flat.png")
        run(self.tenon, "run", EXAMPLES / "plugin/vignette.onnx", library, f"--image=input:{self.folder / 'flat.png'}",
            f"--save=output:{self.folder / 'dark.png'}")
        dark = Image.open(self.folder / "dark.png")
        self.assertEqual(dark.getpixel((20, 10)), (200, 100, 50))  # the middle stays
        self.assertEqual(dark.getpixel((0, 0)), (50, 25, 13))  # a corner keeps a quarter

    def test_plugins_are_found_however_they_are_loaded(self):
        """By programs that open the engine and plugin libraries with RTLD_LOCAL, as bindings of other languages do."""
        self.build("plugin")
        program, lib = self.folder / "local_engine", self.prefix / "lib"
        run(COMPILER, "-std=c++20", *FLAGS.split(), SOURCE / "test/package/local_engine.cc", "-o", program,
            f"-I{self.prefix}/include", f"-I{self.prefix}/include/cudart")
        for way in ("opened", "loaded", "exported"):
            said = run(program, way, EXAMPLES / "plugin/vignette.onnx", lib / "libnvinfer.so.10",
                       lib / "libnvonnxparser.so.10", self.folder / "libvignette.so")
            corner = float(re.fullmatch(r"corner (\S+)\n", said).group(1))
            self.assertAlmostEqual(corner, 0.25, delta=0.01, msg=way)

    def test_example_new_plugin(self):
        """The example under another name, as the command writes it: from nothing to a plugin in a network."""
        source, build = self.folder / "half_of", self.folder / "build"
        run(self.tenon, "new-plugin", "HalfOf", f"--folder={source}")
        self.assertEqual(sorted(path.name.replace("half_of", "my_plugin") for path in source.iterdir()),
                         sorted(path.name for path in (EXAMPLES / "new_plugin").iterdir()))
        written = (source / "cases.json").read_text()
        self.write_cases(source)
        self.assertEqual((source / "cases.json").read_text(), written)
        self.build_in(build, source)
        self.ctest(build)
        library = f"--plugins={build / 'libhalf_of.so'}"
        rows = json.loads(run(self.tenon, "plugins", "--json", library, "--plugin=HalfOf"))
        self.assertEqual([row["name"] for row in rows], ["HalfOf"])
        subprocess.run([sys.executable, "-B", "make_model.py"], check=True, cwd=source)
        run(self.tenon, "run", source / "half_of.onnx", library, "--inputs", source / "x.npz", "--outputs", source / "y.npz")
        np.testing.assert_array_equal(np.load(source / "y.npz")["y"], -3 * np.load(source / "x.npz")["x"].clip(0))
        cases = json.loads(written)
        cases[0]["outputs"][0]["values"][0] += 1
        (source / "cases.json").write_text(json.dumps(cases))
        with self.assertRaisesRegex(AssertionError, "HalfOf"):
            self.ctest(build)

    def test_example_write_a_plugin(self):
        self.build("write_a_plugin")
        example = EXAMPLES / "write_a_plugin"
        self.assertNotIn("expected", run(self.folder / "test_plugins", example / "cases.json"))
        x = np.array([0, 0, 0, 0, 4, 8, 8, 8, 8], np.float32).reshape(1, 1, 3, 3)
        y = np.pad((x - x.mean()) / np.sqrt(x.var() + 1e-3), ((0, 0), (0, 0), (0, 0), (1, 1)), "reflect")
        library = self.folder / "libtutorial.so"
        said = run(self.folder / "network", library)
        np.testing.assert_allclose(np.array(said.split(), float), y.flatten(), atol=2e-3)
        np.savez(self.folder / "in.npz", x=x)
        run(self.tenon, "run", example / "tutorial.onnx", f"--plugins={library}", "--inputs", self.folder / "in.npz",
            "--outputs", self.folder / "out.npz")
        np.testing.assert_allclose(np.load(self.folder / "out.npz")["y"], y, rtol=1e-3, atol=1e-5)

    @unittest.skipIf(SANITIZE, "hostcuda/ has sanitizers of its own")
    def test_example_test_without_a_gpu(self):
        """The example's workflow runs: it finds nothing, but a fault that is put into the kernel."""
        project, installed = self.folder / "project", ["Install the compilers", "Build Tenon"]
        shutil.copytree(EXAMPLES / "test_without_a_gpu", project)
        written = (project / "cases.json").read_text()
        self.write_cases(project)
        self.assertEqual((project / "cases.json").read_text(), written)
        (project / "tenon").mkdir()
        (project / "tenon/out").symlink_to(self.prefix)
        text = (project / ".github/workflows/kernels.yml").read_text()
        names, checks = zip(*[step for step in workflow.commands(text) if step[0] not in installed])
        self.assertEqual(names, ("Check the plugins",))
        self.assertEqual([name for name, _ in workflow.commands(text) if name not in names], installed)

        def check(mode):
            """What the steps of one mode say, and whether they fail."""
            values = {"github.workspace": str(project), "matrix.mode": mode, "vars.TENON_REPOSITORY": ""}
            environment = {key: workflow.filled_in(value, values)
                           for key, value in workflow.environment(text).items()}
            result = subprocess.run(["sh", "-e", "-c", workflow.filled_in("\n".join(checks), values)], cwd=project,
                                    env={**os.environ, **environment}, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True, timeout=300)
            return result.returncode, result.stdout

        modes = workflow.matrix(text, "mode")
        self.assertEqual(modes, ["order", "address", "race"])
        for mode in modes:
            status, said = check(mode)
            self.assertEqual(status, 0, said)
            self.assertRegex(said, r"AddLayerNorm version 1 \(IPluginV3\): [1-9]\d+ checks passed, 0 failed, 0 not run")

        kernel = project / "add_layer_norm.cu"
        sound = kernel.read_text()
        barrier = "  __syncthreads();\n"
        before, between, after = sound.split(barrier)
        faults = {"race": before + barrier + between + "\n" + after, "order": before + "\n" + between + barrier + after,
                  "address": sound.replace("i < work.length", "i <= work.length", 1)}
        found = {"race": r"found data race, write of size 4 at \S+\.cu:12, previous read of size 4 at \S+\.cu:15",
                 "address": r"found .*outside of .* write of size 4 at \S+\.cu:27",
                 "order": r"FAILED result \(case"}
        for mode, faulty in faults.items():
            self.assertNotEqual(faulty, sound)
            kernel.write_text(faulty)
            status, said = check(mode)
            self.assertEqual(status, 1, said)
            self.assertRegex(said, found[mode])

    def test_layers_for_other_kits(self):
        """Plugins in the style of other projects build against the package alone."""
        plugins, lists = SOURCE / "test/authoring", ["cmake_minimum_required(VERSION 3.25)", "project(p LANGUAGES CXX)",
                                                     "set(CMAKE_CXX_STANDARD 20)", "find_package(Tenon REQUIRED)"]
        models = {"mmdeploy": "scaled_repeat", "tensorrt_pro": "biased_hswish"}
        for layer in models:
            lists += [f"add_library({layer} MODULE {plugins}/{layer}_plugins.cc)",
                      f"target_link_libraries({layer} PRIVATE tenon::{layer}_kit)"]
        (self.folder / "CMakeLists.txt").write_text("\n".join(lists))
        self.build_in(self.folder / "build", self.folder)
        for layer, model in models.items():
            golden = np.load(plugins / f"{model}.npz")
            np.savez(self.folder / "in.npz", x=golden["x"])
            run(self.tenon, "run", plugins / f"{model}.onnx", f"--plugins={self.folder / f'build/lib{layer}.so'}",
                "--inputs", self.folder / "in.npz", "--outputs", self.folder / "out.npz")
            np.testing.assert_allclose(np.load(self.folder / "out.npz")["y"], golden["y"], rtol=1e-3, atol=1e-5)

    def test_cases_are_written_by_what_is_installed(self):
        example = EXAMPLES / "write_a_plugin"
        shutil.copy(example / "make_cases.py", self.folder)
        self.write_cases(self.folder)
        self.assertEqual((self.folder / "cases.json").read_text(), (example / "cases.json").read_text())

    def test_plain_linker_flags(self):
        """As samples of TensorRT link: -lnvinfer and the others, from the library folder."""
        program = self.folder / "run_model"
        lib = self.prefix / "lib"
        run(COMPILER, "-std=c++20", *FLAGS.split(), EXAMPLES / "readme/run_model.cc", "-o", program,
            f"-I{self.prefix}/include", f"-I{self.prefix}/include/cudart", f"-L{lib}", f"-L{lib}/compatible",
            "-lnvinfer", "-lnvinfer_plugin", "-lnvonnxparser", "-lcudart", f"-Wl,-rpath,{lib}")
        needed = run("readelf", "-d", program)
        for library in ("libnvinfer.so.10", "libnvonnxparser.so.10"):
            self.assertIn(f"[{library}]", needed)
        run(program, EXAMPLES / "super_resolution/srcnn.onnx")

    def test_pkg_config(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig")}
        ask = lambda *options: subprocess.run(["pkg-config", *options, "tenon"], check=True, capture_output=True, text=True, env=environment).stdout.split()
        version = re.search(r"project\(Tenon VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual(ask("--modversion"), [version])
        program = self.folder / "run_model"
        run(COMPILER, "-std=c++20", *FLAGS.split(), EXAMPLES / "readme/run_model.cc", "-o", program, *ask("--cflags"), *ask("--libs"))
        run(program, EXAMPLES / "super_resolution/srcnn.onnx")

    def test_cmake_package_of_another_version(self):
        version = re.search(r"project\(Tenon VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        major, minor, _ = map(int, version.split("."))
        for wanted, is_there in ((version, True), (f"{major}.{minor}", True), (f"{major}.{minor + 1}", False), (f"{major + 1}.0", False)):
            folder = self.folder / wanted
            folder.mkdir()
            (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\nfind_package(Tenon {wanted} REQUIRED)\n")
            result = subprocess.run([CMAKE, "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"], capture_output=True, text=True)
            self.assertEqual(result.returncode == 0, is_there, f"{wanted}\n{result.stderr}")

    @unittest.skipIf(SANITIZE, "of a build that is installed")
    def test_bill_of_materials(self):
        """What readelf and the sources say is needed is on the list, with a version and a licence, and two lists are the same."""
        lists = []
        for name in "one", "two":
            run(sys.executable, "-B", SOURCE / "tools/sbom.py", "--build", BUILD, "--installed", self.prefix, "-o", self.folder / name,
                "--licences", self.folder / "licences.md")
            lists.append((self.folder / name).read_text())
        self.assertEqual(*lists)
        bill = json.loads(lists[0])
        names = {c["name"] for c in bill["components"]}
        for c in bill["components"]:
            self.assertTrue(c["version"] and c["licenses"][0]["license"]["name"], c)
            self.assertRegex(c["purl"], r"^pkg:(deb/debian|pypi)/")
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.5"))
        needed = set(re.findall(r"\(NEEDED\)\s+.*\[(.*)\]", run("readelf", "-d", self.prefix / "lib/libtenon.so", self.tenon)))
        for library, package in (("libtbb.so.12", "libtbb12"), ("libprotobuf", "libprotobuf32"), ("libfmt", "libfmt9"), ("libc.so.6", "libc6")):
            self.assertTrue(any(name.startswith(library) for name in needed), library)
            self.assertIn(package, names)
        for package in "nlohmann-json3-dev", "libcli11-dev", "libflatbuffers-dev", "onednn-cpu-tbb":  # headers, and a wheel
            self.assertIn(package, names)
        self.assertFalse(names & {"libgtest-dev", "libgmock-dev"})
        self.assertIn("nlohmann-json3-dev", (self.folder / "licences.md").read_text())

    def test_libraries_have_their_functions(self):
        plugins = ["initLibNvInferPlugins", "initLibMMCVInferPlugins"]
        runtime = ["createInferRuntime_INTERNAL", "getPluginRegistry", "getLogger", "getInferLibVersion"]
        functions = {"nvinfer": runtime + ["createInferBuilder_INTERNAL", "createInferRefitter_INTERNAL"],
                     "nvinfer_lean": runtime, "nvinfer_dispatch": runtime, "nvinfer_plugin": plugins,
                     "nvinfer_vc_plugin": plugins, "nvonnxparser": ["createNvOnnxParser_INTERNAL"]}
        for library, names in functions.items():
            majors = (8, 10, 11) if library in ("nvinfer", "nvinfer_plugin", "nvonnxparser") else (10,)
            for major in majors:
                symbols = run("readelf", "--dyn-syms", "--wide", self.prefix / f"lib/lib{library}.so.{major}")
                for name in names:
                    self.assertRegex(symbols, rf"FUNC +GLOBAL +DEFAULT +\d+ {name}\b", f"{library} {major}")

    def test_nothing_points_into_the_build(self):
        for path in (self.prefix / "lib").glob("*.so*"):
            self.assertTrue(path.resolve().is_relative_to(self.prefix), path)
            dynamic = run("readelf", "-d", path)
            for folders in re.findall(r"R(?:UN)?PATH\)\s+.*\[(.*)\]", dynamic):
                self.assertNotIn(str(SOURCE), folders, path)


if __name__ == "__main__":
    unittest.main()
