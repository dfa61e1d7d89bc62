"""Bad input: a message with the cause, exit code 1, nothing half-written; no crash, no hang."""
import fcntl
import os
import random
import shutil
import struct
import subprocess
import unittest
from unittest import mock

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image

from support import MLP, MLP_PROFILE, PHOTO, PLUGIN, RESNET, SRCNN, TENON, VIGNETTE, CliTest, run

MODEL = MLP / "model.onnx"


class Profiles(CliTest):
    """Ranges of shapes that cannot be."""

    def test_minimum_above_maximum(self):
        self.refuse("build", MODEL, "-o", self.folder / "x.plan", "--minShapes=input:5x1x12x12",
                    "--maxShapes=input:1x1x12x12", names=["minimum.*exceed"])

    def test_windows_beyond_data(self):
        """No row of data, of which a window wants three: a layer without results is no layer."""
        random = np.random.default_rng(0)
        weights = {"d": (32, 1, 3, 3), "p": (16, 32, 1, 1)}
        model = self.folder / "m.onnx"
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Conv", ["x", "d"], ["a"], group=32, pads=[1, 1, 1, 1]),
             helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Conv", ["b", "p"], ["y"])], "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 32, "h", 8])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(random.random(shape, np.float32), name) for name, shape in weights.items()]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        for images in (0, 1, 3):
            self.refuse("build", model, "-o", self.folder / "m.plan", f"--shapes=x:{images}x32x0x8",
                        names=["the window reaches over 3 elements, but the padded input has only 2"])

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


