"""What the cases of rotated boxes share: random ones, and the area that two of them share, found
by clipping polygons in double precision. Needs NumPy."""
import numpy


def random_rotated_boxes(shape, seed):
    """Centre, width, height and angle (..., 5) that fp16 holds exactly."""
    state = numpy.random.RandomState(seed)
    boxes = numpy.empty((*shape, 5), "float32")
    boxes[..., :2] = state.randint(64, 320, (*shape, 2)) / 16
    boxes[..., 2:4] = state.randint(48, 192, (*shape, 2)) / 16
    boxes[..., 4] = state.randint(-64, 65, shape) / 16
    return boxes


def polygon_of(box):
    x, y, width, height, angle = (float(v) for v in box)
    along = numpy.array([numpy.cos(angle), numpy.sin(angle)]) * width / 2
    across = numpy.array([-numpy.sin(angle), numpy.cos(angle)]) * height / 2
    return [numpy.array([x, y]) + a * along + b * across
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def area_of(polygon):
    pairs = zip(polygon, polygon[1:] + polygon[:1])
    return abs(sum(p[0] * q[1] - p[1] * q[0] for p, q in pairs)) / 2


def clipped(polygon, start, end):
    """The part of a polygon to the left of the line from `start` to `end`."""
    def side(p):
        return (end[0] - start[0]) * (p[1] - start[1]) - (end[1] - start[1]) * (p[0] - start[0])

    part = []
    for p, q in zip(polygon, polygon[1:] + polygon[:1]):
        if side(p) >= 0:
            part.append(p)
        if side(p) * side(q) < 0:
            part.append(p + (q - p) * side(p) / (side(p) - side(q)))
    return part


def overlap_of(a, b):
    """Intersection over union."""
    common, clip = polygon_of(a), polygon_of(b)
    for start, end in zip(clip, clip[1:] + clip[:1]):
        if common:
            common = clipped(common, start, end)
    shared = area_of(common) if len(common) > 2 else 0
    union = area_of(polygon_of(a)) + area_of(clip) - shared
    return shared / union if union > 0 else 0


def rotated_nms(boxes, scores, most):
    """Indices of what is kept, best first."""
    kept = []
    for i in numpy.argsort(-scores, kind="stable"):
        overlaps = [overlap_of(boxes[i], boxes[k]) for k in kept]
        assert all(abs(o - most) > 1e-5 for o in overlaps), "too close to tell in fp32"
        if all(o <= most for o in overlaps):
            kept.append(i)
    return kept
