#include "cpu/attention_products.h"

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "cpu/simd/bfloat_product.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

// The transpose of so many rows of `depth` floats in panels, in tiles as far as they are whole.
void pack_transposed(const HeadRows& rows, int64_t columns, int64_t depth, float* packed) {
  constexpr int64_t kTile = 8;
  for (int64_t j = 0; j < columns; j += kProductPanel) {
    float* panel = packed + j * depth;
    const int64_t width = std::min(kProductPanel, columns - j);
    const int64_t tiled = width == kProductPanel ? depth / kTile * kTile : 0;
    for (int64_t k = 0; k < tiled; k += kTile)
      for (int64_t i = 0; i < kProductPanel; i += kTile)
        simd_kernels().turn(reinterpret_cast<const uint32_t*>(rows[j + i] + k), rows.step,
                            reinterpret_cast<uint32_t*>(panel + k * kProductPanel + i),
                            kProductPanel);
    for (int64_t k = tiled; k < depth; ++k)
      for (int64_t i = 0; i < kProductPanel; ++i)
        panel[k * kProductPanel + i] = i < width ? rows[j + i][k] : 0.f;
  }
}

// So many rows of `columns` floats in panels. Those from `valid` on count as zeros.
void pack_rows(const HeadRows& rows, int64_t columns, int64_t depth, int64_t valid, float* packed) {
  for (int64_t j = 0; j < columns; j += kProductPanel) {
    float* panel = packed + j * depth;
    const int64_t width = std::min(kProductPanel, columns - j);
    for (int64_t k = 0; k < valid; ++k) {
      std::copy_n(rows[k] + j, width, panel + k * kProductPanel);
      std::fill_n(panel + k * kProductPanel + width, kProductPanel - width, 0.f);
    }
    std::fill_n(panel + valid * kProductPanel, (depth - valid) * kProductPanel, 0.f);
  }
}

// Scratch memory: keys, values, scaled queries.
class FloatAttention final : public AttentionProducts {
 public:
  explicit FloatAttention(const AttentionExtents& extents)
      : of_(extents),
        values_at_(whole_panels(of_.keys) * of_.size),
        queries_at_(values_at_ + whole_panels(of_.width) * of_.keys) {}

  int64_t floats() const override { return queries_at_ + kQueryBlock * of_.size; }

  void pack(const HeadRows& keys, const HeadRows& values, int64_t valid,
            float* scratch) const override {
    pack_transposed(keys, of_.keys, of_.size, scratch);
    pack_rows(values, of_.width, of_.keys, valid, scratch + values_at_);
  }

  void score(const HeadRows& queries, int64_t count, float scale, float* scratch,
             float* scores) const override {
    float* const scaled = scratch + queries_at_;
    for (int64_t r = 0; r < count; ++r)
      for (int64_t e = 0; e < of_.size; ++e) scaled[r * of_.size + e] = scale * queries[r][e];
    std::fill_n(scores, count * of_.keys, 0.f);
    simd_kernels().add_product(scaled, of_.size, count, scratch, of_.size, scores, of_.keys,
                               of_.keys);
  }

  void weigh(const float* shares, int64_t count, int64_t, const HeadRows& results,
             float* scratch) const override {
    for (int64_t r = 0; r < count; ++r) std::fill_n(results[r], of_.width, 0.f);
    simd_kernels().add_product(shares, of_.keys, count, scratch + values_at_, of_.keys,
                               results.first, results.step, of_.width);
  }

 private:
  AttentionExtents of_;
  int64_t values_at_, queries_at_;
};

// For few queries: to pack keys and values would take longer than to multiply them where they lie.
class FewQueriesAttention final : public AttentionProducts {
 public:
  static bool takes(const AttentionExtents& extents) {
    constexpr int64_t kFewQueries = 4;
    return extents.queries <= kFewQueries && extents.size % simd_kernels().dot.lanes == 0;
  }

  explicit FewQueriesAttention(const AttentionExtents& extents)
      : dot_(simd_kernels().dot),
        of_(extents),
        rest_(of_.keys % dot_.pixels),
        query_at_(
            whole_panels(units(int64_t{sizeof(Lying)}, int64_t{sizeof(float)}) + 2 * of_.keys)) {
    for (int64_t e = 0; e < of_.size; e += dot_.lanes) offsets_.push_back(e);
  }

  int64_t floats() const override { return query_at_ + (1 + dot_.pixels) * of_.size; }

  void pack(const HeadRows& keys, const HeadRows& values, int64_t, float* scratch) const override {
    Lying& lying = *new (scratch) Lying{keys, values};
    for (int64_t k = 0; k < of_.keys; ++k) lying.offsets()[k] = k * values.step;
    // The loop reads whole blocks of keys.
    for (int64_t k = 0; k < rest_; ++k)
      std::copy_n(keys[of_.keys - rest_ + k], of_.size, last_keys(scratch) + k * of_.size);
  }

