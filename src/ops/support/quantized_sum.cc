#include "ops/support/quantized_sum.h"

namespace tenon {

void QuantizedSum::visit(FieldVisitor& v) {
  v("adds", used);
  if (!used) return;
  v("product_scale", product_scale);
  v("addend_scale", addend_scale);
  v("sum_scale", scale);
  v("addend_zero", addend_zero);
  v("sum_zero", zero);
  v("sum_to", to);
  v("sum_lowest", bounds.lowest);
  v("sum_highest", bounds.highest);
}

void QuantizedSum::run(const TensorView& product, int32_t product_zero, const TensorView& addend,
                       int64_t count, void* out) const {
  const IntegerRange range = bounds.of(to);
  const auto low = static_cast<float>(range.lowest - zero);
  const auto high = static_cast<float>(range.highest - zero);
  for (int64_t i = 0; i < count; ++i) {
    const float a = static_cast<float>(byte_of(product, i) - product_zero) * product_scale;
    const float b = static_cast<float>(byte_of(addend, i) - addend_zero) * addend_scale;
    const auto rounding = static_cast<int32_t>(rounded((a + b) / scale, low, high));
    static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(rounding + zero);
  }
}

}  // namespace tenon
