"""Non-maximum suppression by its definition, for cases of plugins that decode boxes first. Needs NumPy."""
import numpy


def iou(a, b, pixel=0.0):
    """What two boxes x1, y1, x2, y2 share, by what they cover together; `pixel` is added to each extent."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + pixel
    height = min(a[3], b[3]) - max(a[1], b[1]) + pixel
    common = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0] + pixel) * (box[3] - box[1] + pixel) for box in (a, b)]
    return common / (sum(areas) - common) if common > 0 else 0.0


def kept(boxes, scores, overlap, considered=0, most=None, pixel=0.0):
    """Indices of boxes that no better one overlaps by more, best first."""
    order = numpy.argsort(-numpy.asarray(scores), kind="stable")
    if considered > 0:
        order = order[:considered]
    found = []
    for i in order:
        if all(iou(boxes[i], boxes[j], pixel) <= overlap for j in found):
            found.append(int(i))
    return found[:most]
