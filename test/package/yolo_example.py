"""What examples/yolo finds, in all that it takes: a part of package_test.py."""
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
from PIL import Image

from programs import EXAMPLES, MODELS, run


class YoloExample:
    def test_example_yolo(self):
        self.build("yolo")
        photo, heads = EXAMPLES / "yolo/photos.jpg", self.folder / "heads.onnx"
        run(sys.executable, EXAMPLES / "yolo/cut_tiny_yolov3.py", MODELS / "tiny_yolov3.onnx", heads)
        said = run(self.folder / "yolo", heads, photo, self.folder / "boxes.png")
        self.expect_objects(said, photo)
        self.expect_drawn(photo, self.folder / "boxes.png")
        self.yolo_takes_folders(heads, photo)
        self.yolo_takes_frames(heads, photo)
        self.yolo_tells_heads_by_their_shape(photo)
        copy = self.folder / "copy.jpg"
        shutil.copy(photo, copy)
        with self.assertRaisesRegex(AssertionError, "(?m)^yolo: .*copy.jpg: is the picture that is read$"):
            run(self.folder / "yolo", heads, copy, copy)
        with self.assertRaisesRegex(AssertionError, "(?m)^yolo: .*/tiny_yolov3.onnx: expected one input.* found 2,.*$"):
            run(self.folder / "yolo", MODELS / "tiny_yolov3.onnx", photo, self.folder / "boxes.png")

    def expect_objects(self, said, name):
        """What ONNX Runtime finds with the whole model, its loops and NMS included, on the same pixels."""
        golden = np.load(MODELS / "tiny_yolov3/sampled.npz")
        boxes, scores, chosen = (golden[f"out:yolonms_layer_1{end}"][0] for end in ("", ":1", ":2"))
        expected = {"cat": 15, "cup": 41, "person": 0}  # the classes' numbers in COCO
        self.assertEqual(sorted(chosen[:, 1]), sorted(expected.values()))
        found = self.objects(said, name)
        self.assertEqual(sorted(found), sorted(expected), said)
        for _, label, i in chosen:
            (best, *edges), = (found[key] for key, value in expected.items() if value == label)
            top, left, bottom, right = np.clip(boxes[i], 0, [480, 640, 480, 640])
            np.testing.assert_allclose(edges, [left, top, right, bottom], atol=2)
            self.assertAlmostEqual(best, scores[label, i], delta=0.02)

    def objects(self, said, name):
        """What was printed for one frame: class -> score, left, top, right, bottom."""
        number = r"(-?[\d.]+)"
        rows = re.findall(rf"(?m)^{re.escape(str(name))}: (.+) {number} at \({number}, {number}\) to "
                          rf"\({number}, {number}\)$", said)
        self.assertEqual(len({row[0] for row in rows}), len(rows), said)
        return {row[0]: list(map(float, row[1:])) for row in rows}

    def yolo_takes_folders(self, heads, photo):
        pictures, results = self.folder / "pictures", self.folder / "results"
        results.mkdir()
        pictures.mkdir()
        for name in "abcdefgh":
            shutil.copy(photo, pictures / f"{name}.jpg")
        (pictures / "c.jpg").write_bytes(photo.read_bytes()[:20000])
        result = subprocess.run([self.folder / "yolo", heads, pictures, results], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"\Ayolo: .*c\.jpg: is not a readable JPEG: .*\n\Z")
        good = [pictures / f"{name}.jpg" for name in "abdefgh"]
        for path in good:
            self.expect_objects(result.stdout, path)
            self.expect_drawn(photo, results / path.name)
        order = re.findall(r"(?m)^(\S+): cat", result.stdout)
        self.assertEqual(order, list(map(str, good)))
        self.assertRegex(result.stdout, r"(?m)^8 frames, [\d.]+ frames/s$")
        self.assertEqual(len(list(results.iterdir())), len(good))
        for wrong, reason in ((pictures, "has the pictures that are read"), ("nowhere", "expected a folder")):
            with self.assertRaisesRegex(AssertionError, f"(?m)^yolo: {wrong}: {reason}"):
                run(self.folder / "yolo", heads, pictures, wrong)

    def yolo_takes_frames(self, heads, photo):
        """Raw frames in, raw frames out, in their order: every second one is grey, and has no objects."""
        picture = Image.open(photo).convert("RGB")
        rgb = np.asarray(picture)
        luma, blue, red = (np.asarray(plane) for plane in picture.convert("YCbCr").split())
        halves = [np.asarray(Image.fromarray(plane).resize((320, 240), Image.BOX)) for plane in (blue, red)]
        chroma = np.stack(halves, -1)
        # Pillow's YCbCr is of the full range, video's from 16 to 235 and 240.
        nv12 = np.concatenate([16 + luma.reshape(-1) * (219 / 255), 128 + (chroma.reshape(-1) - 128.0) * (224 / 255)])
        frames = {"rgb24": rgb.tobytes(), "nv12": nv12.round().astype(np.uint8).tobytes()}
        for kind, frame in frames.items():
            missing = 0 if kind == "nv12" else 1  # the input ends within the last frame
            data = (frame + b"\x80" * len(frame)) * 5
            result = subprocess.run([self.folder / "yolo", heads, "-", "-", f"640x480:{kind}"],
                                    input=data[: len(data) - missing], capture_output=True)
            said = result.stderr.decode()
            self.assertEqual(result.returncode, missing, said)
            self.assertRegex(said, rf"(?m)^{10 - missing} frames, [\d.]+ frames/s$")
            self.assertEqual("yolo: the input ends within frame 9: it has 921599 of 921600 bytes" in said, missing == 1)
            drawn = np.frombuffer(result.stdout, np.uint8).reshape(-1, 480, 640, 3).astype(int)
            self.assertEqual(len(drawn), 10 - missing)
            for number in range(0, 10, 2):
                self.expect_objects(said, f"frame_{number}")
                self.assertLess(abs(drawn[number] - rgb).mean(), 8)
            for number in range(1, len(drawn), 2):
                self.assertEqual(self.objects(said, f"frame_{number}"), {})
                self.assertLess(np.ptp(drawn[number]), 8)

    def yolo_tells_heads_by_their_shape(self, photo):
        """Models that always find the same two boxes, in each way to write them; names are their own."""
        boxes = np.array([[100, 180, 60, 40], [420, 300, 120, 200]], np.float32)  # centre, extents in the input
        scores, labels = np.array([0.9, 0.5], np.float32), np.array([1, 0])
        heads = {"v8": np.zeros((1, 6, 8400)), "v5": np.zeros((1, 25200, 7)), "v10": np.zeros((1, 300, 6))}
        heads["v8"][0, :4, 10:12], heads["v5"][0, 20:22, :4] = boxes.T, boxes
        heads["v8"][0, 4 + labels, [10, 11]] = scores
        heads["v5"][0, 20:22, 4] = 1
        heads["v5"][0, [20, 21], 5 + labels] = scores
        heads["v10"][0, :2] = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2,
                                              scores[:, None], labels[:, None]], 1)
        for name, head in heads.items():
            model = self.folder / f"{name}.onnx"
            self.write_model(model, head.astype(np.float32), {"names": "{0: 'big', 1: \"driver's\"}"})
            said = run(self.folder / "yolo", model, photo, self.folder / "boxes.png")
            # The picture of 640x480 lies 80 pixels below the top of the input.
            self.assertEqual(self.objects(said, photo), {"driver's": [0.9, 70, 80, 130, 120],
                                                         "big": [0.5, 360, 120, 480, 320]}, name)
        self.write_model(model, heads["v8"].astype(np.float32), {"task": "pose"})
        with self.assertRaisesRegex(AssertionError, "(?m)^yolo: .*v10.onnx: expected a detector, .*task is pose$"):
            run(self.folder / "yolo", model, photo, self.folder / "boxes.png")

    def write_model(self, path, output, metadata):
        """Pictures of any size, in batches of any size, give the same output each."""
        nodes = [onnx.helper.make_node("ReduceMean", ["images"], ["mean"], axes=[1, 2, 3], keepdims=0),
                 onnx.helper.make_node("Mul", ["mean", "zero"], ["zeros"]),
                 onnx.helper.make_node("Unsqueeze", ["zeros", "axes"], ["column"]),
                 onnx.helper.make_node("Add", ["column", "head"], ["output0"])]
        constants = {"zero": np.float32(0), "axes": np.array([1, 2]), "head": output}
        kind = onnx.TensorProto.FLOAT
        graph = onnx.helper.make_graph(
            nodes, "heads", [onnx.helper.make_tensor_value_info("images", kind, ["batch", 3, "height", "width"])],
            [onnx.helper.make_tensor_value_info("output0", kind, ["batch", *output.shape[1:]])],
            [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.helper.set_model_props(model, metadata)
        onnx.save(model, path)
