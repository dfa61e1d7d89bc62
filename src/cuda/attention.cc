// Attention in one kernel, by tensor cores where the type and the sizes allow it.
#include "cuda/attention.h"

#include <algorithm>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/byte_rule.h"
#include "cuda/capability.h"
#include "cuda/check.h"
#include "cuda/kernels.h"
#include "ops/attention.h"
#include "ops/support/reference.h"

namespace tenon::cuda {
namespace {

using Parameters = AttentionParameters;
using nvinfer1::AttentionNormalizationOp;

bool is_given(std::span<const TensorSpec> inputs, size_t i) {
  return i < inputs.size() && inputs[i].present;
}

// Elements of a vector are neighbours.
Parameters::Vectors vectors_of(const Attention& op, size_t i, const Shape& tensor) {
  const AttentionVectors vectors = op.vectors_of(i, tensor);
  const Shape& steps = vectors.steps;
  return {nullptr, vectors.offset, steps[0], steps[1], steps[2]};
}

void describe_mask(const Shape& mask, const Shape& query, int64_t keys, Parameters& p) {
  const int64_t own = mask.rank() == 0 ? 1 : mask.back();
  const bool repeats = own == 1;
  require(own <= keys, "the mask is for {} keys; there are {}", own, keys);
  p.mask_keys = static_cast<int>(repeats ? keys : own);
  p.mask_steps[3] = repeats ? 0 : 1;
  Shape leading = mask;
  if (mask.rank() > 0) leading.erase(mask.rank() - 1);
  const Shape steps = broadcast_strides(leading, {query[0], query[1], query[2]});
  for (int i = 0; i < 3; ++i) p.mask_steps[i] = steps[i] * own;
}

Parameters::Numbers numbers_of(const TensorSpec& spec, int64_t batch) {
  const int64_t count = spec.shape.volume();
  require(count == 1 || count == batch, "{} numbers for {} batches", count, batch);
  return {nullptr, spec.type, count == 1 ? 0 : 1};
}

Parameters parameters_of(const Attention& op, std::span<const TensorSpec> inputs,
                         const TensorSpec& output) {
  const auto extents = [&](size_t i) { return op.vectors_of(i, inputs[i].shape).extents; };
  const Shape q = extents(0), k = extents(1), v = extents(2);
  require(k[1] > 0 && q[1] % k[1] == 0 && k[3] == q[3] && v[2] == k[2] && v[1] == k[1]
              && k[0] == q[0] && v[0] == q[0],
          "query {}, key {} and value {} do not fit", q, k, v);
  const int64_t blocks = Shape{q[0], q[1], q[2]}.volume();
  if (blocks * v[3] == 0) return {};
  constexpr int64_t kMaxRows = INT32_MAX - 256;  // with those of a tile
  require(blocks <= INT32_MAX && q[2] <= kMaxRows && k[2] <= kMaxRows && q[3] <= kMaxPlainAttention
              && v[3] <= kMaxPlainAttention,
          "query {} and value {} are too large", q, v);
  Parameters p;
  p.type = inputs[0].type;
  p.query = vectors_of(op, Attention::kQuery, inputs[0].shape);
  p.key = vectors_of(op, Attention::kKey, inputs[1].shape);
  p.value = vectors_of(op, Attention::kValue, inputs[2].shape);
  p.result = vectors_of(op, Attention::kResult, output.shape);
  p.batch = q[0];
  p.heads = static_cast<int>(q[1]);
  p.shared = static_cast<int>(q[1] / k[1]);
  p.queries = static_cast<int>(q[2]);
  p.keys = static_cast<int>(k[2]);
  p.size = static_cast<int>(q[3]);
  p.width = static_cast<int>(v[3]);
  p.scale = op.scale;
  p.softcap = op.softcap;
  p.softmax = op.normalization == AttentionNormalizationOp::kSOFTMAX;
  p.causal = op.causal;
  p.left_window = std::min(op.left_window, kMaxWindow);
  p.right_window = std::min(op.right_window, kMaxWindow);
  p.gives_bytes = op.bytes.used;
  if (op.bytes.used) p.byte_rule = byte_quantization(op.bytes);
  if (is_given(inputs, Attention::kMask)) {
    p.mask_type = inputs[Attention::kMask].type;
    describe_mask(inputs[Attention::kMask].shape, q, k[2], p);
  }
  if (is_given(inputs, Attention::kLengths))
    p.lengths = numbers_of(inputs[Attention::kLengths], q[0]);
  if (is_given(inputs, Attention::kOffsets))
    p.offsets = numbers_of(inputs[Attention::kOffsets], q[0]);
  return p;
}

class AttentionExecution final : public Execution {
 public:
  AttentionExecution(const Parameters& parameters, bool by_warpgroups)
      : parameters_(parameters), by_warpgroups_(by_warpgroups) {}

