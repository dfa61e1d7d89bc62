"""Writes cases.json: SSD's detections by the formulas of its paper and greedy suppression. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402


def decoded(delta, prior, variance, coding):
    """One box. Semantics: SSD (Liu et al. 2016), and TensorFlow's faster_rcnn_box_coder for coding 3."""
    if coding == 3:
        delta = delta[[1, 0, 3, 2]]
    d = delta * variance
    size = numpy.array([prior[2] - prior[0], prior[3] - prior[1]])
    if coding == 0:
        return prior + d
    if coding == 2:
        return prior + d * numpy.tile(size, 2)
    centre = (prior[:2] + prior[2:]) / 2 + d[:2] * size
    half = numpy.exp(d[2:]) * size / 2
    return numpy.concatenate([centre - half, centre + half])


def add(name, plugin="NMS_TRT", images=2, boxes=12, classes=3, shared=True, coding=1, in_target=False, logits=False,
        normalized=True, order=(0, 2, 1), top=0, keep=6, score=0.25, overlap=0.3, background=0, prior_images=None,
        agnostic=False, tolerance=(1e-5, 4e-3)):
    state = numpy.random.RandomState(len(name) + boxes)
    box_classes = 1 if shared else classes
    # Values that fp16 holds exactly.
    deltas = state.randint(-16, 17, (images, boxes, box_classes, 4)) / 16
    shape = (images, boxes, classes)
    raw = numpy.array([state.permutation(boxes * classes) for _ in range(images)]).reshape(shape) / 64
    scores = (raw - 0.5) * 8 if logits else raw
    count = prior_images or images
    first = state.randint(0, 12, (count, boxes, 2)) / 16
    corners = numpy.concatenate([first, first + state.randint(3, 9, (count, boxes, 2)) / 16], -1)
    variances = numpy.broadcast_to([0.125, 0.25, 0.5, 0.25], corners.shape)
    priors = numpy.stack([corners, variances], 1)
    rows = numpy.zeros((images, 1, keep, 7), "float32")
    counts = numpy.zeros((images, 1, 1, 1), "int32")
    threshold = numpy.log(score / (1 - score)) if logits else score
    for n in range(images):
        p = n if count > 1 and not agnostic else 0
        found = []
        for kind in range(classes):
            if kind == background:
                continue
            chosen = [b for b in range(boxes) if scores[n, b, kind] > threshold]
            places = [decoded(deltas[n, b, kind if not shared else 0], corners[p, b],
                              1 if in_target else variances[p, b], coding) for b in chosen]
            for i in kept(places, scores[n, chosen, kind], overlap, top, pixel=0.0 if normalized else 1.0):
                found.append((scores[n, chosen[i], kind], kind, places[i]))
        found.sort(key=lambda row: -row[0])
        found = found[:keep]
        counts[n] = len(found)
        rows[n, 0, :] = [n, -1, 0, 0, 0, 0, 0]
        for i, (value, kind, place) in enumerate(found):
            value = 1 / (1 + numpy.exp(-value)) if logits else value
            rows[n, 0, i] = [n, kind, value, *place.clip(0, 1)]
    given = [None] * 3
    given[order[0]] = deltas.reshape(images, boxes * box_classes * 4, 1, 1)
    given[order[1]] = scores.reshape(images, boxes * classes, 1, 1)
    given[order[2]] = priors.reshape(count, 2, boxes * 4, 1)
    attributes = {"shareLocation": int(shared), "varianceEncodedInTarget": int(in_target), "backgroundLabelId": background,
                  "numClasses": classes, "topK": top, "keepTopK": keep, "confidenceThreshold": score,
                  "nmsThreshold": overlap, "inputOrder": list(order), "confSigmoid": int(logits),
                  "isNormalized": int(normalized), "codeType": coding, "isBatchAgnostic": int(agnostic)}
    case(plugin, name, attributes, {f"input{i}": numpy.float32(x) for i, x in enumerate(given)},
         {"detections": rows, "keep_count": counts}, tolerance=tolerance)


for coding in range(4):
    add(f"coding {coding}", coding=coding)
    add(f"coding {coding}, dynamic", "NMSDynamic_TRT", coding=coding, in_target=True, images=1)
add("boxes of each class", shared=False)
add("logits", logits=True, order=(0, 1, 2))
add("another order", order=(2, 0, 1))
add("one image's priors", prior_images=1)
add("the first image's priors", agnostic=True)
add("pixels", normalized=False, overlap=0.5)
add("few are looked at", top=2)
add("no background", background=-1, keep=40)
add("nothing above", score=0.9)
add("no boxes", boxes=0)
add("no images", images=0)
write(__file__)
