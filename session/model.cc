#include "tenon/session/model.h"

#include <NvInferPlugin.h>
#include <NvOnnxParser.h>
#include <tenon/printable.h>

#include <new>

#include "guard.h"

namespace tenon::session {
namespace {

using nvinfer1::OptProfileSelector;

// What the parser said, with the file in front where it does not name it.
Error parser_error(const nvonnxparser::IParser& parser, const std::string& what, ErrorLog& log) {
  std::string text;
  for (int i = 0; i < parser.getNbErrors(); ++i)
    text += (i > 0 ? "\n  " : "") + std::string(parser.getError(i)->desc());
  if (text.empty()) return log.failure(what + ": cannot be parsed");
  return {text.find(what) == std::string::npos ? what + ": " + text : text};
}

// `parse` calls the parser.
template <class Parse>
Model parsed(const std::string& what, ErrorLog& log, uint32_t flags, const Parse& parse) {
  Model model;
  initLibNvInferPlugins(nullptr, "");
  model.builder.reset(nvinfer1::createInferBuilder(log));
  if (model.builder == nullptr) throw log.failure("cannot make a builder");
  model.network.reset(model.builder->createNetworkV2(flags));
  model.config.reset(model.builder->createBuilderConfig());
  if (model.network == nullptr || model.config == nullptr)
    throw log.failure("cannot make a network");
  const std::unique_ptr<nvonnxparser::IParser> parser(
      nvonnxparser::createParser(*model.network, log));
  if (parser == nullptr) throw log.failure("cannot make an ONNX parser");
  if (!parse(*parser)) throw parser_error(*parser, what, log);
  return model;
}

std::string label(const nvinfer1::ITensor& input) {
  return "input '" + printable(input.getName()) + "'";
}

bool set_range(nvinfer1::IOptimizationProfile& profile, const nvinfer1::ITensor& input,
               OptProfileSelector selector, const Shape& shape) {
  return input.isShapeTensor()
             ? profile.setShapeValuesV2(input.getName(), selector, shape.data(),
                                        static_cast<int32_t>(shape.size()))
             : profile.setDimensions(input.getName(), selector, value_of(to_dims(shape)));
}

std::string without_range(const nvinfer1::ITensor& input) {
  return input.isShapeTensor()
             ? label(input) + " decides shapes: give the range of its values"
             : label(input) + " has extents known only at run time ("
                   + shape_text(to_shape(input.getDimensions())) + "): give its range";
}

}  // namespace

Result<Model> Model::parse_file(const std::string& path, ErrorLog& log, uint32_t flags,
                                bool prefers_plugins) noexcept {
  return guard([&] {
    return parsed(path, log, flags, [&](nvonnxparser::IParser& parser) {
      if (prefers_plugins) parser.setFlag(nvonnxparser::OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
      return parser.parseFromFile(path.c_str(),
                                  static_cast<int>(nvinfer1::ILogger::Severity::kWARNING));
    });
  });
}

Result<Model> Model::parse(std::span<const std::byte> model, ErrorLog& log,
                           uint32_t flags) noexcept {
  return guard([&] {
    return parsed("the model", log, flags, [&](nvonnxparser::IParser& parser) {
      return parser.parse(model.data(), model.size());
    });
  });
}

std::vector<const nvinfer1::ITensor*> Model::varying_inputs() const {
  std::vector<const nvinfer1::ITensor*> inputs;
  for (int32_t i = 0; i < network->getNbInputs(); ++i) {
    const nvinfer1::ITensor* const input = network->getInput(i);
    if (input == nullptr) throw std::bad_alloc();
    if (input->isShapeTensor() || !is_known(input->getDimensions())) inputs.push_back(input);
  }
  return inputs;
}

Result<void> Model::add_profile(const Ranges& ranges, ErrorLog& log) noexcept {
  return guard([&] {
    const auto varying = varying_inputs();
    std::string missing;
    for (const nvinfer1::ITensor* input : varying)
      if (!ranges.contains(input->getName()))
        missing += (missing.empty() ? "" : "; ") + without_range(*input);
    if (!missing.empty()) throw Error{missing};
    nvinfer1::IOptimizationProfile* profile = builder->createOptimizationProfile();
    if (profile == nullptr) throw log.failure("cannot make an optimization profile");
    for (const nvinfer1::ITensor* input : varying) {
      const Range& range = ranges.at(input->getName());
      for (const auto& [selector, shape] : {std::pair(OptProfileSelector::kMIN, &range.min),
                                            std::pair(OptProfileSelector::kOPT, &range.opt),
                                            std::pair(OptProfileSelector::kMAX, &range.max)})
        if (!set_range(*profile, *input, selector, *shape))
          throw log.failure(label(*input) + ": " + shape_text(*shape) + " does not fit a profile");
    }
    if (config->addOptimizationProfile(profile) < 0)
      throw log.failure("the optimization profile does not fit the network");
  });
}

Result<std::unique_ptr<nvinfer1::IHostMemory>> Model::build(ErrorLog& log) noexcept {
  return guard([&] {
    std::unique_ptr<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    if (plan == nullptr) throw log.failure("the engine cannot be built");
    return plan;
  });
}

}  // namespace tenon::session
