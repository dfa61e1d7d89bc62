// The mean over all spatial axes: what global average pooling is.
#include "base/error.h"
#include "base/parallel.h"
#include "common/physical.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "ops/reduce.h"

namespace tenon::cpu {
namespace {

class SpatialMeanExecution final : public Execution {
 public:
  explicit SpatialMeanExecution(const TensorSpec& in)
      : batch_(in.shape[0]),
        channels_(in.shape[1]),
        plane_(in.shape.volume(2, in.shape.rank())),
        block_(in.layout == Layout::kChannelsLast ? channels_ : channel_block(in.layout)) {}

  void run(const RunArguments& arguments) override {
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    if (block_ == 0) return;
    const int64_t groups = (channels_ + block_ - 1) / block_;
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(plane_ * block_, 1));
    parallel_for(batch_ * groups, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % groups * block_;
        reduce(in + i * plane_ * block_, out + i / groups * channels_ + first,
               std::min(block_, channels_ - first));
      }
    });
  }

 private:
  /// One group of channels that lie next to each other, `used` of which are wanted.
  void reduce(const float* in, float* out, int64_t used) const {
    const float scale = 1.f / static_cast<float>(plane_);
    if (block_ == 1) {
      *out = simd_kernels().sum(in, plane_) * scale;
      return;
    }
    constexpr int64_t kLanes = 16;
    for (int64_t first = 0; first < used; first += kLanes) {
      const int64_t lanes = std::min(kLanes, used - first);
      float sums[kLanes] = {};
      for (int64_t p = 0; p < plane_; ++p)
        for (int64_t k = 0; k < lanes; ++k) sums[k] += in[p * block_ + first + k];
      for (int64_t k = 0; k < lanes; ++k) out[first + k] = sums[k] * scale;
    }
  }

  int64_t batch_, channels_, plane_, block_;
};

class SpatialMeanKernel final : public Kernel {
 public:
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<SpatialMeanExecution>(inputs[0]);
  }
};

}  // namespace

Offer offer_spatial_mean(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto& op = static_cast<const Reduce&>(request.op);
  const TensorSpec& in = request.inputs[0];
  const int rank = in.shape.rank();
  if (op.operation != nvinfer1::ReduceOperation::kAVG) return "only averages are supported";
  if (rank < 3 || op.axes != ((1u << rank) - 1 - 3)) return "only all spatial axes are supported";
  // One value per channel lies in rows whatever the layout of the input.
  auto kernel = std::make_unique<SpatialMeanKernel>();
  kernel->input_layouts.assign(1, in.layout);
  return kernel;
}

}  // namespace tenon::cpu
