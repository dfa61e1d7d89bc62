"""Writes cases.json: SSD's boxes by the formulas of its paper and of Caffe's and TensorFlow's generators. Needs NumPy."""
import pathlib
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from cases import case, write  # noqa: E402


def boxes_on_grid(height, width, sizes, step_y, step_x, offset=0.5, clip=False):
    """Corners of boxes (width, height) around each point."""
    found = []
    for row, column in numpy.ndindex(height, width):
        x, y = (column + offset) * step_x, (row + offset) * step_y
        found += [[x - w / 2, y - h / 2, x + w / 2, y + h / 2] for w, h in sizes]
    found = numpy.array(found).reshape(-1, 4)
    return found.clip(0, 1) if clip else found


def with_variances(images, boxes, variance):
    one = numpy.stack([boxes.flatten(), numpy.tile(variance, len(boxes))])
    return numpy.repeat(one[None, :, :, None], images, 0).astype("float32")


def prior_box(name, images, feature, image, attributes, ratios, variance=(.1, .1, .2, .2)):
    """`ratios`: those that Caffe makes of the attribute, without 1."""
    height, width = attributes.get("imgH", image[0]), attributes.get("imgW", image[1])
    sizes = []
    for i, least in enumerate(attributes["minSize"]):
        sizes.append((least / width, least / height))
        if "maxSize" in attributes:
            side = (least * attributes["maxSize"][i]) ** 0.5
            sizes.append((side / width, side / height))
        sizes += [(least * r ** 0.5 / width, least / r ** 0.5 / height) for r in ratios]
    step_y = attributes.get("stepH", height / max(feature[0], 1)) / height
    step_x = attributes.get("stepW", width / max(feature[1], 1)) / width
    boxes = boxes_on_grid(*feature, sizes, step_y, step_x, attributes.get("offset", 0.5), attributes.get("clip", 0))
    case("PriorBox_TRT", name, attributes,
         {"feature": numpy.zeros((images, 3, *feature), "float32"),
          "image": numpy.zeros((images, 3, *image), "float32")},
         {"priors": with_variances(images, boxes, variance)}, any_type=("image",))


prior_box("two sizes and ratios", 2, (2, 3), (30, 60),
          {"minSize": [10.0, 16.0], "maxSize": [16.0, 20.0], "aspectRatios": [2.0, 3.0]}, [2, 1 / 2, 3, 1 / 3])
prior_box("clipped, as attributes say", 1, (3, 2), (8, 8),
          {"minSize": [40.0], "aspectRatios": [1.0, 2.0], "flip": 0, "clip": 1, "imgH": 64, "imgW": 32, "stepH": 20.0,
           "stepW": 16.0, "offset": 0.25, "variance": [1.0, 2.0, 3.0, 4.0]}, [2], (1, 2, 3, 4))
prior_box("a size alone", 1, (1, 1), (5, 7), {"minSize": [3.0]}, [])
prior_box("no rows", 1, (0, 2), (5, 7), {"minSize": [3.0]}, [])
prior_box("no images", 0, (2, 2), (5, 7), {"minSize": [3.0]}, [])


def grid_anchor(plugin, name, shapes, attributes, least=0.2, most=0.95, ratios=(1, 2, 0.5, 3, 1 / 3),
                variance=(.1, .1, .2, .2)):
    count = len(shapes)
    scales = [least + (most - least) * i / (count - 1) if count > 1 else least for i in range(count)] + [1]
    outputs = {}
    for i, (height, width) in enumerate(shapes):
        if i == 0:
            pairs = list(zip([0.1, scales[0], scales[0]], ratios))
        else:
            pairs = [(scales[i], r) for r in ratios] + [((scales[i] * scales[i + 1]) ** 0.5, 1)]
        sizes = [(s * r ** 0.5, s / r ** 0.5) for s, r in pairs]
        boxes = boxes_on_grid(height, width, sizes, 1 / max(height, 1), 1 / max(width, 1))
        outputs[f"anchors{i}"] = with_variances(1, boxes, variance)
    case(plugin, name, attributes, {}, outputs)


grid_anchor("GridAnchor_TRT", "six layers", [(n, n) for n in (4, 3, 2, 2, 1, 1)], {"featureMapShapes": [4, 3, 2, 2, 1, 1]})
grid_anchor("GridAnchor_TRT", "two layers", [(3, 3), (2, 2)],
            {"featureMapShapes": [3, 2], "numLayers": 2, "minSize": 0.25, "maxSize": 0.5, "aspectRatios": [1.0, 4.0, 0.25],
             "variance": [1.0, 2.0, 3.0, 4.0]}, 0.25, 0.5, (1, 4, 0.25), (1, 2, 3, 4))
grid_anchor("GridAnchor_TRT", "one layer", [(2, 2)], {"featureMapShapes": [2], "numLayers": 1})
grid_anchor("GridAnchorRect_TRT", "two layers", [(2, 3), (0, 4)], {"featureMapShapes": [2, 3, 0, 4], "numLayers": 2})
grid_anchor("GridAnchorRect_TRT", "one layer", [(1, 2)], {"featureMapShapes": [1, 2], "numLayers": 1})
write(__file__)
