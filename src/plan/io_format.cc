#include "plan/io_format.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace tenon {
namespace {

using nvinfer1::TensorFormat;

constexpr int kAnyRank = -1;

struct Format {
  TensorFormat format;
  std::string_view name;
  int rank;  // of the tensors that can have it; 0 for none
  Layout layout = Layout::kLinear;
};

constexpr Format kFormats[] = {{TensorFormat::kLINEAR, "kLINEAR", kAnyRank, Layout::kLinear},
                               {TensorFormat::kCHW2, "kCHW2", 4, Layout::kBlocked2},
                               {TensorFormat::kHWC8, "kHWC8", 4, Layout::kChannelsLast8},
                               {TensorFormat::kCHW4, "kCHW4", 4, Layout::kBlocked4},
                               {TensorFormat::kCHW16, "kCHW16", 4, Layout::kBlocked16},
                               {TensorFormat::kCHW32, "kCHW32", 4, Layout::kBlocked32},
                               {TensorFormat::kDHWC8, "kDHWC8", 5, Layout::kChannelsLast8},
                               {TensorFormat::kCDHW32, "kCDHW32", 5, Layout::kBlocked32},
                               {TensorFormat::kHWC, "kHWC", 4, Layout::kChannelsLast},
                               {TensorFormat::kDLA_LINEAR, "kDLA_LINEAR", 0},
                               {TensorFormat::kDLA_HWC4, "kDLA_HWC4", 0},
                               {TensorFormat::kHWC16, "kHWC16", 4, Layout::kChannelsLast16},
                               {TensorFormat::kDHWC, "kDHWC", 5, Layout::kChannelsLast}};

bool is_allowed(const Value& v, const Format& format) {
  return (v.allowed_formats >> static_cast<int>(format.format) & 1u) != 0;
}

// Why the tensor cannot have a format; empty if it can.
std::string refusal(const Value& v, const Format& format) {
  const auto rank = static_cast<int>(v.dims.size());
  const DataType type = v.requested_type.value_or(v.type);
  if (format.rank == kAnyRank) return "";
  if (format.rank == 0)
    return fmt::format("{} is a format of DLA, which is no target", format.name);
  if (rank != format.rank)
    return fmt::format("{} is for tensors of rank {}, found rank {}", format.name, format.rank,
                       rank);
  if (bits_of(type) < 8)
    return fmt::format("{} is for types of whole bytes, found {}", format.name, name_of(type));
  if (v.content) return fmt::format("{} is not for tensors that decide shapes", format.name);
  return "";
}

}  // namespace

std::string_view name_of(TensorFormat format) {
  for (const Format& f : kFormats)
    if (f.format == format) return f.name;
  return "?";
}

Layout io_layout(const Value& v) {
  std::string reasons;
  for (const Format& format : kFormats) {
    if (!is_allowed(v, format)) continue;
    const std::string reason = refusal(v, format);
    if (reason.empty()) return format.layout;
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  fail(ErrorCode::kUNSUPPORTED_STATE,
       "{} '{}' can have none of the formats that setAllowedFormats allows ({:#x}){}{}: allow "
       "TensorFormat::kLINEAR",
       v.is_input ? "input" : "output", v.name, v.allowed_formats, reasons.empty() ? "" : ": ",
       reasons);
}

TensorFormat format_of(Layout layout, int rank) {
  for (const Format& format : kFormats)
    if (format.layout == layout && (format.rank == kAnyRank || format.rank == rank))
      return format.format;
  return TensorFormat::kLINEAR;
}

bool fills_groups(const Value& v, Layout layout) {
  const int block = channel_block(layout);
  return block == 1
         || (v.dims.size() > 1 && v.dims[1]->is_integer_constant()
             && v.dims[1]->value.integer % block == 0);
}

Layout unpadded(const Value& v, Layout layout) {
  return has_channels_last(layout) && fills_groups(v, layout) ? Layout::kChannelsLast : layout;
}

}  // namespace tenon
