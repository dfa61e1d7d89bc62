#include "lint/lint.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "lint/checks.h"
#include "lint/conditions.h"
#include "lint/fixes.h"

namespace tenon::lint {
namespace {

// The message with {words} in their places.
std::string filled(std::string text, const std::map<std::string, std::string>& words) {
  for (const auto& [word, value] : words) {
    const std::string place = "{" + word + "}";
    for (size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += value.size())
      text.replace(at, place.size(), value);
  }
  return text;
}

std::string shown(const std::string& tensor, const ModelView& model) {
  std::string text = tensor;
  if (const auto elements = model.elements(tensor)) {
    for (size_t i = 0; i < elements->size(); ++i) {
      const double element = (*elements)[i];
      const std::string number = std::isnan(element) ? "?" : nlohmann::json(element).dump();
      text += (i == 0 ? " [" : ", ")
              + (number.ends_with(".0") ? number.substr(0, number.size() - 2) : number);
    }
    return elements->empty() ? text : text + "]";
  }
  const TypeView* type = model.type(tensor);
  if (type == nullptr || !type->shape) return text;
  for (size_t i = 0; i < type->shape->size(); ++i) {
    const int64_t extent = (*type->shape)[i];
    text += (i == 0 ? " " : "x") + (extent < 0 ? "?" : std::to_string(extent));
  }
  return text;
}

std::map<std::string, std::string> words_of(const NodeView& node, const ModelView& model) {
  std::map<std::string, std::string> words{{"node", node.shown()}, {"operator", node.op_type}};
  for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 4); ++i)
    words["in" + std::to_string(i)] = shown(node.inputs[i], model);
  for (size_t i = 0; i < std::min<size_t>(node.outputs.size(), 2); ++i)
    words["out" + std::to_string(i)] = shown(node.outputs[i], model);
  return words;
}

bool is_of(const Rule& rule, const NodeView& node, const ModelView& model) {
  const bool is_standard = node.domain.empty() || node.domain == "ai.onnx";
  if (!rule.operators.empty()
      && (!is_standard
          || std::find(rule.operators.begin(), rule.operators.end(), node.op_type)
                 == rule.operators.end()))
    return false;
  return std::all_of(rule.when.begin(), rule.when.end(),
                     [&](const Condition& condition) { return holds(condition, node, model); });
}

Finding finding_of(const Rule& rule, const std::map<std::string, std::string>& words) {
  return {rule.id, filled(rule.message, words), rule.help, rule.severity, {}, {},
          {},      rule.fix.has_value()};
}

std::string key_of(const Finding& finding) {
  return finding.rule + "\n" + finding.node + "\n" + finding.tensor + "\n" + finding.message;
}

// Of the first rule whose fix changes something; what it changed.
std::vector<Finding> fix_one_rule(edit::Model& model, const std::vector<Rule>& rules,
                                  const std::vector<Finding>& found, std::set<std::string>& tried) {
  for (const Rule& rule : rules) {
    std::vector<Finding> untried;
    std::copy_if(found.begin(), found.end(), std::back_inserter(untried), [&](const auto& finding) {
      return finding.rule == rule.id && finding.can_be_fixed
             && tried.insert(key_of(finding)).second;
    });
    if (untried.empty()) continue;
    if (auto changed = apply_fix(model, rule, untried); !changed.empty()) return changed;
  }
  return {};
}

}  // namespace

std::vector<Rule> own_rules(std::string_view more, const std::string& where) {
  std::vector<Rule> rules = parse_rules(kOwnRules, "rules.json");
  if (more.empty()) return rules;
  for (Rule& rule : parse_rules(more, where)) {
    const auto same = std::find_if(rules.begin(), rules.end(),
                                   [&](const Rule& other) { return other.id == rule.id; });
    if (same == rules.end())
      rules.push_back(std::move(rule));
    else
      *same = std::move(rule);
  }
  return rules;
}

std::vector<Finding> lint(const edit::Model& model, const std::vector<Rule>& rules) {
  const ModelView view(model);
  std::vector<Finding> findings;
  for (const Rule& rule : rules) {
    if (!rule.check.empty()) {
      for (const Place& place : run_check(rule, view)) {
        Finding finding = finding_of(rule, place.words);
        finding.node = place.node;
        finding.tensor = place.tensor;
        finding.source = place.source;
        finding.can_be_fixed = finding.can_be_fixed && !place.is_inner;
        findings.push_back(std::move(finding));
      }
      continue;
    }
    for (const NodeView& node : view.nodes()) {
      if (!is_of(rule, node, view)) continue;
      Finding finding = finding_of(rule, words_of(node, view));
      finding.node = node.shown();
      finding.tensor = node.outputs.empty() ? "" : node.outputs[0];
      finding.source = node.source;
      finding.can_be_fixed = can_fix(rule, node, view);
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

std::vector<Finding> fix(edit::Model& model, const std::vector<Rule>& rules) {
  constexpr int kMostPasses = 100;  // rules of users may undo each other's work
  std::vector<Finding> found = lint(model, rules), fixed;
  std::set<std::string> tried;  // a fix that changes nothing is not tried for ever
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const std::vector<Finding> changed = fix_one_rule(model, rules, found, tried);
    if (changed.empty()) break;
    found = lint(model, rules);  // what other rules said may no longer be so
    std::set<std::string> left;
    for (const Finding& finding : found) left.insert(key_of(finding));
    std::copy_if(changed.begin(), changed.end(), std::back_inserter(fixed),
                 [&](const Finding& finding) { return !left.contains(key_of(finding)); });
  }
  return fixed;
}

}  // namespace tenon::lint
