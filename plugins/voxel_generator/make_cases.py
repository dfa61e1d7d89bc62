"""Writes cases.json: PointPillars' pillars by their definition. Needs NumPy."""
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
write(__file__)
