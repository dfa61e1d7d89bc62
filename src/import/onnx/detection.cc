// Operators of detectors: choice of boxes, pooling of regions.
#include "import/node.h"
#include "ops/max_roi_pool.h"
#include "ops/nms.h"
#include "ops/roi_align.h"

namespace tenon {

TENON_IMPORT(NonMaxSuppression, 10, "") {
  n.expect_inputs(2, 5);
  require(!n.has("max_output_boxes_per_class"),
          "attribute 'max_output_boxes_per_class' is MMCV's: its plugin of this name is not "
          "registered");
  auto op = std::make_unique<Nms>();
  op->classes_first = true;
  op->indices_type = DataType::kINT64;
  op->format = n.flag("center_point_box", false) ? BoundingBoxFormat::kCENTER_SIZES
                                                 : BoundingBoxFormat::kCORNER_PAIRS;
  std::vector<Value*> inputs{&n.input(0), &n.input(1)};
  // No limit given means no box at all.
  inputs.push_back(n.has_input(2) ? &n.input(2) : &n.integers({0}));
  for (int i = 3; i < 5; ++i) inputs.push_back(n.optional_input(i));
  n.set_output(0, n.add(std::move(op), std::move(inputs)));
}

TENON_IMPORT(RoiAlign, 10, "") {
  n.expect_inputs(3, 3);
  auto op = std::make_unique<RoiAlign>();
  op->height = n.integer("output_height", 1);
  op->width = n.integer("output_width", 1);
  op->sampling_ratio = n.integer("sampling_ratio", 0);
  op->spatial_scale = n.real("spatial_scale", 1);
  const std::string mode = n.text("mode", "avg");
  require(mode == "avg" || mode == "max", "attribute 'mode' is '{}'; expected avg or max", mode);
  op->takes_maximum = mode == "max";
  const std::string coordinates =
      n.text("coordinate_transformation_mode", n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  require(coordinates == "half_pixel" || coordinates == "output_half_pixel",
          "attribute 'coordinate_transformation_mode' is '{}'; expected half_pixel or "
          "output_half_pixel",
          coordinates);
  op->half_pixel = coordinates == "half_pixel";
  n.set_output(0, n.add(std::move(op), {&n.input(0), &n.input(1), &n.input(2)}));
}

TENON_IMPORT(MaxRoiPool, 1, "") {
  n.expect_inputs(2, 2);
  const auto size = n.integers_in("pooled_shape");
  require(size.size() == 2, "attribute 'pooled_shape' has {} entries; expected 2", size.size());
  auto op = std::make_unique<MaxRoiPool>();
  op->height = size[0];
  op->width = size[1];
  op->spatial_scale = n.real("spatial_scale", 1);
  n.set_output(0, n.add(std::move(op), {&n.input(0), &n.input(1)}));
}

}  // namespace tenon
