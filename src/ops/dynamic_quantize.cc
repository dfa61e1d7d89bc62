#include "ops/dynamic_quantize.h"

#include <cmath>

#include "base/low_precision.h"
#include "ops/support/infer.h"
#include "ops/support/reference.h"
#include "ops/support/rounding.h"

namespace tenon {

TENON_REGISTER_OP(DynamicQuantize);

void DynamicQuantize::visit(FieldVisitor& v) {
  v("to", to);
  v("scale_type", scale_type);
  v("axis", axis);
  v("block_size", block_size);
  v("block", block);
}

namespace {

// An extent per axis; -1 for a whole one.
Shape open_block_of(const DynamicQuantize& op, int rank) {
  if (op.block.rank() > 0) {
    require(op.block.rank() == rank, "expected a block of {} extents, found {}", rank, op.block);
    for (int64_t extent : op.block)
      require(extent > 0 || extent == -1, "expected block extents of 1 or more, or -1, found {}",
              extent);
    return op.block;
  }
  require(op.block_size > 0, "expected a block size of 1 or more, found {}", op.block_size);
  Shape block = Shape::filled(rank, 1);
  block[normalized_axis(op.axis, rank)] = op.block_size;
  return block;
}

// Numbers as they come back from the type.
void store_and_read(DataType type, std::vector<float>& numbers, void* to) {
  const auto count = static_cast<int64_t>(numbers.size());
  if (is_low_precision(type)) {
    write_low_precision(type, numbers.data(), 0, count, to);
    read_low_precision(type, to, 0, count, numbers.data());
    return;
  }
  with_float(type, [&](auto sample) {
    using T = decltype(sample);
    for (size_t i = 0; i < numbers.size(); ++i) {
      static_cast<T*>(to)[i] = store<T>(numbers[i]);
      numbers[i] = load(static_cast<T*>(to)[i]);
    }
  });
}

// The scale of each element, by its number.
std::vector<int64_t> scale_of_elements(const Shape& data, const Shape& block, const Shape& scales) {
  std::vector<int64_t> list(static_cast<size_t>(data.volume()));
  const Shape steps = scales.strides();
  for (size_t i = 0; i < list.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    for (int axis = data.rank() - 1; axis >= 0; rest /= data[axis], --axis)
      if (block[axis] > 0) list[i] += rest % data[axis] / block[axis] * steps[axis];
  }
  return list;
}

}  // namespace

Shape block_of(const DynamicQuantize& op, const Shape& data) {
  Shape block = open_block_of(op, data.rank());
  for (int i = 0; i < block.rank(); ++i)
    if (block[i] == -1) block[i] = std::max<int64_t>(data[i], 1);
  return block;
}

float largest_number(DataType type) {
  return type == DataType::kFP4 ? 6.f : type == DataType::kFP8 ? kLargestFloat8 : 127.f;
}

void DynamicQuantize::infer(Inference& c) const {
  require_inputs(c, 1, 2);
  require_float(c, 0, "the data");
  require(c.rank(0) >= 1, "expected data of rank 1 or more, found a scalar");
  require(to == DataType::kFP4 || to == DataType::kFP8 || to == DataType::kINT8,
          "expected float4_e2m1fn, float8_e4m3fn or int8 to quantise to, found {}", name_of(to));
  require(is_float(scale_type) && scale_type != DataType::kFP4,
          "expected scales of type float8_e4m3fn, float8_e8m0fnu, float32, float16 or bfloat16, "
          "found {}",
          name_of(scale_type));
  if (c.has_input(1)) {
    require_float(c, 1, "the scale of the scales");
    require_count(c, 1, "the scale of the scales", 1);
  }
  const Shape extents = open_block_of(*this, c.rank(0));
  Dims scales;
  for (int i = 0; i < extents.rank(); ++i)
    scales.push_back(extents[i] == -1 ? c.pool().constant(1)
                                      : c.pool().ceil_div(c.dims(0)[static_cast<size_t>(i)],
                                                          c.pool().constant(extents[i])));
  c.set_output(0, to, c.dims(0));
  c.set_output(1, scale_type, std::move(scales));
}

void DynamicQuantize::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0], &scales = call.outputs[1];
  require_output(out, in.shape);
  const Floats x(in);
  const bool has_unit = call.inputs.size() > 1 && call.inputs[1].data != nullptr;
  const float unit = has_unit ? Floats(call.inputs[1])[0] : 1;
  const auto scale_of =
      scale_of_elements(in.shape, open_block_of(*this, in.shape.rank()), scales.shape);
  std::vector<float> scale(static_cast<size_t>(scales.shape.volume()), 0);
  for (size_t i = 0; i < scale_of.size(); ++i) {
    float& largest = scale[static_cast<size_t>(scale_of[i])];
    largest = std::max(largest, std::fabs(x[static_cast<int64_t>(i)]));
  }
  const float limit = largest_number(to);
  for (float& s : scale) s = s / limit / unit;
  store_and_read(scale_type, scale, scales.data);
  std::vector<float> values(scale_of.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const float s = scale[static_cast<size_t>(scale_of[i])] * unit;
    values[i] = s == 0 ? 0 : x[static_cast<int64_t>(i)] / s;  // a block of zeros
  }
  if (is_low_precision(to))
    return write_low_precision(to, values.data(), 0, static_cast<int64_t>(values.size()), out.data);
  for (size_t i = 0; i < values.size(); ++i)
    out.as<int8_t>()[i] = static_cast<int8_t>(rounded(values[i], -128, 127));
}

}  // namespace tenon
