#include "plugin_layers/format_search.h"

#include "base/error.h"
#include "base/tensor_format.h"

namespace tenon {

using nvinfer1::PluginTensorDesc;
using nvinfer1::TensorFormat;

FormatSearch::FormatSearch(const PluginLayer& layer, std::span<const PluginTensor> inputs,
                           std::span<const PluginTensor> outputs)
    : layer_(layer),
      inputs_(static_cast<int32_t>(inputs.size())),
      all_(inputs.begin(), inputs.end()),
      v2_(dynamic_cast<const PluginV2Layer*>(&layer)),
      v3_(v2_ != nullptr ? nullptr : dynamic_cast<const PluginV3Layer&>(layer).build()),
      has_batch_(v2_ != nullptr && v2_->instance().max_batch > 0) {
  all_.insert(all_.end(), outputs.begin(), outputs.end());
  for (PluginTensor& t : all_) t.desc.format = TensorFormat::kLINEAR;
}

std::vector<TensorFormat> FormatSearch::formats() const {
  std::vector<TensorFormat> list;
  for (const PluginTensor& t : all_) list.push_back(t.desc.format);
  return list;
}

void FormatSearch::refuse() {
  all_ = before_furthest_;
  const DataType type = all_[static_cast<size_t>(furthest_)].desc.type;
  const bool is_input = furthest_ < inputs_;
  const std::string tensor = fmt::format("{} {}", is_input ? "input" : "output",
                                         is_input ? furthest_ : furthest_ - inputs_);
  std::string others;
  for (const TensorFormat format : tensor_formats()) {
    const std::string reason = refusal(furthest_, format);
    if (!reason.empty() && takes(furthest_, format))
      fail(ErrorCode::kUNSUPPORTED_STATE, "{} wants {} of {} in the format {}: {}", layer_.label(),
           tensor, name_of(type), name_of(format), reason);
    if (reason.empty() && format != TensorFormat::kLINEAR)
      others += fmt::format("{}{}", others.empty() ? "" : ", ", name_of(format));
  }
  if (!others.empty()) others = fmt::format(", and the formats {}", others);
  fail(ErrorCode::kINVALID_ARGUMENT,
       "{} refuses linear {} for {}{} (inputs: {}; outputs: {}): give it a type that it supports, "
       "with a cast in the network; `tenon plugins --plugin=NAME` lists those of the kit's plugins",
       layer_.label(), name_of(type), tensor, others, types(0, inputs_), types(inputs_, count()));
}

bool FormatSearch::settle(int32_t position) {
  if (position == count()) return true;
  for (const TensorFormat format : tensor_formats()) {
    if (!refusal(position, format).empty()) continue;
    if (takes(position, format) && settle(position + 1)) return true;
  }
  all_[static_cast<size_t>(position)].desc.format = TensorFormat::kLINEAR;
  if (position > furthest_) {
    furthest_ = position;
    before_furthest_ = all_;
  }
  return false;
}

std::string FormatSearch::refusal(int32_t position, TensorFormat format) const {
  const PluginTensorDesc& desc = all_[static_cast<size_t>(position)].desc;
  return refusal_of(format, desc.type, desc.dims.nbDims, has_batch_);
}

bool FormatSearch::takes(int32_t position, TensorFormat format) {
  // A plugin that takes much before it refuses could be asked for years.
  constexpr int kMaxQuestions = 100000;
  require(++questions_ <= kMaxQuestions,
          "{} was asked for {} combinations of formats and types, and takes none: let "
          "supportsFormatCombination() refuse a tensor before it is asked for the next",
          layer_.label(), kMaxQuestions);
  all_[static_cast<size_t>(position)].desc.format = format;
  if (v2_ != nullptr) return v2_->instance().supports(position, descs_of(all_), inputs_);
  return v3_ == nullptr
         || v3_->supportsFormatCombination(position, all_.data(), inputs_, count() - inputs_);
}

std::string FormatSearch::types(int32_t first, int32_t end) const {
  std::string text;
  for (int32_t i = first; i < end; ++i)
    text += (i > first ? ", " : "") + std::string(name_of(all_[static_cast<size_t>(i)].desc.type));
  return text.empty() ? "none" : text;
}

}  // namespace tenon
