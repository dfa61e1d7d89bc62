#include "lint/checks.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>

#include "lint/conditions.h"

namespace tenon::lint {
namespace {

using nlohmann::json;

std::set<std::string> tensors_read(const ModelView& model) {
  std::set<std::string> read;
  for (const NodeView& node : model.nodes()) read.insert(node.inputs.begin(), node.inputs.end());
  for (const json& output : model.tree()["graph"]["outputs"]) read.insert(output["name"]);
  return read;
}

Place place_of(const std::string& tensor) {
  return {"", tensor, "", {{"tensor", tensor}}};
}

Place place_of(const NodeView& node, std::map<std::string, std::string> words) {
  words["node"] = node.shown();
  return {node.shown(), node.outputs.empty() ? "" : node.outputs[0], node.source, std::move(words),
          node.is_inner};
}

std::vector<Place> unread(const ModelView& model, const char* kind) {
  const std::set<std::string> read = tensors_read(model);
  std::set<std::string> constants;  // of old files, which list them as inputs
  for (const json& value : model.tree()["graph"]["initializers"]) constants.insert(value["name"]);
  std::vector<Place> places;
  for (const json& value : model.tree()["graph"][kind]) {
    const std::string name = value["name"];
    if (!read.contains(name) && (std::string_view(kind) != "inputs" || !constants.contains(name)))
      places.push_back(place_of(name));
  }
  return places;
}

std::vector<Place> unused_initializers(const Rule&, const ModelView& model) {
  return unread(model, "initializers");
}

std::vector<Place> unused_inputs(const Rule&, const ModelView& model) {
  return unread(model, "inputs");
}

// Of at least a kilobyte, by their elements; those of other sizes are not read.
std::vector<Place> equal_initializers(const Rule&, const ModelView& model) {
  constexpr int64_t kLeast = 1024;
  std::map<std::string, std::vector<std::string>> alike;
  for (const json& value : model.tree()["graph"]["initializers"])
    if (value.value("bytes", int64_t{0}) >= kLeast)
      alike[value["type"].dump() + value["shape"].dump()].push_back(value["name"]);
  std::vector<Place> places;
  for (const auto& [type, names] : alike) {
    if (names.size() < 2) continue;
    std::map<std::string, std::string> first;  // by their elements' hash
    for (const std::string& name : names) {
      const auto constant = model.model().constant(name);
      if (!constant) continue;
      const std::string key = std::to_string(std::hash<std::string>()(constant->bytes));
      const auto [other, is_new] = first.try_emplace(key, name);
      if (is_new || model.model().constant(other->second)->bytes != constant->bytes) continue;
      Place place = place_of(name);
      place.words["other"] = other->second;
      places.push_back(std::move(place));
    }
  }
  return places;
}

// Of the model, or of the function that the node is of.
std::vector<Place> missing_opset(const Rule&, const ModelView& model) {
  std::set<std::pair<std::string, std::string>> missing;
  std::vector<Place> places;
  for (const NodeView& node : model.nodes()) {
    const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
    if (node.opsets->contains(domain) || !missing.insert({node.function, domain}).second) continue;
    const std::string importer =
        node.function.empty() ? "the model" : "the function '" + node.function + "'";
    places.push_back(place_of(node, {{"domain", domain}, {"importer", importer}}));
  }
  return places;
}

std::vector<Place> equal_node_names(const Rule&, const ModelView& model) {
  std::set<std::string> seen;
  std::vector<Place> places;
  for (const NodeView& node : model.nodes())
    if (!node.name.empty() && !node.is_inner && !seen.insert(node.name).second)
      places.push_back(place_of(node, {}));
  return places;
}

// All inputs have a dynamic first extent, and an output has a number there.
std::vector<Place> lost_batch(const Rule&, const ModelView& model) {
  const auto has_batch = [](const json& value) {
    return value.contains("shape") && !value["shape"].empty();
  };
  std::string dynamic;
  for (const json& input : model.tree()["graph"]["inputs"]) {
    if (!has_batch(input)) continue;
    if (input["shape"][0].is_number()) return {};
    dynamic = input["name"];
  }
  std::vector<Place> places;
  for (const json& output : model.tree()["graph"]["outputs"]) {
    if (dynamic.empty() || !has_batch(output) || !output["shape"][0].is_number()) continue;
    Place place = place_of(output["name"]);
    place.words["input"] = dynamic;
    place.words["extent"] = output["shape"][0].dump();
    places.push_back(std::move(place));
  }
  return places;
}

std::vector<Place> attribute_kinds(const Rule& rule, const ModelView& model) {
  std::vector<Place> places;
  for (const NodeView& node : model.nodes()) {
    const auto known = rule.attribute_kinds.find(node.op_type);
    if (known == rule.attribute_kinds.end()) continue;
    for (const auto& [name, kind] : known->second) {
      const auto found = node.attributes.find(name);
      if (found == node.attributes.end() || kind_of(*found).empty() || kind_of(*found) == kind)
        continue;
      places.push_back(place_of(node, {{"operator", node.op_type},
                                       {"attribute", name},
                                       {"expected", kind},
                                       {"found", kind_of(*found)}}));
    }
  }
  return places;
}

struct Check {
  std::string_view name;
  std::vector<Place> (*run)(const Rule&, const ModelView&);
};
constexpr std::array kChecks{
    Check{"attribute-kinds", attribute_kinds},   Check{"equal-initializers", equal_initializers},
    Check{"equal-node-names", equal_node_names}, Check{"lost-batch", lost_batch},
    Check{"missing-opset", missing_opset},       Check{"unused-initializers", unused_initializers},
    Check{"unused-inputs", unused_inputs}};

}  // namespace

const std::vector<std::string>& check_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const Check& check : kChecks) made.emplace_back(check.name);
    return made;
  }();
  return names;
}

std::vector<Place> run_check(const Rule& rule, const ModelView& model) {
  return std::find_if(kChecks.begin(), kChecks.end(),
                      [&](const Check& check) { return check.name == rule.check; })
      ->run(rule, model);
}

}  // namespace tenon::lint
