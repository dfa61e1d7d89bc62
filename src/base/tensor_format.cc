#include "base/tensor_format.h"

#include <fmt/format.h>

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

// Applications may give numbers that are no format.
const Format& description_of(TensorFormat format) {
  static constexpr Format kUnknown = {TensorFormat::kLINEAR, "?", 0};
  for (const Format& f : kFormats)
    if (f.format == format) return f;
  return kUnknown;
}

}  // namespace

std::string_view name_of(TensorFormat format) {
  return description_of(format).name;
}

const std::vector<TensorFormat>& tensor_formats() {
  static const std::vector<TensorFormat> all = [] {
    std::vector<TensorFormat> formats;
    for (const Format& f : kFormats) formats.push_back(f.format);
    return formats;
  }();
  return all;
}

std::string refusal_of(TensorFormat format, DataType type, int rank, bool has_batch) {
  const Format& f = description_of(format);
  if (f.positions < 0) return "";
  if (f.positions == 0) return fmt::format("{} is a format of DLA, which is no target", f.name);
  const int min_rank = f.positions + (has_batch ? 2 : 1), max_rank = f.positions + 2;
  if (rank < min_rank || rank > max_rank)
    return has_batch ? fmt::format("{} is for items of rank {}, found rank {}", f.name,
                                   min_rank - 1, rank - 1)
                     : fmt::format("{} is for tensors of rank {} or {}, found rank {}", f.name,
                                   min_rank, max_rank, rank);
  if (bits_of(type) < 8)
    return fmt::format("{} is for types of whole bytes, found {}", f.name, name_of(type));
  return "";
}

Layout layout_of(TensorFormat format, int rank) {
  return description_of(format).of_rank(rank);
}

TensorFormat format_of(Layout layout, int rank) {
  for (const Format& f : kFormats)
    if (f.can_have_rank(rank) && f.of_rank(rank) == layout) return f.format;
  return TensorFormat::kLINEAR;
}

}  // namespace tenon
