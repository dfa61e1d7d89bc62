"""Parts of detectors in which plugins stand, in PyTorch and torchvision.

Each operator that ONNX lacks is a function with two sides: what PyTorch or torchvision computes,
and the node that takes its place in the model.
"""

import contextlib

import torch
import torchvision
from torch import nn
from torch.nn import functional as F
from torchvision.models.detection import _utils, anchor_utils, retinanet


class PoolLevels(torch.autograd.Function):
    """torchvision's MultiScaleRoIAlign, as MMCVMultiLevelRoiAlign."""

    STRIDES, SIZE, FINEST = (4, 8, 16), 5, 56

    @classmethod
    def forward(cls, ctx, rois, *levels):
        """rois: rows of image, x1, y1, x2, y2, one image after the other."""
        names = [str(i) for i in range(len(levels))]
        side = tuple(cls.STRIDES[0] * extent for extent in levels[0].shape[2:])
        boxes = [rois[rois[:, 0] == image, 1:].float() for image in range(len(levels[0]))]
        # Its canonical level 4 is that of regions of 224, so that level 2 is that of regions of 56.
        pool = torchvision.ops.MultiScaleRoIAlign(names, cls.SIZE, 2)
        pooled = pool(dict(zip(names, [x.float() for x in levels])), boxes, [side] * len(boxes))
        assert pool.scales == [1 / stride for stride in cls.STRIDES]
        return pooled.to(rois.dtype)

    @classmethod
    def symbolic(cls, g, rois, *levels):
        return g.op(
            "mmdeploy::MMCVMultiLevelRoiAlign",
            rois,
            *levels,
            output_height_i=cls.SIZE,
            output_width_i=cls.SIZE,
            pool_mode_i=1,
            sampling_ratio_i=2,
            featmap_strides_f=cls.STRIDES,
            finest_scale_i=cls.FINEST,
            aligned_i=0,
        )


class Unclear(Exception):
    """What is kept of these boxes depends on how numbers are rounded, or no overlap decides it."""


class KeepBest(torch.autograd.Function):
    """torchvision's batched_nms and the best of what it keeps, as TRTBatchedNMS."""

    # How far scores must be from each other and from the threshold, and overlaps from theirs.
    apart = None

    @classmethod
    def forward(cls, ctx, boxes, scores, rows, threshold, overlap):
        """boxes (N, B, 1 or C, 4), scores (N, B, C): (N, rows, 5) and classes (N, rows)."""
        images, count, classes = scores.shape
        detections = boxes.new_zeros(images, rows, 5)
        labels = torch.full((images, rows), -1, dtype=torch.int32)
        boxes, scores = boxes.float().expand(images, count, classes, 4), scores.float()
        for image in range(images):
            places, kinds = (scores[image] > threshold).nonzero().unbind(1)
            box, score = boxes[image, places, kinds], scores[image, places, kinds]
            kept = torchvision.ops.batched_nms(box, score, kinds, overlap)
            if cls.apart and (
                ((scores[image] - threshold).abs() < cls.apart[0]).any()
                or not cls.is_clear(box, score, kinds, kept, rows, overlap)
            ):
                raise Unclear
            kept = kept[:rows]
            detections[image, : len(kept)] = torch.cat([box[kept], score[kept, None]], 1)
            labels[image, : len(kept)] = kinds[kept].int()
        return detections, labels

    @classmethod
    def is_clear(cls, box, score, kinds, kept, rows, overlap):
        """Of boxes that overlap, one is the better by far; so is each kept one, which others are not."""
        scores_apart, overlaps_apart = cls.apart
        overlaps = torchvision.ops.box_iou(box, box).fill_diagonal_(0)
        overlaps[kinds[:, None] != kinds] = 0
        close = (score[:, None] - score).abs() < scores_apart
        doubts = (
            (overlaps - overlap).abs() < overlaps_apart,
            close & (overlaps > overlap),
            score[kept[: rows + 1]].diff().abs() < scores_apart,
        )
        best = score.argsort(descending=True)[:rows]
        return not any(doubt.any() for doubt in doubts) and not kept[:rows].equal(best)

    @classmethod
    @contextlib.contextmanager
    def require_apart(cls, scores, overlaps):
        """Raises Unclear where some are closer."""
        cls.apart = scores, overlaps
        try:
            yield
        finally:
            cls.apart = None

    @staticmethod
    def symbolic(g, boxes, scores, rows, threshold, overlap):
        return g.op(
            "mmdeploy::TRTBatchedNMS",
            boxes,
            scores,
            keep_topk_i=rows,
            score_threshold_f=threshold,
            iou_threshold_f=overlap,
            clip_boxes_i=0,
            outputs=2,
        )


