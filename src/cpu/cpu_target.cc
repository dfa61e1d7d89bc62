// The CPU target: what it says of itself.
#include "cpu/cpu_target.h"

#include <fmt/format.h>

#include <fstream>

#include "backend/targets.h"
#include "base/parallel.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/candidates.h"
#include "cpu/instruction_set.h"
#include "cpu/kernels.h"
#include "cpu/peaks.h"
#include "cpu/pointwise.h"
#include "cpu/simd/bfloat_product.h"
#include "cpu/simd/byte_product.h"
#include "cpu/simd/kernels.h"
#include "ops/attention.h"
#include "ops/quantized_matrix_multiply.h"
#include "ops/separable_convolution.h"
#include "streams/host_device.h"

namespace tenon {
namespace {

using namespace cpu;

std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

class CpuTarget final : public Target {
 public:
  std::string_view name() const override { return "cpu"; }

  std::string fingerprint() const override {
    return fmt::format("{}{} threads", machine(), thread_count());
  }
  bool is_this_machine(std::string_view other) const override {
    return other.starts_with(machine());
  }

  std::string instruction_set() const override {
    instruction_set_limit();  // says what TENON_ISA may not be
    const std::string set = onednn_instruction_set();
    return set.empty() ? simd_kernels().instruction_set : set;
  }

  // Kernels that cannot take weights as another machine packed them say so when they are loaded.
  bool loads(std::string_view) const override { return true; }

  std::span<const Candidate> candidates(const Op& op) const override {
    return candidate_table().of(op.kind());
  }

  // Of float16 it has conversions alone.
  bool is_fast_in(DataType type) const override {
    return type == DataType::kBF16 && bfloat_kernels() != nullptr;
  }
  bool only_products_are_fast() const override { return true; }
  bool stores_int4_weights() const override { return true; }

  const Device& device() const override { return host_device(); }

  bool fuses(const Op& op, const PointwiseProgram& epilogue) const override {
    if (const auto* attention = dynamic_cast<const Attention*>(&op))
      return epilogue.empty() && !attention->bytes.used;
    if (const auto* separable = dynamic_cast<const SeparableConvolution*>(&op))
      return epilogue.empty() && bounds_of(separable->depthwise.epilogue).has_value();
    if (is_for_gpus(op)) return false;
    if (const auto* convolution = dynamic_cast<const QuantizedConvolution*>(&op))
      return epilogue.empty() ? multiplies(*convolution)
                              : convolves_integers(*convolution) && fits_in_slots(epilogue);
    if (op.kind() == layer_type(PrivateLayer::kQuantizedMatrixMultiply))
      return byte_product_kernels() != nullptr && epilogue.inputs == 1 && fits_in_slots(epilogue);
    if (op.kind() == layer_type(PrivateLayer::kBytePointwise)) return fits_in_slots(epilogue);
    return onednn_fuses(op, epilogue);  // nothing in a build without oneDNN
  }

  std::optional<Peaks> measure_peaks() const override { return cpu::measure_peaks(); }

  std::vector<LibraryVersion> libraries() const override { return {{"oneDNN", onednn_version()}}; }

 private:
  // Quantized layers of fp8, or with a 16-bit result.
  static bool is_for_gpus(const Op& op) {
    const auto is = [](const auto* layer) {
      return layer != nullptr && (layer->is_float8 || is_16bit_float(layer->to));
    };
    return is(dynamic_cast<const QuantizedConvolution*>(&op))
           || is(dynamic_cast<const QuantizedMatrixMultiply*>(&op));
  }

  // Whether there is a fast kernel. oneDNN has no sums.
  static bool multiplies(const QuantizedConvolution& convolution) {
    return (!convolution.sum.used && onednn_multiplies_integers())
           || convolves_integers(convolution);
  }

  std::string machine() const {
    static const std::string model = processor_model();
    return fmt::format("cpu: {}, {}, ", model, instruction_set());
  }
};

}  // namespace

const Target& cpu_target() {
  static const auto& target = *new CpuTarget;  // never destroyed
  return target;
}

TENON_REGISTER_TARGET({.name = "cpu",
                       .preference = 0,
                       .reason_for_absence = [] { return std::string(); },
                       .get = cpu_target});

}  // namespace tenon
