"""What the cases of plugins with non-maximum suppression share: random boxes and scores, and what
torchvision keeps of them. Needs NumPy, PyTorch and torchvision."""
import numpy
import torch
import torchvision


def random_boxes(shape, seed, opposite=False):
    """Corners (..., 4) that fp16 holds exactly; with `opposite`, any two opposite ones."""
    state = numpy.random.RandomState(seed)
    first = state.randint(0, 256, (*shape, 2))
    second = first + state.randint(32, 224, (*shape, 2))
    boxes = numpy.concatenate([first, second], -1).astype("float32") / 16
    if opposite:
        swaps = state.randint(0, 2, (*shape, 2)).astype(bool)
        for axis in range(2):
            low, high = boxes[..., axis].copy(), boxes[..., axis + 2].copy()
            boxes[..., axis] = numpy.where(swaps[..., axis], high, low)
            boxes[..., axis + 2] = numpy.where(swaps[..., axis], low, high)
    return boxes


def random_scores(shape, seed):
    """Different for each box of an image, and exact in fp16."""
    state = numpy.random.RandomState(seed + 1000)
    count = int(numpy.prod(shape[1:]))
    images = [state.permutation(1023)[:count].reshape(shape[1:]) for _ in range(shape[0])]
    return numpy.array(images, "float32").reshape(shape) / 1024


def corners(boxes):
    """Any two opposite corners as the lower and the upper one."""
    low = numpy.minimum(boxes[..., :2], boxes[..., 2:])
    return numpy.concatenate([low, numpy.maximum(boxes[..., :2], boxes[..., 2:])], -1)


def nms(boxes, scores, overlap):
    """Indices of what is kept, best first."""
    if len(boxes) == 0:
        return []
    return torchvision.ops.nms(torch.from_numpy(boxes), torch.from_numpy(scores), overlap).tolist()


def kept_of_class(boxes, scores, overlap, least=-numpy.inf, considered=0, most=None,
                  suppress=nms):
    """Of one image and class: indices of what is kept of scores above `least`, best first."""
    found = numpy.flatnonzero(scores > least)
    found = found[numpy.argsort(-scores[found], kind="stable")]
    if considered > 0:
        found = found[:considered]
    kept = suppress(numpy.ascontiguousarray(boxes[found]), scores[found], overlap)
    return [int(found[i]) for i in kept][:most]


def best_of_image(boxes, scores, rows, overlap, background=-1, across_classes=False, **rule):
    """Of one image, boxes (B, 1 or C, ...) and scores (B, C): (box, class) of the best, at most
    `rows` of them."""
    count, classes = scores.shape
    boxes = numpy.broadcast_to(boxes, (count, classes, boxes.shape[-1]))
    if across_classes:
        kept = kept_of_class(boxes.reshape(count * classes, -1), scores.reshape(-1), overlap, **rule)
        pairs = [divmod(i, classes) for i in kept]
    else:
        pairs = [(box, kind) for kind in range(classes) if kind != background
                 for box in kept_of_class(boxes[:, kind], scores[:, kind], overlap, **rule)]
    return sorted(pairs, key=lambda pair: (-scores[pair], pair))[:rows]
