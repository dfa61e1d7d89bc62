"""Writes cases.json: boxes of YOLO heads, as NumPy decodes them and torchvision's NMS keeps them.

Needs NumPy, PyTorch and torchvision.
"""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from detections import nms  # noqa: E402

LETTERBOX = numpy.float32([2.5, 0, -10, 0, 2.5, -40, 150, 120])


def head(images, boxes, classes, seed, objectness=False):
    """Channels last: boxes that overlap in groups, in numbers that fp16 holds exactly."""
    random = numpy.random.default_rng(seed)
    centres = random.integers(8, 56, (images, boxes // 6 + 1, 2)).repeat(6, 1)[:, :boxes]
    centres = centres + random.integers(-4, 5, centres.shape) / 2
    extents = random.integers(20, 40, centres.shape) / 2
    scores = numpy.arange(boxes * classes) * (1020 // (boxes * classes)) / 1024
    scores = numpy.stack([random.permutation(scores).reshape(boxes, classes) for _ in range(images)])
    scores[:, ::2] /= 4  # exact, too: boxes with no class above the threshold
    parts = [centres, extents, *([random.integers(2, 9, (images, boxes, 1)) / 8] if objectness else []), scores]
    return numpy.concatenate(parts, -1).astype("float32")


def corners_first(rows, seed):
    """The same boxes as v10 gives them: corners, the score of a class and its number."""
    random = numpy.random.default_rng(seed)
    centre, half, kinds = rows[..., :2], rows[..., 2:4] / 2, random.integers(0, 3, rows.shape[:2])
    return numpy.concatenate([centre - half, centre + half, rows[..., 4:5], kinds[..., None]], -1).astype("float32")


def with_others(rows, others, seed):
    """More numbers of each box that fp16 holds exactly."""
    more = numpy.random.default_rng(seed).integers(-200, 400, (*rows.shape[:2], others)) / 8
    return numpy.concatenate([rows, more], -1).astype("float32")


def turned(rows, seed):
    """With angles in radians from all quarters."""
    angles = numpy.random.default_rng(seed).integers(-64, 192, (*rows.shape[:2], 1)) / 32
    return numpy.concatenate([rows, angles], -1).astype("float32")


def probabilistic_iou(a, b):
    """Of two boxes (centre, width, height, angle) as Gaussians: Ultralytics' probiou (Llerena et al., 2021). Boxes without
    an inside overlap nothing."""
    if min(*a[2:4], *b[2:4]) <= 0:
        return 0
    def covariance(box):
        a, b, c, s = box[2] ** 2 / 12, box[3] ** 2 / 12, numpy.cos(box[4]), numpy.sin(box[4])
        return a * c * c + b * s * s, a * s * s + b * c * c, (a - b) * c * s

    (a1, b1, c1), (a2, b2, c2) = covariance(a), covariance(b)
    x, y, det = a[0] - b[0], a[1] - b[1], (a1 + a2) * (b1 + b2) - (c1 + c2) ** 2
    of_means = ((a1 + a2) * y ** 2 + (b1 + b2) * x ** 2) / det / 4 - (c1 + c2) * x * y / det / 2
    of_spreads = numpy.log(det / (4 * numpy.sqrt((a1 * b1 - c1 ** 2) * (a2 * b2 - c2 ** 2)))) / 2
    return 1 - numpy.sqrt(1 - numpy.exp(-max(of_means + of_spreads, 0)))


def oriented_nms(boxes, scores, overlap):
    kept = []
    for i in numpy.argsort(-scores, kind="stable"):
        ious = [probabilistic_iou(boxes[k].astype(float), boxes[i].astype(float)) for k in kept]
        assert all(abs(iou - overlap) > 1e-6 for iou in ious), "too close to tell"
        if all(iou <= overlap for iou in ious):
            kept.append(i)
    return kept


def regularized(boxes):
    """Ultralytics' regularize_rboxes, whose angles are in the first half turn by then."""
    angle = boxes[:, 4] % numpy.pi
    swaps = angle >= numpy.pi / 2
    sides = numpy.where(swaps[:, None], boxes[:, 3:1:-1], boxes[:, 2:4])
    return numpy.concatenate([boxes[:, :2], sides, (angle % (numpy.pi / 2))[:, None]], 1)


def boxes_of(rows, form, oriented):
    """As NMS compares them."""
    if form == "v10":
        return rows[:, :4]
    if oriented:
        return rows[:, [0, 1, 2, 3, -1]]
    centre, half = rows[:, :2], rows[:, 2:4] / 2
    return numpy.concatenate([centre - half, centre + half], 1)


def in_image(boxes, m, oriented):
    """Letterboxes alone: one scale, and no turn."""
    if oriented:
        mapped = boxes.astype(float) * [m[0], m[4], m[0], m[4], 1] + [m[2], m[5], 0, 0, 0]
        return mapped
    boxes = boxes * m[[0, 4, 0, 4]] + m[[2, 5, 2, 5]]
    return numpy.clip(boxes, 0, m[[6, 7, 6, 7]])


def decoded(rows, to_image, most, threshold, overlap, agnostic, form, others, oriented):
    """Of one image: boxes, scores and classes, and the indices of their rows."""
    scores = rows[:, {"v5": 5}.get(form, 4):rows.shape[1] - others]
    if form == "v10":
        best, kinds = rows[:, 4], rows[:, 5].astype(int)
    else:
        scores = scores * rows[:, 4:5] if form == "v5" else scores
        kinds = scores.argmax(1)
        best = scores[numpy.arange(len(rows)), kinds]
    boxes = boxes_of(rows, form, oriented)
    is_object = numpy.full(len(rows), True)
    if form == "v5":
        is_object = rows[:, 4] > threshold
    elif form == "v10":
        is_object = (rows[:, 5] >= 0) & (rows[:, 5] % 1 == 0)
    found = numpy.flatnonzero((best > threshold) & is_object & numpy.isfinite(boxes).all(1))
    kept = list(found) if form == "v10" else []
    suppress = oriented_nms if oriented else nms
    for kind in [] if form == "v10" else [None] if agnostic else numpy.unique(kinds[found]):
        of_kind = found if kind is None else found[kinds[found] == kind]
        kept += [int(of_kind[i]) for i in suppress(numpy.ascontiguousarray(boxes[of_kind]), best[of_kind], overlap)]
    kept = sorted(kept, key=lambda i: (-best[i], i))[:most]
    if to_image is not None:
        boxes = in_image(boxes, to_image, oriented)
    boxes = boxes[kept]
    return regularized(boxes) if oriented else boxes, best[kept], kinds[kept], kept


def yolo(name, rows, form="v8", to_image=None, most=12, threshold=0.25, overlap=0.45, agnostic=False, keypoints=None,
         coefficients=0, oriented=False):
    """keypoints: (how many, of how many numbers)."""
    images, others = len(rows), coefficients + (numpy.prod(keypoints) if keypoints else 0) + oriented
    counts = numpy.zeros((images, 1), "int32")
    boxes = numpy.zeros((images, most, 5 if oriented else 4), "float32")
    scores = numpy.zeros((images, most), "float32")
    classes = numpy.full((images, most), -1, "int32")
    more = numpy.zeros((images, most, others), "float32")
    for i in range(images):
        found = decoded(rows[i], None if to_image is None else to_image[i], most, threshold, overlap, agnostic, form,
                        others, oriented)
        n = counts[i, 0] = len(found[0])
        boxes[i, :n], scores[i, :n], classes[i, :n] = found[:3]
        more[i, :n] = rows[i][found[3], rows.shape[2] - others:]
        if keypoints and to_image is not None:
            for axis in range(2):
                m = to_image[i][3 * axis:]
                more[i, :n, axis::keypoints[1]] = more[i, :n, axis::keypoints[1]] * m[axis] + m[2]
    inputs = {"head": rows if form != "v8" else numpy.ascontiguousarray(rows.transpose(0, 2, 1))}
    if to_image is not None:
        inputs["to_image"] = to_image
    attributes = {"format": form, "score_threshold": threshold, "iou_threshold": overlap, "max_output_boxes": most,
                  "class_agnostic": agnostic, "coefficients": coefficients, "oriented": oriented}
    outputs = {"num_detections": counts, "detection_boxes": boxes, "detection_scores": scores, "detection_classes": classes}
    if keypoints:
        attributes.update(keypoints=keypoints[0], keypoint_numbers=keypoints[1])
        more = more.reshape(images, most, *keypoints)
    if keypoints or coefficients:
        outputs["detection_others"] = more
    case("DecodeYolo", name, attributes, inputs, outputs,
         fixed={"to_image", "detection_boxes", "detection_scores", "detection_others"})


def main():
    yolo("two images", head(2, 30, 4, 1))
    yolo("in pixels of the picture", head(2, 30, 4, 2), to_image=numpy.stack([LETTERBOX, LETTERBOX * 2]))
    yolo("across classes", head(1, 40, 3, 3), agnostic=True)
    yolo("more boxes than rows", head(1, 60, 5, 4), most=3, threshold=0.1)
    yolo("one class", head(1, 24, 1, 5))
    yolo("objectness", head(2, 30, 4, 6, objectness=True), "v5", threshold=0.2)
    yolo("objectness, across classes", head(1, 30, 4, 7, objectness=True), "v5", LETTERBOX[None], agnostic=True)
    yolo("none above the threshold", head(1, 12, 2, 8), threshold=1)
    numbers = head(1, 18, 3, 9)
    numbers[0, 0, 0], numbers[0, 3, 3], numbers[0, 5, 4], numbers[0, 7, 5] = numpy.nan, numpy.inf, -numpy.inf, -1
    yolo("numbers that are none", numbers, threshold=0.1)
    objects = head(1, 18, 3, 10, objectness=True)
    objects[0, [1, 3, 5], 4] = -0.5, numpy.nan, -numpy.inf
    objects[0, 7, 4:] = -1
    yolo("objectness that is none", objects, "v5", threshold=0.1)
    letterboxes = numpy.stack([LETTERBOX, LETTERBOX * 2])
    yolo("without suppression", corners_first(head(2, 30, 1, 11), 12), "v10", letterboxes, most=20)
    yolo("without suppression, more than rows", corners_first(head(1, 40, 1, 13), 14), "v10", most=3, threshold=0.05)
    rows = corners_first(head(1, 12, 1, 15), 16)
    rows[0, :5, 5] = -1, 0.5, numpy.nan, numpy.inf, 7
    rows[0, :5, 4] = 0.875
    rows[0, 5, :2] = numpy.inf, -numpy.inf
    yolo("classes that are none", rows, "v10", threshold=0.1)
    yolo("v10 with keypoints", with_others(corners_first(head(1, 12, 1, 17), 18), 6, 19), "v10", LETTERBOX[None],
         keypoints=(2, 3))
    yolo("keypoints", with_others(head(2, 30, 1, 20), 15, 21), keypoints=(5, 3))
    yolo("keypoints in the picture", with_others(head(2, 30, 2, 22), 15, 23), to_image=letterboxes, keypoints=(5, 3))
    yolo("keypoints without scores", with_others(head(1, 30, 1, 24), 8, 25), to_image=LETTERBOX[None], keypoints=(4, 2))
    yolo("keypoints behind objectness", with_others(head(1, 30, 2, 26, objectness=True), 6, 27), "v5", LETTERBOX[None],
         keypoints=(2, 3), threshold=0.1)
    yolo("coefficients of masks", with_others(head(2, 30, 3, 28), 7, 29), to_image=letterboxes, coefficients=7)
    yolo("oriented", turned(head(2, 40, 3, 30), 31), oriented=True)
    yolo("oriented, in the picture, across classes", turned(head(2, 40, 3, 32), 33), to_image=letterboxes, oriented=True,
         agnostic=True)
    rows = turned(head(1, 12, 2, 34), 35)
    rows[0, 0, -1], rows[0, 2, -1], rows[0, 4, 2], rows[0, 6, 3] = numpy.nan, numpy.inf, 0, -3
    yolo("oriented boxes that are none", rows, oriented=True, threshold=0.05)
    write(__file__)


if __name__ == "__main__":
    main()
