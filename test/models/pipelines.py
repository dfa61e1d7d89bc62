"""What the examples face, pose and segment find, in NumPy and Pillow with the networks' own programs: ONNX Runtime,
dlib and LiteRT. Prints JSON.

    pipelines.py face CENTERFACE.onnx DLIB.dat FIRST SECOND
    pipelines.py pose POSE_DETECTION.tflite POSE_LANDMARK.tflite PICTURE
    pipelines.py segment SELFIE_SEGMENTATION.tflite PICTURE RESULT.npy
"""
import json
import sys

import numpy as np
from PIL import Image

BLUR = 16


def sampled(picture, matrix, side):
    """(side, side, 3) in floats; `matrix` (2, 3) leads from their positions to the picture's. What is outside is black.
    Pillow truncates bytes, so it is given floats."""
    channels = [Image.fromarray(np.asarray(channel, np.float32)) for channel in picture.split()]
    warped = [channel.transform((side, side), Image.AFFINE, np.ravel(matrix), Image.BILINEAR) for channel in channels]
    return np.stack(warped, -1)


def extended(picture, matrix, side):
    """The same with edges that go on beyond the picture."""
    pixels = np.asarray(picture, np.float64)
    y, x = np.mgrid[:side, :side] + 0.5
    places = np.tensordot(np.asarray(matrix), np.stack([x, y, np.ones_like(x)]), 1) - 0.5
    x, y = (np.clip(place, 0, size - 1) for place, size in zip(places, picture.size))
    left, top = x.astype(int), y.astype(int)
    right, below = np.minimum(left + 1, picture.width - 1), np.minimum(top + 1, picture.height - 1)
    u, v = (x - left)[..., None], (y - top)[..., None]
    rows = ((1 - u) * pixels[row, left] + u * pixels[row, right] for row in (top, below))
    return ((1 - v) * next(rows) + v * next(rows)).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def ious(box, boxes):
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), 1)
    return shared / (np.prod(box[2:] - box[:2]) + np.prod(boxes[:, 2:] - boxes[:, :2], 1) - shared)


def groups(boxes, scores, threshold):
    """NMS: each box that stays, with those that it suppresses."""
    left = [i for i in np.argsort(-scores, kind="stable")]
    while left:
        overlaps = ious(boxes[left[0]], boxes[left]) > threshold
        yield [i for i, is_in in zip(left, overlaps) if is_in]
        left = [i for i, is_in in zip(left, overlaps) if not is_in]


def faces_of(session, picture):
    """Rows of score, box and five landmarks; a picture whose sides are multiples of 32."""
    tensor = np.asarray(picture, np.float32).transpose(2, 0, 1)[None]
    heat, size, offset, points = (output[0] for output in session.run(None, {"input.1": tensor}))
    y, x = np.nonzero(heat[0] > 0.5)
    extents = 4 * np.exp(size[::-1, y, x].T)
    corner = 4 * (np.stack([x, y], 1) + offset[::-1, y, x].T + 0.5) - extents / 2
    landmarks = corner[:, None] + points[:, y, x].T.reshape(-1, 5, 2)[..., ::-1] * extents[:, None]
    rows = np.concatenate([heat[0, y, x][:, None], corner, corner + extents, landmarks.reshape(-1, 10)], 1)
    return [rows[group[0]].tolist() for group in groups(rows[:, 1:5], rows[:, 0], 0.3)]


def aligned(picture, landmarks):
    """The face in 150 x 150 pixels, where dlib's chips have it: by least squares of turn, scale and shift."""
    chip = np.array([[47.5, 46.6], [100.5, 46.6], [74, 76.6], [50.4, 103], [97.6, 103]])
    rows = [[x, -y, 1, 0] for x, y in chip] + [[y, x, 0, 1] for x, y in chip]
    (a, b, c, d), *_ = np.linalg.lstsq(np.array(rows), np.reshape(landmarks, (5, 2)).T.ravel(), rcond=None)
    return np.rint(sampled(picture, [[a, -b, c], [b, a, d]], 150)).astype(np.uint8)


