// Types and formats: which a plugin takes, and what its answers depend on.
#include "check/checks.h"

namespace tenon::check {
namespace {

using nvinfer1::TensorFormat;

const char* yes(bool answer) {
  return answer ? "true" : "false";
}

// While a builder asks, the tensors behind `position` hold anything.
void require_causal(const Subject& plugin, const Setup& setup) {
  Tensors all = setup.inputs;
  all.insert(all.end(), setup.outputs.begin(), setup.outputs.end());
  const auto inputs = static_cast<int>(setup.inputs.size());
  const std::pair<DataType, TensorFormat> others[] = {{DataType::kFLOAT, TensorFormat::kLINEAR},
                                                      {DataType::kHALF, TensorFormat::kHWC8},
                                                      {DataType::kINT8, TensorFormat::kCHW32},
                                                      {DataType::kINT32, TensorFormat::kLINEAR}};
  for (size_t position = 0; position < all.size(); ++position) {
    for (const auto& own : others) {
      Tensors requested = all;
      requested[position].desc.type = own.first;
      requested[position].desc.format = own.second;
      const bool answer = plugin.supports(static_cast<int>(position), requested, inputs);
      for (const auto& [type, format] : others) {
        Tensors changed = requested;
        for (size_t behind = position + 1; behind < all.size(); ++behind) {
          changed[behind].desc.type = type;
          changed[behind].desc.format = format;
        }
        if (plugin.supports(static_cast<int>(position), changed, inputs) != answer)
          throw Broken{fmt::format("supportsFormatCombination() at position {} to depend on the "
                                   "tensors up to it alone",
                                   position),
                       fmt::format("{} turned into {} by a later one", yes(answer), yes(!answer))};
      }
    }
  }
}

}  // namespace

std::vector<Setup> check_formats(const Subject& plugin, const Trial& trial,
                                 const std::string& label, Report& report) {
  std::vector<Setup> setups;
  std::vector<const kit::testing::VectorFormat*> formats = {nullptr};
  for (const auto& format : kit::testing::kVectorFormats) formats.push_back(&format);
  report.check("formats", label, [&] {
    for (const DataType t : types_of(trial))
      for (const auto* format : formats)
        if (auto setup = make_setup(plugin, trial, dims_of(trial), t, format))
          setups.push_back(std::move(*setup));
    if (setups.empty())
      throw Broken{
          "at least one combination of types and formats that "
          "supportsFormatCombination() takes",
          "none"};
    for (const Setup& setup : setups) require_causal(plugin, setup);
    if (!trial.test.outputs().empty() && trial.test.outputs().size() != setups[0].outputs.size())
      throw Broken{fmt::format("{} outputs, as the case has", trial.test.outputs().size()),
                   std::to_string(setups[0].outputs.size())};
  });
  return setups;
}

}  // namespace tenon::check
