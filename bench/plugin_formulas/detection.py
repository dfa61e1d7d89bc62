"""Boxes: decoding, suppression and priors."""
import math

import numpy as np
import torch
import torch.nn.functional as functional
import torchvision

from plugin_formulas.registry import formula, of


@formula("Delta2BBoxPluginDynamic")
def delta2bbox(numbers):
    low = numbers.uniform(20000, 2) * 500
    inputs = {"scores": numbers.uniform(1, 20000, 80), "deltas": numbers.normal(1, 20000, 4),
              "anchors": np.concatenate([low, low + 8 + numbers.uniform(20000, 2) * 100], 1)}

    def by_torch(scores, deltas, anchors):
        size, middle = anchors[:, 2:] - anchors[:, :2], (anchors[:, 2:] + anchors[:, :2]) / 2
        centre = middle + deltas[..., :2] * size
        limit = math.log(1000 / 16)
        half = size * deltas[..., 2:].clamp(-limit, limit).exp() / 2
        return scores.clone(), torch.cat([centre - half, centre + half], -1)

    return of("Delta2BBoxPluginDynamic", inputs, {"min_num_bbox": 1000}, by_torch, outputs=("padded_scores", "boxes"))


def _detections(numbers):
    low, size = numbers.uniform(1, 2000, 2) * 600, numbers.uniform(1, 2000, 2) * 80 + 8
    return np.concatenate([low, low + size], 2), numbers.uniform(1, 2000, 80) ** 6


def _suppressed(boxes, scores):
    """The 100 best of each class's survivors."""
    places = (scores > 0.9).nonzero()
    values = scores[places[:, 0], places[:, 1]]
    kept = torchvision.ops.batched_nms(boxes[places[:, 0]], values, places[:, 1], 0.5)[:100]
    count = len(kept)
    shown, best, classes = torch.zeros(1, 100, 4), torch.zeros(1, 100), torch.full((1, 100), -1)
    shown[0, :count], best[0, :count], classes[0, :count] = boxes[places[kept, 0]], values[kept], places[kept, 1]
    return torch.tensor([[count]]), shown, best, classes


@formula("BatchedNMSDynamic_TRT", "BatchedNMS_TRT", "BatchedNMS_TRT_CUSTOM", "TRTBatchedNMS")
def batched_nms(numbers):
    boxes, scores = _detections(numbers)
    attributes = {"shareLocation": 1, "backgroundLabelId": -1, "numClasses": 80, "topK": -1, "keepTopK": 100, "scoreThreshold": 0.9,
                  "iouThreshold": 0.5, "isNormalized": 0, "clipBoxes": 0}
    return of("BatchedNMSDynamic_TRT", {"boxes": boxes[:, :, None], "scores": scores}, attributes,
              lambda boxes, scores: _suppressed(boxes[0, :, 0], scores[0]),
              outputs=("num", "boxes_kept", "scores_kept", "classes"), whole=("num",),
              comparable=lambda outputs: {"num": outputs["num"], "scores_kept": outputs["scores_kept"]})


@formula("EfficientNMS_TRT", "EfficientNMS_Explicit_TF_TRT", "EfficientNMS_Implicit_TF_TRT")
def efficient_nms(numbers):
    boxes, scores = _detections(numbers)
    attributes = {"score_threshold": 0.9, "iou_threshold": 0.5, "max_output_boxes": 100, "background_class": -1,
                  "score_activation": 0, "box_coding": 0}
    return of("EfficientNMS_TRT", {"boxes": boxes, "scores": scores}, attributes,
              lambda boxes, scores: _suppressed(boxes[0], scores[0]),
              outputs=("num", "boxes_kept", "scores_kept", "classes"), whole=("num", "classes"),
              comparable=lambda outputs: {"num": outputs["num"], "scores_kept": outputs["scores_kept"]})


@formula("GatherTopk")
def gather_topk(numbers):
    return of("GatherTopk", {"data": numbers.normal(1, 20000, 85), "indices": numbers.state.randint(0, 20000, (1, 2000)).astype(np.int32)},
              {}, lambda data, indices: data[0, indices[0]][None])


@formula("GridPriorsTRT", "GridAnchorDynamicPluginDynamic")
def grid_priors(numbers):
    inputs = {"base_anchors": numbers.normal(9, 4), "height": np.zeros(100, np.float32), "width": np.zeros(136, np.float32)}

    def by_torch(base_anchors, height, width):
        y, x = torch.meshgrid(torch.arange(100) * 8.0, torch.arange(136) * 8.0, indexing="ij")
        return (torch.stack([x, y, x, y], -1).reshape(-1, 1, 4) + base_anchors).reshape(-1, 4)

    return of("GridPriorsTRT", inputs, {"stride_h": 8, "stride_w": 8}, by_torch)


@formula("SoftNonMaxSuppression")
def soft_nms(numbers):
    low = numbers.uniform(300, 2) * 200
    boxes = np.concatenate([low, low + 8 + numbers.uniform(300, 2) * 60], 1)

    def by_torch(boxes, scores):
        scores, left = scores.clone(), torch.ones(300, dtype=torch.bool)
        overlaps = torchvision.ops.box_iou(boxes, boxes)
        rows, indices = torch.zeros(300, 5), torch.full((300,), -1)
        for row in range(300):
            if not left.any():
                break
            best = torch.where(left, scores, -1).argmax()
            rows[row, :4], rows[row, 4], indices[row] = boxes[best], scores[best], best
            left[best] = False
            scores = scores * torch.exp(-overlaps[best].square() / 0.5)
            left &= scores >= 1e-3
        return rows, indices

    return of("SoftNonMaxSuppression", {"boxes": boxes, "scores": numbers.uniform(300)},
              {"iou_threshold": 0.3, "sigma": 0.5, "min_score": 1e-3, "method": 2, "offset": 0}, by_torch, outputs=("dets", "indices"),
              comparable=lambda outputs: {"dets": outputs["dets"]})


@formula("MMCVSigmoidFocalLoss")
def sigmoid_focal_loss(numbers):
    rows, classes = 8400, 80

    def by_torch(input, target):
        one_hot = functional.one_hot(target, classes + 1)[:, :classes].float()
        return torchvision.ops.sigmoid_focal_loss(input, one_hot, 0.25, 2.0)

    return of("MMCVSigmoidFocalLoss",
              {"input": numbers.normal(rows, classes), "target": numbers.state.randint(0, classes + 1, rows)},
              {"gamma": 2.0, "alpha": 0.25, "reduction": "none"}, by_torch)
