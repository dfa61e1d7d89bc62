// How work is divided: among threads, and into blocks that stay in a core's caches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tenon::cpu {

/// How many units hold so much.
inline int64_t units(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit;
}

/// For what work is divided: threads, and bytes of a core's caches.
struct Machine {
  int64_t first_level, second_level, threads;

  /// Of the second level, what a task fills: weights and results pass through the other half.
  int64_t near_bytes() const { return second_level / 2; }
};
/// Its caches, and the threads of the arena.
Machine this_machine();

/// Elements that a product sums up before the next ones, where each takes so many bytes of a cache
/// of that size: in blocks of nearly the same number of whole `unit`s, and no fewer than are worth
/// that sums go to memory and back.
int64_t block_depth(int64_t depth, int64_t element_bytes, int64_t cache, int64_t unit);

/// Products of blocks of the data of some images with columns of weights, in panels.
struct Work {
  int64_t images = 1, blocks = 0;
  int64_t columns = 1, panel = 1;  // and how many are multiplied together
  /// For a block and a panel, in the time of one of floats.
  double products = 0;
  int64_t block_bytes = 0, panel_bytes = 0;  // that are read
  int64_t held_bytes = block_bytes;          // of a block, while it is near
  int64_t tasks_of_thread = 4;               // so many let no thread wait for one that was held up
};

/// Tasks of some blocks and some panels of one image: no more blocks than stay near, enough tasks
/// for all threads, and of those the ones that take the least time.
class Partition {
 public:
  Partition() = default;
  explicit Partition(const Work& work, const Machine& machine = this_machine());

  int64_t count() const { return images_ * parts_ * slices_; }
  /// The most blocks and columns of a task.
  int64_t blocks() const { return per_part_; }
  int64_t columns() const { return std::min(per_slice_, columns_); }

  struct Task {
    int64_t image, first_block, end_block, first_column, end_column;
  };
  Task operator[](int64_t task) const;
  /// What the same thread will probably run next.
  Task after(int64_t task) const;

 private:
  int64_t images_ = 0, blocks_ = 0, columns_ = 0;
  int64_t per_part_ = 1, parts_ = 0;    // the most blocks of a task; parts of an image
  int64_t per_slice_ = 1, slices_ = 0;  // columns of a task; slices of all columns
  // Whether a thread gets neighbouring parts, which it wrote for the layer before, of all slices.
  // It reads all weights then, so they must be few; else neighbouring slices.
  bool parts_first_ = true;
};

}  // namespace tenon::cpu
