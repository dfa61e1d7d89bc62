"""The converted network of ncnn against ncnn itself, on the cases that prepare.py stored."""
import json
import pathlib
import tempfile
import unittest

import ncnn
import numpy as np

import ncnn_to_onnx
import prepare

FOLDER = prepare.HERE.parents[1] / ".cache/models"
MODEL, = [model for model in json.loads(prepare.MANIFEST.read_text()) if model.get("converter") == "ncnn_to_onnx"]


def load(data):
    """ncnn's network, in float32."""
    lines = data.split(b"\n", 2 + int(data.split()[1]))
    net = ncnn.Net()
    net.opt.num_threads = 1
    for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
        setattr(net.opt, option, False)
    with tempfile.TemporaryDirectory() as folder:
        text, weights = pathlib.Path(folder) / "net.param", pathlib.Path(folder) / "net.bin"
        text.write_bytes(b"\n".join(lines[:-1]) + b"\n")
        weights.write_bytes(lines[-1])
        assert net.load_param(str(text)) == 0 and net.load_model(str(weights)) == 0
    return net


class Ncnn(unittest.TestCase):
    def test_a_converted_network(self):
        net = load(prepare.fetched(MODEL, FOLDER).read_bytes())
        cases = sorted((FOLDER / MODEL["name"]).glob("*.npz"))
        self.assertGreater(len(cases), 1)
        for path in cases:
            case = np.load(path)
            for picture, found in zip(case["in:data"], case["out:output"], strict=True):
                extractor = net.create_extractor()
                extractor.input("data", ncnn.Mat(picture))
                expected = np.array(extractor.extract("output")[1])
                self.assertEqual(found.shape, expected.shape)
                self.assertLess(abs(found - expected).max(), 1e-4)  # of a range of 1

    def test_what_is_not_known_is_refused(self):
        data = prepare.fetched(MODEL, FOLDER).read_bytes()
        with self.assertRaisesRegex(ValueError, "Conv_0: layers of type Deconvolution .* are not supported"):
            ncnn_to_onnx.convert(data.replace(b"Convolution  ", b"Deconvolution", 1))
        with self.assertRaisesRegex(ValueError, "Conv_2: .* 3: '2'"):
            ncnn_to_onnx.convert(data.replace(b"0=64 1=3 4=1 5=1 6=36864", b"0=64 1=3 3=2 5=1 6=36864", 1))
        with self.assertRaisesRegex(ValueError, "Resize_37: expected resizing by one of .1, 3., found 2"):
            ncnn_to_onnx.convert(data.replace(b"111 0=1 1=4", b"111 0=2 1=4", 1))
        with self.assertRaisesRegex(ValueError, "expected 1247368 bytes of weights, found 1247370"):
            ncnn_to_onnx.convert(data + b"xx")
        with self.assertRaisesRegex(ValueError, "expected ncnn's text"):
            ncnn_to_onnx.convert(data[1:])


if __name__ == "__main__":
    unittest.main()