def face(detector, network, *paths):
    import dlib
    import onnxruntime

    session, describe = onnxruntime.InferenceSession(detector), dlib.face_recognition_model_v1(network)
    pictures = [Image.open(path).convert("RGB") for path in paths]
    found = [faces_of(session, picture) for picture in pictures]
    first, second = (
        [np.array(describe.compute_face_descriptor(aligned(picture, row[5:]))) for row in rows]
        for picture, rows in zip(pictures, found)
    )
    return {"faces": found, "distances": [[float(np.linalg.norm(a - b)) for b in second] for a in first]}


def litert(path, picture):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=path)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], picture[None])
    interpreter.invoke()
    return {output["name"]: interpreter.get_tensor(output["index"])[0] for output in interpreter.get_output_details()}


def refined(points, heat):
    """Landmarks as means of the 7 x 7 cells of heat around them, where that is sure: cells are four pixels."""
    result = points.copy()
    for i, (column, row) in enumerate(np.trunc(points / 4).astype(int)):
        if 0 <= column < 64 and 0 <= row < 64:
            y, x = np.mgrid[max(0, row - 3) : min(64, row + 4), max(0, column - 3) : min(64, column + 4)]
            weights = heat[y, x, i]
            if weights.max() >= 0.5:
                result[i] = 4 * np.array([(weights * x).sum(), (weights * y).sum()]) / weights.sum()
    return result


def pose(detector, network, path):
    """Landmarks (33, 3) of the surest person: x, y, and whether it is seen."""
    picture = Image.open(path).convert("RGB")
    side = max(picture.size)
    shift = (np.array(picture.size) - side) / 2
    small = sampled(picture, [[side / 224, 0, shift[0]], [0, side / 224, shift[1]]], 224)
    outputs = litert(detector, small / np.float32(127.5) - 1)
    cells = [(x, y, stride) for stride, each in ((8, 2), (16, 2), (32, 6)) for y in range(224 // stride)
             for x in range(224 // stride) for _ in range(each)]
    middles = np.array([((x + 0.5) * stride, (y + 0.5) * stride) for x, y, stride in cells])
    scores, numbers = sigmoid(outputs["Identity_1"][:, 0]), outputs["Identity"].reshape(-1, 6, 2)
    sure = scores > 0.5
    scores, numbers, middles = scores[sure], numbers[sure], middles[sure]
    centres, extents = middles + numbers[:, 0], numbers[:, 1]
    boxes = np.concatenate([centres - extents / 2, centres + extents / 2], 1)
    best = next(groups(boxes, scores, 0.3))
    points = np.average(middles[best, None] + numbers[best, 2:], 0, scores[best]) * side / 224 + shift
    hips, above = points[:2]
    down = (hips - above) * 2 * 1.25 / 256
    axes = np.array([[down[1], down[0]], [-down[0], down[1]]])
    matrix = np.column_stack([axes, hips - axes @ [128, 128]])
    outputs = litert(network, extended(picture, matrix, 256) / np.float32(255))
    landmarks = outputs["Identity"].reshape(-1, 5)[:33]
    places = refined(landmarks[:, :2], sigmoid(outputs["Identity_3"])) @ axes.T + matrix[:, 2]
    return {"landmarks": np.column_stack([places, sigmoid(landmarks[:, 3])]).tolist()}


def segment(network, path, result):
    picture = Image.open(path).convert("RGB")
    small = sampled(picture, [[picture.width / 256, 0, 0], [0, picture.height / 256, 0]], 256)
    mask = Image.fromarray(litert(network, small / np.float32(255))["activation_10"][..., 0])
    mask = np.asarray(mask.resize(picture.size, Image.BILINEAR))[..., None]
    background = picture
    for _ in range(2):
        background = background.resize((picture.width // BLUR, picture.height // BLUR), Image.BOX)
        background = background.resize(picture.size, Image.BILINEAR)
    np.save(result, mask * np.asarray(picture) + (1 - mask) * np.asarray(background))
    return {"share": float(mask.mean())}


if __name__ == "__main__":
    print(json.dumps({"face": face, "pose": pose, "segment": segment}[sys.argv[1]](*sys.argv[2:])))
