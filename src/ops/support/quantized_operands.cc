#include "ops/support/quantized_operands.h"

#include <algorithm>

#include "base/low_precision.h"
#include "ops/support/infer.h"
#include "ops/support/quantized_sum.h"
#include "ops/support/reference.h"

namespace tenon {
namespace {

using In = QuantizedInputs;

void require_type(const Inference& c, int i, const char* what, DataType expected) {
  if (!c.has_input(i)) return;
  require(c.type(i) == expected, "expected {} (input {}) of type {}, found {}", what, i,
          name_of(expected), name_of(c.type(i)));
}

void require_list(const Inference& c, int i, const char* what, Dim channels) {
  if (!c.has_input(i)) return;
  const auto shape = c.constant_shape(i);
  if (!shape || shape->volume() == 1) return;
  require(channels != nullptr, "expected one element in {} (input {}), found {}", what, i, *shape);
  if (channels->is_integer_constant())
    require(shape->volume() == channels->value.integer,
            "expected 1 or {} elements in {} (input {}), found {}", channels->value.integer, what,
            i, *shape);
}

const TensorView* present(std::span<const TensorView> inputs, int i) {
  const auto index = static_cast<size_t>(i);
  return index < inputs.size() && inputs[index].data != nullptr ? &inputs[index] : nullptr;
}

// All of `to` from one element, or each from its own; zeros without an input.
template <class To> void read_list(std::span<const TensorView> inputs, int i, std::span<To> to) {
  const TensorView* v = present(inputs, i);
  if (v == nullptr) return std::fill(to.begin(), to.end(), To{0});
  const int64_t found = v->shape.volume(), expected = static_cast<int64_t>(to.size());
  require(found == 1 || found == expected, "expected 1 or {} elements in input {}, found {}",
          expected, i, found);
  const auto copy = [&](const auto* from) {
    if (found == 1) return std::fill(to.begin(), to.end(), static_cast<To>(*from));
    for (size_t k = 0; k < to.size(); ++k) to[k] = static_cast<To>(from[k]);
  };
  if (v->type == DataType::kINT8) return copy(v->as<int8_t>());
  if (v->type == DataType::kUINT8) return copy(v->as<uint8_t>());
  if (v->type == DataType::kINT32) return copy(v->as<int32_t>());
  require(v->type == DataType::kFLOAT, "input {} is of type {}", i, name_of(v->type));
  return copy(v->as<float>());
}

// Of fp8, where the sums are floats.
void check_float8(const Inference& c, DataType to) {
  require(
      to == DataType::kFLOAT || is_16bit_float(to) || to == DataType::kFP8,
      "expected float32, float16, bfloat16 or float8_e4m3fn as the type of the result, found {}",
      name_of(to));
  for (int i : {In::kData, In::kWeights})
    require_type(c, i, i == In::kData ? "data" : "weights", DataType::kFP8);
  for (int i : {In::kDataZero, In::kWeightsZero, In::kBias, In::kResultZero})
    require(!c.has_input(i), "products of fp8 have no zero points, and no bias (input {}) of int32",
            i);
}

void check_integers(const Inference& c, DataType to) {
  require(to == DataType::kINT32 || to == DataType::kFLOAT || is_16bit_float(to) || is_byte(to),
          "expected int32, float32, float16, bfloat16, int8 or uint8 as the type of the result, "
          "found {}",
          name_of(to));
  for (int i : {In::kData, In::kWeights})
    require(is_byte(c.type(i)), "expected {} (input {}) of type int8 or uint8, found {}",
            i == In::kData ? "data" : "weights", i, name_of(c.type(i)));
  require_type(c, In::kDataZero, "the data's zero point", c.type(In::kData));
  require_type(c, In::kWeightsZero, "the weights' zero points", c.type(In::kWeights));
  require_type(c, In::kBias, "the bias", DataType::kINT32);
  require_type(c, In::kResultZero, "the result's zero point", to);
  const bool quantized = is_byte(to);
  require(
      to != DataType::kINT32 || (!c.has_input(In::kResultScale) && !c.has_input(In::kResultShift)),
      "a scale needs a result of another type than int32");
  require(quantized || !c.has_input(In::kResultZero), "only int8 and uint8 have a zero point");
}

}  // namespace

void check_quantized_inputs(const Inference& c, DataType to, Dim channels, bool is_float8) {
  if (is_float8)
    check_float8(c, to);
  else
    check_integers(c, to);
  require_type(c, In::kResultScale, "the scale of the result", DataType::kFLOAT);
  require_type(c, In::kResultShift, "the shift of the result", DataType::kFLOAT);
  require_list(c, In::kDataZero, "the data's zero point", nullptr);
  require_list(c, In::kWeightsZero, "the weights' zero points", channels);
  require_list(c, In::kBias, "the bias", channels);
  require_list(c, In::kResultScale, "the scale of the result", channels);
  require_list(c, In::kResultZero, "the result's zero point", nullptr);
  require_list(c, In::kResultShift, "the shift of the result", channels);
}

QuantizedOperands::QuantizedOperands(int64_t channels)
    : weights_zero(static_cast<size_t>(channels)),
      bias(static_cast<size_t>(channels)),
      scale(static_cast<size_t>(channels)),
      shift(static_cast<size_t>(channels)) {}

void QuantizedOperands::read(std::span<const TensorView> inputs) {
  read_list(inputs, In::kDataZero, std::span(&data_zero, 1));
  read_list(inputs, In::kWeightsZero, std::span(weights_zero));
  read_list(inputs, In::kBias, std::span(bias));
  read_list(inputs, In::kResultScale, std::span(scale));
  read_list(inputs, In::kResultZero, std::span(&result_zero, 1));
  read_list(inputs, In::kResultShift, std::span(shift));
  if (present(inputs, In::kResultScale) == nullptr) std::fill(scale.begin(), scale.end(), 1.f);
}

Requantization QuantizedOperands::for_channel(DataType to, const ResultBounds& bounds,
                                              int64_t c) const {
  return {to, scale.data() + c, shift.data() + c, 0, result_zero, bounds};
}

Requantization QuantizedOperands::for_channels(DataType to, const ResultBounds& bounds) const {
  return {to, scale.data(), shift.data(), 1, result_zero, bounds};
}

void check_quantized_result(DataType to, const ResultBounds& bounds,
                            const PointwiseProgram& epilogue, int32_t max_inputs) {
  bounds.check(to);
  if (epilogue.empty()) return;
  epilogue.check();
  require((is_byte(to) || to == DataType::kFP8) && !bounds.used() && epilogue.inputs >= 1
              && epilogue.inputs <= max_inputs,
          "an epilogue of at most {} inputs and a result of int8, uint8 or fp8 without bounds were "
          "expected, found {} inputs and {}{}",
          max_inputs, epilogue.inputs, name_of(to), bounds.used() ? " with bounds" : "");
}

namespace {

// The second input, if there is one, has as many elements.
void run_in_place(const PointwiseProgram& program, std::vector<float>& numbers,
                  const float* operand) {
  const Shape shape = {static_cast<int64_t>(numbers.size())};
  const TensorView views[] = {{numbers.data(), DataType::kFLOAT, shape},
                              {const_cast<float*>(operand), DataType::kFLOAT, shape}};
  run_reference(program, std::span(views).first(static_cast<size_t>(program.inputs)), views[0]);
}

}  // namespace

void store_with_epilogue(const Requantization& result, const PointwiseProgram& epilogue,
                         const int32_t* sums, int64_t count, void* to, const float* operand) {
  if (epilogue.empty()) return result.store(sums, count, to);
  std::vector<float> numbers(static_cast<size_t>(count));
  Requantization floats = result;
  floats.to = DataType::kFLOAT;
  floats.store(sums, count, numbers.data());
  run_in_place(epilogue, numbers, operand);
  const IntegerRange range = result.bounds.of(result.to);
  const auto low = static_cast<float>(range.lowest) - result.zero;
  const auto high = static_cast<float>(range.highest) - result.zero;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto rounding = static_cast<int32_t>(rounded(numbers[i], low, high) + result.zero);
    static_cast<uint8_t*>(to)[i] = static_cast<uint8_t>(rounding);
  }
}

