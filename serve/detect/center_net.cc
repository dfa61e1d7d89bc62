#include "tenon/serve/center_net.h"

#include "candidates.h"
#include "tenon/kernels/nms.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kCenterNet = "CenterNet";

// No neighbour is higher; NaNs are not.
bool is_peak(const float* heat, int64_t width, int64_t height, int64_t cell) {
  const int64_t x = cell % width, y = cell / width;
  for (int64_t row = std::max<int64_t>(0, y - 1); row <= std::min(height - 1, y + 1); ++row)
    for (int64_t column = std::max<int64_t>(0, x - 1); column <= std::min(width - 1, x + 1);
         ++column)
      if (heat[row * width + column] > heat[cell]) return false;
  return true;
}

}  // namespace

Result<std::vector<Box>> decode_center_net(const View& heat, const View& extents,
                                           const View& offsets, const DetectOptions& options,
                                           int stride, bool is_logit) noexcept {
  return session::guard([&] {
    require_options(kCenterNet, options);
    if (stride < 1) fail(kCenterNet, "a stride of 1 or more", std::to_string(stride));
    const int64_t classes = heat.size(0), height = heat.size(1), width = heat.size(2);
    if (heat.rank() != 3 || classes < 1)
      fail(kCenterNet, "heat of shape (classes, height, width)", heat.text());
    require_classes(kCenterNet, options.classes, classes);
    for (const View* view : {&extents, &offsets})
      if (view->shape() != Shape{2, height, width})
        fail(kCenterNet,
             std::string(view == &extents ? "extents" : "offsets") + " of shape "
                 + session::shape_text({2, height, width}),
             view->text());

    const Floats heats(heat), sizes(extents), shifts(offsets);
    const int64_t cells = height * width;
    const float limit = is_logit ? logit_below(options.score_threshold) : options.score_threshold;
    DetectOptions best = options;  // of peaks, which nothing suppresses
    best.nms.max_candidates = std::max<int64_t>(1, options.nms.max_boxes);
    Candidates candidates(best);
    for (int64_t kind = 0; kind < classes; ++kind) {
      const float* const map = heats.data() + kind * cells;
      kernels::for_each_above(map, cells, limit, [&](int64_t cell, float score) {
        if (is_peak(map, width, height, cell))
          candidates.add(is_logit ? sigmoid(score) : score, kind, cell);
      });
    }
    auto boxes = boxes_of(std::move(candidates), [&](const Candidate& candidate) {
      const int64_t cell = candidate.index;
      const auto step = static_cast<float>(stride);
      const float x = static_cast<float>(cell % width) + shifts.data()[cell];
      const float y = static_cast<float>(cell / width) + shifts.data()[cells + cell];
      return around(x * step, y * step, sizes.data()[cell] * step,
                    sizes.data()[cells + cell] * step);
    });
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const Box& a, const Box& b) { return a.score > b.score; });
    boxes.resize(std::min(boxes.size(), static_cast<size_t>(options.nms.max_boxes)));
    return in_picture(boxes, options);
  });
}

}  // namespace tenon::serve
