#include "tenon/serve/nms.h"

#include "guard.h"
#include "suppress.h"
#include "tenon/kernels/kept_boxes.h"

namespace tenon::serve {

session::Result<std::vector<int64_t>> nms(std::span<const Box> boxes,
                                          const NmsOptions& options) noexcept {
  return session::guard([&] {
    return suppressed<kernels::KeptBoxes>(boxes, options, [](const Box& box) {
      return kernels::Box{box.left, box.top, box.right, box.bottom};
    });
  });
}

}  // namespace tenon::serve