  void score(const HeadRows& queries, int64_t count, float scale, float* scratch,
             float* scores) const override {
    const HeadRows& keys = reinterpret_cast<const Lying*>(scratch)->keys;
    float* const scaled = scratch + query_at_;
    for (int64_t r = 0; r < count; ++r, scores += of_.keys) {
      for (int64_t e = 0; e < of_.size; ++e) scaled[e] = scale * queries[r][e];
      multiply(keys, of_.keys - rest_, scaled, scores);
      multiply({last_keys(scratch), of_.size}, rest_, scaled, scores + of_.keys - rest_);
    }
  }

  void weigh(const float* shares, int64_t count, int64_t valid, const HeadRows& results,
             float* scratch) const override {
    Lying& lying = *reinterpret_cast<Lying*>(scratch);
    for (int64_t r = 0; r < count; ++r)
      if (valid > 0)
        simd_kernels().mix_rows(lying.values.first, lying.offsets(), shares + r * of_.keys, valid,
                                of_.width, results[r]);
      else
        std::fill_n(results[r], of_.width, 0.f);
  }

 private:
  /// At the beginning of the scratch memory; how far each value is from the first lies behind it,
  /// then a query, then the last keys.
  struct Lying {
    HeadRows keys, values;
    int64_t* offsets() { return reinterpret_cast<int64_t*>(this + 1); }
  };
  float* last_keys(float* scratch) const { return scratch + query_at_ + of_.size; }

  void multiply(const HeadRows& keys, int64_t count, const float* query, float* scores) const {
    constexpr float kBias = 0, kInfinity = std::numeric_limits<float>::infinity();
    const DotForm form = {offsets_.data(), static_cast<int64_t>(offsets_.size()),
                          keys.step,       0,
                          -kInfinity,      kInfinity};
    dot_.run(form, keys.first, query, &kBias, 1, count, scores);
  }

  const DotKernels& dot_;
  AttentionExtents of_;
  int64_t rest_;      // keys that fill no block
  int64_t query_at_;  // in floats
  std::vector<int64_t> offsets_;
};

// The same, of 16 bits; shares, once they are wanted, lie where queries did.
class BfloatAttention final : public AttentionProducts {
 public:
  explicit BfloatAttention(const AttentionExtents& extents)
      : kernels_(*bfloat_kernels()),
        of_(extents),
        values_at_(bfloat_elements(of_.keys, of_.size)),
        rows_at_(values_at_ + bfloat_elements(of_.width, of_.keys)),
        offsets_(packed_offsets(std::max(of_.size, of_.keys))) {}

  int64_t floats() const override {
    return (rows_at_ + bfloat_elements(kQueryBlock, std::max(of_.size, of_.keys))) / 2;
  }

  void pack(const HeadRows& keys, const HeadRows& values, int64_t valid,
            float* scratch) const override {
    auto* const to = reinterpret_cast<uint16_t*>(scratch);
    kernels_.pack_transposed(keys.first, keys.step, of_.keys, of_.size, to);
    kernels_.pack_columns(values.first, values.step, of_.width, valid, to + values_at_);
  }

  void score(const HeadRows& queries, int64_t count, float scale, float* scratch,
             float* scores) const override {
    multiply({queries.first, queries.step, kBfloatTile, count, of_.size}, scale, scratch, 0,
             of_.keys, {scores, of_.keys});
  }

  void weigh(const float* shares, int64_t count, int64_t valid, const HeadRows& results,
             float* scratch) const override {
    multiply({shares, of_.keys, kBfloatTile, count, valid}, 1, scratch, values_at_, of_.width,
             results);
  }

 private:
  void multiply(const FloatRows& rows, float factor, float* scratch, int64_t columns_at,
                int64_t columns, const HeadRows& results) const {
    auto* const packed = reinterpret_cast<uint16_t*>(scratch);
    const int64_t depth = rows.depth;
    kernels_.pack_rows(rows, factor, packed + rows_at_);
    kernels_.product({packed + rows_at_, rows.rows, bfloat_steps(depth), offsets_.data(),
                      bfloat_elements(kBfloatTile, depth)},
                     {packed + columns_at, columns, nullptr},
                     {results.first, results.step, kBfloatTile});
  }

  const BfloatKernels& kernels_;
  AttentionExtents of_;
  int64_t values_at_, rows_at_;  // in elements
  std::vector<int64_t> offsets_;
};

}  // namespace

std::unique_ptr<AttentionProducts> float_attention(const AttentionExtents& extents) {
  if (FewQueriesAttention::takes(extents)) return std::make_unique<FewQueriesAttention>(extents);
  return std::make_unique<FloatAttention>(extents);
}

std::unique_ptr<AttentionProducts> bfloat_attention(const AttentionExtents& extents) {
  return std::make_unique<BfloatAttention>(extents);
}

}  // namespace tenon::cpu
