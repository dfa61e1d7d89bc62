#include "target/cpu/convolution/direct_panels.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"

namespace tenon::cpu {
namespace {

constexpr size_t kBias = 2;

bool has_bias(const KernelRequest& request) {
  return request.inputs.size() > kBias && request.inputs[kBias].present;
}

}  // namespace

void write_panels(const float* weights, const WeightSteps& steps, int64_t maps, int64_t depth,
                  float* panels) {
  for (int64_t first = 0; first < maps; first += kDirectPanel) {
    const int64_t width = std::min(kDirectPanel, padded_maps(maps) - first);
    const int64_t used = std::min(width, maps - first);
    for (int64_t k = 0; k < depth; ++k, panels += width) {
      for (int64_t map = 0; map < used; ++map)
        panels[map] = weights[(first + map) * steps.map + k * steps.element];
      std::fill(panels + used, panels + width, 0.f);
    }
  }
}

Tensor padded_bias(const Tensor* bias, int64_t maps) {
  Tensor out(DataType::kFLOAT, {padded_maps(maps)});
  auto* const to = out.mutable_data<float>();
  std::fill_n(to, out.count(), 0.f);
  if (bias != nullptr) std::copy_n(bias->data<float>(), maps, to);
  return out;
}

DirectWeights stored_weights(const StoredKernel& stored) {
  const auto& packed = stored.packed;
  require(packed.size() == 2 && packed[0].type() == DataType::kFLOAT
              && packed[1].type() == DataType::kFLOAT,
          "{} stored tensors, expected weights and bias", packed.size());
  return {packed[0], packed[1]};
}

std::string refusal_of_constants(const KernelRequest& request, int64_t weights, int64_t maps) {
  const Tensor* const bias = constant_bias(request);
  if (request.constants[1] == nullptr || (has_bias(request) && bias == nullptr))
    return "only constant weights are supported";
  if (request.constants[1]->count() != weights || (bias != nullptr && bias->count() != maps))
    return "weights or bias do not fit the attributes";
  return "";
}

const Tensor* constant_bias(const KernelRequest& request) {
  return has_bias(request) ? request.constants[kBias] : nullptr;
}

DirectTasks::DirectTasks(int64_t images, int64_t strips, int64_t floats, int64_t vectors)
    : images_(images), strips_(strips), vectors_(vectors) {
  const int64_t panels = units(vectors * direct_loops().lanes, kDirectPanel);
  per_part_ = std::clamp<int64_t>(kBlockFloats / std::max<int64_t>(floats, 1), 1,
                                  std::max<int64_t>(strips, 1));
  per_slice_ = panels;
  const auto divide = [&] {
    parts_ = units(strips, per_part_);
    slices_ = units(panels, per_slice_);
    return count();
  };
  const int64_t wanted = thread_count() > 1 ? 4 * thread_count() : 1;
  while (per_part_ > 1 && divide() < wanted) per_part_ = (per_part_ + 1) / 2;
  while (per_slice_ > 1 && divide() < wanted) per_slice_ = (per_slice_ + 1) / 2;
  divide();
}

DirectTasks::Task DirectTasks::operator[](int64_t task) const {
  const int64_t strip = task % parts_ * per_part_;
  const int64_t per_slice = per_slice_ * (kDirectPanel / direct_loops().lanes);
  const int64_t vector = task / parts_ % slices_ * per_slice;
  return {task / parts_ / slices_, strip, std::min(strip + per_part_, strips_), vector,
          std::min(vector + per_slice, vectors_)};
}

}  // namespace tenon::cpu
