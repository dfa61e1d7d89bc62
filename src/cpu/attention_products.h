// The two products of attention, of one head: queries with keys, and shares with values.
#pragma once

#include <memory>

#include "cpu/blocks.h"

namespace tenon::cpu {

/// Vectors of one head, whose elements are neighbours.
struct HeadRows {
  float* first;
  int64_t step;  // floats from one to the next

  float* operator[](int64_t row) const { return first + row * step; }
};

/// Queries whose scores are computed together.
constexpr int64_t kQueryBlock = 32;

/// Elements of a key, and of a value; queries of all heads that share the keys.
struct AttentionExtents {
  int64_t keys, size, width, queries;
};

class AttentionProducts {
 public:
  virtual ~AttentionProducts() = default;
  /// Floats of scratch memory that one head takes.
  virtual int64_t floats() const = 0;
  /// Gets keys and values ready. Values from `valid` on count as zeros.
  virtual void pack(const HeadRows& keys, const HeadRows& values, int64_t valid,
                    float* scratch) const = 0;
  /// Of up to kQueryBlock queries, times `scale`; scores of a query are as many as keys, and lie
  /// one behind the other.
  virtual void score(const HeadRows& queries, int64_t count, float scale, float* scratch,
                     float* scores) const = 0;
  /// Sums of values. Shares from `valid` on are zeros.
  virtual void weigh(const float* shares, int64_t count, int64_t valid, const HeadRows& results,
                     float* scratch) const = 0;
};

std::unique_ptr<AttentionProducts> float_attention(const AttentionExtents& extents);
/// The processor must have bfloat_kernels().
std::unique_ptr<AttentionProducts> bfloat_attention(const AttentionExtents& extents);

}  // namespace tenon::cpu