class SpreadAnchors(torch.autograd.Function):
    """torchvision's AnchorGenerator on one level, as GridPriorsTRT."""

    @staticmethod
    def forward(ctx, anchors, column, row, stride):
        """The lengths of `column` and `row` are the extents of the level."""
        generator = anchor_utils.AnchorGenerator()
        generator.cell_anchors = [anchors]
        step = torch.tensor(stride)
        return generator.grid_anchors([[len(column), len(row)]], [[step, step]])[0]

    @staticmethod
    def symbolic(g, anchors, column, row, stride):
        return g.op(
            "mmdeploy::GridPriorsTRT", anchors, column, row, stride_h_i=stride, stride_w_i=stride
        )


class AttendPlaces(torch.autograd.Function):
    """Bilinear samples of all levels, weighed, as MMCVMultiScaleDeformableAttention."""

    @staticmethod
    def forward(ctx, value, shapes, starts, places, weights):
        batch, _, heads, channels = value.shape
        queries = places.shape[1]
        result = value.new_zeros(batch, heads, channels, queries, dtype=torch.float32)
        for level, ((height, width), start) in enumerate(zip(shapes.tolist(), starts.tolist())):
            plane = value[:, start : start + height * width].float().permute(0, 2, 3, 1)
            grid = 2 * places[:, :, :, level].float().transpose(1, 2).flatten(0, 1) - 1
            samples = F.grid_sample(
                plane.reshape(batch * heads, channels, height, width), grid, align_corners=False
            ).unflatten(0, (batch, heads))
            result += (samples * weights[:, :, :, level].transpose(1, 2)[:, :, None]).sum(-1)
        return result.flatten(1, 2).transpose(1, 2).to(value.dtype)

    @staticmethod
    def symbolic(g, *inputs):
        return g.op("mmdeploy::MMCVMultiScaleDeformableAttention", *inputs)


class DeformedConvolution(torch.autograd.Function):
    """torchvision's deform_conv2d with a mask, as MMCVModulatedDeformConv2d."""

    @staticmethod
    def forward(ctx, x, offset, mask, weight, stride, padding, dilation, groups):
        inputs = [tensor.float() for tensor in (x, offset, weight, mask)]
        return torchvision.ops.deform_conv2d(
            *inputs[:3], None, stride, padding, dilation, inputs[3]
        ).to(x.dtype)

    @staticmethod
    def symbolic(g, x, offset, mask, weight, stride, padding, dilation, groups):
        return g.op(
            "mmdeploy::MMCVModulatedDeformConv2d",
            x,
            offset,
            mask,
            weight,
            stride_i=[stride] * 2,
            padding_i=[padding] * 2,
            dilation_i=[dilation] * 2,
            groups_i=1,
            deform_groups_i=groups,
        )


def draw(*shape):
    """Random multiples of 1/16, which fp16 holds and which are short to store."""
    return (torch.randn(shape) * 16).round() / 16


DETECTIONS = ("boxes", "scores", "labels")


def detections(boxes, scores, rows, threshold):
    """The best of boxes that overlap by half at most."""
    found, labels = KeepBest.apply(boxes, scores, rows, threshold, 0.5)
    return found[..., :4], found[..., 4], labels


def pyramid(batch, channels, extents):
    """A feature map for each of the extents."""
    return [draw(batch, channels, *extent) for extent in extents]


