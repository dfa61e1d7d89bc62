"""Writes cases.json: PointPillars' pillars, their scatter and its heads, by their definitions. Needs NumPy."""
import math
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402

random = numpy.random.RandomState(0)


def voxels(name, counts, capacity, numbers, more, per_cell, most, area=(0, -4, -1, 8, 4, 3), size=(2, 1, 4)):
    points = random.randint(-80, 160, (len(counts), capacity, numbers)).astype("float32") / 16
    out = numpy.zeros((len(counts), most, per_cell, numbers + more), "float32")
    coordinates = numpy.zeros((len(counts), most, 4), "int32")
    found = numpy.zeros(len(counts), "int32")
    for n, count in enumerate(counts):
        pillars = {}  # in the order of their first points
        for point in points[n, :count]:
            if all(area[k] <= point[k] < area[k + 3] for k in range(3)):
                cell = tuple(int((point[k] - area[k]) // size[k]) for k in (1, 0))
                pillars.setdefault(cell, []).append(point)
        found[n] = min(len(pillars), most)
        for p, (cell, members) in enumerate(list(pillars.items())[:most]):
            members = numpy.array(members[:per_cell])
            coordinates[n, p, 2:] = cell
            middle = [area[0] + (cell[1] + 0.5) * size[0], area[1] + (cell[0] + 0.5) * size[1], area[2] + 0.5 * size[2]]
            features = numpy.concatenate([members, members[:, :3] - members[:, :3].mean(0), members[:, :3] - middle], 1)
            out[n, p, :len(members)] = features[:, :numbers + more]
    case("VoxelGeneratorPlugin", name,
         {"max_num_points_per_voxel": per_cell, "max_voxels": most, "point_cloud_range": [float(a) for a in area],
          "voxel_feature_num": numbers + more, "voxel_size": [float(s) for s in size]},
         {"points": points, "num_points": numpy.int32(counts)},
         {"voxels": out, "coordinates": coordinates, "num_voxels": found})


voxels("two frames", [60, 25], 60, 4, 6, 3, 40)
voxels("five numbers", [50], 50, 5, 6, 4, 30)
voxels("without z", [50], 50, 4, 5, 2, 30)
voxels("few pillars are kept", [80], 80, 4, 6, 2, 5)
voxels("no points", [0, 3], 5, 4, 6, 2, 4)
voxels("no frames", [], 5, 4, 6, 2, 4)


def scatter(name, counts, pillars, features, rows, columns):
    x = random.randint(-32, 33, (len(counts), pillars, features)).astype("float32") / 16
    coordinates = numpy.zeros((len(counts), pillars, 4), "int32")
    y = numpy.zeros((len(counts), features, rows, columns), "float32")
    for n, count in enumerate(counts):
        places = random.permutation(rows * columns)[:pillars]
        coordinates[n, :, 2], coordinates[n, :, 3] = places // columns, places % columns
        for p in range(count):
            y[n, :, coordinates[n, p, 2], coordinates[n, p, 3]] = x[n, p]
    case("PillarScatterPlugin", name, {"dense_shape": [rows, columns]},
         {"features": x, "coordinates": coordinates, "num_pillars": numpy.int32(counts)}, {"y": y})


scatter("two frames", [7, 3], 8, 5, 4, 6)
scatter("64 features", [5], 5, 64, 3, 3)
scatter("no pillars", [0], 3, 2, 2, 2)
scatter("no frames", [], 3, 2, 2, 2)


def decode(name, frames, height, width, classes, threshold, bins=2, limit=0.0, area=(0, -8, -3, 16, 8, 1)):
    count = 2 * classes
    anchors = random.randint(4, 33, (count, 4)).astype("float32") / 8
    anchors[:, 3] = numpy.tile([0, 1.5], classes)
    bottoms = random.randint(-16, 0, classes).astype("float32") / 8
    scores = random.randint(-64, 65, (frames, height, width, count, classes)).astype("float32") / 16
    boxes = random.randint(-16, 17, (frames, height, width, count, 7)).astype("float32") / 16
    turns = random.permutation(frames * height * width * count * 2).reshape(frames, height, width, count, 2)
    out = numpy.zeros((frames, height * width * count, 9), "float32")
    found = numpy.zeros(frames, "int32")
    period, offset = 2 * math.pi / bins, numpy.float32(0.78539)
    for n, i, j, a in numpy.ndindex(frames, height, width, count):
        score = 1 / (1 + math.exp(-scores[n, i, j, a].max()))
        if score < threshold:
            continue
        x = area[0] + j * (area[3] - area[0]) / (width - 1) if width > 1 else area[0]
        y = area[1] + i * (area[4] - area[1]) / (height - 1) if height > 1 else area[1]
        b, (w, l, h, angle) = boxes[n, i, j, a], anchors[a]
        z = h / 2 + bottoms[a // 2]
        turned = b[6] + angle - offset
        yaw = turned - math.floor(turned / period + limit) * period + offset
        yaw += period * (0 if turns[n, i, j, a, 0] > turns[n, i, j, a, 1] else 1)
        diagonal = math.hypot(w, l)
        out[n, found[n]] = [b[0] * diagonal + x, b[1] * diagonal + y, b[2] * h + z, math.exp(b[3]) * w,
                            math.exp(b[4]) * l, math.exp(b[5]) * h, yaw, scores[n, i, j, a].argmax(), score]
        found[n] += 1
    case("DecodeBbox3DPlugin", name,
         {"point_cloud_range": [float(v) for v in area], "anchors": anchors.flatten().tolist(),
          "anchor_bottom_height": bottoms.tolist(), "dir_offset": 0.78539, "dir_limit_offset": limit,
          "num_dir_bins": bins, "score_thresh": threshold},
         {"classes": scores.reshape(frames, height, width, count * classes),
          "boxes": boxes.reshape(frames, height, width, count * 7),
          "directions": turns.reshape(frames, height, width, count * 2).astype("float32")},
         {"detections": out, "num_detections": found}, tolerance=(2e-5, 2e-3))


decode("two frames", 2, 3, 4, 3, 0.9)
decode("all boxes", 1, 2, 2, 1, 0.0, 4, 0.5)
decode("one pixel", 1, 1, 1, 2, 0.5)
decode("none is good enough", 1, 2, 2, 1, 1.0)
decode("no frames", 0, 2, 2, 1, 0.5)
write(__file__)
