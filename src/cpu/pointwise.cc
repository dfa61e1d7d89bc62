#include "cpu/pointwise.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "common/coalesced_axes.h"
#include "common/physical.h"
#include "common/program_of.h"
#include "cpu/kernels.h"
#include "cpu/step_loops.h"

namespace tenon::cpu {
namespace {

using Family = PointwiseStep::Family;

constexpr int64_t kBlock = 512;      // floats of one register
constexpr int64_t kGrainBlocks = 8;  // blocks worth a task

/// An input that does not run along with the output: adjacent axes with a common step are one.
class BroadcastReader {
 public:
  BroadcastReader(const TensorSpec& spec, const TensorSpec& output)
      : elements_(storage_elements(spec.shape, spec.layout)) {
    const Shape extents = physical_extents(output.shape, output.layout);
    const Shape strides = physical_strides(spec.shape, spec.layout, output.shape, output.layout);
    const CoalescedAxes axes = coalesced_axes(extents, strides);
    extents_ = axes.extents;
    strides_ = axes.strides;
  }

  /// Elements [begin, begin + count) of the output's order.
  void read(const float* data, int64_t begin, int64_t count, float* to) const {
    const int last = extents_.rank() - 1;
    int64_t index[Shape::kMaxRank];
    int64_t rest = begin, offset = 0;
    for (int i = last; i >= 0; --i) {
      index[i] = rest % extents_[i];
      rest /= extents_[i];
      offset += index[i] * strides_[i];
    }
    while (count > 0) {
      const int64_t run = std::min(count, extents_[last] - index[last]);
      copy_run(data, offset, strides_[last], run, to);
      to += run;
      count -= run;
      offset += run * strides_[last];
      index[last] += run;
      for (int i = last; i > 0 && index[i] == extents_[i]; --i) {
        offset += strides_[i - 1] - index[i] * strides_[i];
        index[i] = 0;
        ++index[i - 1];
      }
    }
  }

 private:
  /// Padding channels lie beyond the operand's; what they get is cleared later, but must exist.
  void copy_run(const float* data, int64_t offset, int64_t stride, int64_t run, float* to) const {
    if (stride == 0) {
      std::fill_n(to, run, offset < elements_ ? data[offset] : 0.f);
      return;
    }
    const int64_t valid = std::clamp<int64_t>((elements_ - offset + stride - 1) / stride, 0, run);
    if (stride == 1)
      std::copy_n(data + offset, valid, to);
    else
      for (int64_t i = 0; i < valid; ++i) to[i] = data[offset + i * stride];
    std::fill(to + valid, to + run, 0.f);
  }

  Shape extents_, strides_;
  int64_t elements_;
};

/// Where a register is while a block is computed.
struct Place {
  enum class Kind : uint8_t { kInput, kSlot, kOutput } kind = Kind::kSlot;
  size_t index = 0;  // input, or slot
};

class PointwiseExecution final : public PointwiseLoop {
 public:
  PointwiseExecution(const PointwiseProgram& program, std::span<const TensorSpec> inputs,
                     const TensorSpec& output)
      : program_(program),
        output_(output),
        loops_(step_loops(program)),
        count_(storage_elements(output.shape, output.layout)),
        places_(static_cast<size_t>(program.step_register(program.steps.size()))) {
    size_t slots = 0;
    for (size_t i = 0; i < static_cast<size_t>(program.inputs); ++i) {
      if (!is_read(static_cast<int32_t>(i))) continue;
      const TensorSpec& in = inputs[i];
      if (in.shape == output.shape && in.layout == output.layout) {
        places_[i] = {Place::Kind::kInput, i};
      } else {
        places_[i] = {Place::Kind::kSlot, slots++};
        readers_.emplace_back(i, BroadcastReader(in, output));
      }
    }
    for (size_t i = 0; i < program.constants.size(); ++i)
      places_[static_cast<size_t>(program.constant_register(i))] = {Place::Kind::kSlot, slots++};
    place_results(slots);
  }

  void run(const RunArguments& arguments) override {
    auto* output = static_cast<float*>(arguments.outputs[0]);
    const int64_t blocks = (count_ + kBlock - 1) / kBlock;
    parallel_for(blocks, kGrainBlocks, [&](int64_t begin, int64_t end) {
      run_range(arguments.inputs, output, begin * kBlock,
                std::min(end * kBlock, count_) - begin * kBlock);
    });
    clear_padding(output);
  }

  void run_range(std::span<const void* const> inputs, float* output, int64_t begin,
                 int64_t count) const override {
    alignas(64) float slots[kPointwiseSlots * kBlock];
    for (size_t i = 0; i < program_.constants.size(); ++i) {
      const Place& place = places_[static_cast<size_t>(program_.constant_register(i))];
      std::fill_n(slots + place.index * kBlock, std::min(kBlock, count), program_.constants[i]);
    }
    const int64_t end = begin + count;
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t n = std::min(kBlock, end - first);
      const auto address = [&](int32_t r) -> float* {
        const Place& place = places_[static_cast<size_t>(r)];
        switch (place.kind) {
          case Place::Kind::kInput:
            return const_cast<float*>(static_cast<const float*>(inputs[place.index])) + first;
          case Place::Kind::kSlot:
            return slots + place.index * kBlock;
          case Place::Kind::kOutput:
            return output + first;
        }
        return nullptr;
      };
      for (const auto& [i, reader] : readers_)
        reader.read(static_cast<const float*>(inputs[i]), first, n,
                    address(static_cast<int32_t>(i)));
      for (const auto& [function, step, result] : loops_) {
        const float* a = address(step.a);
        const float* b = step.family == Family::kElementWise ? address(step.b) : a;
        float* to = address(result);
        if (function != nullptr)
          function(a, b, to, n, step.alpha, step.beta);
        else
          for (int64_t i = 0; i < n; ++i) to[i] = evaluate(step, a[i], b[i]);
      }
    }
  }

