// Attention by blocks of queries: the scores of a block stay in the cache, and are never stored.
#include "ops/attention.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/blocks.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::AttentionNormalizationOp;

constexpr int64_t kBlock = 32;  // queries

/// Vectors of one head, whose elements are neighbours.
struct Rows {
  float* first;
  int64_t step;  // floats from one to the next

  float* operator[](int64_t row) const { return first + row * step; }
};

// The transpose of so many rows of `depth` floats in panels, in tiles as far as they are whole.
void pack_transposed(const Rows& rows, int64_t columns, int64_t depth, float* packed) {
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
void pack(const Rows& rows, int64_t columns, int64_t depth, int64_t valid, float* packed) {
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

class AttentionExecution final : public Execution {
 public:
  AttentionExecution(const Attention& op, std::span<const TensorSpec> inputs,
                     const TensorSpec& output)
      : op_(op), simd_(simd_kernels()) {
    for (const TensorSpec& s : inputs) views_.push_back({nullptr, s.type, s.shape});
    for (size_t i = 0; i < std::size(vectors_); ++i)
      vectors_[i] = op.vectors_of(i, (i == Attention::kResult ? output : inputs[i]).shape);
    const Shape &q = vectors_[0].extents, &k = vectors_[1].extents, &v = vectors_[2].extents;
    // The mask is for vectors as they are seen here.
    for (size_t i = 0; i < 3; ++i) views_[i].shape = vectors_[i].extents;
    batch_ = q[0];
    heads_ = k[1];
    queries_ = q[2];
    keys_ = k[2];
    size_ = q[3];
    width_ = v[3];
    require(heads_ > 0 && q[1] % heads_ == 0 && k[3] == size_ && v[2] == keys_ && v[1] == heads_
                && k[0] == batch_ && v[0] == batch_,
            "query {}, key {} and value {} do not fit", q, k, v);
    shared_ = q[1] / heads_;
    if (Shape({batch_, heads_, shared_, queries_, width_}).volume() == 0) return;
    parts_ = std::clamp<int64_t>(thread_count() / (batch_ * heads_), 1, units(queries_, kBlock));
    slots_ = std::min<int64_t>(batch_ * heads_ * parts_, thread_count());
    slot_floats_ =
        whole_panels(keys_) * size_ + whole_panels(width_) * keys_ + kBlock * (keys_ + size_);
    slot_floats_ = whole_panels(slot_floats_);
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(slots_ * slot_floats_) * sizeof(float);
  }

  void run(const RunArguments& arguments) override {
    for (size_t i = 0; i < views_.size(); ++i)
      views_[i].data = const_cast<void*>(arguments.inputs[i]);
    const AttentionMask mask(op_, views_);
    auto* scratch = static_cast<float*>(arguments.scratch);
    first_[Attention::kResult] = static_cast<float*>(arguments.outputs[0]);
    for (size_t i = 0; i < 3; ++i) first_[i] = views_[i].as<float>();
    parallel_for(slots_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t slot = begin; slot < end; ++slot)
        for (int64_t task = slot; task < batch_ * heads_ * parts_; task += slots_)
          run_part(task / parts_, task % parts_, mask, scratch + slot * slot_floats_);
    });
  }

 private:
  // A part of the queries of all heads that share one head of keys.
  void run_part(int64_t keys_head, int64_t part, const AttentionMask& mask, float* scratch) const {
    float* key = scratch;
    float* value = key + whole_panels(keys_) * size_;
    float* scores = value + whole_panels(width_) * keys_;
    float* scaled = scores + kBlock * keys_;
    pack_transposed(rows_of(Attention::kKey, keys_head, heads_), keys_, size_, key);
    pack(rows_of(Attention::kValue, keys_head, heads_), width_, keys_,
         mask.valid_keys(keys_head / heads_), value);
    const int64_t blocks = units(queries_, kBlock);
    const int64_t begin = blocks * part / parts_ * kBlock;
    const int64_t end = std::min(blocks * (part + 1) / parts_ * kBlock, queries_);
    for (int64_t i = 0; i < shared_; ++i) {
      const int64_t head = keys_head * shared_ + i;  // of all batches
      const Rows queries = rows_of(Attention::kQuery, head, heads_ * shared_);
      const Rows results = rows_of(Attention::kResult, head, heads_ * shared_);
      for (int64_t first = begin; first < end; first += kBlock) {
        const int64_t rows = std::min(kBlock, end - first);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t e = 0; e < size_; ++e)
            scaled[r * size_ + e] = op_.scale * queries[first + r][e];
        std::fill_n(scores, rows * keys_, 0.f);
        simd_.add_product(scaled, size_, rows, key, size_, scores, keys_, keys_);
        for (int64_t r = 0; r < rows; ++r) take_shares(mask, head, first + r, scores + r * keys_);
        for (int64_t r = 0; r < rows; ++r) std::fill_n(results[first + r], width_, 0.f);
        simd_.add_product(scores, keys_, rows, value, keys_, results[first], results.step, width_);
      }
    }
  }

  // Of one of the heads of all batches.
  Rows rows_of(size_t operand, int64_t head, int64_t per_batch) const {
    const auto& [extents, steps, offset] = vectors_[operand];
    return {first_[operand] + offset + head / per_batch * steps[0] + head % per_batch * steps[1],
            steps[2]};
  }

  void take_shares(const AttentionMask& mask, int64_t head, int64_t query, float* scores) const {
    if (op_.softcap > 0)
      simd_.activation[static_cast<int>(ActivationType::kSCALED_TANH)](
          scores, nullptr, scores, keys_, op_.softcap, 1 / op_.softcap);
    const int64_t per_batch = heads_ * shared_;
    const bool sees = apply_mask(mask, mask.row(head / per_batch, head % per_batch, query), scores);
    if (op_.normalization == AttentionNormalizationOp::kNONE)
      std::replace(scores, scores + keys_, -INFINITY, 0.f);
    else if (sees)
      simd_.softmax(scores, scores, keys_);
    else
      std::fill_n(scores, keys_, 0.f);
  }

  // By vectors where the mask's elements are neighbours.
  bool apply_mask(const AttentionMask& mask, const AttentionMask::Row& row, float* scores) const {
    float* const first = scores + row.first;
    const int64_t keys = row.end - row.first;
    if (row.is_adjacent(DataType::kFLOAT)) {
      mask.hide_others(row, scores);
      return simd_.add_mask(static_cast<const float*>(row.mask), first, keys);
    }
    if (row.is_adjacent(DataType::kBOOL)) {
      mask.hide_others(row, scores);
      return simd_.hide_masked(static_cast<const bool*>(row.mask), first, keys);
    }
    return mask.apply(row, scores);
  }

  const Attention& op_;
  const SimdKernels& simd_;
  std::vector<TensorView> views_;
  AttentionVectors vectors_[4];
  float* first_[4] = {};  // of their tensors
  int64_t batch_, heads_, shared_, queries_, keys_, size_, width_;
  // Parts of a head's queries, where heads are fewer than threads; none where there are no results.
  int64_t parts_ = 0, slots_ = 0, slot_floats_ = 0;
};

class AttentionKernel final : public Kernel {
 public:
  explicit AttentionKernel(const Attention& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<AttentionExecution>(op_, inputs, outputs[0]);
  }

 private:
  Attention op_;
};

}  // namespace

Offer offer_attention(const KernelRequest& request) {
  const auto& op = static_cast<const Attention&>(request.op);
  for (size_t i = 0; i < 3; ++i)
    if (request.inputs.size() <= i || request.inputs[i].type != DataType::kFLOAT)
      return "only float32 is supported";
  if (op.scores != AttentionScores::kNone) return "the scores are wanted as well";
  for (const AttentionVectors& v : op.vectors)
    if (!v.is_tensor() && v.steps[3] != 1) return "only neighbouring elements are supported";
  return std::make_unique<AttentionKernel>(op);
}

}  // namespace tenon::cpu
