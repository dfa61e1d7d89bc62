#include "plan/engine_information.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "ops/pointwise.h"
#include "ops/support/convolution_shared.h"
#include "plan/load_steps.h"
#include "plan/streams.h"
#include "plan/timing_cache.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;
using nvinfer1::LayerInformationFormat;
using nvinfer1::ProfilingVerbosity;

struct TypeName {
  DataType type;
  const char* name;         // of weights
  const char* description;  // of linear tensors
};

constexpr TypeName kTypeNames[] = {
    {DataType::kFLOAT, "Float", "Row major linear FP32"},
    {DataType::kHALF, "Half", "Row major linear FP16 format"},
    {DataType::kBF16, "BFloat16", "Row major linear BFloat16 format"},
    {DataType::kFP8, "FP8", "Row major linear FP8 format"},
    {DataType::kFP4, "FP4", "Row major linear FP4 format"},
    {DataType::kE8M0, "E8M0", "Row major linear E8M0 format"},
    {DataType::kINT64, "Int64", "Row major linear Int64 format"},
    {DataType::kINT32, "Int32", "Row major linear Int32"},
    {DataType::kINT8, "Int8", "Row major Int8 format"},
    {DataType::kUINT8, "UInt8", "Row major linear UInt8 format"},
    {DataType::kINT4, "Int4", "Row major linear Int4 format"},
    {DataType::kBOOL, "Bool", "Row major linear BOOL"},
};

const TypeName& names_of(DataType type) {
  const auto* found = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                   [&](const TypeName& n) { return n.type == type; });
  require(found != std::end(kTypeNames), "type {} has no description", name_of(type));
  return *found;
}

// What is called otherwise than here; attributes are the rest in UpperCamel.
struct OtherName {
  std::string_view ours, theirs;
};

constexpr OtherName kKindNames[] = {
    {"Reorder", "Reformat"}, {"Pointwise", "PointWise"}, {"Softmax", "SoftMax"}, {"Lrn", "LRN"},
    {"Nms", "NMS"},
};
constexpr OtherName kAttributeNames[] = {
    {"Convolution.output_channels", "OutMaps"},
    {"Deconvolution.output_channels", "OutMaps"},
    {"Pooling.type", "PoolingType"},
    {"Pooling.window", "WindowSize"},
    {"Pooling.blend", "BlendFactor"},
    {"Pooling.average_excludes_padding", "AverageCountExcludesPadding"},
    {"Resize.mode", "ResizeMode"},
    {"Resize.scales", "ResizeScales"},
};
constexpr const char* kPaddingModes[] = {"kEXPLICIT_ROUND_DOWN", "kEXPLICIT_ROUND_UP",
                                         "kSAME_UPPER", "kSAME_LOWER"};
constexpr const char* kPoolingTypes[] = {"MAX", "AVERAGE", "MAX_AVERAGE_BLEND"};

template <size_t N>
std::string other_name(const OtherName (&names)[N], std::string_view ours, std::string otherwise) {
  for (const OtherName& name : names)
    if (name.ours == ours) return std::string(name.theirs);
  return otherwise;
}

std::string upper_camel(std::string_view name) {
  std::string text;
  bool begins = true;
  for (char c : name) {
    if (c != '_')
      text += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = c == '_';
  }
  return text;
}

template <size_t N>
ordered_json enumerator(const char* const (&names)[N], const FieldValue& value) {
  const int64_t* number = std::get_if<int64_t>(&value);
  if (number == nullptr || *number < 0 || *number >= static_cast<int64_t>(N)) return nullptr;
  return names[*number];
}

ordered_json attribute_json(const std::string& name, const FieldValue& value) {
  if (name == "PaddingMode") return enumerator(kPaddingModes, value);
  if (name == "PoolingType") return enumerator(kPoolingTypes, value);
  return std::visit(
      [](const auto& v) -> ordered_json {
        using Type = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<Type, bool>) return v ? 1 : 0;
        if constexpr (std::is_same_v<Type, std::string>) {
          for (char c : v)  // a plugin's state may be any bytes
            if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
              return fmt::format("<{} bytes>", v.size());
        }
        return v;
      },
      value);
}

class Teller {
 public:
  Teller(const Plan& plan, const std::vector<Shape>& shapes)
      : plan_(plan), shapes_(shapes), streams_(streams_of(plan)) {}