class StaticShapes(CliTest):
    """Options that an input of one shape, or a plan, cannot follow are not passed over."""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "fixed.onnx"
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3, 4, 5]) for name in "xy"]
        save(helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", tensors[:1], tensors[1:]),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.model)

    def test_another_shape(self):
        for option in ("shapes", "minShapes", "maxShapes"):
            self.refuse("build", self.model, "-o", self.folder / "x.plan", f"--{option}=x:2x3x4x5",
                        names=["input 'x' is static, of shape 1x3x4x5: it cannot be 2x3x4x5"])
        for command in ("run", "bench"):
            self.refuse(command, self.model, "--shapes=x:2x3x4x5", names=["x", "1x3x4x5|static", "2"])
        self.plan("x.plan", self.model, ["--shapes=x:1x3x4x5"])  # says what is so

    def test_profile_without_shapes(self):
        build = ["build", MODEL, "-o", self.folder / "x.plan"]
        self.refuse(*build, *MLP_PROFILE, "--profile=1", names=["--profile=1: no --minShapes.* is behind it"])
        self.refuse(*build, "--shapes=input:1x1x12x12", "--profile=0", names=["--profile=0: no --minShapes"])

    def test_sizes_of_memory_pools(self):
        for amount in ("inf", "nan", "-1M", "9e30", "1T", ""):
            self.refuse("build", MODEL, "-o", self.folder / "x.plan", f"--memPoolSize=weightGrowth:{amount}",
                        names=["--memPoolSize: .* is not an amount"])

    def test_building_options_for_a_plan(self):
        plan = self.plan()
        said = run("run", plan, "--shapes=input:1x1x12x12").stderr
        self.assertNotIn("[W]", said)
        for command in (["run"], ["bench", "--duration=0", "--warmUp=0"]):
            result = run(*command, plan, "--fp16", "--minShapes=input:1x1x12x12")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stderr, r"\[W\] .*mlp.plan: is built already: --minShapes, --fp16 change nothing")

    def test_data_of_another_shape_than_said(self):
        picture, arrays = self.folder / "p.png", self.folder / "in.npz"
        Image.open(PHOTO).resize((64, 48)).save(picture)
        np.savez(arrays, input=np.zeros((2, 1, 12, 12), np.float32))
        self.refuse("run", RESNET / "model.onnx", f"--image=input:{picture}", "--shapes=input:1x3x32x32",
                    names=["'input' gets data of shape 1x3x48x64, and --shapes says 1x3x32x32"])
        self.refuse("run", RESNET / "model.onnx", f"--image={picture}", "--shapes=input:1x3x32x32", names=["1x3x32x32"])
        self.succeed("run", RESNET / "model.onnx", f"--image=input:{picture}", "--shapes=input:1x3x48x64")
        for command in ("run", "bench"):
            self.refuse(command, self.plan(), "--inputs", arrays, "--shapes=input:3x1x12x12", names=["2x1x12x12", "3x1x12x12"])


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

    def test_device(self):
        self.refuse_model("/dev/zero", "not a regular file")

    def test_more_than_an_onnx_file_can_hold(self):
        """Without a word read: the file has holes, not bytes."""
        path = self.folder / "large.onnx"
        path.touch()
        os.truncate(path, 3 << 30)
        self.refuse_model(path, "at most 2 GiB")

    def test_too_many_nodes(self):
        with mock.patch.dict(os.environ, TENON_IMPORT_NODES="3"):
            self.refuse("build", RESNET / "model.onnx", names=["more nodes than are allowed .3"])

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
        # All inputs that lack one at once.
        self.refuse("build", SRCNN, "-o", self.folder / "m.plan",
                    names=["'input' has extents.*'factor' has extents.*--shapes=input:…,factor:…"])

    def test_unknown_input_in_a_profile(self):
        self.refuse("build", MODEL, "-o", self.folder / "m.plan", "--shapes=imput:1x1x12x12",
                    names=["imput", "input"])

    def test_plan_given_as_a_model(self):
        plan = self.plan()
        for command in ("build", "dump"):
            self.refuse(command, plan, names=["mlp.plan: is a plan already: `tenon run`, `bench` and `inspect` take"])

    def test_two_models(self):
        self.refuse("build", MODEL, f"--onnx={SRCNN}", names=["model .*model.onnx and --onnx .*srcnn.onnx: give one"])
        self.refuse("bench", f"--onnx={MODEL}", f"--loadEngine={self.plan()}", names=["--onnx .* and --loadEngine"])

    def test_functions_are_not_named(self):
        """The library's calls mean nothing to who calls the program."""
        plan = self.plan()
        plan.write_bytes(plan.read_bytes()[:2000])
        for command in ("inspect", "run", "bench"):
            self.assertRegex(self.refuse(command, plan), f"^tenon: {plan}: ")
        self.assertRegex(self.refuse("inspect", PHOTO), f"^tenon: {PHOTO}: ")

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

    def test_a_folder_that_is_locked_for_ever(self):
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self.assertRegex(self.build_with_cache(self.folder / "cache"), r"\[W\] .*cache: its folder is locked by another")
        finally:
            os.close(folder)
        self.assertGreater((self.folder / "cache").stat().st_size, 0)
        self.assertNotIn("[W]", self.build_with_cache(self.folder / "cache"))

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

    def test_plan_behind_the_header_of_another_tool(self):
        """Some exporters write the length of a JSON text, the text, and then the engine."""
        text = b'{"description": "Ultralytics YOLO11"}'
        path = self.folder / "prefixed.plan"
        path.write_bytes(struct.pack("<I", len(text)) + text + self.plan().read_bytes())
        self.refuse_plan(path, "starts with a description in JSON")
        self.refuse("run", path, names=[path])

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


