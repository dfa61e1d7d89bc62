#include "ops/dequantize.h"

#include "base/low_precision.h"
#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Dequantize);

void Dequantize::visit(FieldVisitor& v) {
  layout.visit(v);
  v("to", to);
}

void Dequantize::infer(Inference& c) const {
  require_inputs(c, 2, 3);
  const DataType type = c.type(0);
  require(type == DataType::kINT8 || type == DataType::kUINT8 || type == DataType::kINT32
              || type == DataType::kINT4 || type == DataType::kFP8 || type == DataType::kFP4,
          "expected quantised data (input 0) of type int8, uint8, int32, int4, float8_e4m3fn or "
          "float4_e2m1fn, found {}",
          name_of(type));
  require(to == DataType::kFLOAT || to == DataType::kHALF || to == DataType::kBF16,
          "expected float32, float16 or bfloat16 to dequantise to, found {}", name_of(to));
  check_scales(c, layout);
  c.set_output(0, to, c.dims(0));
}

namespace {

struct Operands {
  const float* scale;
  const float* zero;  // null: none
};

template <class X, class T>
void dequantize_run(const X* x, const Operands& o, int64_t count, int64_t scale, int64_t step,
                    T* out) {
  // 32-bit integers minus a zero point may need more than a float's 24 bits before they round.
  using Wide = std::conditional_t<std::is_same_v<X, int32_t>, int64_t, float>;
  const auto number = [](X value, float zero) {
    return static_cast<float>(static_cast<Wide>(value) - static_cast<Wide>(zero));
  };
  if (step == 0) {
    const float s = o.scale[scale], zero = o.zero != nullptr ? o.zero[scale] : 0;
    for (int64_t i = 0; i < count; ++i) out[i] = store<T>(number(x[i], zero) * s);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const float zero = o.zero != nullptr ? o.zero[scale + i] : 0;
    out[i] = store<T>(number(x[i], zero) * o.scale[scale + i]);
  }
}

}  // namespace

void Dequantize::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const Floats scale(call.inputs[1]);
  const bool has_zero = call.inputs.size() > 2 && call.inputs[2].data != nullptr;
  const Floats zero(has_zero ? call.inputs[2] : TensorView{});
  if (has_zero)
    require(call.inputs[2].shape.volume() == call.inputs[1].shape.volume(),
            "expected as many zero points as scales, found {} and {}", call.inputs[2].shape,
            call.inputs[1].shape);
  const Operands o{scale.data(), zero.data()};
  const ScaleBlocks blocks = scale_blocks(layout, in.shape, call.inputs[1].shape);
  with_float(out.type, [&](auto sample) {
    using T = decltype(sample);
    const auto run = [&](const auto* x) {
      for_scaled_runs(blocks, [&](int64_t begin, int64_t count, int64_t s, int64_t step) {
        dequantize_run(x + begin, o, count, s, step, out.as<T>() + begin);
      });
    };
    if (in.type == DataType::kINT8) return run(in.as<int8_t>());
    if (in.type == DataType::kUINT8) return run(in.as<uint8_t>());
    if (in.type == DataType::kINT32) return run(in.as<int32_t>());
    return run(Floats(in).data());
  });
}

}  // namespace tenon
