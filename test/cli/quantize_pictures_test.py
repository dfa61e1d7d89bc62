"""`tenon quantize --calibData=FOLDER` with pictures. Expected values by Pillow and NumPy."""
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from support import CliTest, run

RNG = np.random.default_rng(11)
PIXELS = RNG.integers(0, 256, (6, 16, 16, 3), dtype=np.uint8)


def network(inputs=("x",), shape=("n", 3, 16, 16)):
    nodes = [helper.make_node("Conv", [name, "w"], [f"c_{name}"], name=f"conv_{name}") for name in inputs]
    nodes.append(helper.make_node("Sum", [f"c_{name}" for name in inputs], ["y"], name="sum"))
    weights = RNG.standard_normal((4, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def ranges(cache):
    """The scales of a cache, by tensor."""
    lines = (line.rsplit(": ", 1) for line in cache.splitlines()[1:])
    return {name: np.frombuffer(bytes.fromhex(bits), ">f4")[0] for name, bits in lines}


class QuantizePictures(CliTest):
    def setUp(self):
        super().setUp()
        self.model, self.quantized, self.pictures = (self.folder / n for n in ("m.onnx", "q.onnx", "pictures"))
        onnx.save(network(), self.model)
        self.pictures.mkdir()
        for i, pixels in enumerate(PIXELS):
            Image.fromarray(pixels).save(self.pictures / f"{i}.png")

    def cache(self, data, *options):
        path = self.folder / "cache"
        path.unlink(missing_ok=True)
        self.succeed("quantize", self.model, "-o", self.quantized, f"--calibData={data}", f"--calib={path}", *options)
        return path.read_text()

    def test_they_are_what_their_pixels_are(self):
        mean, scale = np.array([120, 110, 100], np.float32), np.float32(1 / 60)
        samples = ((PIXELS[..., ::-1] - mean) * scale).transpose(0, 3, 1, 2)
        np.savez(self.folder / "samples.npz", x=np.ascontiguousarray(samples, dtype=np.float32))
        for batch in (1, 3):
            shapes = f"--optShapesCalib=x:{batch}x3x16x16"
            expected = self.cache(self.folder / "samples.npz", shapes)
            found = self.cache(self.pictures, shapes, "--calibMean=120,110,100", f"--calibScale={1 / 60}", "--calibColor=bgr")
            self.assertEqual(ranges(found).keys(), ranges(expected).keys())
            for name, scale in ranges(expected).items():
                self.assertAlmostEqual(ranges(found)[name] / scale, 1, places=6)

    def test_any_extents_fill_the_input(self):
        for path in self.pictures.iterdir():
            path.unlink()
        for i, size in enumerate(((40, 30), (17, 90), (16, 16))):
            Image.fromarray(np.full((size[1], size[0], 3), 51 * (i + 1), np.uint8)).save(self.pictures / f"{i}.jpg", quality=100)
        for fit in ("resize", "letterbox", "crop"):
            text = self.cache(self.pictures, "--calibAlgorithm=minmax", f"--calibFit={fit}")
            self.assertAlmostEqual(ranges(text)["x"] * 127, 153 / 255, delta=.01)

    def test_what_is_left_out_is_said(self):
        result = run("quantize", self.model, "-o", self.quantized, f"--calibData={self.pictures}", "--optShapesCalib=x:4x3x16x16")
        self.assertEqual(result.returncode, 0)
        self.assertIn("2 samples", result.stderr)

    def refuse_data(self, *options, names):
        self.refuse("quantize", self.model, "-o", self.quantized, f"--calibData={self.pictures}", *options, names=names)
        self.assertFalse(self.quantized.exists())

    def test_bad_folders(self):
        (self.pictures / "3.png").write_bytes((self.pictures / "3.png").read_bytes()[:90])
        self.refuse_data(names=["3.png"])
        np.savez(self.pictures / "more.npz", x=np.zeros((1, 3, 16, 16), np.float32))
        self.refuse_data(names=["pictures", ".npz"])
        for path in self.pictures.iterdir():
            path.unlink()
        self.refuse_data(names=[".png"])

    def test_bad_models_and_options(self):
        self.refuse_data("--calibMean=1,2", names=["--calibMean", "three"])
        self.refuse_data("--calibScale=0", names=["--calibScale"])
        self.refuse_data("--calibFit=stretch", names=["--calibFit", "letterbox"])
        self.refuse_data("--calibLayout=nhwc", names=["'x'", "3x16x16", "leave out --calibLayout=nhwc"])
        self.refuse_data("--optShapesCalib=x:7x3x16x16", names=["pictures: holds no whole batch of 7 samples, for 6 are there", "--optShapesCalib"])
        self.refuse_data("--optShapesCalib=x:0x3x16x16", names=["'x' is 0x3x16x16: .*1 sample or more"])
        arrays = self.folder / "samples.npz"
        np.savez(arrays, x=np.zeros((2, 3, 16, 16), np.float32))
        self.refuse("quantize", self.model, "-o", self.quantized, f"--calibData={arrays}", "--calibFit=crop", names=["--calibFit.*samples.npz holds none"])
        self.refuse("build", self.model, "-o", self.folder / "m.plan", "--int8", "--calibBorder=0", names=["--calibBorder requires --calibData"])
        onnx.save(network(("x", "z")), self.model)
        self.refuse_data(names=["only input"])
        onnx.save(network(shape=("n", 3, "h", "w")), self.model)
        self.refuse_data(names=["'x'", "--optShapesCalib"])


if __name__ == "__main__":
    unittest.main()
