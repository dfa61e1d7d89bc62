"""Writes cases.json: proposals and detections of Faster and Mask R-CNN by their formulas and greedy suppression.
Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402

random = numpy.random.RandomState(0)


def scores_of(*shape):
    """Different for each box, and exact in fp16."""
    count = int(numpy.prod(shape[1:]))
    return numpy.array([random.permutation(2048)[:count] for _ in range(shape[0])]).reshape(shape).astype("float32") / 2048


def moved(anchor, delta, limits, pixel):
    """An anchor y1, x1, y2, x2."""
    delta = numpy.asarray(delta, "float64") * [0.1, 0.1, 0.2, 0.2]
    if pixel:
        delta[2:] = numpy.minimum(delta[2:], math.log(1000 / 16))
    size = anchor[2:] - anchor[:2] + pixel
    low = anchor[:2] + size / 2 + delta[:2] * size - size * numpy.exp(delta[2:]) / 2
    high = low + size * numpy.exp(delta[2:]) - pixel
    return numpy.concatenate([low, high]).clip(0, numpy.tile(limits, 2))


def keras_anchors(height, width):
    found = []
    for scale, stride in zip((32, 64, 128, 256, 512), (4, 8, 16, 32, 64)):
        for y in range(0, height, stride):
            for x in range(0, width, stride):
                for ratio in (0.5, 1, 2):
                    h, w = scale / math.sqrt(ratio), scale * math.sqrt(ratio)
                    found.append([y - h / 2, x - w / 2, y + h / 2 - 1, x + w / 2 - 1])
    return numpy.array(found) / numpy.tile([height - 1, width - 1], 2)


def proposal_layer(name, images, height, width, top, keep, overlap):
    anchors = keras_anchors(height, width)
    scores = scores_of(images, len(anchors), 2)
    deltas = random.randint(-32, 33, (images, len(anchors), 4)).astype("float32") / 16
    y = numpy.zeros((images, keep, 4), "float32")
    for n in range(images):
        boxes = [moved(a, d, [1, 1], 0) for a, d in zip(anchors, deltas[n])]
        for row, i in enumerate(kept(boxes, scores[n, :, 1], overlap, top, keep)):
            y[n, row] = boxes[i]
    case("ProposalLayer_TRT", name,
         {"prenms_topk": top, "keep_topk": keep, "iou_threshold": overlap, "image_size": [3, height, width]},
         {"object_score": scores[..., None], "delta": deltas[..., None]}, {"proposals": y}, tolerance=(1e-5, 2e-3))


proposal_layer("two images", 2, 32, 48, 60, 8, 0.5)
proposal_layer("all are looked at", 1, 24, 24, 0, 200, 0.3)
proposal_layer("no images", 0, 16, 16, 10, 4, 0.5)


def tao_anchors(height, width, stride):
    found = []
    for y in range(stride // 2, height, stride):
        for x in range(stride // 2, width, stride):
            for w, h in ((1, 1), (1.4, 0.7), (0.7, 1.4)):
                h, w = 8 * stride * h, 8 * stride * w
                found.append([y - h / 2, x - w / 2, y + h / 2, x + w / 2])
    return numpy.array(found).reshape(-1, 4)


def multilevel(name, images, height, width, top, keep, overlap, least=0.0):
    inputs, all_of = {}, [[] for _ in range(images)]
    for level in range(5):
        anchors = tao_anchors(height, width, 4 << level)
        scores = scores_of(images, len(anchors), 1) * 0.9 + level / 64  # levels differ
        scores = (numpy.round(scores * 2048) / 2048).astype("float32")
        deltas = random.randint(-32, 33, (images, len(anchors), 4)).astype("float32") / 16
        inputs[f"delta{level}"], inputs[f"score{level}"] = deltas[..., None], scores[..., None]
        for n in range(images):
            chosen = [i for i in range(len(anchors)) if scores[n, i, 0] >= least]
            boxes = [moved(anchors[i], deltas[n, i], [height - 1, width - 1], 1) for i in chosen]
            all_of[n] += [(scores[n, chosen[i], 0], boxes[i])
                          for i in kept(boxes, scores[n, chosen, 0], overlap, top, keep)]
    y = numpy.zeros((images, keep, 4), "float32")
    for n in range(images):
        best = sorted(range(len(all_of[n])), key=lambda i: -all_of[n][i][0])
        for row, i in enumerate(best[:keep]):
            y[n, row] = all_of[n][i][1]
    case("MultilevelProposeROI_TRT", name,
         {"prenms_topk": top, "keep_topk": keep, "fg_threshold": least, "iou_threshold": overlap,
          "image_size": [3, height, width]}, inputs, {"proposals": y}, tolerance=(1e-5, 2e-3))


multilevel("two images", 2, 40, 48, 50, 7, 0.6)
multilevel("few are good enough", 1, 32, 32, 0, 12, 0.5, 0.75)
multilevel("no images", 0, 32, 32, 10, 3, 0.5)


def detections(plugin, name, images, boxes, classes, keep, least, overlap, size=None):
    """`size`: of TAO's, in pixels."""
    limits = numpy.array([1, 1]) if size is None else numpy.array(size) - 1
    step = 64 if size is None else 1
    extent = numpy.array([64, 64]) if size is None else numpy.array(size)
    first = (random.randint(0, 1000, (images, boxes, 2)) % (extent * 3 // 4))
    rois = numpy.concatenate([first, first + 4 + random.randint(0, 1000, (images, boxes, 2)) % (extent // 4)], -1)
    rois = (rois / step).astype("float32")
    scores = scores_of(images, boxes, classes)
    deltas = random.randint(-48, 49, (images, boxes, classes, 4)).astype("float32") / 16
    y = numpy.zeros((images, keep, 6), "float32")
    y[:, :, 4] = -1
    for n in range(images):
        choices = scores[n].argmax(1) if size is None or classes == 1 else scores[n, :, 1:].argmax(1) + 1
        found = []
        for kind in range(1 if classes > 1 else 0, classes):
            members = [i for i in range(boxes) if choices[i] == kind and scores[n, i, kind] >= least]
            places = [moved(rois[n, i], deltas[n, i, kind], limits, 0 if size is None else 1) for i in members]
            found += [(scores[n, members[i], kind], kind, places[i])
                      for i in kept(places, scores[n, members, kind], overlap, most=keep)]
        found.sort(key=lambda one: -one[0])
        for row, (score, kind, place) in enumerate(found[:keep]):
            y[n, row] = [*place, kind, score]
    attributes = {"num_classes": classes, "keep_topk": keep, "score_threshold": least, "iou_threshold": overlap}
    if size is not None:
        attributes["image_size"] = [3, *size]
    case(plugin, name, attributes,
         {"delta": deltas.reshape(images, boxes, classes * 4, 1, 1), "score": scores[..., None, None], "rois": rois},
         {"detections": y}, tolerance=(1e-5, 2e-3))


for plugin, size in (("DetectionLayer_TRT", None), ("GenerateDetection_TRT", (64, 96))):
    detections(plugin, "two images", 2, 20, 4, 10, 0.25, 0.3, size)
    detections(plugin, "one class", 1, 12, 1, 5, 0.0, 0.4, size)
    detections(plugin, "none is good enough", 1, 5, 3, 4, 1.0, 0.5, size)
    detections(plugin, "no boxes", 1, 0, 3, 2, 0.5, 0.5, size)


def proposal(name, images, height, width, stride, sizes, ratios, top, keep, least, overlap):
    extent = numpy.array([height * stride, width * stride])
    count = len(sizes) * len(ratios)
    scores = scores_of(images, count, height, width)
    deltas = random.randint(-16, 17, (images, count, 4, height, width)).astype("float32") / 16
    y = numpy.zeros((images, keep, 4, 1), "float32")
    for n in range(images):
        boxes, values = [], []
        for a, i, j in numpy.ndindex(count, height, width):
            size, ratio = sizes[a // len(ratios)], ratios[a % len(ratios)]
            shape = numpy.array([size / ratio, size * ratio])
            dx, dy, dw, dh = deltas[n, a, :, i, j].astype("float64")
            middle = (numpy.array([i, j]) + 0.5) * stride + shape * [dy, dx]
            half = shape * numpy.exp([dh, dw]) / 2
            box = numpy.concatenate([middle - half, middle + half]).clip(0, numpy.tile(extent - 1, 2))
            if (box[2:] - box[:2] > least).all():
                boxes.append(box)
                values.append(scores[n, a, i, j])
        for row, i in enumerate(kept(boxes, values, overlap, top, keep, pixel=1.0)):
            y[n, row, :, 0] = boxes[i] / numpy.tile(extent - 1, 2)
    attributes = {"input_height": int(extent[0]), "input_width": int(extent[1]), "rpn_stride": stride,
                  "roi_min_size": least, "nms_iou_threshold": overlap, "pre_nms_top_n": top, "post_nms_top_n": keep,
                  "anchor_sizes": sizes, "anchor_ratios": ratios}
    for plugin in ("Proposal", "ProposalDynamic"):
        case(plugin, name, attributes,
             {"scores": scores, "deltas": deltas.reshape(images, count * 4, height, width)}, {"rois": y}, fixed=("rois",))


proposal("two images", 2, 4, 5, 8, [16.0, 32.0], [1.0, 0.75, 1.5], 40, 8, 1.0, 0.5)
proposal("small boxes are left out", 1, 3, 3, 16, [8.0], [1.0], 0, 6, 9.0, 0.7)
proposal("no images", 0, 2, 2, 16, [8.0], [1.0], 10, 3, 1.0, 0.7)
write(__file__)
