#include "lint/rules.h"

#include <fmt/format.h>
#include <tenon/error_codes.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "lint/checks.h"
#include "lint/fixes.h"

namespace tenon::lint {
namespace {

using nlohmann::json;

constexpr std::array kSeverities{"note", "warning", "error"};

// Takes keys of an object, and complains about those that nobody took.
class Keys {
 public:
  Keys(const json& object, std::string place) : object_(object), place_(std::move(place)) {
    if (!object.is_object()) fail("expected an object {...}");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw CodedError(ErrorClass::kContent, fmt::format("{}: {}", place_, what));
  }

  const json* find(const std::string& key) {
    taken_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  template <class T>
  T get(const std::string& key, const char* kind, std::optional<T> otherwise = {}) {
    const json* value = find(key);
    if (value == nullptr && otherwise) return *otherwise;
    if (value == nullptr) fail(fmt::format("'{}' is missing: {}", key, kind));
    try {
      return value->get<T>();
    } catch (const json::exception&) {
      fail(fmt::format("'{}' is {}: expected {}", key, value->dump(), kind));
    }
  }

  size_t index(const std::string& key) {
    const auto number = get<int64_t>(key, "a number from 0 on");
    if (number < 0 || number > 255) fail(fmt::format("'{}' is {}: expected 0 to 255", key, number));
    return static_cast<size_t>(number);
  }

  template <class Names>
  std::string one_of(const std::string& key, const Names& names, const std::string& otherwise) {
    const auto name = get<std::string>(key, "a text", otherwise);
    if (name != otherwise && std::find(names.begin(), names.end(), name) == names.end())
      fail(fmt::format("'{}' is \"{}\": expected one of {}", key, name, json(names).dump()));
    return name;
  }

  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!taken_.contains(key))
        fail(fmt::format("nobody knows '{}'; known here are {}", key, json(taken_).dump()));
  }

