"""Modules with custom operators: exported by a `symbolic`, built, run, and compared with PyTorch."""
import itertools
import pathlib
import sys

import torch
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "plugins"))
import rotated  # noqa: E402


def operator(name, attributes, reference):
    """A function of tensors: `reference` in PyTorch, a node `name` with `attributes` in an exported model.

    It is called on the same inputs before it is exported.
    """
    class Operator(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            if not torch.jit.is_tracing():  # the exporter is to see the node alone
                Operator.found = reference(*inputs)
            found = Operator.found
            return tuple(x.clone() for x in found) if isinstance(found, tuple) else found.clone()

        @staticmethod
        def symbolic(g, *inputs):
            outputs = len(Operator.found) if isinstance(Operator.found, tuple) else 1
            return g.op(name, *inputs, outputs=outputs, **attributes)

    return Operator.apply


class Module(torch.nn.Module):
    """A function as a module, since only these are exported."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def export(function, inputs, file, outputs, dynamic=()):
    """Writes an ONNX file with inputs input0.. and outputs output0..; `dynamic` are the axes whose extents may vary."""
    names = [f"input{i}" for i in range(len(inputs))]
    axes = {n: {d: f"{n}_{d}" for d in dynamic if d < x.dim()} for n, x in zip(names, inputs)}
    # Clones, since a module may change its inputs.
    torch.onnx.export(Module(function).eval(), tuple(x.clone() for x in inputs), file, input_names=names,
                      output_names=[f"output{i}" for i in range(outputs)], opset_version=11,
                      keep_initializers_as_inputs=True, dynamic_axes=axes if dynamic else None)
    return dict(zip(names, inputs))


def compare(toolbox, folder, function, inputs, dynamic=(), rtol=1e-3, atol=1e-5):
    """Runs a function of tensors through `toolbox` on `inputs`; the outputs must be those of PyTorch.

    toolbox: a function (ONNX file, {input: tensor}, dynamic) -> {output: tensor}.
    dynamic: axes whose extents may be from half to twice those of `inputs`.
    """
    with torch.no_grad():
        expected = function(*(x.clone() for x in inputs))
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        file = str(folder / "model.onnx")
        found = toolbox(file, export(function, inputs, file, len(expected), dynamic), dynamic)
    for i, tensor in enumerate(expected):
        assert found[f"output{i}"].shape == tensor.shape
        torch.testing.assert_close(found[f"output{i}"], tensor, rtol=rtol, atol=atol, check_dtype=False)


def check(toolbox, folder, name, attributes, inputs, reference, **options):
    """compare() for one operator on its own."""
    compare(toolbox, folder, operator(name, attributes, reference), inputs, **options)


def min_opt_max(tensor, dynamic):
    """The shapes of an input's profile."""
    def scaled(numerator, denominator):
        return [max(1, e * numerator // denominator) if i in dynamic else e for i, e in enumerate(tensor.shape)]
    return [scaled(1, 2), scaled(1, 1), scaled(2, 1)]


def sample(x, rows, columns):
    """Bilinear samples of x (C, H, W) at (rows, columns) of any shape; zeros outside."""
    height, width = x.shape[-2:]
    grid = torch.stack([(columns + 0.5) * 2 / width - 1, (rows + 0.5) * 2 / height - 1], -1)
    shape = grid.shape[:-1]
    found = functional.grid_sample(x[None], grid.reshape(1, 1, -1, 2), align_corners=False)
    return found.reshape(x.shape[0], *shape)


def roi_align(x, rois, size, scale, ratio, aligned=True, pool=functional.avg_pool2d):
    """RoIAlign (Mask R-CNN) with `ratio` samples along each side of a bin, of rows (image, x1, y1, x2, y2)."""
    centred = [[image, (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, 0] for image, x1, y1, x2, y2 in rois.tolist()]
    if not aligned:  # bins grow from the first corner, not around the centre
        for roi in centred:
            for centre, extent in ((1, 3), (2, 4)):
                roi[centre] += max(1 / scale - roi[extent], 0) / 2
    return rotated_roi_align(x, torch.tensor(centred), size, scale, ratio, aligned, pool=pool)


def rotated_roi_align(x, rois, size, scale, ratio, aligned=True, clockwise=False, pool=functional.avg_pool2d):
    """RoIAlign of rows (image, centre x, centre y, width, height, angle)."""
    results = []
    for image, *box in rois.tolist():
        middle_x, middle_y = (v * scale - (0.5 if aligned else 0) for v in box[:2])
        width, height = (max(v * scale, 0 if aligned else 1) for v in box[2:4])
        angle = torch.tensor(-box[4] if clockwise else box[4])
        steps = [(torch.arange(n * ratio) + 0.5) / (n * ratio) - 0.5 for n in size]
        down, right = torch.meshgrid(steps[0] * height, steps[1] * width, indexing="ij")
        rows = middle_y + down * angle.cos() - right * angle.sin()
        columns = middle_x + down * angle.sin() + right * angle.cos()
        inside = (rows >= -1) & (rows <= x.shape[2]) & (columns >= -1) & (columns <= x.shape[3])
        values = sample(x[int(image)], rows.clamp(0, x.shape[2] - 1), columns.clamp(0, x.shape[3] - 1)) * inside
        results.append(pool(values[None], ratio)[0])
    return torch.stack(results)


def deform_conv(x, offset, weight, mask=None, bias=None, stride=1, padding=0, dilation=1):
    """Deformable convolution (Dai et al. 2017; Zhu et al. 2018 with a mask), one group."""
    kh, kw = weight.shape[-2:]
    oh, ow = offset.shape[-2:]
    groups = offset.shape[1] // (2 * kh * kw)
    per = x.shape[1] // groups
    base_rows = (torch.arange(oh) * stride - padding)[:, None]
    base_columns = (torch.arange(ow) * stride - padding)[None]
    images = []
    for n in range(x.shape[0]):
        taps = []
        for group in range(groups):
            for k in range(kh * kw):
                at = (group * kh * kw + k) * 2
                rows = base_rows + k // kw * dilation + offset[n, at]
                columns = base_columns + k % kw * dilation + offset[n, at + 1]
                tap = sample(x[n, group * per:(group + 1) * per], rows, columns)
                taps.append(tap if mask is None else tap * mask[n, at // 2])
        columns = torch.stack(taps).reshape(groups, kh * kw, per, oh, ow).transpose(1, 2)
        columns = columns.reshape(x.shape[1] * kh * kw, oh * ow)
        images.append((weight.reshape(weight.shape[0], -1) @ columns).reshape(-1, oh, ow))
    result = torch.stack(images)
    return result if bias is None else result + bias[:, None, None]


def overlaps(boxes):
    """Intersection over union of each two boxes (x1, y1, x2, y2) of (B, 4)."""
    boxes = boxes.double()
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return both / (area[:, None] + area[None] - both).clamp(min=1e-12)


def rotated_overlaps(boxes):
    """Intersection over union of each two boxes (centre x, centre y, width, height, angle) of (B, 5)."""
    found = torch.eye(len(boxes), dtype=torch.float64)
    for i, j in itertools.combinations(range(len(boxes)), 2):
        found[i, j] = found[j, i] = rotated.overlap_of(boxes[i].tolist(), boxes[j].tolist())
    return found


def kept_boxes(overlaps, scores, iou_threshold, score_threshold):
    """The indices that non-maximum suppression keeps, best first; of equal scores the lower one.

    overlaps (B, B): the intersections over the unions of the boxes. scores (B,).
    """
    kept = []
    for i in scores.argsort(descending=True, stable=True).tolist():
        near = overlaps[i, kept]
        assert not (near - iou_threshold).abs().lt(1e-6).any(), "too close to tell in float32"
        if scores[i] > score_threshold and (near <= iou_threshold).all():
            kept.append(i)
    return kept


def best_of_classes(boxes, overlaps, scores, iou_threshold, score_threshold, considered, keep):
    """Rows (1, keep, box and score) and classes of what is kept of boxes (B, 4 or 5) and scores (B, classes).

    Of each class the `considered` best are looked at, if that is positive. Rows that are left are 0 with class -1.
    """
    found = []
    for kind, of_class in enumerate(scores.T):
        best = of_class.argsort(descending=True, stable=True)[:considered if considered > 0 else None]
        kept = kept_boxes(overlaps[best][:, best], of_class[best], iou_threshold, score_threshold)
        found += [(-float(of_class[i]), int(i), kind) for i in best[kept]]
    rows, classes = torch.zeros(1, keep, boxes.shape[1] + 1), torch.full((1, keep), -1, dtype=torch.int32)
    for row, (score, i, kind) in enumerate(sorted(found)[:keep]):
        rows[0, row], classes[0, row] = torch.cat([boxes[i], torch.tensor([-score])]), kind
    return rows, classes