  void run(const RunArguments& arguments) override {
    Parameters p = parameters_;
    if (p.batch * p.heads * p.queries * p.width == 0) return;
    p.query.data = arguments.input(Attention::kQuery);
    p.key.data = arguments.input(Attention::kKey);
    p.value.data = arguments.input(Attention::kValue);
    p.mask = arguments.input(Attention::kMask);
    p.lengths.data = arguments.input(Attention::kLengths);
    p.offsets.data = arguments.input(Attention::kOffsets);
    p.result.data = arguments.outputs[0];
    launch(p, to_cuda(arguments.stream));
    check_launch("attention");
  }

 private:
  void launch(const Parameters& p, cudaStream_t stream) const {
    if (by_warpgroups_ && launch_warpgroup_attention(p, stream)) return;
    if (tensor_cores_attend(p))
      launch_tensor_core_attention(p, stream);
    else
      launch_plain_attention(p, stream);
  }

  Parameters parameters_;
  bool by_warpgroups_;
};

class AttentionKernel final : public Kernel {
 public:
  AttentionKernel(const Attention& op, bool by_warpgroups)
      : op_(op), by_warpgroups_(by_warpgroups) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<AttentionExecution>(parameters_of(op_, inputs, outputs[0]),
                                                by_warpgroups_);
  }

 private:
  Attention op_;
  bool by_warpgroups_;
};

// Why no kernel of this target can do it; empty if one can.
std::string refusal(const KernelRequest& request) {
  const auto& op = static_cast<const Attention&>(request.op);
  if (op.scores != AttentionScores::kNone) return "the scores are wanted as well";
  const DataType type = request.inputs[0].type;
  if (type != DataType::kFLOAT && type != DataType::kHALF && type != DataType::kBF16)
    return "only float32, float16 and bfloat16 are supported";
  for (size_t i : {Attention::kQuery, Attention::kValue})
    if (op.vectors_of(i, request.inputs[i].shape).extents.back() > kMaxPlainAttention)
      return "vectors are too long";
  for (const AttentionVectors& vectors : op.vectors)
    if (!vectors.is_tensor() && vectors.steps.back() != 1)
      return "the elements of vectors are not neighbours";
  return "";
}

Offer offer(const KernelRequest& request, bool by_warpgroups) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return std::make_unique<AttentionKernel>(static_cast<const Attention&>(request.op),
                                           by_warpgroups);
}

}  // namespace

Offer offer_attention(const KernelRequest& request) {
  return offer(request, false);
}

Offer offer_warpgroup_attention(const KernelRequest& request) {
  if (capability_major() != 9) return "compute capability 9.0 is needed";
  if (request.inputs[0].type == DataType::kFLOAT) return "only float16 and bfloat16 are supported";
  if (is_given(request.inputs, Attention::kLengths)) return "numbers of keys are not supported";
  const auto& op = static_cast<const Attention&>(request.op);
  if (is_given(request.inputs, Attention::kOffsets) && (op.causal || op.right_window >= 0))
    return "offsets that bound the keys are not supported";
  return offer(request, true);
}

}  // namespace tenon::cuda
