// Operators of detectors: choice of boxes.
#include "import/node.h"
#include "ops/nms.h"

namespace tenon {

TENON_IMPORT(NonMaxSuppression, 10, "") {
  n.expect_inputs(2, 5);
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

}  // namespace tenon
