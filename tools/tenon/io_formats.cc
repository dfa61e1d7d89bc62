#include "io_formats.h"

#include <algorithm>
#include <span>

#include "error.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;
using nvinfer1::ITensor;
using nvinfer1::TensorFormat;

template <class T> struct Name {
  std::string_view name;
  T value;
};

constexpr Name<DataType> kTypes[] = {{"fp32", DataType::kFLOAT},  {"fp16", DataType::kHALF},
                                     {"bf16", DataType::kBF16},   {"int32", DataType::kINT32},
                                     {"int64", DataType::kINT64}, {"int8", DataType::kINT8},
                                     {"uint8", DataType::kUINT8}, {"bool", DataType::kBOOL}};
constexpr Name<TensorFormat> kFormats[] = {
    {"chw", TensorFormat::kLINEAR},        {"chw2", TensorFormat::kCHW2},
    {"hwc8", TensorFormat::kHWC8},         {"chw4", TensorFormat::kCHW4},
    {"chw16", TensorFormat::kCHW16},       {"chw32", TensorFormat::kCHW32},
    {"dhwc8", TensorFormat::kDHWC8},       {"cdhw32", TensorFormat::kCDHW32},
    {"hwc", TensorFormat::kHWC},           {"dla_linear", TensorFormat::kDLA_LINEAR},
    {"dla_hwc4", TensorFormat::kDLA_HWC4}, {"hwc16", TensorFormat::kHWC16},
    {"dhwc", TensorFormat::kDHWC}};

template <class T>
T value_of(std::span<const Name<T>> names, std::string_view text, const char* option,
           const char* what) {
  std::vector<std::string_view> known;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    known.push_back(name);
  }
  fail(ErrorClass::kOptions, "{}: '{}' is not a {}; expected one of: {}", option, text, what,
       fmt::join(known, ", "));
}

struct IoFormat {
  DataType type;
  nvinfer1::TensorFormats formats;
};

std::vector<IoFormat> parse(const char* option, const std::string& text) {
  std::vector<IoFormat> list;
  for (const std::string& part : CLI::detail::split(text, ',')) {
    const auto [type, formats] = split_name(part);
    if (type.empty())
      fail(ErrorClass::kOptions,
           "{}: '{}' is not a type and a format; expected TYPE:FORMAT, as fp32:chw", option, part);
    IoFormat one{parse_type(option, type), 0};
    for (const std::string& format : CLI::detail::split(formats, '+'))
      one.formats |=
          1u << static_cast<int>(value_of<TensorFormat>(kFormats, format, option, "format"));
    list.push_back(one);
  }
  return list;
}

// The layers keep reading the model's type.
void cast_input(nvinfer1::INetworkDefinition& network, ITensor& input, DataType type) {
  const DataType wanted = input.getType();
  if (wanted == type) return;
  const int32_t layers = network.getNbLayers();
  const bool is_strongly_typed =
      network.getFlag(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  nvinfer1::ICastLayer* cast = is_strongly_typed ? nullptr : network.addCast(input, wanted);
  for (int32_t i = 0; cast != nullptr && i < layers; ++i) {
    nvinfer1::ILayer& layer = *network.getLayer(i);
    for (int32_t k = 0; k < layer.getNbInputs(); ++k)
      if (layer.getInput(k) == &input) layer.setInput(k, *cast->getOutput(0));
  }
  input.setType(type);  // what the cast reads is converted, and not quantized
}

template <class Apply>
void for_each_tensor(const char* option, const std::string& text, int32_t count,
                     const Apply& apply) {
  if (text.empty()) return;
  const auto list = parse(option, text);
  if (list.size() != 1 && list.size() != static_cast<size_t>(count))
    fail(ErrorClass::kOptions,
         "{}: {} are given; expected one for all, or one for each of the {} tensors", option,
         list.size(), count);
  for (int32_t i = 0; i < count; ++i) apply(i, list[list.size() == 1 ? 0 : static_cast<size_t>(i)]);
}

}  // namespace

DataType parse_type(const char* option, std::string_view text) {
  return value_of<DataType>(kTypes, text, option, "type");
}

bool is_float(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

const char* type_option_name(DataType type) {
  for (const auto& [name, value] : kTypes)
    if (value == type) return name.data();
  return "";
}

void set_io_formats(session::Model& model, const BuildOptions& options, Logger& logger) {
  nvinfer1::INetworkDefinition& network = *model.network;
  for_each_tensor("--inputIOFormats", options.input_formats, network.getNbInputs(),
                  [&](int32_t i, const IoFormat& wanted) {
                    cast_input(network, *network.getInput(i), wanted.type);
                    network.getInput(i)->setAllowedFormats(wanted.formats);
                  });
  for_each_tensor("--outputIOFormats", options.output_formats, network.getNbOutputs(),
                  [&](int32_t i, const IoFormat& wanted) {
                    ITensor& output = *network.getOutput(i);
                    if (output.getType() != wanted.type) output.setType(wanted.type);
                    output.setAllowedFormats(wanted.formats);
                  });
  const std::string error = logger.take_error();
  if (!error.empty()) throw Failure(error);
}

}  // namespace tenon::tool