  ordered_json layer(size_t i) const {
    const PlanStep& step = plan_.steps[i];
    if (plan_.verbosity != ProfilingVerbosity::kDETAILED)
      return plan_.verbosity == ProfilingVerbosity::kNONE ? "" : step.name;
    ordered_json json = detailed(step);
    json["StreamId"] = streams_.steps[i].stream;
    json["Metadata"] = step.metadata;
    return json;
  }

  ordered_json engine() const {
    ordered_json layers = ordered_json::array(), bindings = ordered_json::array();
    if (plan_.verbosity != ProfilingVerbosity::kNONE)
      for (size_t i = 0; i < plan_.steps.size(); ++i) layers.push_back(layer(i));
    for (const PlanBinding& b : plan_.bindings)
      bindings.push_back(plan_.tensors[static_cast<size_t>(b.tensor)].name);
    return {{"Layers", layers}, {"Bindings", bindings}};
  }

 private:
  ordered_json detailed(const PlanStep& step) const {
    const std::string kind = other_name(kKindNames, step.op, step.op);
    ordered_json inputs = ordered_json::array(), outputs = ordered_json::array();
    for (int32_t t : step.inputs)
      if (t >= 0 && !is_constant(t)) inputs.push_back(tensor(t));
    for (int32_t t : step.outputs) outputs.push_back(tensor(t));
    ordered_json json = {{"Name", step.name},
                         {"LayerType", kind},
                         {"Inputs", inputs},
                         {"Outputs", outputs},
                         {"ParameterType", kind}};
    if (step.op == "Reorder") json["Origin"] = "REFORMAT";
    add_attributes(step, json);
    const std::string tactic = tactic_name(step.kernel, step.variant);
    json["TacticName"] = tactic;
    if (step.largest_error >= 0) {
      json["LargestError"] = step.largest_error;
      json["RmsError"] = step.rms_error;
    }
    json["TacticValue"] = fmt::format("{:#018x}", tactic_number(tactic));
    return json;
  }

  void add_attributes(const PlanStep& step, ordered_json& json) const {
    const auto op = op_of(step);
    const auto* convolution = dynamic_cast<const ConvolutionAttributes*>(op.get());
    const auto* pointwise = dynamic_cast<const Pointwise*>(op.get());
    for (const auto& [ours, value] : step.attributes) {
      // Programs are told as text.
      if (pointwise != nullptr || (convolution != nullptr && ours.starts_with("epilogue")))
        continue;
      const std::string name = other_name(kAttributeNames, step.op + "." + ours, upper_camel(ours));
      json[name] = attribute_json(name, value);
    }
    if (pointwise != nullptr) {
      json["NbInputArgs"] = pointwise->program.inputs;
      json["NbOperations"] = pointwise->program.steps.size();
      json["Operations"] = {pointwise->program.str()};
    }
    if (convolution == nullptr) return;
    add_weights(step, 1, "Weights", json);
    add_weights(step, 2, "Bias", json);
    const auto& steps = convolution->epilogue.steps;
    const bool relu = steps.size() == 1 && steps[0].family == PointwiseStep::Family::kActivation
                      && steps[0].function == static_cast<int32_t>(nvinfer1::ActivationType::kRELU);
    json["HasBias"] = json.contains("Bias") ? 1 : 0;
    json["HasReLU"] = relu ? 1 : 0;
    json["Activation"] = relu ? "RELU" : "NONE";
    if (!steps.empty() && !relu) json["Operations"] = {convolution->epilogue.str()};
  }

