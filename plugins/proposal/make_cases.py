"""Writes cases.json: proposals of Faster R-CNN by their formulas and greedy suppression. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402
from greedy_nms import kept  # noqa: E402
from moved_boxes import scores_of  # noqa: E402

random = numpy.random.RandomState(0)


def proposal(name, images, height, width, stride, sizes, ratios, top, keep, least, overlap):
    extent = numpy.array([height * stride, width * stride])
    count = len(sizes) * len(ratios)
    scores = scores_of(random, images, count, height, width)
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
