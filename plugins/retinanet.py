"""A RetinaNet head of torchvision with fixed weights, and the detections that torchvision makes of
what it gives: for cases of the plugins that stand in its place. Needs PyTorch and torchvision."""
import types

import torch
import torchvision
from torchvision.models.detection import _utils, anchor_utils, image_list, retinanet

CLASSES, ROWS, SCORE, OVERLAP = 4, 20, 0.3, 0.5


def head():
    """Logits (1, B, classes) and regressions (1, B, 4), anchors (B, 4) as corners, and detections:
    boxes (rows, 4), scores (rows), classes (rows)."""
    torch.manual_seed(1)
    module = retinanet.RetinaNetHead(8, 3, CLASSES).eval()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.17)
    features = [torch.randn(1, 8, 6, 6), torch.randn(1, 8, 3, 3)]
    generator = anchor_utils.AnchorGenerator(((64,), (128,)), ((0.5, 1.0, 2.0),) * 2)
    # An image so large that nothing is clipped at its border.
    side = 384
    images = image_list.ImageList(torch.zeros(1, 3, side, side), [(side, side)])
    with torch.no_grad():
        # In multiples of 1/1024, which are short to write.
        outputs = {key: (value * 1024).round() / 1024 for key, value in module(features).items()}
        anchors = [a + 4 * side for a in generator(images, features)]
        levels = [3 * 36, 3 * 9]
        detections = retinanet.RetinaNet.postprocess_detections(
            types.SimpleNamespace(score_thresh=SCORE, topk_candidates=10**6, nms_thresh=OVERLAP,
                                  detections_per_img=ROWS,
                                  box_coder=_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))),
            {key: list(value.split(levels, 1)) for key, value in outputs.items()},
            [list(anchors[0].split(levels))], [(16 * side, 16 * side)])[0]
    assert len(detections["scores"].unique()) == ROWS  # torchvision does not order equal ones
    return (outputs["cls_logits"], outputs["bbox_regression"], anchors[0], detections["boxes"],
            detections["scores"], detections["labels"])


def decoded(regressions, anchors):
    """Boxes (B, 4) as corners."""
    return _utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0)).decode_single(regressions, anchors)


def centers(boxes):
    """Corners as centres and sizes."""
    return torchvision.ops.box_convert(boxes, "xyxy", "cxcywh")
