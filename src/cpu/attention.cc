// Attention by blocks of queries: the scores of a block stay in the cache, and are never stored.
#include "ops/attention.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/attention_products.h"
#include "cpu/bfloat_weights.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::AttentionNormalizationOp;

using MakeProducts = std::unique_ptr<AttentionProducts> (*)(const AttentionExtents&);

class AttentionExecution final : public BlockExecution {
 public:
  AttentionExecution(const Attention& op, MakeProducts make, std::span<const TensorSpec> inputs,
                     const TensorSpec& output)
      : BlockExecution({}, {}, output), op_(op), simd_(simd_kernels()) {
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
    parts_ =
        std::clamp<int64_t>(thread_count() / (batch_ * heads_), 1, units(queries_, kQueryBlock));
    products_ = make({keys_, size_, width_, shared_ * queries_});
    // An element that is packed counts as one that is multiplied.
    const Shape scores{batch_, heads_, shared_ * queries_ + parts_, keys_};
    set_tasks(batch_ * heads_ * parts_, static_cast<double>(scores.volume() * (size_ + width_)),
              whole_panels(kQueryBlock * keys_) + products_->floats());
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    for (size_t i = 0; i < views_.size(); ++i)
      views_[i].data = const_cast<void*>(arguments.inputs[i]);
    mask_.emplace(op_, views_);
    first_[Attention::kResult] = static_cast<float*>(arguments.outputs[0]);
    for (size_t i = 0; i < 3; ++i) first_[i] = views_[i].as<float>();
  }

  // A part of the queries of all heads that share one head of keys.
  void run_task(int64_t task, float* scratch) const override {
    const int64_t keys_head = task / parts_, part = task % parts_;
    const AttentionMask& mask = *mask_;
    float* const scores = scratch;
    float* const packed = scratch + whole_panels(kQueryBlock * keys_);
    const int64_t valid = mask.valid_keys(keys_head / heads_);
    products_->pack(rows_of(Attention::kKey, keys_head, heads_),
                    rows_of(Attention::kValue, keys_head, heads_), valid, packed);
    const int64_t blocks = units(queries_, kQueryBlock);
    const int64_t begin = blocks * part / parts_ * kQueryBlock;
    const int64_t end = std::min(blocks * (part + 1) / parts_ * kQueryBlock, queries_);
    for (int64_t i = 0; i < shared_; ++i) {
      const int64_t head = keys_head * shared_ + i;  // of all batches
      const HeadRows queries = rows_of(Attention::kQuery, head, heads_ * shared_);
      const HeadRows results = rows_of(Attention::kResult, head, heads_ * shared_);
      for (int64_t first = begin; first < end; first += kQueryBlock) {
        const int64_t rows = std::min(kQueryBlock, end - first);
        products_->score({queries[first], queries.step}, rows, op_.scale, packed, scores);
        for (int64_t r = 0; r < rows; ++r) take_shares(mask, head, first + r, scores + r * keys_);
        products_->weigh(scores, rows, valid, {results[first], results.step}, packed);
      }
    }
  }

  // Of one of the heads of all batches.
  HeadRows rows_of(size_t operand, int64_t head, int64_t per_batch) const {
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
  std::unique_ptr<AttentionProducts> products_;
  int64_t batch_, heads_, shared_, queries_, keys_, size_, width_;
  int64_t parts_ = 0;  // of a head's queries, where heads are fewer than threads
  std::optional<AttentionMask> mask_;
};

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const Attention& op, MakeProducts make) : op_(op), make_(make) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<AttentionExecution>(op_, make_, inputs, outputs[0]);
  }

 private:
  Attention op_;
  MakeProducts make_;
};

Offer offer(const KernelRequest& request, MakeProducts make) {
  const auto& op = static_cast<const Attention&>(request.op);
  for (size_t i = 0; i < 3; ++i)
    if (request.inputs.size() <= i || request.inputs[i].type != DataType::kFLOAT)
      return "only float32 is supported";
  if (op.scores != AttentionScores::kNone) return "the scores are wanted as well";
  if (op.bytes.used) return "a result of bytes is not supported";
  for (const AttentionVectors& v : op.vectors)
    if (!v.is_tensor() && v.steps[3] != 1) return "only neighbouring elements are supported";
  return std::make_unique<AttentionKernel>(op, make);
}

}  // namespace

Offer offer_attention(const KernelRequest& request) {
  return offer(request, float_attention);
}

Offer offer_bfloat_attention(const KernelRequest& request) {
  if (auto reason = refusal_of_bfloat(request); !reason.empty()) return reason;
  return load_bfloat_attention(request, {});
}

Offer load_bfloat_attention(const KernelRequest& request, const StoredKernel&) {
  require_bfloat();
  Offer made = offer(request, bfloat_attention);
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&made))
    (*kernel)->timing_id = bfloat_kernels()->instruction_set;
  return made;
}

}  // namespace tenon::cpu
