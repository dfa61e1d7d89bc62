#include "cpu/onednn/integer.h"

#include <algorithm>

#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "ops/quantize.h"

namespace tenon::cpu {

bool onednn_multiplies_integers() {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto has = [&](dnnl::cpu_isa wanted) {
    return (isa & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
  };
  return has(dnnl::cpu_isa::avx512_core_vnni) || has(dnnl::cpu_isa::avx2_vnni);
}

namespace onednn {

using dnnl::memory;
using In = QuantizedInputs;

memory::desc retyped(const memory::desc& desc, memory::data_type type) {
  memory::desc other = desc;
  other.data.data_type = memory::convert_to_c(type);
  return other;
}

memory::data_type byte_type(DataType type) {
  require(is_byte(type), "elements of type {}", name_of(type));
  return type == DataType::kINT8 ? memory::data_type::s8 : memory::data_type::u8;
}

std::optional<std::string> refuse_integers() {
  if (!onednn_multiplies_integers()) return "the processor has no VNNI";
  return std::nullopt;
}

namespace {

constexpr uint8_t kMove = 128;

// In two's complement, taking 128 away from a byte flips its highest bit.
Tensor moved_by_128(const Tensor& t) {
  Tensor moved(DataType::kINT8, t.shape());
  const auto* from = t.data<uint8_t>();
  std::transform(from, from + t.count(), moved.mutable_data<uint8_t>(),
                 [](uint8_t x) { return static_cast<uint8_t>(x ^ kMove); });
  return moved;
}

const Tensor* constant_of(const KernelRequest& request, size_t i) {
  return i < request.constants.size() ? request.constants[i] : nullptr;
}

}  // namespace

std::optional<SignedWeights> SignedWeights::take(const KernelRequest& request) {
  const TensorSpec& spec = request.inputs[In::kWeights];
  const Tensor* constant = constant_of(request, In::kWeights);
  if (constant == nullptr) return std::nullopt;
  SignedWeights weights;
  weights.moved = spec.type == DataType::kUINT8;
  require(constant->type() == spec.type && constant->shape() == spec.shape,
          "weights of shape {}, expected {}", constant->shape(), spec.shape);
  weights.plain = weights.moved ? moved_by_128(*constant) : *constant;
  return weights;
}

std::optional<SignedWeights> SignedWeights::load(const KernelRequest& request,
                                                 const StoredKernel& stored) {
  if (stored.packed.empty()) return std::nullopt;
  const TensorSpec& spec = request.inputs[In::kWeights];
  const SignedWeights weights{stored.packed[0], spec.type == DataType::kUINT8};
  require(weights.plain.type() == DataType::kINT8 && weights.plain.shape() == spec.shape,
          "stored weights are {} {}, expected int8 {}", name_of(weights.plain.type()),
          weights.plain.shape(), spec.shape);
  return weights;
}

void SignedWeights::save(Kernel& kernel) const {
  kernel.input_is_packed[In::kWeights] = true;
  kernel.packed.push_back(plain);
}

namespace {

bool has_weights_zero(const KernelRequest& request, bool moved) {
  const size_t i = In::kWeightsZero;
  if (i >= request.inputs.size() || !request.inputs[i].present) return moved;
  const Tensor* constant = constant_of(request, i);
  if (constant == nullptr) return true;
  const auto values = constant->integers();
  return std::any_of(values.begin(), values.end(),
                     [&](int64_t v) { return v != (moved ? kMove : 0); });
}

bool has_weights_zero(const StoredKernel& stored) {
  for (const auto& [name, value] : stored.state)
    if (const bool* flag = std::get_if<bool>(&value); flag && name == "weights_zero") return *flag;
  fail(ErrorCode::kFAILED_INITIALIZATION, "a stored kernel is damaged");
}

bool are_moved(const KernelRequest& request) {
  return request.inputs[In::kWeights].type == DataType::kUINT8;
}

}  // namespace

IntegerWeights IntegerWeights::take(const KernelRequest& request) {
  const bool moved = are_moved(request);
  return {SignedWeights::take(request), moved, has_weights_zero(request, moved)};
}

IntegerWeights IntegerWeights::load(const KernelRequest& request, const StoredKernel& stored) {
  return {SignedWeights::load(request, stored), are_moved(request), has_weights_zero(stored)};
}

// Steps of their own: a product and a sum in one would be rounded once.
void store(const Requantization& result, const int32_t* sums, int64_t count, void* to) {
  if (result.to == DataType::kINT32 || result.step == 0) return result.store(sums, count, to);
  using nvinfer1::ElementWiseOperation;
  const SimdKernels& simd = simd_kernels();
  const auto multiply = simd.element_wise[static_cast<int>(ElementWiseOperation::kPROD)];
  const auto add = simd.element_wise[static_cast<int>(ElementWiseOperation::kSUM)];
  const bool is_float = result.to == DataType::kFLOAT;
  const IntegerRange range = is_float ? IntegerRange{} : result.bounds.of(result.to);
  constexpr int64_t kBlock = 512;
  alignas(64) float block[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t n = std::min(kBlock, count - first);
    float* const x = is_float ? static_cast<float*>(to) + first : block;
    simd.int_to_float(sums + first, x, n);
    multiply(x, result.scale + first, x, n, 0, 0);
    add(x, result.shift + first, x, n, 0, 0);
    if (!is_float)
      simd.round_to_bytes(x, static_cast<float>(range.lowest) - result.zero,
                          static_cast<float>(range.highest) - result.zero,
                          static_cast<int32_t>(result.zero), static_cast<uint8_t*>(to) + first, n);
  }
}

SignedOperands::SignedOperands(std::span<const TensorSpec> inputs, int64_t channels, bool moved)
    : operands_(inputs, channels), shift_(moved ? kMove : 0) {}

const QuantizedOperands& SignedOperands::read(const RunArguments& arguments) {
  QuantizedOperands& operands = operands_.read(arguments);
  for (int32_t& zero : operands.weights_zero) zero -= shift_;
  return operands;
}

}  // namespace onednn
}  // namespace tenon::cpu