 private:
  const json& object_;
  std::string place_;
  std::set<std::string> taken_;
};

// What a condition says of its node, input or output.
Condition subject_of(Keys& keys) {
  Condition condition;
  if (keys.find("input") != nullptr) {
    condition.index = keys.index("input");
  } else if (keys.find("output") != nullptr) {
    condition.subject = Condition::Subject::kOutput;
    condition.index = keys.index("output");
  } else if (keys.find("attribute") != nullptr) {
    condition.subject = Condition::Subject::kAttribute;
    condition.attribute = keys.get<std::string>("attribute", "an attribute's name");
  } else if (keys.find("readers") != nullptr) {
    condition.subject = Condition::Subject::kReaders;
    condition.any = keys.get<std::vector<std::string>>("readers", "a list of operators");
  } else {
    keys.fail("expected \"input\", \"output\", \"attribute\" or \"readers\"");
  }
  return condition;
}

void read_tensor_keys(Keys& keys, Condition& condition) {
  constexpr std::array kWhole{"dynamic", "static"};
  if (keys.find("element") != nullptr) {
    condition.element = keys.index("element");
  } else if (keys.get<bool>("rank", "true or false", false)) {
    condition.is_rank = true;
  } else if (keys.find("type") != nullptr) {
    condition.any = keys.get<std::vector<std::string>>("type", "a list of types, as [\"int32\"]");
  } else if (keys.find("extent") != nullptr) {
    condition.extent = keys.index("extent");
    condition.is = keys.one_of("is", kWhole, "");
    if (condition.is.empty()) keys.fail("'extent' wants \"is\": \"dynamic\" or \"static\"");
  } else if (keys.find("is") != nullptr) {
    condition.is = keys.one_of(
        "is", std::array{"constant", "dynamic", "static", "positive", "ones", "near-integers"}, "");
    const bool is_of_elements = condition.is != kWhole[0] && condition.is != kWhole[1];
    if (is_of_elements && keys.find("withinRankOf") != nullptr)
      condition.within_rank_of = keys.index("withinRankOf");
  }
  if (!condition.element && !condition.is_rank && condition.any.empty() && condition.is.empty())
    keys.fail("it says nothing of the tensor: give it \"is\", \"element\", \"rank\" or \"type\"");
}

void read_bounds(Keys& keys, Condition& condition) {
  if (keys.find("min") != nullptr) condition.min = keys.get<double>("min", "a number");
  if (keys.find("max") != nullptr) condition.max = keys.get<double>("max", "a number");
  if (!condition.min && !condition.max) keys.fail("it has no bounds: give it \"min\" or \"max\"");
}

Condition condition_of(const json& object, const std::string& place) {
  Keys keys(object, place);
  Condition condition = subject_of(keys);
  const bool is_of_tensor = condition.subject == Condition::Subject::kInput
                            || condition.subject == Condition::Subject::kOutput;
  if (is_of_tensor) read_tensor_keys(keys, condition);
  const bool has_bounds =
      condition.element || condition.is_rank || condition.subject == Condition::Subject::kAttribute;
  if (has_bounds) read_bounds(keys, condition);
  keys.finish();
  return condition;
}

Fix fix_of(const json& value, const std::string& place) {
  Fix fix;
  if (value.is_string()) {
    fix.action = value.get<std::string>();
  } else {
    if (!value.is_object() || value.size() != 1)
      throw CodedError(ErrorClass::kContent,
                       place + ": expected the name of a fix, or {\"name\": {...}}");
    fix.action = value.begin().key();
    Keys keys(value.front(), place);
    if (keys.find("input") != nullptr) fix.input = keys.index("input");
    if (keys.find("element") != nullptr) fix.element = keys.index("element");
    fix.value = keys.get<double>("value", "a number", 0.0);
    keys.finish();
  }
  if (!is_fix(fix.action))
    throw CodedError(ErrorClass::kContent,
                     fmt::format("{}: there is no fix '{}': expected one of {}", place, fix.action,
                                 json(fix_names()).dump()));
  return fix;
}

Rule rule_of(const json& object, const std::string& where, size_t number) {
  const auto id = object.is_object() ? object.value("id", json()) : json();
  const std::string place = id.is_string()
                                ? fmt::format("{}: rule '{}'", where, id.get<std::string>())
                                : fmt::format("{}: rule {}", where, number);
  Keys keys(object, place);
  Rule rule;
  rule.id = keys.get<std::string>("id", "a name");
  const std::string severity = keys.one_of("severity", kSeverities, "warning");
  rule.severity = static_cast<Severity>(std::find(kSeverities.begin(), kSeverities.end(), severity)
                                        - kSeverities.begin());
  rule.message = keys.get<std::string>("message", "a text");
  rule.help = keys.get<std::string>("help", "a text", "");
  rule.operators = keys.get<std::vector<std::string>>("operator", "a list of operators",
                                                      std::vector<std::string>());
  rule.check = keys.one_of("check", check_names(), "");
  rule.attribute_kinds = keys.get<decltype(rule.attribute_kinds)>(
      "operators", "{operator: {attribute: kind}}", decltype(rule.attribute_kinds)());
  if (const json* when = keys.find("when"); when != nullptr && !when->is_array())
    keys.fail("'when' is no list: expected [{...}], conditions that must all hold");
  else if (when != nullptr)
    for (size_t i = 0; i < when->size(); ++i)
      rule.when.push_back(condition_of((*when)[i], fmt::format("{}, condition {}", place, i)));
  if (const json* fix = keys.find("fix")) rule.fix = fix_of(*fix, place);
  keys.finish();
  if (rule.check.empty() && rule.operators.empty() && rule.when.empty())
    keys.fail("it is of every node: give it \"operator\", \"when\" or \"check\"");
  return rule;
}

}  // namespace

std::string_view name_of(Severity severity) {
  return kSeverities[static_cast<size_t>(severity)];
}

std::vector<Rule> parse_rules(std::string_view text, const std::string& where) {
  constexpr int kDeepest = 8;
  const auto check_depth = [&](int depth, json::parse_event_t, json&) {
    if (depth > kDeepest)
      throw CodedError(ErrorClass::kContent, where + ": lists in lists, too deep for rules");
    return true;
  };
  json file;
  try {
    file = json::parse(text, check_depth, true, true);
  } catch (const json::exception& error) {
    throw CodedError(ErrorClass::kContent, fmt::format("{}: not JSON: {}", where, error.what()));
  }
  Keys keys(file, where);
  const json* rules = keys.find("rules");
  if (rules == nullptr || !rules->is_array()) keys.fail("expected {\"rules\": [...]}");
  keys.finish();
  std::vector<Rule> parsed;
  for (size_t i = 0; i < rules->size(); ++i) parsed.push_back(rule_of((*rules)[i], where, i));
  return parsed;
}

}  // namespace tenon::lint
