"""The goldens of faces and of people's landmarks: RetinaFace, SCRFD, CenterFace and MediaPipe's. make_goldens.py writes them."""
import numpy as np
import torch
import torchvision

from goldens import INPUT, IOU, SCORE, corners, grid, in_picture, kept, objects, save, sigmoid, to_picture


def retina_face(random):
    sides = {8: (16, 32), 16: (64, 128), 32: (256, 512)}
    priors = np.array([((x + 0.5) * s, (y + 0.5) * s, side) for s in sides for y in range(INPUT // s)
                       for x in range(INPUT // s) for side in sides[s]])
    count = len(priors)
    offsets = random.normal(0, 2, (count, 4)).astype(np.float32)
    landmarks = random.normal(0, 3, (count, 10)).astype(np.float32)
    face = random.uniform(0, 0.7, count).astype(np.float32)
    save("retina_face.boxes", offsets)
    save("retina_face.scores", np.column_stack([1 - face, face]))
    save("retina_face.landmarks", landmarks)
    centre = priors[:, :2] + offsets[:, :2] * 0.1 * priors[:, 2:]
    extents = priors[:, 2:] * np.exp(offsets[:, 2:] * 0.2)
    rows = kept(corners(np.concatenate([centre, extents], 1)), face, np.zeros(count, int), np.arange(count))
    points = priors[:, None, :2] + landmarks.reshape(-1, 5, 2) * 0.1 * priors[:, None, 2:]
    save("retina_face.faces", np.concatenate([rows, to_picture(points)[rows[:, 6].astype(int)].reshape(-1, 10)], 1))


def scrfd(random):
    x, y, stride = grid((8, 16, 32), INPUT, INPUT, each=2)
    count = len(x)
    scores = random.uniform(0, 0.6, count).astype(np.float32)
    distances = random.uniform(0.2, 2, (count, 4)).astype(np.float32)
    landmarks = random.normal(0, 1, (count, 10)).astype(np.float32)
    for s in (8, 16, 32):
        save(f"scrfd.scores_{s}", scores[stride == s][:, None])
        save(f"scrfd.boxes_{s}", distances[stride == s])
        save(f"scrfd.landmarks_{s}", landmarks[stride == s])
    centre = np.column_stack([x, y])
    boxes = np.concatenate([centre - distances[:, :2], centre + distances[:, 2:]], 1) * stride[:, None]
    rows = kept(boxes, scores, np.zeros(count, int), np.arange(count))
    points = (centre[:, None] + landmarks.reshape(-1, 5, 2)) * stride[:, None, None]
    save("scrfd.faces", np.concatenate([rows, to_picture(points)[rows[:, 6].astype(int)].reshape(-1, 10)], 1))


def center_face(random):
    heat = random.uniform(0, 0.5, (1, 16, 16)).astype(np.float32)
    extents = random.uniform(0.3, 1.8, (2, 16, 16)).astype(np.float32)
    offsets = random.uniform(0, 1, (2, 16, 16)).astype(np.float32)
    landmarks = random.uniform(0, 1, (10, 16, 16)).astype(np.float32)
    for name, values in (("heat", heat), ("extents", extents), ("offsets", offsets), ("landmarks", landmarks)):
        save(f"center_face.{name}", values)
    y, x = np.mgrid[:16, :16] + 0.5
    centre = np.stack([x + offsets[1], y + offsets[0]], -1).reshape(-1, 2) * 4
    size = np.exp(extents[::-1].astype(np.float64)).reshape(2, -1).T * 4
    boxes = np.concatenate([centre - size / 2, centre + size / 2], 1)
    rows = kept(boxes, heat.reshape(-1), np.zeros(256, int), np.arange(256))
    parts = landmarks.reshape(5, 2, -1).transpose(2, 0, 1)[..., ::-1]
    points = boxes[:, None, :2] + parts * size[:, None]
    save("center_face.faces", np.concatenate([rows, to_picture(points)[rows[:, 6].astype(int)].reshape(-1, 10)], 1))


def blaze(random):
    """Boxes that overlap are averaged with the best of them, weighted by their scores: MediaPipe's weighted NMS."""
    levels = ((8, 2), (16, 6))
    anchors = np.concatenate([np.repeat(grid((stride,), INPUT, INPUT), each, axis=1) for stride, each in levels], 1)
    middle = ((anchors[:2] + 0.5) * anchors[2]).T
    count = len(middle)
    boxes, scores = objects(random, count, 1)
    keypoints = boxes[:, None, :2] + random.normal(0, 8, (count, 3, 2))
    numbers = np.concatenate([boxes[:, :2] - middle, boxes[:, 2:], (keypoints - middle[:, None]).reshape(count, 6)], 1)
    logits = np.log(scores / (1 - scores)).astype(np.float32)
    save("blaze.boxes", numbers)
    save("blaze.scores", logits)
    numbers, likelihoods = numbers.astype(np.float32).astype(np.float64), sigmoid(logits.astype(np.float64))[:, 0]
    boxes = corners(np.concatenate([numbers[:, :2] + middle, numbers[:, 2:4]], 1))
    points = np.concatenate([boxes.reshape(-1, 2, 2), numbers[:, 4:].reshape(-1, 3, 2) + middle[:, None]], 1)
    left = [i for i in np.argsort(-likelihoods, kind="stable") if likelihoods[i] > SCORE]
    rows = []
    while left:
        best_box = left[0]
        ious = torchvision.ops.box_iou(torch.tensor(boxes[[best_box]]), torch.tensor(boxes[left]))[0].numpy()
        group = [i for i, iou in zip(left, ious) if iou > IOU]
        left = [i for i in left if i not in group]
        mean = np.average(points[group], 0, likelihoods[group])
        rows.append([*in_picture(mean[:2].reshape(1, 4))[0], likelihoods[best_box], 0, best_box,
                     *to_picture(mean[2:]).reshape(-1)])
    save("blaze.found", rows)


def blaze_pose(random):
    side = 16
    landmarks = random.uniform(-3, INPUT + 3, (20, 5)).astype(np.float32)
    landmarks[:, 2:] = random.normal(0, 2, (20, 3))
    heat = random.normal(-4, 1, (side, side, 20)).astype(np.float32)
    for i in range(0, 20, 2):  # a peak beside every other landmark
        x, y = np.clip(landmarks[i, :2] * side / INPUT + random.uniform(-2, 2, 2), 0, side - 1).astype(int)
        heat[y, x, i] = 3
    save("blaze_pose.landmarks", landmarks.reshape(-1))
    save("blaze_pose.heat", heat)
    likelihood = sigmoid(heat.astype(np.float64))
    points = landmarks[:, :2].astype(np.float64)
    for i, (column, row) in enumerate(np.trunc(points * side / INPUT).astype(int)):
        if not (0 <= column < side and 0 <= row < side):
            continue
        rows, columns = (slice(max(0, at - 3), at + 4) for at in (row, column))
        part = likelihood[rows, columns, i]
        if part.max() >= 0.5:
            y, x = np.mgrid[:side, :side][:, rows, columns]
            points[i] = np.array([(part * x).sum(), (part * y).sum()]) / part.sum() * INPUT / side
    save("blaze_pose.keypoints", np.column_stack([to_picture(points), sigmoid(landmarks[:, 3].astype(np.float64))]))
