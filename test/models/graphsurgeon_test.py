"""Real models through tenon.graphsurgeon, folded and cleaned: ONNX Runtime computes what it did before."""
import pathlib
import unittest

import numpy as np
import onnx
import onnxruntime

import tenon.graphsurgeon as gs

MODELS = sorted((pathlib.Path(__file__).resolve().parents[2] / ".cache/models").glob("*.onnx"))
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
# Dynamic extents other than the first, where a model takes but some.
EXTENTS = {"magika_v3": 2048, "silero_vad_v5": 576}


def arrays(session, name):
    """Noise for the inputs, with a batch of 1; the sampling rate of a voice detector is one of two."""
    random = np.random.default_rng(0)
    made = {}
    for value in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 if i == 0 or value.name == "state" else EXTENTS.get(name, 64)
                 for i, extent in enumerate(value.shape)]
        array = np.full(shape, 16000) if value.name == "sr" else random.random(shape) * 2
        made[value.name] = np.asarray(array, TYPES[value.type])
    return made


class RealModels(unittest.TestCase):
    def test_results_stay(self):
        self.assertGreater(len(MODELS), 8, "./dev models fetches them")
        onnxruntime.set_default_logger_severity(4)
        for path in MODELS:
            with self.subTest(path.stem):
                model = onnx.load(path)
                graph = gs.import_onnx(model).toposort().fold_constants(partitioning="recursive").cleanup()
                edited = gs.export_onnx(graph)
                onnx.checker.check_model(edited)
                before, after = (onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
                                 for m in (model, edited))
                given = arrays(before, path.stem)
                for one, other in zip(before.run(None, given), after.run(None, given), strict=True):
                    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
                self.assertLessEqual(len(graph.nodes), len(model.graph.node))


if __name__ == "__main__":
    unittest.main()
