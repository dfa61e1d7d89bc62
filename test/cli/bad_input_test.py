"""Bad input: a message with the cause, exit code 1, nothing half-written; no crash, no hang."""
import os
import random
import shutil
import struct
import subprocess
import unittest
import zlib

import numpy as np
from onnx import TensorProto, helper, save
from PIL import Image

from support import MLP, MLP_PROFILE, PHOTO, PLUGIN, RESNET, SOURCE, SRCNN, VIGNETTE, CliTest, run

MODEL = MLP / "model.onnx"
UNET = SOURCE / "test/golden/mini_unet/model.onnx"


class Profiles(CliTest):
    """Ranges of shapes that cannot be."""

    def test_minimum_above_maximum(self):
        self.refuse("build", MODEL, "-o", self.folder / "x.plan", "--minShapes=input:5x1x12x12",
                    "--maxShapes=input:1x1x12x12", names=["minimum.*exceed"])

    def test_shape_given_twice(self):
        self.refuse("build", MODEL, "-o", self.folder / "x.plan", "--shapes=input:5x1x12x12,input:1x1x12x12",
                    names=["'input' is given twice"])

    def test_extents_that_a_layer_cannot_take(self):
        """Each input is inside its range, but they do not fit together: no layer may run on that."""
        model, arrays = self.folder / "m.onnx", self.folder / "in.npz"
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Concat", ["a", "b"], ["y"], axis=0)], "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}0", f"{name}1"]) for name in "ab"],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        np.savez(arrays, a=np.zeros((3, 4), np.float32), b=np.zeros((5, 600), np.float32))
        self.refuse("run", model, "--inputs", arrays, names=["Concat_0", "agree except along axis 0"])

    def test_output_with_the_name_of_an_input(self):
        model = self.folder / "m.onnx"
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        save(helper.make_model(helper.make_graph([], "g", [x], [x]),
             opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        self.refuse("build", model, "-o", self.folder / "x.plan", names=["output 'x' has the name of an input"])


class Models(CliTest):
    """A file that is no ONNX model, by each command that takes one."""

    def refuse_model(self, path, *causes):
        for command in ("build", "run", "bench", "dump"):
            self.refuse(command, path, names=[path, *causes])

    def test_missing(self):
        self.refuse_model(self.folder / "absent.onnx", "no such file")

    def test_empty(self):
        path = self.folder / "empty.onnx"
        path.touch()
        self.refuse_model(path, "empty")

    def test_truncated(self):
        path = self.folder / "short.onnx"
        whole = MODEL.read_bytes()
        for length in (1, 10, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            self.refuse("build", path, *MLP_PROFILE, names=[path])

    def test_text(self):
        path = self.folder / "text.onnx"
        path.write_text("This is no model, whatever its name says.\n" * 20)
        self.refuse_model(path, "onnx")

    def test_picture(self):
        self.refuse_model(PHOTO, "onnx")

    def test_directory(self):
        self.refuse_model(self.folder, "directory")

    def test_pipe(self):
        path = self.folder / "pipe.onnx"
        os.mkfifo(path)
        self.refuse_model(path, "not a regular file")

    def test_damaged_bytes(self):
        """Whatever a damaged model does, it is not a crash."""
        whole = MODEL.read_bytes()
        path = self.folder / "damaged.onnx"
        chance = random.Random(1)
        for _ in range(40):
            damaged = bytearray(whole)
            for _ in range(chance.randrange(1, 4)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            path.write_bytes(damaged)
            result = run("dump", path)
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.returncode == 1:
                self.assertIn(str(path), result.stderr)

    def test_unknown_operator(self):
        path = self.operator("Frobnicate", "")
        self.refuse("build", path, names=["Frobnicate", "the_node", path])

    def test_unknown_plugin(self):
        path = self.operator("DynamicTRTResiz", "Test")
        message = self.refuse("build", path, names=["DynamicTRTResiz", "the_node", path, "plugin"])
        self.assertIn("DynamicTRTResize", message)  # the closest name there is
        self.assertIn("--plugins", message)

    def operator(self, name, domain):
        graph = helper.make_graph(
            [helper.make_node(name, ["x"], ["y"], "the_node", domain=domain)], "graph",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
        opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        path = self.folder / f"{name}.onnx"
        save(helper.make_model(graph, ir_version=8, opset_imports=opsets), path)
        return path

    def test_missing_profile(self):
        self.refuse("build", MODEL, "-o", self.folder / "m.plan", names=["input", "--minShapes"])

    def test_unknown_input_in_a_profile(self):
        self.refuse("build", MODEL, "-o", self.folder / "m.plan", "--shapes=imput:1x1x12x12",
                    names=["imput", "input"])

    def test_plan_given_as_a_model(self):
        self.refuse("build", self.plan(), names=["mlp.plan", "is a plan already"])

    def build_with_cache(self, cache):
        result = run("build", MODEL, "-o", self.folder / "m.plan", f"--timingCacheFile={cache}", *MLP_PROFILE)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def test_file_that_is_no_timing_cache(self):
        """Such as a model that was named by mistake: it is not written over."""
        cache = self.folder / "cache"
        cache.write_text("not a cache")
        self.assertRegex(self.build_with_cache(cache), r"\[W\] .*cache: it is not a timing cache of Tenon; it is ignored")
        self.assertEqual(cache.read_text(), "not a cache")

    def test_damaged_timing_cache(self):
        cache = self.folder / "cache"
        self.assertNotIn("[W]", self.build_with_cache(cache))
        good = cache.read_bytes()
        for bad in (good[:-1], good[:9], good[:8] + bytes([good[8] ^ 1]) + good[9:], good + b"more", good[:7] + b"9"):
            cache.write_bytes(bad)
            self.assertRegex(self.build_with_cache(cache), r"\[W\] .*cache: .*timing cache.*; it is made anew")
            self.assertEqual(len(cache.read_bytes()), len(good))
        cache.write_bytes(b"")
        self.assertNotIn("[W]", self.build_with_cache(cache))


class Plans(CliTest):
    """A file that is no intact plan."""

    def refuse_plan(self, path, *causes):
        self.refuse("inspect", path, names=[path, *causes])

    def refuse_to_run(self, path, *causes):
        for command in ("inspect", "run", "bench"):
            self.refuse(command, path, names=[path, *causes])

    def test_missing(self):
        self.refuse_to_run(self.folder / "absent.plan", "no such file")

    def test_empty(self):
        path = self.folder / "empty.plan"
        path.touch()
        self.refuse_to_run(path, "empty|0 bytes|too short")

    def test_text(self):
        path = self.folder / "text.plan"
        path.write_text("A plan, they said.\n" * 20)
        self.refuse_plan(path, "plan")
        self.refuse("run", path, names=[path])

    def test_model_given_as_a_plan(self):
        self.refuse_plan(MODEL, "not a .*plan|no .*plan")

    def test_picture(self):
        self.refuse_plan(PHOTO, "not a .*plan|no .*plan")

    def test_directory(self):
        self.refuse_to_run(self.folder, "directory")

    def test_truncated(self):
        plan = self.plan()
        whole, path = plan.read_bytes(), self.folder / "short.plan"
        for length in (8, 31, 32, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            self.refuse_to_run(path)

    def test_longer_than_it_says(self):
        plan = self.plan()
        path = self.folder / "long.plan"
        path.write_bytes(plan.read_bytes() + b"\0")
        self.refuse_to_run(path)

    def test_changed_bytes(self):
        whole = self.plan().read_bytes()
        path = self.folder / "damaged.plan"
        chance = random.Random(2)
        for at in [*range(0, 96, 5), *(chance.randrange(len(whole)) for _ in range(40))]:
            damaged = bytearray(whole)
            damaged[at] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            self.refuse_plan(path)
            if at % 4 == 0:
                self.refuse("run", path, names=[path])

    def test_missing_plugin(self):
        plan = self.plan("v.plan", VIGNETTE, ["--shapes=input:1x3x8x8", f"--plugins={PLUGIN}"])
        for command in ("run", "bench"):
            self.refuse(command, plan, names=["Vignette", "--plugins"])


class Inputs(CliTest):
    """A good plan, and inputs that do not fit it."""

    def setUp(self):
        super().setUp()
        self.good = self.plan()

    def npz(self, **arrays):
        path = self.folder / "in.npz"
        np.savez(path, **arrays)
        return path

    def test_shape_outside_the_profile(self):
        message = self.refuse("run", self.good, "--inputs", self.npz(input=np.zeros((6, 1, 12, 12), np.float32)),
                              names=["input", "profile"])
        self.assertRegex(message, "6")
        self.assertRegex(message, "5")
        self.refuse("bench", self.good, "--shapes=input:9x1x12x12", names=["input", "profile", "9"])

    def test_shape_of_another_rank(self):
        self.refuse("run", self.good, "--inputs", self.npz(input=np.zeros((1, 12), np.float32)),
                    names=["input", "dimensions"])

    def test_shape_that_is_none(self):
        for text in ("input:1xax12", "input:", "1x1x12x12", "input:-1x1x12x12", "input:99999999999999999999"):
            self.refuse("run", self.good, f"--shapes={text}", names=["--shapes"])

    def test_unknown_name(self):
        self.refuse("run", self.good, "--inputs", self.npz(other=np.zeros((1, 1, 12, 12), np.float32)),
                    names=["other", "input"])

    def test_array_files_that_are_none(self):
        for text in (b"", b"text", PHOTO.read_bytes()):
            path = self.folder / "bad.npz"
            path.write_bytes(text)
            self.refuse("run", self.good, "--inputs", path, names=[path])
        self.refuse("run", self.good, "--inputs", self.folder / "absent.npz", names=["absent.npz", "no such file"])
        self.refuse("run", self.good, "--inputs", self.folder, names=["directory"])
        self.refuse("run", self.good, "--inputs", self.npz(input=np.array(["text"])), names=["in.npz", "input"])

    def test_truncated_array_file(self):
        path = self.npz(input=np.zeros((1, 1, 12, 12), np.float32))
        whole = path.read_bytes()
        for length in (10, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            self.refuse("run", self.good, "--inputs", path, names=[path])

    def test_raw_bytes_of_another_size(self):
        path = self.folder / "in.bin"
        path.write_bytes(b"\0" * 7)
        self.refuse("run", self.good, "--shapes=input:1x1x12x12", f"--loadInputs=input:{path}",
                    names=[path, "7 bytes"])


class Pictures(CliTest):
    """Files that are no pictures, for a model that takes any size."""

    def refuse_picture(self, path, *causes):
        self.refuse("run", RESNET / "model.onnx", f"--image=input:{path}", names=[path, *causes])

    def test_not_a_picture(self):
        for name, data in (("text.jpg", b"not a picture"), ("empty.png", b""), ("model.jpg", MODEL.read_bytes())):
            path = self.folder / name
            path.write_bytes(data)
            self.refuse_picture(path, "picture")

    def test_missing(self):
        self.refuse_picture(self.folder / "absent.jpg", "no such file")

    def test_directory(self):
        self.refuse_picture(self.folder, "directory")

    def test_damaged(self):
        path = self.folder / "damaged.png"
        Image.open(PHOTO).resize((64, 64)).save(path)
        whole = path.read_bytes()
        path.write_bytes(whole[:len(whole) // 2])
        self.refuse_picture(path)
        path.write_bytes(PHOTO.read_bytes()[:100])
        self.refuse_picture(path)

    def test_larger_than_it_can_be(self):
        """A PNG of a few bytes that claims 60000 x 60000 pixels takes no memory for them."""
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        path = self.folder / "huge.png"
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0))
                         + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b""))
        self.refuse_picture(path, "60000")

    def test_name_of_no_picture(self):
        self.refuse("run", RESNET / "model.onnx", f"--image=input:{self.photo()}",
                    f"--save=output:{self.folder / 'out.txt'}", names=["out.txt|not a picture"])

    def test_output_that_is_no_picture(self):
        self.refuse("run", UNET, f"--image=input:{self.photo()}", f"--save=output:{self.folder / 'out.png'}",
                    names=["1x2x64x64", "picture"])

    def photo(self):
        path = self.folder / "small.png"
        Image.open(PHOTO).resize((64, 64)).save(path)
        return path


class Outputs(CliTest):
    """Outputs that cannot be written: no half-written file, and a file that was there stays."""

    BUILD = ["build", MODEL, *MLP_PROFILE]
    RUN = ["run", MODEL, "--inputs", MLP / "case_5x1x12x12.npz"]

    def test_folder_that_is_absent(self):
        path = self.folder / "absent" / "out.plan"
        self.refuse(*self.BUILD, "-o", path, names=[path, "no such file"])
        self.refuse(*self.RUN, "--outputs", path, names=[path, "no such file"])

    def test_directory(self):
        self.refuse(*self.BUILD, "-o", self.folder, names=[self.folder, "directory"])
        self.refuse(*self.RUN, "--outputs", self.folder, names=[self.folder, "directory"])

    def test_device(self):
        self.refuse(*self.BUILD, "-o", "/dev/full", names=["/dev/full", "not a regular file"])

    def test_folder_without_files_of_users(self):
        self.refuse(*self.BUILD, "-o", "/proc/out.plan", names=["/proc/out.plan", "cannot write"])

    def test_read_only_folder(self):
        closed = self.folder / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        if os.access(closed, os.W_OK):
            self.skipTest("this user may write everywhere")
        self.refuse(*self.BUILD, "-o", closed / "m.plan", names=[closed, "permission denied"])

    def test_file_limit(self):
        """As a full disk: writing stops in the middle of the file."""
        old = self.folder / "old.plan"
        old.write_text("what was there before")
        for path in (old, self.folder / "new.plan"):
            self.refuse(*self.BUILD, "-o", path, names=[path, "cannot write"], file_limit=4096)
        self.assertEqual(old.read_text(), "what was there before")
        npz = self.folder / "out.npz"
        self.refuse(*self.RUN, "--outputs", npz, names=[npz, "cannot write"], file_limit=64)

    def test_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = shutil.which("mount")
        if mount is None or subprocess.run([mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk],
                                           capture_output=True).returncode != 0:
            self.skipTest("file systems cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        self.refuse("build", SRCNN, "-o", disk / "out.plan", "--shapes=input:1x3x16x16,factor:1x1x32x32",
                    names=[disk / "out.plan", "no space left"])


class Options(CliTest):
    def test_unknown_command_and_option(self):
        self.refuse("bild", names=["bild"])
        self.refuse(names=["subcommand|command"])
        self.refuse("run", MODEL, "--nonsense", names=["--nonsense"])
        self.refuse("dump", MODEL, "--stage=middle", names=["--stage", "middle"])

    def test_plugin_library_that_is_none(self):
        for path, cause in ((self.folder / "absent.so", "no such file|not found|cannot open"), (MODEL, "")):
            self.refuse("plugins", f"--plugins={path}", names=[path, cause])


if __name__ == "__main__":
    unittest.main()
