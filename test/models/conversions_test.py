"""The converted models against what they were made for: LiteRT and dlib, on the cases that prepare.py stored."""
import json
import unittest

import dlib
import numpy as np
import onnxruntime
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import dlib_to_onnx
import prepare
import tflite_to_onnx

FOLDER = prepare.HERE.parents[1] / ".cache/models"
MODELS = {model["name"]: model for model in json.loads(prepare.MANIFEST.read_text())}
TFLITE = [name for name, model in MODELS.items() if model.get("converter") == "tflite_to_onnx"]
ERROR = 1e-4  # of the range of the right values: float32's rounding, as for all models


def litert(data, picture):
    """Outputs by name. Only the delegate has MediaPipe's operator; the kernels without it round less."""
    needs_delegate = b"Convolution2DTransposeBias" in data
    way = OpResolverType.AUTO if needs_delegate else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=way)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture)
    interpreter.invoke()
    return {output["name"]: interpreter.get_tensor(output["index"]) for output in interpreter.get_output_details()}


def cases(name):
    for path in sorted((FOLDER / name).glob("*.npz")):
        yield path.stem, dict(np.load(path))


class Conversions(unittest.TestCase):
    def test_tflite(self):
        for name in TFLITE:
            data = prepare.fetched(MODELS[name], FOLDER).read_bytes()
            for case, arrays in cases(name):
                rows = [litert(data, picture[None]) for picture in arrays.pop("in:input_1")]
                for output, found in arrays.items():
                    with self.subTest(model=name, case=case, output=output):
                        expected = np.concatenate([row[output.removeprefix("out:")] for row in rows])
                        self.assertEqual(found.shape, expected.shape)
                        self.assertLess(np.abs(found - expected).max(), ERROR * np.ptp(expected))

    def test_dlib(self):
        """Descriptors of faces of whole numbers, as dlib takes them."""
        path = prepare.fetched(MODELS["dlib_face"], FOLDER)
        network = dlib.face_recognition_model_v1(str(path))
        session = onnxruntime.InferenceSession(FOLDER / "dlib_face.onnx")
        for case, arrays in cases("dlib_face"):
            faces = np.rint(arrays["in:faces"])
            pixels = np.ascontiguousarray(faces.transpose(0, 2, 3, 1), np.uint8)
            expected = np.array([network.compute_face_descriptor(face) for face in pixels])
            (found,) = session.run(None, {"faces": faces})
            np.testing.assert_allclose(found, expected, atol=ERROR * np.ptp(expected), err_msg=case)

    def test_what_is_not_known_is_refused(self):
        data = prepare.fetched(MODELS["pose_detection"], FOLDER).read_bytes()
        with self.assertRaisesRegex(ValueError, "expected outputs of Identity, Identity_1, found boxes"):
            tflite_to_onnx.convert(data, ["boxes"])
        converter = tflite_to_onnx.Converter(data, None)
        code = converter.model.operatorCodes[converter.graph.operators[-1].opcodeIndex]
        code.builtinCode = schema.BuiltinOperator.FLOOR_MOD
        with self.assertRaisesRegex(ValueError, "operator FLOOR_MOD is not supported"):
            converter.convert()
        weights = prepare.fetched(MODELS["dlib_face"], FOLDER).read_bytes()
        with self.assertRaisesRegex(ValueError, "layer con_4 is missing"):
            dlib_to_onnx.convert(weights[:335])
        with self.assertRaisesRegex(ValueError, "expected 18944 bytes from byte 352 on, found the file's end"):
            dlib_to_onnx.convert(weights[:1000])
        with self.assertRaisesRegex(ValueError, "expected 4736 weights of version 2"):
            dlib_to_onnx.convert(weights.replace(b"\x01\x05con_4\x01\x02\x02", b"\x01\x05con_4\x01\x02\x01", 1))


if __name__ == "__main__":
    unittest.main()
