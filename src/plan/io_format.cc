#include "plan/io_format.h"

#include <string>

#include "base/error.h"
#include "base/tensor_format.h"

namespace tenon {
namespace {

using nvinfer1::TensorFormat;

bool is_allowed(const Value& v, TensorFormat format) {
  return (v.allowed_formats >> static_cast<int>(format) & 1u) != 0;
}

// Why the tensor cannot have a format; empty if it can.
std::string refusal(const Value& v, TensorFormat format, bool has_batch) {
  const DataType type = v.requested_type.value_or(v.type);
  std::string reason = refusal_of(format, type, static_cast<int>(v.dims.size()), has_batch);
  if (reason.empty() && v.content && format != TensorFormat::kLINEAR)
    reason = fmt::format("{} is not for tensors that decide shapes", name_of(format));
  return reason;
}

}  // namespace

Layout io_layout(const Value& v, int32_t max_batch) {
  std::string reasons;
  for (const TensorFormat format : tensor_formats()) {
    if (!is_allowed(v, format)) continue;
    const std::string reason = refusal(v, format, max_batch > 0);
    if (reason.empty()) return layout_of(format, static_cast<int>(v.dims.size()));
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  fail(ErrorCode::kUNSUPPORTED_STATE,
       "{} '{}' can have none of the formats that setAllowedFormats allows ({:#x}){}{}: allow "
       "TensorFormat::kLINEAR",
       v.is_input ? "input" : "output", v.name, v.allowed_formats, reasons.empty() ? "" : ": ",
       reasons);
}

bool fills_groups(const Value& v, Layout layout) {
  const int block = channel_block(layout);
  const auto axis = static_cast<size_t>(channel_axis(layout));
  return block == 1
         || (v.dims.size() > axis && v.dims[axis]->is_integer_constant()
             && v.dims[axis]->value.integer % block == 0);
}

Layout unpadded(const Value& v, Layout layout) {
  const bool is_last = has_channels_last(layout) && channel_axis(layout) == 1;
  return is_last && fills_groups(v, layout) ? Layout::kChannelsLast : layout;
}

}  // namespace tenon
