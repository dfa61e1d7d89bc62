"""Bad data for a good model: arrays and pictures that it cannot take; a message with the cause, exit code 1."""
import struct
import unittest
import zipfile
import zlib

import numpy as np
from onnx import TensorProto, helper, save
from PIL import Image

from support import MLP, PHOTO, RESNET, SOURCE, CliTest

MODEL = MLP / "model.onnx"
UNET = SOURCE / "test/golden/mini_unet/model.onnx"


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

    def test_arrays_in_other_orders(self):
        """NumPy's other byte order, and its other order of axes."""
        x = np.random.default_rng(0).random((5, 1, 12, 12), np.float32)
        x[4] = np.arange(144, dtype=np.float32).reshape(1, 12, 12) / 256  # exact in float16, too
        outputs = {}
        for kind in "<f4", ">f4", ">f8", ">f2", "<f2":
            for order in "C", "F":
                values = x.astype(np.float16).astype(np.float32) if kind.endswith("f2") else x
                out = self.folder / "out.npz"
                self.succeed("run", self.good, "--outputs", out, "--inputs",
                             self.npz(input=np.asarray(values, np.dtype(kind), order=order)))
                outputs.setdefault(kind[1:] == "f2", []).append(np.load(out)["output"])
        for same in outputs.values():
            for output in same[1:]:
                np.testing.assert_array_equal(output, same[0])
        self.assertFalse(np.array_equal(outputs[False][0], outputs[True][0]))

    def test_array_whose_shape_lies(self):
        """No memory is taken for what a file only says that it has."""
        good = np.lib.format.magic(1, 0)
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }"
        for shape in "1099511627776,", "4611686018427387904, 4", "0, 4611686018427387904, 4", "1, 1, 12, 13":
            text = (header % shape).ljust(117) + "\n"
            with zipfile.ZipFile(self.folder / "lying.npz", "w") as file:
                file.writestr("input.npy", good + struct.pack("<H", len(text)) + text.encode() + bytes(1 * 12 * 12 * 4))
            self.refuse("run", self.good, "--inputs", self.folder / "lying.npz",
                        names=["lying.npz: array 'input': its shape .* needs .* bytes; it has 576"])

    def test_arrays_that_unpack_to_much_more(self):
        np.savez_compressed(self.folder / "bomb.npz", input=np.zeros(80 << 20, np.uint8))
        self.refuse("run", self.good, "--inputs", self.folder / "bomb.npz",
                    names=["bomb.npz: array 'input': .*more than 64 MiB and 100 times the file's"])

    def test_truncated_array_file(self):
        path = self.npz(input=np.zeros((1, 1, 12, 12), np.float32))
        whole = path.read_bytes()
        for length in (10, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            self.refuse("run", self.good, "--inputs", path, names=[path])

    def test_unknown_name_of_a_file(self):
        picture = self.folder / "p.png"
        Image.open(PHOTO).resize((12, 12)).save(picture)
        for option in (f"--image=foo:{picture}", f"--loadInputs=foo:{picture}"):
            self.refuse("run", self.good, option, names=["the model has no input 'foo'; its inputs are: input"])
        self.refuse("run", self.good, f"--save=foo:{self.folder / 'o.png'}",
                    names=["the model has no output 'foo'; its outputs are: output"])

    def test_values_that_the_type_cannot_hold(self):
        """Each input goes through a Cast, so that the model takes every value of its type."""
        types = {"i": TensorProto.INT32, "b": TensorProto.BOOL, "u": TensorProto.UINT8, "h": TensorProto.FLOAT16}
        model, out = self.folder / "m.onnx", self.folder / "out.npz"
        save(helper.make_model(helper.make_graph(
            [helper.make_node("Cast", [name], [name + "_out"], to=TensorProto.FLOAT) for name in types], "g",
            [helper.make_tensor_value_info(name, kind, [2, 3]) for name, kind in types.items()],
            [helper.make_tensor_value_info(name + "_out", TensorProto.FLOAT, [2, 3]) for name in types]),
            opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        good = np.array([[0, 1, 0], [1, 1, 0]])

        def values(value, kind):
            array = good.astype(kind)
            array[1, 1] = value
            return array

        for name, value, kind, text in (
                ("i", 1.5, np.float32, "1.5"), ("i", np.nan, np.float32, "nan"), ("i", 2**40, np.float64, "1099511627776"),
                ("i", 2**31, np.int64, "2147483648"), ("u", -1, np.int32, "-1"), ("u", 256, np.int64, "256"),
                ("b", 2, np.int32, "2"), ("h", 1e5, np.float32, "100000"), ("h", 2**20, np.int64, "1048576")):
            self.refuse("run", model, "--inputs", self.npz(**{name: values(value, kind)}),
                        names=[rf"input '{name}': element \[1, 1\] is {text}, which \w+ cannot hold"])
        self.refuse("run", model, "--inputs", self.npz(i=values(2**24 + 1, np.float64)),
                    names=["input 'i'.*float64.*save them as int32"])
        self.refuse("run", model, "--inputs", self.npz(i=values(1e300, np.float64)),
                    names=[r"in.npz: array 'i': element \[1, 1\] is 1e\+300, which float32 cannot hold"])
        self.succeed("run", model, "--outputs", out, "--inputs", self.npz(
            i=values(-2**31, np.int64), u=values(255, np.float64), b=values(1, np.float32), h=values(0.1, np.float64)))
        self.assertEqual(np.load(out)["i_out"][1, 1], -2**31)
        self.assertEqual(np.load(out)["u_out"][1, 1], 255)
        self.assertEqual(np.load(out)["h_out"][1, 1], np.float16(0.1))

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
        photo = PHOTO.read_bytes()
        for length in (100, len(photo) // 2, len(photo) - 10):
            path.write_bytes(photo[:length])
            self.refuse_picture(path, "JPEG")

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


if __name__ == "__main__":
    unittest.main()