 private:
  bool is_read(int32_t r) const {
    return std::any_of(program_.steps.begin(), program_.steps.end(), [&](const PointwiseStep& s) {
      return s.a == r || (s.family == Family::kElementWise && s.b == r);
    });
  }

  /// Gives each result a slot that nobody reads any more; the last one is the output.
  void place_results(size_t next) {
    std::vector<size_t> last_read(places_.size(), 0);
    for (size_t i = 0; i < loops_.size(); ++i)
      for (const int32_t r : {loops_[i].step.a, loops_[i].step.b})
        if (r >= 0) last_read[static_cast<size_t>(r)] = i;
    std::vector<size_t> unused;
    for (size_t i = 0; i < loops_.size(); ++i) {
      const PointwiseStep& step = loops_[i].step;
      // A loop may write where it reads: each element is read first.
      for (size_t earlier = 0; earlier < i; ++earlier) {
        const int32_t r = loops_[earlier].result;
        if ((step.a == r || step.b == r) && last_read[static_cast<size_t>(r)] == i)
          unused.push_back(places_[static_cast<size_t>(r)].index);
      }
      auto& place = places_[static_cast<size_t>(loops_[i].result)];
      if (i + 1 == loops_.size()) {
        place.kind = Place::Kind::kOutput;
      } else if (!unused.empty()) {
        place.index = unused.back();
        unused.pop_back();
      } else {
        place.index = next++;
      }
    }
    require(next <= kPointwiseSlots,
            "a pointwise program with {} live values is not supported; the limit is {}", next,
            kPointwiseSlots);
    slots_ = next;
  }

  void clear_padding(float* output) const {
    const int64_t block = channel_block(output_.layout);
    if (block == 1 || output_.shape[1] % block == 0) return;
    const int64_t used = output_.shape[1] % block;
    const int64_t plane = output_.shape.volume(2, output_.shape.rank());
    const int64_t groups = output_.shape[1] / block + 1;
    for (int64_t n = 0; n < output_.shape[0]; ++n) {
      float* last = output + ((n + 1) * groups - 1) * plane * block;
      for (int64_t i = 0; i < plane; ++i)
        std::fill(last + i * block + used, last + (i + 1) * block, 0.f);
    }
  }

  PointwiseProgram program_;
  TensorSpec output_;
  std::vector<StepLoop> loops_;
  int64_t count_;
  std::vector<Place> places_;  // per register
  std::vector<std::pair<size_t, BroadcastReader>> readers_;
  size_t slots_ = 0;
};

class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const KernelRequest& request, Layout layout) : program_(program_of(request)) {
    if (const auto* scale = dynamic_cast<const Scale*>(&request.op)) scale_ = *scale;
    for (const TensorSpec& in : request.inputs) {
      const bool is_full =
          in.shape == request.outputs[0].shape && !(scale_ && !input_layouts.empty());
      input_layouts.push_back(is_full ? layout : Layout::kLinear);
    }
    output_layouts.assign(1, layout);
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    std::vector<TensorSpec> specs(inputs.begin(), inputs.end());
    for (size_t i = 1; scale_ && i < specs.size(); ++i)
      if (specs[i].present)
        specs[i].shape = aligned_weights(*scale_, specs[i].shape, outputs[0].shape);
    return prepare_pointwise(program_, specs, outputs[0]);
  }

 private:
  PointwiseProgram program_;
  std::optional<Scale> scale_;
};

}  // namespace

std::unique_ptr<PointwiseLoop> prepare_pointwise(const PointwiseProgram& program,
                                                 std::span<const TensorSpec> inputs,
                                                 const TensorSpec& output) {
  return std::make_unique<PointwiseExecution>(program, inputs, output);
}

namespace {

// A scale's weights lie in rows, whatever their rank.
bool is_data(const KernelRequest& request, size_t input) {
  return input == 0 || dynamic_cast<const Scale*>(&request.op) == nullptr;
}

std::string refusal(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const PointwiseProgram program = program_of(request);
  program.check();
  if (program.steps.empty()) return "there is nothing to compute";
  if (program.inputs != static_cast<int32_t>(request.inputs.size()))
    return "the number of inputs does not fit the program";
  const int rank = request.outputs[0].shape.rank();
  for (size_t i = 0; i < request.inputs.size() && is_data(request, i); ++i)
    if (request.inputs[i].shape.rank() != rank) return "inputs of unlike rank are not supported";
  return "";
}

Offer make(const KernelRequest& request, Layout layout) {
  auto kernel = std::make_unique<PointwiseKernel>(request, layout);
  try {
    prepare_for(request, *kernel);  // what does not fit is refused
  } catch (const Error& e) {
    return e.what();
  }
  return kernel;
}

}  // namespace

// In the layout of the first input of the result's shape.
Offer offer_pointwise(const KernelRequest& request) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  for (size_t i = 0; i < request.inputs.size() && is_data(request, i); ++i)
    if (const TensorSpec& in = request.inputs[i]; in.shape == request.outputs[0].shape)
      return make(request, in.layout);
  return make(request, Layout::kLinear);
}

Offer load_pointwise(const KernelRequest& request, const StoredKernel&) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return make(request, request.outputs[0].layout);
}

}  // namespace tenon::cpu