class TwoStageHead(nn.Module):
    """Faster R-CNN's second stage: regions pooled from their levels, two linear layers, classes and
    boxes, the boxes decoded and clipped, the best kept within each class."""

    CLASSES, ROWS, HIDDEN, SHARPNESS, THRESHOLD = 4, 12, 24, 1, 0.1
    CASES = [(1, 20, (16, 20)), (2, 13, (24, 12))]  # batch, proposals, extents of the first level
    INPUTS = ("proposals", "level0", "level1", "level2")
    OUTPUTS = DETECTIONS
    DYNAMIC = {"proposals": {0: "batch", 1: "proposals"}} | {
        name: {0: "batch", 2: f"height of {name}", 3: f"width of {name}"} for name in INPUTS[1:]
    }

    def __init__(self):
        super().__init__()
        width = 6 * PoolLevels.SIZE**2
        self.hidden = nn.Sequential(
            nn.Linear(width, self.HIDDEN), nn.ReLU(), nn.Linear(self.HIDDEN, self.HIDDEN), nn.ReLU()
        )
        self.scores = nn.Linear(self.HIDDEN, self.CLASSES + 1)
        self.changes = nn.Linear(self.HIDDEN, self.CLASSES * 4)

    @staticmethod
    def inputs(batch, count, extent):
        corners = torch.rand(batch, count, 2) * 40
        sizes = torch.exp(torch.rand(batch, count, 2) * 3 + 3)  # for all levels
        proposals = torch.cat([corners, corners + sizes], -1)
        extents = [[side >> level for side in extent] for level in range(3)]
        return [(proposals * 8).round() / 8, *pyramid(batch, 6, extents)]

    def forward(self, proposals, *levels):
        images = torch.arange(proposals.shape[0]).to(proposals)[:, None, None]
        images = images.expand(-1, proposals.shape[1], 1)
        rois = torch.cat([images, proposals], -1).flatten(0, 1)
        hidden = self.hidden(PoolLevels.apply(rois, *levels).flatten(1))
        scores = (self.scores(hidden) * self.SHARPNESS).softmax(-1)[:, :-1]
        coder = _utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        boxes = coder.decode_single(self.changes(hidden) / 2, rois[:, 1:])
        limits = torch._shape_as_tensor(levels[0])[2:].flip(0).to(boxes) * PoolLevels.STRIDES[0]
        boxes = boxes.reshape(proposals.shape[0], -1, self.CLASSES, 2, 2)
        boxes = torch.minimum(boxes.clamp(min=0), limits).flatten(-2)
        scores = scores.reshape(proposals.shape[0], -1, self.CLASSES)
        return detections(boxes, scores, self.ROWS, self.THRESHOLD)


class ClearTwoStageHead(TwoStageHead):
    """Its scores are far apart, which fp16 needs."""

    SHARPNESS, THRESHOLD = 4, 0.5


