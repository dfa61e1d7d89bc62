"""One custom operator: exported by its own `symbolic`, built, run, and compared with PyTorch."""
import torch

RTOL, ATOL = 1e-3, 1e-5  # as MMCV's and MMDeploy's own tests compare


class Module(torch.nn.Module):
    """Returns `results`, which the exported model has a node `name` with `attributes` for."""

    def __init__(self, name, attributes, results):
        super().__init__()

        class Operator(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *inputs):
                return tuple(result.clone() for result in results)

            @staticmethod
            def symbolic(g, *inputs):
                return g.op(name, *inputs, outputs=len(results), **attributes)

        self.operator = Operator

    def forward(self, *inputs):
        return self.operator.apply(*inputs)


def check(toolbox, folder, name, attributes, inputs, reference, dynamic=False):
    """Runs the operator through `toolbox` on `inputs`; outputs must be those of `reference`.

    toolbox: a function (ONNX file, {input: tensor}, dynamic) -> {output: tensor}.
    dynamic: the model takes inputs from half to twice as long in their last two dimensions.
    """
    expected = reference(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    names = [f"input{i}" for i in range(len(inputs))]
    outputs = [f"output{i}" for i in range(len(expected))]
    axes = {n: {d: f"{n}_{d}" for d in range(x.dim())} for n, x in zip(names, inputs)}
    file = str(folder / "model.onnx")
    torch.onnx.export(Module(name, attributes, expected), tuple(inputs), file, input_names=names, output_names=outputs,
                      opset_version=13, dynamic_axes=axes if dynamic else None)
    found = toolbox(file, dict(zip(names, inputs)), dynamic)
    for output, tensor in zip(outputs, expected):
        assert found[output].shape == tensor.shape
        torch.testing.assert_close(found[output], tensor, rtol=RTOL, atol=ATOL, check_dtype=False)


def min_opt_max(tensor, dynamic):
    """The shapes of an input's profile."""
    shape = list(tensor.shape)
    if not dynamic:
        return [shape] * 3
    return [[max(1, e // 2) for e in shape], shape, [e * 2 for e in shape]]


def sample(x, rows, columns):
    """Bilinear samples of x (C, H, W) at (rows, columns) of any shape; zeros outside."""
    height, width = x.shape[-2:]
    grid = torch.stack([(columns + 0.5) * 2 / width - 1, (rows + 0.5) * 2 / height - 1], -1)
    shape = grid.shape[:-1]
    found = torch.nn.functional.grid_sample(x[None], grid.reshape(1, 1, -1, 2), align_corners=False)
    return found.reshape(x.shape[0], *shape)


def roi_align(x, rois, size, scale, ratio, aligned=True):
    """Average RoIAlign (Mask R-CNN) with `ratio` samples along each side of a bin."""
    results = []
    for index, *box in rois.tolist():
        left, top, right, bottom = (v * scale - (0.5 if aligned else 0) for v in box)
        height, width = bottom - top, right - left
        if not aligned:
            height, width = max(height, 1), max(width, 1)
        steps = [(torch.arange(n * ratio) + 0.5) / (n * ratio) for n in size]
        rows, columns = torch.meshgrid(top + steps[0] * height, left + steps[1] * width,
                                       indexing="ij")
        inside = ((rows >= -1) & (rows <= x.shape[2]) & (columns >= -1) & (columns <= x.shape[3]))
        values = sample(x[int(index)], rows.clamp(0, x.shape[2] - 1),
                        columns.clamp(0, x.shape[3] - 1)) * inside
        results.append(torch.nn.functional.avg_pool2d(values[None], ratio)[0])
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


def overlap(a, b):
    """The intersection over the union of two boxes (x1, y1, x2, y2)."""
    def area(box):
        return max(box[2] - box[0], 0) * max(box[3] - box[1], 0)
    both = area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))
    return both / max(area(a) + area(b) - both, 1e-12)


def kept_boxes(boxes, scores, iou_threshold, score_threshold):
    """The indices that non-maximum suppression keeps, best first; boxes (B, 4), scores (B,)."""
    kept = []
    for i in scores.argsort(descending=True).tolist():
        if scores[i] > score_threshold and all(
                overlap(boxes[i].tolist(), boxes[k].tolist()) <= iou_threshold for k in kept):
            kept.append(i)
    return kept
