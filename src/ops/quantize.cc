#include "ops/quantize.h"

#include "base/low_precision.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"
#include "ops/support/rounding.h"

namespace tenon {

TENON_REGISTER_OP(Quantize);

void Quantize::visit(FieldVisitor& v) {
  layout.visit(v);
  v("to", to);
  v("saturate", saturate);
  v("lowest", lowest);
  v("highest", highest);
}

IntegerRange integer_range(DataType type) {
  switch (type) {
    case DataType::kINT8:
      return {-128, 127};
    case DataType::kUINT8:
      return {0, 255};
    case DataType::kINT4:
      return {-8, 7};
    case DataType::kINT32:
      return {INT32_MIN, INT32_MAX};
    default:
      fail(ErrorCode::kINVALID_ARGUMENT, "expected a quantised integer type, found {}",
           name_of(type));
  }
}

bool is_byte(DataType type) {
  return type == DataType::kINT8 || type == DataType::kUINT8;
}

void Quantize::infer(Inference& c) const {
  require_inputs(c, 2, 3);
  if (c.type(0) != DataType::kINT32) require_float(c, 0, "the data");
  require(to == DataType::kINT8 || to == DataType::kUINT8 || to == DataType::kINT4
              || to == DataType::kFP8 || to == DataType::kFP4
              || (to == DataType::kINT32 && lowest < highest),
          "expected int8, uint8, int4, float8_e4m3fn or float4_e2m1fn to quantise to, found {}",
          name_of(to));
  require(lowest == highest || (lowest < highest && lowest >= -32768 && highest <= 65535),
          "expected bounds within 16 bits, found {} and {}", lowest, highest);
  check_scales(c, layout);
  if (const Tensor* scales = c.constant(1))
    for (double scale : scales->numbers())
      require(scale != 0, "expected scales (input 1) other than 0 to divide by");
  c.set_output(0, to, c.dims(0));
}

namespace {

struct Operands {
  const float* x;
  const float* scale;
  const float* zero;  // null: none
  float low, high;
};

template <class T>
void quantize_run(const Operands& o, int64_t begin, int64_t count, int64_t scale, int64_t step,
                  T* out) {
  const float* x = o.x + begin;
  out += begin;
  if (step == 0) {
    const float s = o.scale[scale], zero = o.zero != nullptr ? o.zero[scale] : 0;
    const float low = o.low - zero, high = o.high - zero;
    for (int64_t i = 0; i < count; ++i)
      out[i] = static_cast<T>(static_cast<int32_t>(rounded(x[i] / s, low, high) + zero));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float zero = o.zero != nullptr ? o.zero[scale + i] : 0;
    const float r = rounded(x[i] / o.scale[scale + i], o.low - zero, o.high - zero) + zero;
    out[i] = static_cast<T>(static_cast<int32_t>(r));
  }
}

// Two elements may share a byte, so runs are quantised to floats before they are packed.
void quantize_low_precision(const Quantize& op, const Operands& o, const ScaleBlocks& blocks,
                            const TensorView& out) {
  const int64_t count = out.shape.volume();
  std::vector<float> values(static_cast<size_t>(count));
  for_scaled_runs(blocks, [&](int64_t begin, int64_t length, int64_t scale, int64_t step) {
    if (op.to == DataType::kINT4) return quantize_run(o, begin, length, scale, step, values.data());
    for (int64_t i = 0; i < length; ++i)
      values[static_cast<size_t>(begin + i)] = o.x[begin + i] / o.scale[scale + i * step];
  });
  parallel_for((count + 1) / 2, 8192, [&](int64_t begin, int64_t end) {
    write_low_precision(op.to, values.data() + 2 * begin, 2 * begin, std::min(2 * end, count),
                        out.data, {.saturate = op.saturate});
  });
}

}  // namespace

void Quantize::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const Floats x(in), scale(call.inputs[1]);
  const bool has_zero = call.inputs.size() > 2 && call.inputs[2].data != nullptr;
  const Floats zero(has_zero ? call.inputs[2] : TensorView{});
  if (has_zero)
    require(call.inputs[2].shape.volume() == call.inputs[1].shape.volume(),
            "expected as many zero points as scales, found {} and {}", call.inputs[2].shape,
            call.inputs[1].shape);
  const ScaleBlocks blocks = scale_blocks(layout, in.shape, call.inputs[1].shape);
  Operands o{x.data(), scale.data(), zero.data(), 0, 0};
  if (!is_float(to)) {
    const IntegerRange own = integer_range(to);
    o.low = static_cast<float>(lowest == highest ? own.lowest : lowest);
    o.high = static_cast<float>(lowest == highest ? own.highest : highest);
  }
  if (is_low_precision(to)) return quantize_low_precision(*this, o, blocks, out);
  with_type(to, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (!is_real<T>)
      for_scaled_runs(blocks, [&](int64_t begin, int64_t count, int64_t s, int64_t step) {
        quantize_run(o, begin, count, s, step, out.as<T>());
      });
  });
}

double Quantize::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  return 2 * count_of(outputs[0]);  // a quotient and its rounding
}

}  // namespace tenon