class RetinanetHead(nn.Module):
    """torchvision's RetinaNet head on two levels, its anchors, the boxes decoded, the best kept."""

    CLASSES, ROWS, STRIDES, SHARPNESS, OFFSET = 3, 15, (8, 16), 1, 0
    CASES = [(1, (8, 6)), (2, (5, 9))]  # batch, extents of the first level
    INPUTS, OUTPUTS = ("level0", "level1"), DETECTIONS
    DYNAMIC = {
        name: {0: "batch", 2: f"height of {name}", 3: f"width of {name}"} for name in INPUTS
    }

    def __init__(self):
        super().__init__()
        self.head = retinanet.RetinaNetHead(8, 3, self.CLASSES)
        generator = anchor_utils.AnchorGenerator(((32,), (64,)), ((0.5, 1.0, 2.0),) * 2)
        self.anchors = nn.ParameterList(generator.cell_anchors)

    @staticmethod
    def inputs(batch, extent):
        return pyramid(batch, 8, [extent, [(side + 1) // 2 for side in extent]])

    def forward(self, *levels):
        outputs = self.head(list(levels))
        anchors = torch.cat([
            SpreadAnchors.apply(anchor, level[0, 0, :, 0], level[0, 0, 0], stride)
            for anchor, level, stride in zip(self.anchors, levels, self.STRIDES)
        ])
        coder = _utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        changes = outputs["bbox_regression"]
        repeated = anchors.expand(changes.shape[0], -1, 4).flatten(0, 1)
        boxes = coder.decode_single(changes.flatten(0, 1), repeated)
        boxes = boxes.reshape(changes.shape[0], -1, 1, 4)
        scores = (outputs["cls_logits"] * self.SHARPNESS + self.OFFSET).sigmoid()
        return detections(boxes, scores, self.ROWS, 0.3)


class ClearRetinanetHead(RetinanetHead):
    """Its scores are few and far apart, which fp16 needs."""

    SHARPNESS, OFFSET = 3, -4
    CASES = [(1, (4, 3)), (2, (3, 5))]


class DeformableDetrLayer(nn.Module):
    """An encoder layer of Deformable DETR on four levels whose extents are known at run time."""

    WIDTH, HEADS, LEVELS, POINTS = 32, 4, 4, 3
    CASES = [(1, (8, 11)), (2, (9, 6))]  # batch, extents of the first level
    INPUTS = tuple(f"level{i}" for i in range(LEVELS))
    OUTPUTS = ("output",)
    DYNAMIC = {
        name: {0: "batch", 2: f"height of {name}", 3: f"width of {name}"} for name in INPUTS
    }

    def __init__(self):
        super().__init__()
        places = self.HEADS * self.LEVELS * self.POINTS
        self.level_embedding = nn.Parameter(torch.randn(self.LEVELS, self.WIDTH) / 2)
        self.value, self.result = (nn.Linear(self.WIDTH, self.WIDTH) for _ in range(2))
        self.offsets = nn.Linear(self.WIDTH, 2 * places)
        self.weights = nn.Linear(self.WIDTH, places)
        self.norms = nn.ModuleList(nn.LayerNorm(self.WIDTH) for _ in range(2))
        self.feed = nn.Sequential(
            nn.Linear(self.WIDTH, 2 * self.WIDTH), nn.ReLU(), nn.Linear(2 * self.WIDTH, self.WIDTH)
        )

    @classmethod
    def inputs(cls, batch, extent):
        extents = [[-(-side // 2**level) for side in extent] for level in range(cls.LEVELS)]
        return pyramid(batch, cls.WIDTH, extents)

    def forward(self, *levels):
        rows_of_levels = [level.flatten(2).transpose(1, 2) for level in levels]
        x = torch.cat(rows_of_levels, 1)
        query = torch.cat([x + y for x, y in zip(rows_of_levels, self.level_embedding)], 1)
        shapes = torch.stack([torch._shape_as_tensor(level)[2:] for level in levels])
        sizes = shapes[:, 0] * shapes[:, 1]
        starts = sizes.cumsum(0) - sizes
        rows = [self.middles(level.shape[2], x)[:, None].expand(-1, level.shape[3])
                for level in levels]
        columns = [self.middles(level.shape[3], x).expand(level.shape[2], -1) for level in levels]
        reference = torch.stack([torch.cat([part.flatten() for part in parts])
                                 for parts in (columns, rows)], -1)
        split = (self.HEADS, self.LEVELS, self.POINTS)
        offsets = self.offsets(query).unflatten(-1, (*split, 2)) / shapes.flip(1).to(x)[:, None]
        places = reference[:, None, None, None] + offsets
        weights = self.weights(query).unflatten(-1, (self.HEADS, -1)).softmax(-1)
        weights = weights.unflatten(-1, split[1:])
        value = self.value(x).reshape(x.shape[0], -1, self.HEADS, self.WIDTH // self.HEADS)
        attended = AttendPlaces.apply(value, shapes, starts, places, weights)
        x = self.norms[0](x + self.result(attended))
        return self.norms[1](x + self.feed(x))

    @staticmethod
    def middles(count, like):
        """Where elements of an axis lie, from 0 to 1."""
        return (torch.arange(count).to(like) + 0.5) / count


class DcnBlock(nn.Module):
    """Two deformable convolutions as in a DCN backbone; offsets and masks are convolved too."""

    CASES = [(1, (14, 11)), (3, (9, 8))]  # batch, extents
    INPUTS, OUTPUTS = ("x",), ("y",)
    DYNAMIC = {name: {0: "batch", 2: f"height of {name}", 3: f"width of {name}"} for name in "xy"}

    class Convolution(nn.Module):
        """Three by three, with `groups` of offsets, batch norm and ReLU."""

        def __init__(self, channels, results, stride, dilation, groups):
            super().__init__()
            self.moves = stride, dilation, dilation
            self.groups = groups
            self.convolve_offset = nn.Conv2d(channels, groups * 27, 3, *self.moves)
            self.weight = nn.Conv2d(channels, results, 3, bias=False).weight
            self.finish = nn.Sequential(nn.BatchNorm2d(results), nn.ReLU())

        def forward(self, x):
            first, second, mask = self.convolve_offset(x).chunk(3, 1)
            offset, mask = torch.cat([first, second], 1), mask.sigmoid()
            y = DeformedConvolution.apply(x, offset, mask, self.weight, *self.moves, self.groups)
            return self.finish(y)

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            self.Convolution(8, 12, 1, 1, 2), self.Convolution(12, 10, 2, 2, 1)
        )

    @staticmethod
    def inputs(batch, extent):
        return [draw(batch, 8, *extent)]

    def forward(self, x):
        return self.blocks(x)