class Outputs(CliTest):
    """Outputs that cannot be written: no half-written file, and a file that was there stays."""

    BUILD = ["build", MODEL, *MLP_PROFILE]
    RUN = ["run", MODEL, "--inputs", MLP / "case_5x1x12x12.npz"]

    def test_folder_that_is_absent(self):
        path = self.folder / "absent" / "out.plan"
        self.refuse(*self.BUILD, "-o", path, names=[path, "no such file"])
        self.refuse(*self.RUN, "--outputs", path, names=[path, "no such file"])

    def test_found_before_the_work(self):
        path = self.folder / "absent" / "out"
        plan = self.plan()
        for arguments in ([*self.BUILD, "-o", path], [*self.BUILD, f"--timingCacheFile={path}"],
                          [*self.RUN, "--outputs", path], [*self.RUN, f"--save={path}"],
                          *(["bench", plan, f"--{option}={path}"]
                            for option in ("exportJson", "exportProfile", "exportTimes", "exportTrace"))):
            message = self.refuse(*arguments, names=[path, "no such file"])
            self.assertEqual(len(message.splitlines()), 1, message)  # no line of progress
        self.refuse("build", self.folder / "absent.onnx", "-o", path, names=["folder .*absent: no such file"])

    def test_file_of_the_input(self):
        model, arrays = self.folder / "net.onnx", self.folder / "in.npz"
        shutil.copy(MODEL, model)
        shutil.copy(MLP / "case_5x1x12x12.npz", arrays)
        (self.folder / "soft").symlink_to(model)
        (self.folder / "hard").hardlink_to(model)
        (self.folder / "in").symlink_to(self.folder)
        for name in ("net.onnx", "soft", "hard", "in/net.onnx"):
            self.refuse("build", model, "-o", self.folder / name, *MLP_PROFILE, names=["would write over the file of model"])
        self.refuse("build", model, f"--timingCacheFile={model}", *MLP_PROFILE, names=["would write over"])
        run_it = ["run", model, "--inputs", arrays]
        self.refuse(*run_it, "--outputs", arrays, names=["--outputs: .*in.npz: would write over the file of --inputs"])
        self.refuse(*run_it, f"--save=output:{model}", names=["--save: .*over the file of model"])
        both = self.folder / "new"
        self.refuse("build", model, "-o", both, f"--timingCacheFile={both}", names=["over the file of -o"])
        self.refuse("bench", model, "--inputs", arrays, f"--exportJson={arrays}", names=["--exportJson: .*over the file"])
        self.assertEqual(model.read_bytes(), MODEL.read_bytes())
        self.assertEqual(arrays.read_bytes(), (MLP / "case_5x1x12x12.npz").read_bytes())

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

    def test_standard_output(self):
        """What is printed is part of what a command does."""
        plan = self.plan()
        cases = (["inspect", plan], ["dump", MODEL], ["doctor"], ["plugins"], ["operators", "--json"], ["--help"], ["--version"],
                 ["run", plan], ["bench", plan, "--iterations=1", "--duration=0", "--warmUp=0"],
                 ["new-plugin", "Some", f"--folder={self.folder / 'some'}"], [*self.BUILD, "-o", self.folder / "x.plan"])
        for command in cases:
            with open("/dev/full", "w") as full:
                done = subprocess.run([TENON, *map(str, command)], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1, command)
            self.assertRegex(done.stderr, "tenon: .*(No space left on device|standard output cannot be written)", command)

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
        for path, cause in ((self.folder / "absent.so", "no such file"), (MODEL, "is not a shared library")):
            self.refuse("plugins", f"--plugins={path}", names=[path, cause])
        self.refuse("plugins", "--plugins=libabsent.so", names=["libabsent.so"])

    def test_plugin_that_is_none(self):
        self.refuse("plugins", "--plugin=Absent", names=["no plugin is called 'Absent'", "TN6001"])

    def test_numbers_that_are_none(self):
        plan = self.plan()
        for option, found in (("--duration", "nan"), ("--duration", "inf"), ("--duration", "1s"), ("--percentile", "nan"),
                              ("--percentile", "90,-nan"), ("--percentile", "101"), ("--iterations", "nan"),
                              ("--iterations", "1e99"), ("--warmUp", "nan"), ("--cpuThreads", "nan"),
                              ("--useProfile", "inf")):
            self.refuse("bench", plan, f"{option}={found}", names=[option, found.split(",")[-1]])
        for option in "--scale", "--mean":
            for found in "nan", "inf", "1,2,-inf":
                self.refuse("run", plan, f"{option}={found}", names=[option, found.split(",")[-1], "expected"])
        for found in "workspace:nan", "workspace:inf", "workspace:-1", "workspace:1e30":
            self.refuse("build", MODEL, "-o", self.folder / "x", f"--memPoolSize={found}", names=["--memPoolSize", found, "expected"])

    def test_number_of_threads_that_is_none(self):
        plan = self.plan()
        for text in ("abc", "0", "-3", "4x", "", "nan", "1025"):
            for command in (("doctor",), ("run", plan), ("build", MLP / "model.onnx", "-o", self.folder / "x")):
                said = self.refuse(*command, environment={"TENON_THREADS": text})
                self.assertEqual(said.count(f"TENON_THREADS is '{text}'; expected a number from 1 to 1024"), 1, said)
        self.assertEqual(run("doctor", environment={"TENON_THREADS": "3"}).stderr, "")

    def test_instruction_set_that_is_none(self):
        for command in (("doctor",), ("build", MODEL, *MLP_PROFILE, "-o", self.folder / "x", "--target=cpu")):
            self.refuse(*command, environment={"TENON_ISA": "sse9"}, names=["TENON_ISA", "sse9", "baseline, avx2"])


if __name__ == "__main__":
    unittest.main()
