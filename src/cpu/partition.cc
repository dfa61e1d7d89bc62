#include "cpu/partition.h"

#include <algorithm>
#include <limits>

#include "backend/host_caches.h"
#include "base/parallel.h"

namespace tenon::cpu {
namespace {

/// Fewer elements than that make sums go to memory and back too often.
constexpr int64_t kMinDepth = 256;
/// Products that take as long as reading a byte from a cache that threads share.
constexpr double kProductsPerByte = 1;

}  // namespace

Machine this_machine() {
  const HostCaches caches = host_caches();
  return {static_cast<int64_t>(caches.first_level), static_cast<int64_t>(caches.second_level),
          thread_count()};
}

int64_t block_depth(int64_t depth, int64_t element_bytes, int64_t cache, int64_t unit) {
  const int64_t wanted = std::max(cache / std::max<int64_t>(element_bytes, 1), kMinDepth);
  const int64_t all = units(depth, unit);
  return units(all, std::max<int64_t>(units(depth, wanted), 1)) * unit;
}

Partition::Partition(const Work& w, const Machine& machine)
    : images_(w.images), blocks_(w.blocks), columns_(w.columns) {
  if (w.images < 1 || w.blocks < 1) return;
  const int64_t wanted = machine.threads > 1 ? w.tasks_of_thread * machine.threads : 1;
  const int64_t panels = units(w.columns, w.panel);
  const int64_t max_per_part =
      std::clamp<int64_t>(machine.near_bytes() / std::max<int64_t>(w.held_bytes, 1), 1, w.blocks);
  const double data = static_cast<double>(w.blocks) * static_cast<double>(w.block_bytes);
  const double weights = static_cast<double>(panels) * static_cast<double>(w.panel_bytes);
  const double images_of_thread =
      static_cast<double>(w.images) / static_cast<double>(machine.threads);
  parts_first_ = weights <= std::max(data, static_cast<double>(machine.second_level));
  int64_t best_count = 0;
  double min_time = std::numeric_limits<double>::infinity();
  for (int64_t slices = 1; slices <= panels; ++slices) {
    const int64_t per_slice = units(panels, slices);
    if (units(panels, per_slice) != slices) continue;  // the same as fewer
    const int64_t fewest = std::min(units(wanted, w.images * slices), w.blocks);
    const int64_t per_part = std::min(max_per_part, units(w.blocks, fewest));
    const int64_t parts = units(w.blocks, per_part), count = w.images * parts * slices;
    // The thread that gets most: its products, and its share of what is read again and again.
    const double products =
        static_cast<double>(units(count, machine.threads) * per_part * per_slice) * w.products;
    const double reads = static_cast<double>(slices) * data + static_cast<double>(parts) * weights;
    const double time = products + kProductsPerByte * images_of_thread * reads;
    const int64_t enough = std::min(count, wanted);
    if (enough < best_count || (enough == best_count && time >= min_time)) continue;
    best_count = enough;
    min_time = time;
    parts_ = parts;
    per_slice_ = per_slice * w.panel;
    slices_ = slices;
  }
  if (parts_ > 0) per_part_ = units(blocks_, parts_);  // of equal parts
}

Partition::Task Partition::operator[](int64_t task) const {
  const int64_t image = task / (parts_ * slices_), of_image = task % (parts_ * slices_);
  const auto [first, end] =
      share_of(blocks_, parts_first_ ? of_image / slices_ : of_image % parts_, parts_);
  const int64_t slice = parts_first_ ? of_image % slices_ : of_image / parts_;
  return {image, first, end, slice * per_slice_, std::min((slice + 1) * per_slice_, columns_)};
}

Partition::Task Partition::after(int64_t task) const {
  return (*this)[std::min(task + 1, count() - 1)];
}

}  // namespace tenon::cpu
