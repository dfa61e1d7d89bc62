#include "cpu/strided_copy.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "common/coalesced_axes.h"
#include "cpu/simd/kernels.h"
#include "cpu/words.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kBytesPerTask = 65536;
constexpr int64_t kTile = 32;      // rows of a block that is turned: stays in the L1 cache
constexpr int64_t kAcross = 2048;  // its columns, at most

// Sixteen bytes that move as one.
struct Wide {
  uint64_t halves[2];
};

template <class T> T load_element(const std::byte* from) {
  T x;
  std::memcpy(&x, from, sizeof x);
  return x;
}
template <class T> void store_element(std::byte* to, T x) {
  std::memcpy(to, &x, sizeof x);
}

bool is_element(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
}

}  // namespace

StridedCopy::StridedCopy(const Shape& out, const Shape& strides, size_t bytes)
    : bytes_(static_cast<int64_t>(bytes)) {
  require(is_element(bytes_), "a copy of elements of {} bytes", bytes);
  const CoalescedAxes axes = coalesced_axes(out, strides, bytes_);
  extents_ = axes.extents;
  strides_ = axes.strides;
  int last = extents_.rank() - 1;
  // Few adjacent elements move as one.
  if (last > 0 && strides_[last] == bytes_ && is_element(bytes_ * extents_[last])) {
    bytes_ *= extents_[last];
    extents_.erase(last);
    strides_.erase(last--);
  }
  if (last < 0 || strides_[last] == bytes_ || strides_[last] == 0) return;
  for (int i = 0; i < last; ++i)
    if (strides_[i] == bytes_) turned_ = i;
}

template <class Body> void StridedCopy::with_element(const Body& body) const {
  if (!with_word(bytes_, body)) body(Wide{});
}

void StridedCopy::run(const void* source, void* target) const {
  if (extents_.volume() == 0) return;
  const auto* from = static_cast<const std::byte*>(source);
  auto* to = static_cast<std::byte*>(target);
  if (strides_.back() == bytes_) return copy_runs(from, to);
  with_element([&](auto zero) {
    if (turned_ >= 0)
      turn<decltype(zero)>(from, to);
    else
      copy_elements<decltype(zero)>(from, to);
  });
}

void StridedCopy::copy_runs(const std::byte* source, std::byte* target) const {
  const int last = extents_.rank() - 1;
  const int64_t run = extents_[last] * bytes_;
  if (last == 0) {
    parallel_for(run, 4 * kBytesPerTask, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, kBytesPerTask / run);
  parallel_for(extents_.volume(0, last), grain, [&](int64_t begin, int64_t end) {
    Walk walk(extents_, strides_, last, begin);
    for (int64_t i = begin; i < end; ++i, walk.next())
      std::memcpy(target + i * run, source + walk.offset(), static_cast<size_t>(run));
  });
}

template <class T>
void StridedCopy::copy_elements(const std::byte* source, std::byte* target) const {
  const int last = extents_.rank() - 1;
  const int64_t length = extents_[last], stride = strides_[last];
  const int64_t row = length * bytes_;
  const int64_t grain = std::max<int64_t>(1, kBytesPerTask / row);
  parallel_for(extents_.volume(0, last), grain, [&](int64_t begin, int64_t end) {
    Walk walk(extents_, strides_, last, begin);
    for (int64_t i = begin; i < end; ++i, walk.next()) {
      const std::byte* from = source + walk.offset();
      auto* to = reinterpret_cast<T*>(target + i * row);
      if (stride == 0)
        std::fill_n(to, length, load_element<T>(from));
      else
        for (int64_t k = 0; k < length; ++k) to[k] = load_element<T>(from + k * stride);
    }
  });
}

// The rows of a block lie side by side in the source, and its columns in the result.
template <class T>
void StridedCopy::turn_block(const std::byte* source, std::byte* target, int64_t rows,
                             int64_t columns) const {
  const int last = extents_.rank() - 1;
  const int64_t step = strides_[last];
  const int64_t row = extents_.volume(turned_ + 1, last + 1) * bytes_;
  int64_t whole_rows = 0, whole_columns = 0;
  const auto turn_tiles = [&](int64_t tile, auto turn) {
    whole_rows = rows / tile * tile;
    whole_columns = columns / tile * tile;
    for (int64_t c = 0; c < whole_columns; c += tile)
      for (int64_t r = 0; r < whole_rows; r += tile)
        turn(reinterpret_cast<const T*>(source + c * step) + r, step / bytes_,
             reinterpret_cast<T*>(target + r * row) + c, row / bytes_);
  };
  if constexpr (std::is_same_v<T, uint8_t>) turn_tiles(16, simd_kernels().turn_bytes);
  // Strides are whole elements unless the source is not aligned to them.
  if constexpr (std::is_same_v<T, uint32_t>)
    if (step % 4 == 0 && reinterpret_cast<uintptr_t>(source) % 4 == 0)
      turn_tiles(8, simd_kernels().turn);
  const auto copy = [&](int64_t r, int64_t c) {
    store_element(target + r * row + c * bytes_, load_element<T>(source + c * step + r * bytes_));
  };
  for (int64_t r = whole_rows; r < rows; ++r)
    for (int64_t c = 0; c < whole_columns; ++c) copy(r, c);
  // Few columns are read one by one, where their elements lie side by side.
  if (columns < 8) {
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) copy(r, c);
    return;
  }
  constexpr int64_t kColumns = 16;
  for (int64_t first = whole_columns; first < columns; first += kColumns) {
    const int64_t end = std::min(columns, first + kColumns);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = first; c < end; ++c) copy(r, c);
  }
}

template <class T> void StridedCopy::turn(const std::byte* source, std::byte* target) const {
  const int last = extents_.rank() - 1;
  // The other axes are walked: those before the turned one, and those between it and the last.
  Shape extents, from_strides, to_strides;
  int64_t dense = bytes_;
  Shape all_to = extents_;
  for (int i = last; i >= 0; --i) {
    all_to[i] = dense;
    dense *= extents_[i];
  }
  for (int i = 0; i < last; ++i) {
    if (i == turned_) continue;
    extents.push_back(extents_[i]);
    from_strides.push_back(strides_[i]);
    to_strides.push_back(all_to[i]);
  }
  const int64_t rows = extents_[turned_], columns = extents_[last];
  const int64_t down = (rows + kTile - 1) / kTile, across = (columns + kAcross - 1) / kAcross;
  const int64_t blocks = down * across;
  const int64_t block_bytes = std::min(rows, kTile) * std::min(columns, kAcross) * bytes_;
  const int64_t grain = std::max<int64_t>(1, kBytesPerTask / block_bytes);
  parallel_for(extents.volume() * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Walk from(extents, from_strides, extents.rank(), i / blocks);
      const Walk to(extents, to_strides, extents.rank(), i / blocks);
      const int64_t row = i % blocks / across * kTile, column = i % across * kAcross;
      turn_block<T>(source + from.offset() + row * bytes_ + column * strides_[last],
                    target + to.offset() + row * all_to[turned_] + column * bytes_,
                    std::min(kTile, rows - row), std::min(kAcross, columns - column));
    }
  });
}

}  // namespace tenon::cpu
