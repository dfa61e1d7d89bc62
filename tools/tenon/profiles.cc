#include "profiles.h"

#include <algorithm>

#include "error.h"

namespace tenon::tool {
namespace {

using nvinfer1::OptProfileSelector;

/// What the command line gives for one profile.
struct GivenShapes {
  ShapeMap any, min, opt, max;

  GivenShapes(const BuildOptions& options, const ProfileOptions& profile)
      : any(parse_shapes("--shapes", options.shapes)),
        min(parse_shapes("--minShapes", profile.min)),
        opt(parse_shapes("--optShapes", profile.opt)),
        max(parse_shapes("--maxShapes", profile.max)) {}
};

void check_names(const nvinfer1::INetworkDefinition& network, const GivenShapes& given) {
  std::vector<std::string> inputs;
  for (int32_t i = 0; i < network.getNbInputs(); ++i)
    inputs.emplace_back(network.getInput(i)->getName());
  for (const ShapeMap* map : {&given.any, &given.min, &given.opt, &given.max})
    for (const auto& [name, shape] : *map) check_name(name, inputs, "input");
}

const std::vector<int64_t>* first_of(std::initializer_list<const ShapeMap*> maps,
                                     const std::string& name) {
  for (const ShapeMap* map : maps)
    if (const auto it = map->find(name); it != map->end()) return &it->second;
  return nullptr;
}

// All inputs that lack a range, so that one answer is enough.
[[noreturn]] void fail_without_ranges(const std::vector<const nvinfer1::ITensor*>& inputs,
                                      const std::string& where) {
  std::string what, option;
  for (const nvinfer1::ITensor* input : inputs) {
    const std::string name = input->getName();
    what += input->isShapeTensor()
                ? fmt::format(
                      "input '{}' decides shapes: give the range of its values, an x "
                      "between them; ",
                      name)
                : fmt::format(
                      "input '{}' has extents known only at run time ({}): give its "
                      "range; ",
                      name, shape_text(to_vector(input->getDimensions())));
    option += (option.empty() ? "" : ",") + name + ":…";
  }
  what.resize(what.size() - 2);
  fail("{}{}, with --minShapes={} --optShapes={} --maxShapes={}, or one with --shapes={}", where,
       what, option, option, option, option);
}

void check_static(const std::string& name, const std::vector<int64_t>& declared,
                  const GivenShapes& given) {
  for (const ShapeMap* map : {&given.any, &given.min, &given.opt, &given.max})
    if (const auto it = map->find(name); it != map->end() && it->second != declared)
      fail(
          "input '{}' is static, of shape {}: it cannot be {}; export the model with dynamic "
          "extents to choose them",
          name, shape_text(declared), shape_text(it->second));
}

// Missing ones of min, opt and max are taken from their neighbours, as trtexec does. For an input
// that decides shapes, what is given are its values. False where nothing is given.
bool set_range(nvinfer1::IOptimizationProfile& profile, const nvinfer1::ITensor& input,
               const GivenShapes& given, const RunInputs& inputs, const std::string& where,
               Logger& logger) {
  const char* name = input.getName();
  const bool values = input.isShapeTensor();
  const ShapeMap& run = values ? inputs.values : inputs.shapes;
  const auto* low = first_of({&given.min, &given.any, &given.opt, &given.max, &run}, name);
  const auto* middle = first_of({&given.opt, &given.any, &given.max, &given.min, &run}, name);
  const auto* high = first_of({&given.max, &given.any, &given.opt, &given.min, &run}, name);
  if (low == nullptr) return false;
  for (const auto& [selector, shape] :
       {std::pair{OptProfileSelector::kMIN, low}, std::pair{OptProfileSelector::kOPT, middle},
        std::pair{OptProfileSelector::kMAX, high}})
    if (values ? !profile.setShapeValuesV2(name, selector, shape->data(),
                                           static_cast<int32_t>(shape->size()))
               : !profile.setDimensions(name, selector, to_dims(*shape)))
      fail_with_log(logger, fmt::format("{}input '{}': {} does not fit a profile", where, name,
                                        shape_text(*shape)));
  return true;
}

}  // namespace

void add_profiles(ParsedModel& model, const BuildOptions& options, const RunInputs& inputs,
                  Logger& logger) {
  for (size_t p = 0; p < options.profiles.size(); ++p) {
    const GivenShapes given(options, options.profiles[p]);
    check_names(*model.network, given);
    const std::string where =
        options.profiles.size() > 1 ? fmt::format("profile {}: ", p) : std::string();
    nvinfer1::IOptimizationProfile* profile = model.builder->createOptimizationProfile();
    bool dynamic = false;
    std::vector<const nvinfer1::ITensor*> missing;
    for (int32_t i = 0; i < model.network->getNbInputs(); ++i) {
      const nvinfer1::ITensor& input = *model.network->getInput(i);
      const auto declared = to_vector(input.getDimensions());
      if (!input.isShapeTensor()
          && std::find(declared.begin(), declared.end(), -1) == declared.end()) {
        check_static(input.getName(), declared, given);
        continue;
      }
      dynamic = true;
      if (!set_range(*profile, input, given, inputs, where, logger)) missing.push_back(&input);
    }
    if (!missing.empty()) fail_without_ranges(missing, where);
    if (dynamic) model.config->addOptimizationProfile(profile);
  }
}

std::string profile_text(const nvinfer1::ICudaEngine& engine, int32_t profile) {
  std::string text = fmt::format("profile {} of {}", profile, engine.getNbOptimizationProfiles());
  const char* separator = ": ";
  for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) != nvinfer1::TensorIOMode::kINPUT) continue;
    const auto least = to_vector(engine.getProfileShape(name, profile, OptProfileSelector::kMIN));
    const auto most = to_vector(engine.getProfileShape(name, profile, OptProfileSelector::kMAX));
    if (least == most) continue;
    text += fmt::format("{}{} {} to {}", separator, name, shape_text(least), shape_text(most));
    separator = ", ";
  }
  return text;
}

}  // namespace tenon::tool
