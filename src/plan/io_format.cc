#include "plan/io_format.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace tenon {
namespace {

using nvinfer1::TensorFormat;

/// Of tensors of channels and so many axes of positions, which may be images of a batch; -1 for
/// tensors of any rank, 0 for a format that none can have.
struct Format {
  TensorFormat format;
  std::string_view name;
  int positions;
  Layout layout = Layout::kLinear, unbatched = Layout::kLinear;

  Layout of_rank(int rank) const { return rank == positions + 1 ? unbatched : layout; }
  bool can_have_rank(int rank) const {
    return positions < 0 || rank == positions + 1 || rank == positions + 2;
  }
};

constexpr Format kFormats[] = {
    {TensorFormat::kLINEAR, "kLINEAR", -1},
    {TensorFormat::kCHW2, "kCHW2", 2, Layout::kBlocked2, Layout::kUnbatchedBlocked2},
    {TensorFormat::kHWC8, "kHWC8", 2, Layout::kChannelsLast8, Layout::kUnbatchedChannelsLast8},
    {TensorFormat::kCHW4, "kCHW4", 2, Layout::kBlocked4, Layout::kUnbatchedBlocked4},
    {TensorFormat::kCHW16, "kCHW16", 2, Layout::kBlocked16, Layout::kUnbatchedBlocked16},
    {TensorFormat::kCHW32, "kCHW32", 2, Layout::kBlocked32, Layout::kUnbatchedBlocked32},
    {TensorFormat::kDHWC8, "kDHWC8", 3, Layout::kChannelsLast8, Layout::kUnbatchedChannelsLast8},
    {TensorFormat::kCDHW32, "kCDHW32", 3, Layout::kBlocked32, Layout::kUnbatchedBlocked32},
    {TensorFormat::kHWC, "kHWC", 2, Layout::kChannelsLast, Layout::kUnbatchedChannelsLast},
    {TensorFormat::kDLA_LINEAR, "kDLA_LINEAR", 0},
    {TensorFormat::kDLA_HWC4, "kDLA_HWC4", 0},
    {TensorFormat::kHWC16, "kHWC16", 2, Layout::kChannelsLast16, Layout::kUnbatchedChannelsLast16},
    {TensorFormat::kDHWC, "kDHWC", 3, Layout::kChannelsLast, Layout::kUnbatchedChannelsLast}};

bool is_allowed(const Value& v, const Format& format) {
  return (v.allowed_formats >> static_cast<int>(format.format) & 1u) != 0;
}

// Why the tensor cannot have a format; empty if it can.
std::string refusal(const Value& v, const Format& format, bool has_batch) {
  const auto rank = static_cast<int>(v.dims.size());
  const int min_rank = format.positions + (has_batch ? 2 : 1), max_rank = format.positions + 2;
  const DataType type = v.requested_type.value_or(v.type);
  if (format.positions < 0) return "";
  if (format.positions == 0)
    return fmt::format("{} is a format of DLA, which is no target", format.name);
  if (rank < min_rank || rank > max_rank)
    return has_batch ? fmt::format("{} is for items of rank {}, found rank {}", format.name,
                                   min_rank - 1, rank - 1)
                     : fmt::format("{} is for tensors of rank {} or {}, found rank {}", format.name,
                                   min_rank, max_rank, rank);
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

Layout io_layout(const Value& v, int32_t max_batch) {
  std::string reasons;
  for (const Format& format : kFormats) {
    if (!is_allowed(v, format)) continue;
    const std::string reason = refusal(v, format, max_batch > 0);
    if (reason.empty()) return format.of_rank(static_cast<int>(v.dims.size()));
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
    if (format.can_have_rank(rank) && format.of_rank(rank) == layout) return format.format;
  return TensorFormat::kLINEAR;
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
