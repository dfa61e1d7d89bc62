#include "profiles.h"

#include <tenon/session/tensor.h>

#include <algorithm>
#include <optional>

#include "error.h"

namespace tenon::tool {
namespace {

/// What the command line gives for one profile.
struct ShapeOptions {
  Shapes any, min, opt, max;

  ShapeOptions(const BuildOptions& options, const ProfileOptions& profile,
               const std::vector<std::string>& inputs)
      : any(shapes_of_inputs(parse_shapes("--shapes", options.shapes), inputs)),
        min(shapes_of_inputs(parse_shapes("--minShapes", profile.min), inputs)),
        opt(shapes_of_inputs(parse_shapes("--optShapes", profile.opt), inputs)),
        max(shapes_of_inputs(parse_shapes("--maxShapes", profile.max), inputs)) {}
};

std::vector<std::string> input_names(const nvinfer1::INetworkDefinition& network) {
  std::vector<std::string> inputs;
  for (int32_t i = 0; i < network.getNbInputs(); ++i)
    inputs.emplace_back(network.getInput(i)->getName());
  return inputs;
}

void check_names(const std::vector<std::string>& inputs,
                 std::initializer_list<const Shapes*> given) {
  for (const Shapes* shapes : given)
    for (const auto& [name, shape] : *shapes) check_name(name, inputs, "input");
}

const session::Shape* first_of(std::initializer_list<const Shapes*> maps, const std::string& name) {
  for (const Shapes* map : maps)
    if (const auto it = map->find(name); it != map->end()) return &it->second;
  return nullptr;
}

// Inputs whose shapes are fixed have no other.
void check_static(const session::Model& model, const ShapeOptions& given) {
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *model.network->getInput(i);
    const auto declared = session::to_shape(input.getDimensions());
    if (input.isShapeTensor() || !session::is_known(declared)) continue;
    for (const Shapes* map : {&given.any, &given.min, &given.opt, &given.max})
      if (const auto it = map->find(input.getName()); it != map->end() && it->second != declared)
        fail(ErrorClass::kProfile,
             "input '{}' is static, of shape {}: it cannot be {}; export the model with dynamic "
             "extents to choose them",
             it->first, session::shape_text(declared), session::shape_text(it->second));
  }
}

// Missing ones of min, opt and max are taken from their neighbours, as trtexec does. For an input
// that decides shapes, what is given are its values. Nothing where nothing is given.
std::optional<session::Range> range_of(const nvinfer1::ITensor& input, const ShapeOptions& given,
                                       const RunInputs& inputs) {
  const char* name = input.getName();
  const Shapes& run = input.isShapeTensor() ? inputs.values : inputs.shapes;
  const auto* low = first_of({&given.min, &given.any, &given.opt, &given.max, &run}, name);
  const auto* middle = first_of({&given.opt, &given.any, &given.max, &given.min, &run}, name);
  const auto* high = first_of({&given.max, &given.any, &given.opt, &given.min, &run}, name);
  if (low == nullptr) return std::nullopt;
  return session::Range{*low, *middle, *high};
}

// What trtexec gives to an input without a shape.
session::Range ones(const nvinfer1::ITensor& input, Logger& logger) {
  session::Shape shape = session::to_shape(input.getDimensions());
  if (input.isShapeTensor())
    shape = session::Shape(static_cast<size_t>(shape.empty() ? 1 : shape[0]), 1);
  else
    std::replace_if(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }, 1);
  logger.log(nvinfer1::ILogger::Severity::kWARNING,
             fmt::format("input '{}' is dynamic, and no option gives its shape: it is {}",
                         input.getName(), session::shape_text(shape))
                 .c_str());
  return {shape, shape, shape};
}

// How to give ranges to these inputs, in one answer for all.
std::string how_to_give(const std::vector<const nvinfer1::ITensor*>& inputs) {
  std::string option;
  bool has_values = false;
  for (const nvinfer1::ITensor* input : inputs) {
    option += (option.empty() ? "" : ",") + std::string(input->getName()) + ":…";
    has_values |= input->isShapeTensor();
  }
  return fmt::format(
      ", with --minShapes={0} --optShapes={0} --maxShapes={0}, or one with --shapes={0}{1}", option,
      has_values ? "; an x stands between values" : "");
}

}  // namespace

void add_profiles(session::Model& model, const BuildOptions& options, const RunInputs& inputs,
                  Logger& logger) {
  const auto varying = model.varying_inputs();
  const auto names = input_names(*model.network);
  const RunInputs run{shapes_of_inputs(inputs.shapes, names),
                      shapes_of_inputs(inputs.values, names)};
  check_names(names, {&run.shapes, &run.values});
  for (size_t p = 0; p < options.profiles.size(); ++p) {
    const ShapeOptions given(options, options.profiles[p], names);
    check_names(names, {&given.any, &given.min, &given.opt, &given.max});
    check_static(model, given);
    session::Ranges ranges;
    std::vector<const nvinfer1::ITensor*> missing;
    for (const nvinfer1::ITensor* input : varying) {
      auto range = range_of(*input, given, run);
      if (!range && options.unknown_extents_are_one) range = ones(*input, logger);
      if (range)
        ranges[input->getName()] = *range;
      else
        missing.push_back(input);
    }
    if (varying.empty()) continue;
    if (const auto added = model.add_profile(ranges, logger); !added)
      throw Failure(ErrorClass::kProfile,
                    (options.profiles.size() > 1 ? fmt::format("profile {}: ", p) : std::string())
                        + added.error() + (missing.empty() ? std::string() : how_to_give(missing)));
  }
}

std::string profile_text(const nvinfer1::ICudaEngine& engine, int32_t profile) {
  std::string text = fmt::format("profile {} of {}", profile, engine.getNbOptimizationProfiles());
  const char* separator = ": ";
  for (const session::Tensor& tensor : session::tensors_of(engine, profile)) {
    const auto min = session::to_shape(tensor.min), max = session::to_shape(tensor.max);
    if (min == max) continue;
    text += fmt::format("{}{} {} to {}", separator, tensor.name, session::shape_text(min),
                        session::shape_text(max));
    separator = ", ";
  }
  return text;
}

}  // namespace tenon::tool
