#include "cpu/widened.h"

#include "base/error.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

bool is_reduced(DataType type) {
  return type == DataType::kHALF || type == DataType::kBF16;
}

constexpr int64_t kGrain = 16384;

void widen(DataType type, const void* from, float* to, int64_t count) {
  const SimdKernels& kernels = simd_kernels();
  const auto convert = type == DataType::kHALF ? kernels.half_to_float : kernels.bfloat_to_float;
  const auto* in = static_cast<const uint16_t*>(from);
  parallel_for(count, kGrain,
               [&](int64_t begin, int64_t end) { convert(in + begin, to + begin, end - begin); });
}

void reduced(DataType type, const float* from, void* to, int64_t count) {
  const SimdKernels& kernels = simd_kernels();
  const auto convert = type == DataType::kHALF ? kernels.float_to_half : kernels.float_to_bfloat;
  auto* out = static_cast<uint16_t*>(to);
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
    convert(from + begin, out + begin, end - begin);
  });
}

std::vector<TensorSpec> widened_specs(std::span<const TensorSpec> specs) {
  std::vector<TensorSpec> out(specs.begin(), specs.end());
  for (TensorSpec& s : out)
    if (is_reduced(s.type)) s.type = DataType::kFLOAT;
  return out;
}

class WidenedExecution final : public Execution {
 public:
  WidenedExecution(const Kernel& kernel, std::span<const TensorSpec> inputs,
                   std::span<const TensorSpec> outputs)
      : aliased_(kernel.aliased_input) {
    inner_ = kernel.prepare(widened_specs(inputs), widened_specs(outputs));
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs_.push_back(buffer(
          inputs[i],
          inputs[i].present && (i >= kernel.input_is_packed.size() || !kernel.input_is_packed[i])));
    for (const TensorSpec& s : outputs) outputs_.push_back(buffer(s, true));
    if (aliased_ >= 0 && is_reduced(outputs[0].type))
      outputs_[0].offset = inputs_[static_cast<size_t>(aliased_)].offset;
    input_pointers_.resize(inputs.size());
    output_pointers_.resize(outputs.size());
  }

  size_t scratch_bytes() const override { return used_ + inner_->scratch_bytes(); }

  void run(const RunArguments& arguments) override {
    auto* const workspace = static_cast<std::byte*>(arguments.scratch);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Buffer& b = inputs_[i];
      input_pointers_[i] = arguments.inputs[i];
      if (b.count < 0 || arguments.inputs[i] == nullptr) continue;
      input_pointers_[i] = workspace + b.offset;
      widen(b.type, arguments.inputs[i], reinterpret_cast<float*>(workspace + b.offset), b.count);
    }
    for (size_t i = 0; i < outputs_.size(); ++i)
      output_pointers_[i] =
          outputs_[i].count < 0 ? arguments.outputs[i] : workspace + outputs_[i].offset;
    inner_->run({input_pointers_, output_pointers_, workspace + used_, arguments.stream});
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (const Buffer& b = outputs_[i]; b.count >= 0)
        reduced(b.type, reinterpret_cast<const float*>(workspace + b.offset), arguments.outputs[i],
                b.count);
  }

 private:
  // Where the floats of a tensor are in the scratch memory; count -1: it is used as it is.
  struct Buffer {
    DataType type = DataType::kFLOAT;
    int64_t count = -1;
    size_t offset = 0;
  };

  Buffer buffer(const TensorSpec& spec, bool is_used) {
    Buffer b;
    if (!is_used || !is_reduced(spec.type)) return b;
    b = {spec.type, storage_elements(spec.shape, spec.layout), used_};
    used_ += (static_cast<size_t>(b.count) * sizeof(float) + 63) / 64 * 64;
    return b;
  }

  int aliased_;
  std::unique_ptr<Execution> inner_;
  std::vector<Buffer> inputs_, outputs_;
  size_t used_ = 0;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
};

class WidenedKernel final : public Kernel {
 public:
  explicit WidenedKernel(std::unique_ptr<Kernel> inner) : inner_(std::move(inner)) {
    input_layouts = inner_->input_layouts;
    output_layouts = inner_->output_layouts;
    input_is_packed = inner_->input_is_packed;
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<WidenedExecution>(*inner_, inputs, outputs);
  }
  StoredKernel store() const override { return inner_->store(); }

 private:
  std::unique_ptr<Kernel> inner_;
};

Tensor widened_constant(const Tensor& t) {
  Tensor out(DataType::kFLOAT, t.shape());
  widen(t.type(), t.data(), out.mutable_data<float>(), t.count());
  return out;
}

// The kernel that `make` gives for the request with its 16-bit floats widened.
Offer make_widened(const KernelRequest& request, FunctionRef<Offer(const KernelRequest&)> make) {
  const auto reduced_spec = [](const TensorSpec& s) { return s.present && is_reduced(s.type); };
  if (std::none_of(request.inputs.begin(), request.inputs.end(), reduced_spec))
    return "there is no input of 16-bit floats";
  const auto inputs = widened_specs(request.inputs), outputs = widened_specs(request.outputs);
  std::vector<Tensor> tensors(request.constants.size());
  std::vector<const Tensor*> constants(request.constants.begin(), request.constants.end());
  for (size_t i = 0; i < constants.size(); ++i) {
    if (constants[i] == nullptr || !is_reduced(constants[i]->type())) continue;
    tensors[i] = widened_constant(*constants[i]);
    constants[i] = &tensors[i];
  }
  Offer inner = make({request.op, inputs, outputs, constants, request.tf32});
  if (std::holds_alternative<std::string>(inner)) return inner;
  return std::make_unique<WidenedKernel>(std::move(std::get<std::unique_ptr<Kernel>>(inner)));
}

}  // namespace

Candidate widened(const Candidate& candidate) {
  Candidate row(
      candidate.name + "_16bit",
      [offer = candidate.offer](const KernelRequest& request) {
        return make_widened(request, offer);
      },
      [load = candidate.load](const KernelRequest& request, const StoredKernel& stored) {
        return make_widened(request, [&](const KernelRequest& r) { return load(r, stored); });
      });
  row.timed = candidate.timed;
  return row;
}

}  // namespace tenon::cpu
