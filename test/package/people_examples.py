"""What examples/face, pose and segment find, beside what other engines find: a part of package_test.py."""
import json
import re
import subprocess

import numpy as np
from PIL import Image

from programs import EXAMPLES, MODELS, SOURCE, run

ASTRONAUT = EXAMPLES / "super_resolution/photos/astronaut.jpg"


def pipeline(name, *arguments):
    """What an example should find, by other engines: see test/models/pipelines.py."""
    peers = SOURCE / ".cache/bench/venv/bin/python"  # of ./dev models
    return json.loads(run(peers, "-B", SOURCE / "test/models/pipelines.py", name, *arguments))


def fetched(name):
    """A model as it came."""
    (path,) = [path for path in (MODELS / name).iterdir() if path.suffix in (".dat", ".tflite")]
    return path


class PeopleExamples:
    def test_example_face(self):
        self.build("face")
        people, result = EXAMPLES / "face/people.jpg", self.folder / "faces.png"
        models = [MODELS / "centerface.onnx", MODELS / "dlib_face.onnx"]
        said = run(self.folder / "face", *models, ASTRONAUT, people, result)
        right = pipeline("face", models[0], fetched("dlib_face"), ASTRONAUT, people)
        number = r"\(?(-?\d+(?:\.\d+)?)"
        for path, faces in zip((ASTRONAUT, people), right["faces"]):
            lines = [line for line in said.splitlines() if line.startswith(f"{path}, face ")]
            found = [re.findall(number, line.split(": ", 1)[1]) for line in lines]
            np.testing.assert_allclose(np.array(found, float), faces, atol=0.6)  # printed without a fraction
            np.testing.assert_allclose(np.array(found, float)[:, 5:], np.array(faces)[:, 5:], atol=0.1)
        self.assertEqual([len(faces) for faces in right["faces"]], [1, 2])
        found = re.findall(r"(?m)^face 1 and face (\d) are ([\d.]+) apart: (.*)$", said)
        self.assertEqual([row[::2] for row in found], [("1", "the same person"), ("2", "two persons")])
        np.testing.assert_allclose([float(row[1]) for row in found], right["distances"][0], atol=0.01)
        self.expect_refusals("face", [*models, ASTRONAUT, people, result], 2, "input 'faces'")

    def test_example_pose(self):
        self.build("pose")
        result, models = self.folder / "pose.png", ("pose_detection", "pose_landmark")
        command = [*(MODELS / f"{name}.onnx" for name in models), ASTRONAUT, result]
        said = run(self.folder / "pose", *command)
        self.assertEqual(said.count("person "), 1)
        rows = re.findall(r"(?m)^  ([\d.]+) [a-z() ]+ at \((-?[\d.]+), (-?[\d.]+)\)$", said)
        found = np.array(rows, float)[:, [1, 2, 0]]
        right = np.array(pipeline("pose", *map(fetched, models), ASTRONAUT)["landmarks"])
        np.testing.assert_allclose(found[:, :2], right[:, :2], atol=0.5)  # pixels
        np.testing.assert_allclose(found[:, 2], right[:, 2], atol=0.02)
        self.assertGreater((right[:, 2] > 0.5).sum(), 12)
        self.expect_drawn(ASTRONAUT, result)
        self.expect_refusals("pose", command, 2, "extent 256 on axis 1; the network fixes 224")

    def test_example_segment(self):
        self.build("segment")
        result, right = self.folder / "blurred.png", self.folder / "right.npy"
        command = [MODELS / "selfie_segmentation.onnx", ASTRONAUT, result]
        said = run(self.folder / "segment", *command)
        share = float(re.fullmatch(r"the person covers ([\d.]+)% of the picture\n", said)[1])
        expected = pipeline("segment", fetched("selfie_segmentation"), ASTRONAUT, right)
        self.assertAlmostEqual(share, 100 * expected["share"], delta=0.1)
        wrong = np.abs(np.asarray(Image.open(result), float) - np.load(right))
        self.assertLess(wrong.mean(), 0.5)
        self.assertLess(wrong.max(), 8)
        self.expect_refusals("segment", command, 1, "expected a map of float32 256x256x1")

    def expect_refusals(self, example, command, first_picture, wrong_model):
        """One line that says what, for pictures that cannot be read and for a model of something else."""
        others = {"face": "centerface", "pose": "pose_detection", "segment": "pose_landmark"}
        cut = self.folder / "cut.jpg"
        cut.write_bytes(ASTRONAUT.read_bytes()[:3000])
        cases = [(first_picture, self.folder / "missing.jpg", "missing.jpg: cannot be read"),
                 (first_picture, cut, "cut.jpg: is not a readable JPEG"),
                 (first_picture - 1, MODELS / f"{others[example]}.onnx", wrong_model),
                 (first_picture - 1, cut, "is not an ONNX model")]
        for place, value, reason in cases:
            changed = [value if i == place else argument for i, argument in enumerate(command)]
            result = subprocess.run([self.folder / example, *changed], capture_output=True, text=True, timeout=300)
            self.assertEqual(result.returncode, 1, changed)
            self.assertIn(reason, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertTrue(result.stderr.startswith(f"{example}: "), result.stderr)
