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

std::variant<DirectWeights, std::string> convolution_weights(const Convolution& op,
                                                             const KernelRequest& request) {
  if (request.stored != nullptr) return stored_weights(*request.stored);
  const int64_t channels = request.inputs[0].shape[1];
  const int64_t count = Shape({op.output_maps, channels, op.kernel.volume()}).volume();
  if (auto reason = refusal_of_constants(request, count, op.output_maps); !reason.empty())
    return reason;
  const int64_t depth = channels * op.kernel.volume();
  DirectWeights packed;
  packed.weights = Tensor(DataType::kFLOAT, {padded_maps(op.output_maps) * depth});
  write_panels(request.constants[1]->data<float>(), {depth, 1}, op.output_maps, depth,
               packed.weights.mutable_data<float>());
  packed.bias = padded_bias(constant_bias(request), op.output_maps);
  return packed;
}

DirectProduct::DirectProduct(const DirectWeights& weights, int64_t depth,
                             const PointwiseProgram& epilogue, std::span<const TensorSpec> inputs,
                             const TensorSpec& output)
    : weights_(weights.weights),
      bias_(weights.bias),
      epilogue_(epilogue, inputs, output),
      vectors_(units(output.shape[1], direct_loops().lanes)) {
  require(
      weights_.count() == bias_.count() * depth && bias_.count() == padded_maps(output.shape[1]),
      "the packed weights do not fit {} elements of a window and {} maps", depth, output.shape[1]);
  require(output.layout == direct_layout(), "the result must lie in blocks of {} channels",
          direct_loops().lanes);
  form_.depth = depth;
  form_.out_step = output.shape.volume(2, output.shape.rank()) * direct_loops().lanes;
  form_.out_pixel = direct_loops().lanes;
  form_.least = epilogue_.least();
  form_.most = epilogue_.most();
}

void DirectProduct::set_windows(std::vector<int64_t> offsets, int64_t step) {
  offsets_ = std::move(offsets);
  form_.offsets = offsets_.data();
  form_.step = step;
}

void DirectProduct::begin(const RunArguments& arguments) {
  result_ = static_cast<float*>(arguments.outputs[0]);
  epilogue_.begin(arguments);
}

void DirectProduct::run(const float* in, const DirectStrips& strips, int64_t first_vector,
                        int64_t end_vector) const {
  const int64_t lanes = direct_loops().lanes, per_panel = kDirectPanel / lanes;
  const int64_t count = units(strips.end - strips.first, strips.length);
  // Blocks of the result are counted through all images.
  const int64_t block = strips.image * vectors_;
  for (int64_t v = first_vector; v < end_vector; v += per_panel) {
    const int64_t next = v + per_panel < end_vector ? v + per_panel : first_vector;
    const int64_t vectors = std::min(per_panel, end_vector - v), map = v * lanes;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = strips.first + i * strips.length;
      const int64_t pixels = std::min(strips.length, strips.end - first);
      direct_loops().run(form_, in + i * strips.step, weights_.data<float>() + map * form_.depth,
                         width_of(map), next_weights(next, i, count), bias_.data<float>() + map,
                         vectors, pixels, result_ + (block + v) * form_.out_step + first * lanes);
      for (int64_t w = v; w < v + vectors; ++w) epilogue_.run(block + w, first, pixels);
    }
  }
}

// Of the panel of weights from that map on.
int64_t DirectProduct::width_of(int64_t map) const {
  return std::min(kDirectPanel, bias_.count() - map);
}

// A strip's part of a panel.
NextWeights DirectProduct::next_weights(int64_t vector, int64_t strip, int64_t strips) const {
  const int64_t map = vector * direct_loops().lanes, all = width_of(map) * form_.depth;
  const int64_t begin = all * strip / strips, end = all * (strip + 1) / strips;
  return {weights_.data<float>() + map * form_.depth + begin, end - begin};
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