namespace {

void store_floats(std::span<const float> numbers, DataType to, void* out) {
  if (to == DataType::kFP8)
    return write_low_precision(to, numbers.data(), 0, static_cast<int64_t>(numbers.size()), out);
  with_float(to, [&](auto zero) {
    std::transform(numbers.begin(), numbers.end(), static_cast<decltype(zero)*>(out),
                   [](float x) { return static_cast<decltype(zero)>(x); });
  });
}

}  // namespace

void store_with_epilogue(const Requantization& result, const PointwiseProgram& epilogue,
                         const double* sums, int64_t count, void* to, const float* operand) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t channel = i * result.step;
    numbers[static_cast<size_t>(i)] =
        static_cast<float>(sums[i] * result.scale[channel] + result.shift[channel]);
  }
  if (!epilogue.empty()) run_in_place(epilogue, numbers, operand);
  store_floats(numbers, result.to, to);
}

template <> std::vector<int32_t> centred(const TensorView& view, int32_t zero) {
  std::vector<int32_t> values(static_cast<size_t>(view.shape.volume()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = byte_of(view, static_cast<int64_t>(i)) - zero;
  return values;
}

template <> std::vector<double> centred(const TensorView& view, int32_t) {
  const Floats numbers(view);
  return {numbers.data(), numbers.data() + view.shape.volume()};
}

}  // namespace tenon
