#!/usr/bin/env python3
"""Writes goldens/: heads with random numbers, and what they mean by the formulas of the papers.

    make_goldens.py                 needs NumPy, PyTorch, torchvision and OpenCV
    make_goldens.py --ultralytics   also compares the formulas with what Ultralytics' functions give

The formulas are written here in NumPy's float64 and on their own. NMS is torchvision's, resizing
PyTorch's, and rectangles around parts are OpenCV's. A file is a tensor as serve/tensor_file.h has it.
"""
import argparse

import cv2
import numpy as np
import torch
import torchvision

from face_goldens import blaze, blaze_pose, center_face, retina_face, scrfd
from goldens import (FOLDER, INPUT, IOU, PICTURE, SCORE, TO_PICTURE, UNDECIDED, best, corners, grid, in_picture, kept,
                     objects, save, sigmoid, to_picture)


def yolo_v5(random):
    boxes, scores = objects(random, 300, 4)
    objectness = random.uniform(0.2, 1, (300, 1)).astype(np.float32)
    save("yolo_v5.head", np.concatenate([boxes, objectness, scores], 1))
    likelihoods = objectness * scores
    save("yolo_v5.boxes", kept(corners(boxes), *best(likelihoods), np.arange(300)))
    box, kind = np.nonzero(likelihoods > SCORE)
    save("yolo_v5.multi_label", kept(corners(boxes)[box], likelihoods[box, kind], kind, box))


def yolox(random):
    x, y, stride = grid((8, 16, 32), INPUT, INPUT)
    count = len(x)
    offsets = random.normal(0, 0.7, (count, 4)).astype(np.float32)
    scores = random.uniform(0, 1, (count, 1 + 3)).astype(np.float32)
    save("yolox.head", np.concatenate([offsets, scores], 1))
    boxes = np.column_stack([(offsets[:, 0] + x) * stride, (offsets[:, 1] + y) * stride,
                             np.exp(offsets[:, 2]) * stride, np.exp(offsets[:, 3]) * stride])
    save("yolox.boxes", kept(corners(boxes), *best(scores[:, :1] * scores[:, 1:]), np.arange(count)))


def yolo_v8(random):
    boxes, scores = objects(random, 300, 4)
    save("yolo_v8.head", np.concatenate([boxes, scores], 1).T)
    save("yolo_v8.half", np.concatenate([boxes, scores], 1).T, np.float16)
    save("yolo_v8.boxes", kept(corners(boxes), *best(scores), np.arange(300)))
    order = torchvision.ops.nms(torch.tensor(corners(boxes)), torch.tensor(scores.max(1)), IOU).numpy()
    save("yolo_v8.agnostic", [i for i in order if scores[i].max() > SCORE], np.int32)
    halves = np.concatenate([boxes, scores], 1).astype(np.float16).astype(np.float32)
    save("yolo_v8.half_boxes", kept(corners(halves[:, :4]), *best(halves[:, 4:]), np.arange(300)))


def yolo_v10(random):
    boxes, scores = objects(random, 40, 4)
    scores, classes = best(scores)
    save("yolo_v10.head", np.column_stack([corners(boxes), scores, classes]))
    order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > SCORE]
    save("yolo_v10.boxes", np.column_stack([in_picture(corners(boxes)[order]), scores[order], classes[order], order]))


ANCHORS = {8: [(10, 13), (16, 30), (33, 23)], 16: [(30, 41), (22, 25), (19, 39)], 32: [(36, 30), (16, 48), (43, 36)]}


def anchors(random):
    levels = []
    for stride in ANCHORS:
        side = INPUT // stride
        level = random.normal(0, 1.2, (3, 8, side, side)).astype(np.float32)  # 3 classes
        levels.append(level)
        save(f"anchors.channels_{stride}", level.reshape(24, side, side))
        save(f"anchors.split_{stride}", level.transpose(0, 2, 3, 1))
    for coding in "v3", "v5":
        boxes, likelihoods = [], []
        for level, (stride, sizes) in zip(levels, ANCHORS.items()):
            side = INPUT // stride
            t = level.astype(np.float64).transpose(0, 2, 3, 1)
            cell = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1)
            size = np.array(sizes, np.float64)[:, None, None]
            p = sigmoid(t)
            if coding == "v3":
                box = np.concatenate([(p[..., :2] + cell) * stride, np.exp(t[..., 2:4]) * size], -1)
            else:
                box = np.concatenate([(2 * p[..., :2] - 0.5 + cell) * stride, (2 * p[..., 2:4]) ** 2 * size], -1)
            boxes.append(box.reshape(-1, 4))
            likelihoods.append((p[..., 4:5] * p[..., 5:]).reshape(-1, 3))
        boxes, likelihoods = np.concatenate(boxes), np.concatenate(likelihoods)
        save(f"anchors.{coding}_boxes", kept(corners(boxes), *best(likelihoods), np.arange(len(boxes))))