  void add_weights(const PlanStep& step, size_t input, const char* name, ordered_json& json) const {
    if (input >= step.inputs.size() || step.inputs[input] < 0 || !is_constant(step.inputs[input]))
      return;
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(step.inputs[input])];
    Shape shape;
    for (int64_t extent : extents(step.inputs[input])) shape.push_back(extent);
    json[name] = {{"Type", names_of(t.type).name}, {"Count", shape.volume()}};
  }

  // Weights, where they lie as the network has them and where a kernel has packed them.
  bool is_constant(int32_t tensor) const {
    const auto place = plan_.tensors[static_cast<size_t>(tensor)].place;
    return place == PlanTensor::Place::kWeight || place == PlanTensor::Place::kNone;
  }

  std::vector<int64_t> extents(int32_t tensor) const {
    std::vector<int64_t> list;
    if (!shapes_.empty()) {
      const Shape& shape = shapes_[static_cast<size_t>(tensor)];
      list.assign(shape.begin(), shape.end());
      return list;
    }
    for (int32_t slot : plan_.tensors[static_cast<size_t>(tensor)].extents) {
      const auto& i = plan_.shapes.instructions[static_cast<size_t>(slot)];
      list.push_back(i.op == ExprOp::kConstant ? i.value.integer : -1);
    }
    return list;
  }

  ordered_json tensor(int32_t tensor) const {
    const PlanTensor& t = plan_.tensors[static_cast<size_t>(tensor)];
    return {{"Name", t.name},
            {"Location", t.place == PlanTensor::Place::kHost ? "Host" : "Device"},
            {"Dimensions", extents(tensor)},
            {"Format/Datatype", format_description(t.type, t.layout)}};
  }

  const Plan& plan_;
  const std::vector<Shape>& shapes_;
  const Streams streams_;
};

// Names come from models and plans, and may hold any bytes.
std::string dumped(const ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, ordered_json::error_handler_t::replace);
}

// "Name: conv, Inputs: [ { Name: x, Dimensions: [1,3] }]": TensorRT's line of a layer.
std::string line_of(const ordered_json& json) {
  if (json.is_string()) return json.get<std::string>();
  const auto fields_of = [](const ordered_json& object, const auto& text_of) {
    std::vector<std::string> fields;
    for (const auto& [name, value] : object.items())
      fields.push_back(fmt::format("{}: {}", name, text_of(value)));
    return fmt::format("{}", fmt::join(fields, ", "));
  };
  const auto plain = [](const ordered_json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_object()) return dumped(value);
    std::vector<std::string> fields;
    for (const auto& [name, field] : value.items())
      fields.push_back(fmt::format("{}: {}", dumped(name), dumped(field)));
    return fmt::format("{{{}}}", fmt::join(fields, ", "));
  };
  return fields_of(json, [&](const ordered_json& value) {
    if (!value.is_array() || value.empty() || !value[0].is_object()) return plain(value);
    std::vector<std::string> tensors;
    for (const ordered_json& tensor : value)
      tensors.push_back(fmt::format("{{ {} }}", fields_of(tensor, plain)));
    return fmt::format("[ {}]", fmt::join(tensors, ", "));
  });
}

}  // namespace

std::string format_description(DataType type, Layout layout) {
  if (layout == Layout::kLinear) return names_of(type).description;
  // "Int8" and "FP32" are in the descriptions of linear tensors.
  std::string_view name = names_of(type).description;
  if (name.ends_with(" format")) name.remove_suffix(std::string_view(" format").size());
  name.remove_prefix(name.rfind(' ') + 1);
  const int block = channel_block(layout);
  if (has_channels_last(layout))
    return fmt::format("Channel major {} format{}", name,
                       block > 1 ? fmt::format(" where channel % {} == 0", block) : "");
  const std::string_view width = block == 2    ? "Two"
                                 : block == 4  ? "Four"
                                 : block == 8  ? "Eight"
                                 : block == 16 ? "Sixteen"
                                               : "Thirty-two";
  return fmt::format("{} wide channel vectorized row major {} format", width, name);
}

std::string layer_information(const Plan& plan, size_t step, const std::vector<Shape>& shapes,
                              LayerInformationFormat format) {
  const ordered_json json = Teller(plan, shapes).layer(step);
  return format == LayerInformationFormat::kJSON ? dumped(json, 2) : line_of(json) + "\n";
}

std::string engine_information(const Plan& plan, const std::vector<Shape>& shapes,
                               LayerInformationFormat format) {
  const ordered_json json = Teller(plan, shapes).engine();
  if (format == LayerInformationFormat::kJSON) return dumped(json, 2);
  std::string text = "Layers:\n";
  for (const ordered_json& layer : json["Layers"]) text += line_of(layer) + "\n";
  text += "\nBindings:\n";
  for (const ordered_json& binding : json["Bindings"]) text += line_of(binding) + "\n";
  return text;
}

}  // namespace tenon