def distributions(random):
    boxes, likelihoods = [], []
    for stride in (8, 16, 32):
        side = INPUT // stride
        level = np.concatenate([random.normal(0, 2, (64, side, side)),
                                random.normal(-1.5, 1.5, (3, side, side))]).astype(np.float32)
        save(f"distributions.{stride}", level)
        likelihood = torch.softmax(torch.tensor(level[:64].astype(np.float64)).reshape(4, 16, side, side), 1).numpy()
        left, top, right, bottom = (likelihood * np.arange(16)[:, None, None]).sum(1)
        x, y = np.meshgrid(np.arange(side) + 0.5, np.arange(side) + 0.5)
        boxes.append(np.stack([x - left, y - top, x + right, y + bottom], -1).reshape(-1, 4) * stride)
        likelihoods.append(sigmoid(level[64:].astype(np.float64)).reshape(3, -1).T)
    boxes, likelihoods = np.concatenate(boxes), np.concatenate(likelihoods)
    save("distributions.boxes", kept(boxes, *best(likelihoods), np.arange(len(boxes))))


def sampled(maps, to_input, width, height):
    """Maps (n, h, w) that cover the input at each pixel of a picture, bilinearly."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    x, y = (x - to_input[2]) / to_input[0], (y - to_input[5]) / to_input[4]
    where = np.stack([(2 * x + 1) / INPUT - 1, (2 * y + 1) / INPUT - 1], -1)[None]
    return torch.nn.functional.grid_sample(torch.tensor(maps)[None], torch.tensor(where), padding_mode="border",
                                           align_corners=False)[0].numpy()


def inside(boxes, width, height):
    """(boxes, height, width): pixels whose number is not below the left edge and below the right one."""
    y, x = np.mgrid[:height, :width]
    left, top, right, bottom = boxes.T[:, :, None, None]
    return (x >= left) & (x < right) & (y >= top) & (y < bottom)


def instances(random, compare):
    boxes, scores = objects(random, 120, 3)
    coefficients = random.normal(0, 1, (120, 8)).astype(np.float32)
    prototypes = random.normal(0, 1, (8, 16, 16)).astype(np.float32)
    save("instances.head", np.concatenate([boxes, scores, coefficients], 1).T)
    save("instances.prototypes", prototypes)
    rows = kept(corners(boxes), *best(scores), np.arange(120))[:5]
    save("instances.boxes", rows)
    index = rows[:, 6].astype(int)
    logits = np.tensordot(coefficients[index].astype(np.float64), prototypes.astype(np.float64), 1)
    values = sampled(logits, TO_PICTURE, *PICTURE)
    masks = np.where(np.abs(values) < 1e-4, UNDECIDED, values > 0) * inside(rows[:, :4], *PICTURE)
    save("instances.masks", masks, np.uint8)
    if compare:
        from ultralytics.utils import ops
        of_input = corners(boxes)[index]
        theirs = ops.process_mask(torch.tensor(prototypes), torch.tensor(coefficients[index]), torch.tensor(of_input),
                                  (INPUT, INPUT), upsample=True).numpy()
        ours = (sampled(logits, [1, 0, 0, 0, 1, 0], INPUT, INPUT) > 0) & inside(of_input, INPUT, INPUT)
        print("instances: pixels of masks that differ:", (theirs != ours).sum(), "of", ours.size)


def poses(random):
    boxes, scores = objects(random, 60, 1)
    keypoints = random.uniform(0, INPUT, (60, 5, 3)).astype(np.float32)
    keypoints[..., 2] /= INPUT
    save("poses.head", np.concatenate([boxes, scores, keypoints.reshape(60, 15)], 1).T)
    rows = kept(corners(boxes), *best(scores), np.arange(60))
    save("poses.boxes", rows)
    chosen = keypoints[rows[:, 6].astype(int)].astype(np.float64)
    chosen[..., :2] = to_picture(chosen[..., :2])
    save("poses.keypoints", chosen)


def probabilistic_iou(a, b):
    """Llerena et al., 2021: of each (x, y, width, height, angle) of a with each of b."""
    def gaussians(boxes):
        turn = np.array([[np.cos(boxes[:, 4]), -np.sin(boxes[:, 4])], [np.sin(boxes[:, 4]), np.cos(boxes[:, 4])]])
        turn = turn.transpose(2, 0, 1)
        spread = np.zeros_like(turn)
        spread[:, 0, 0], spread[:, 1, 1] = boxes[:, 2] ** 2 / 12, boxes[:, 3] ** 2 / 12
        return boxes[:, :2], turn @ spread @ turn.transpose(0, 2, 1)
    (mean_a, spread_a), (mean_b, spread_b) = gaussians(a), gaussians(b)
    mean = (spread_a[:, None] + spread_b[None]) / 2
    d = mean_a[:, None] - mean_b[None]
    of_means = np.einsum("abi,abij,abj->ab", d, np.linalg.inv(mean), d) / 8
    det = np.linalg.det
    of_spreads = np.log(det(mean) / np.sqrt(det(spread_a)[:, None] * det(spread_b)[None])) / 2
    return 1 - np.sqrt(1 - np.exp(-np.maximum(of_means + of_spreads, 0)))


def oriented_boxes(random, compare):
    boxes, scores = objects(random, 200, 3)
    angles = random.uniform(-np.pi / 4, 3 * np.pi / 4, (200, 1)).astype(np.float32)
    angles[::2] = 0.3 + random.normal(0, 0.1, (100, 1))
    save("oriented_boxes.head", np.concatenate([boxes, scores, angles], 1).T)
    turned = np.concatenate([boxes, angles], 1).astype(np.float64)
    ious = probabilistic_iou(turned, turned)
    save("oriented_boxes.ious", ious[:20, :20])
    score, kind = best(scores)
    order = [i for i in np.argsort(-score, kind="stable") if score[i] > SCORE]
    for method in "greedy", "fast":
        stay, before = [], []
        for i in order:
            if all(ious[i, k] <= IOU or kind[i] != kind[k] for k in before):
                stay.append(i)
                before.append(i)
            elif method == "fast":
                before.append(i)
        rows = turned[stay]
        rows[:, :2] = to_picture(rows[:, :2])
        rows[:, 2:4] *= TO_PICTURE[0]
        angle = rows[:, 4] % np.pi
        swaps = angle >= np.pi / 2
        rows[swaps, 2:4] = rows[swaps, 3:1:-1]
        rows[:, 4] = angle % (np.pi / 2)
        save(f"oriented_boxes.{method}", np.column_stack([rows, score[stay], kind[stay], stay]))
    if compare:
        from ultralytics.utils.metrics import batch_probiou
        from ultralytics.utils.nms import TorchNMS
        theirs = batch_probiou(torch.tensor(turned), torch.tensor(turned)).numpy()
        print("oriented_boxes: largest difference of probabilistic IoUs:", np.abs(theirs - ious).max())
        apart = turned.copy()
        apart[:, :2] += 7680 * kind[:, None]
        chosen = np.array(order)
        fast = chosen[TorchNMS.fast_nms(torch.tensor(apart[chosen]), torch.tensor(score[chosen]), IOU,
                                        iou_func=batch_probiou).numpy()]
        print("oriented_boxes: Fast NMS keeps the same:", list(fast) == [int(i) for i in stay])


def center_net(random):
    heat = random.normal(-1.5, 1.5, (3, 16, 16)).astype(np.float32)
    extents = random.uniform(0.5, 6, (2, 16, 16)).astype(np.float32)
    offsets = random.uniform(0, 1, (2, 16, 16)).astype(np.float32)
    likelihood = sigmoid(heat.astype(np.float64))
    save("center_net.logits", heat)
    save("center_net.heat", likelihood)
    save("center_net.extents", extents)
    save("center_net.offsets", offsets)
    peaks = torch.nn.functional.max_pool2d(torch.tensor(likelihood)[None], 3, 1, 1)[0].numpy() == likelihood
    kind, y, x = np.nonzero(peaks & (likelihood > SCORE))
    scores = likelihood[kind, y, x]
    boxes = np.column_stack([x + offsets[0, y, x], y + offsets[1, y, x], extents[0, y, x], extents[1, y, x]]) * 4
    order = np.argsort(-scores, kind="stable")
    rows = np.column_stack([in_picture(corners(boxes)), scores, kind, y * 16 + x])
    save("center_net.boxes", rows[order])


def text_boxes(random):
    height, width = 60, 90
    y, x = np.mgrid[:height, :width].astype(np.float64)
    chart = random.uniform(0, 0.25, (height, width))
    for cx, cy, w, h, angle, value in [(20, 10, 30, 8, 0, 0.9), (62, 14, 40, 9, 0.15, 0.8), (30, 38, 36, 10, -0.5, 0.95),
                                       (86, 40, 14, 20, 0, 0.7), (60, 50, 24, 7, 0.02, 0.4), (5, 55, 3, 2, 0, 0.9)]:
        u = (x - cx) * np.cos(angle) + (y - cy) * np.sin(angle)
        v = (y - cy) * np.cos(angle) - (x - cx) * np.sin(angle)
        part = (np.abs(u) <= w / 2) & (np.abs(v) <= h / 2)
        chart[part] = value + random.uniform(-0.05, 0.05, part.sum())
    chart[36:39, 28:31] = 0.1  # a hole
    chart = chart.astype(np.float16)
    save("text_boxes.map", chart, np.float16)
    chart = chart.astype(np.float64)
    rows = []
    found, _ = cv2.findContours((chart > 0.3).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    for contour in found:
        (cx, cy), (w, h), degrees = cv2.minAreaRect(contour)
        if min(w, h) < 3:
            continue
        angle = np.deg2rad(degrees)
        u = (x - cx) * np.cos(angle) + (y - cy) * np.sin(angle)
        v = (y - cy) * np.cos(angle) - (x - cx) * np.sin(angle)
        score = chart[(np.abs(u) <= w / 2 + 1e-3) & (np.abs(v) <= h / 2 + 1e-3)].mean()
        if score <= 0.6:
            continue
        margin = w * h * 1.5 / (2 * (w + h))
        points = cv2.boxPoints(((cx, cy), (w + 2 * margin, h + 2 * margin), degrees)).astype(np.float64)
        points = np.clip(points * 2 + 1, 0, (2 * width, 2 * height))  # a picture of twice the extents
        left, right = np.split(points[np.argsort(points[:, 0], kind="stable")], 2)
        left, right = left[np.argsort(left[:, 1])], right[np.argsort(right[:, 1])]
        rows.append(np.concatenate([left[0], right[0], right[1], left[1], [score]]))
    save("text_boxes.boxes", sorted(rows, key=lambda row: (round(row[1] / 10), row[0])))


def text(random):
    alphabet = ["a", "é", "字", "😀", "b", " "]
    scores = random.normal(0, 2, (40, 7)).astype(np.float32)
    scores[1::3] = scores[::3][:13] * 1.5  # repeats
    save("text.logits", scores)
    likelihoods = torch.softmax(torch.tensor(scores.astype(np.float64)), 1).numpy()
    steps = likelihoods.argmax(1)
    firsts = [i for i in range(40) if steps[i] != 0 and (i == 0 or steps[i] != steps[i - 1])]
    save("text.text", np.frombuffer("".join(alphabet[steps[i] - 1] for i in firsts).encode(), np.uint8), np.uint8)
    save("text.score", [np.mean([likelihoods[i, steps[i]] for i in firsts])])


def classification(random):
    logits = random.normal(0, 3, 1000).astype(np.float32)
    save("classification.logits", logits)
    scores, classes = torch.topk(torch.softmax(torch.tensor(logits.astype(np.float64)), 0), 5)
    save("classification.best", np.column_stack([classes.numpy(), scores.numpy()]))


def segmentation(random):
    scores = random.normal(0, 1, (4, 16, 16)).astype(np.float32)
    save("segmentation.scores", scores)
    save("segmentation.last", scores.transpose(1, 2, 0))
    values = sampled(scores.astype(np.float64), TO_PICTURE, *PICTURE)
    ordered = np.sort(values, 0)
    save("segmentation.bilinear", np.where(ordered[-1] - ordered[-2] < 1e-4, UNDECIDED, values.argmax(0)), np.uint8)

    def cells(count, scale, shift):
        at = ((np.arange(count) - shift) / scale + 0.5) * 16 / INPUT
        return np.clip(np.floor(at).astype(int), 0, 15), np.abs(at - np.round(at)) < 1e-4
    columns, near_x = cells(PICTURE[0], TO_PICTURE[0], TO_PICTURE[2])
    rows, near_y = cells(PICTURE[1], TO_PICTURE[4], TO_PICTURE[5])
    labels = scores.argmax(0)[rows][:, columns]
    save("segmentation.nearest", np.where(near_y[:, None] | near_x, UNDECIDED, labels), np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ultralytics", action="store_true", help="compare with Ultralytics' functions")
    compare = parser.parse_args().ultralytics
    FOLDER.mkdir(exist_ok=True)
    save("to_picture", TO_PICTURE)
    for seed, case in enumerate([yolo_v5, yolox, yolo_v8, yolo_v10, anchors, distributions, poses, retina_face, scrfd,
                                 center_net, text_boxes, text, classification, segmentation, center_face, blaze, blaze_pose]):
        case(np.random.default_rng(seed))
    instances(np.random.default_rng(100), compare)
    oriented_boxes(np.random.default_rng(101), compare)


if __name__ == "__main__":
    main()
