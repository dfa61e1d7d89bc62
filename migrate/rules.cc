#include "migrate/rules.h"

#include <nlohmann/json.hpp>

#include "migrate/rules_text.h"

namespace tenon::migrate {
namespace {

Rule::Kind kind_named(const std::string& name) {
  return name == "header"       ? Rule::Kind::kHeader
         : name == "enumerator" ? Rule::Kind::kEnumerator
         : name == "method"     ? Rule::Kind::kMethod
                                : Rule::Kind::kName;
}

Rules read_rules() {
  const auto json = nlohmann::json::parse(kRules);
  Rules rules;
  for (const auto& row : json["rules"]) {
    Rule rule;
    rule.kind = kind_named(row["kind"]);
    rule.removed = row["removed"];
    rule.instead = row["instead"];
    for (const auto& scope : row.value("of", nlohmann::json::array()))
      rule.scopes.insert(scope.get<std::string>());
    rule.is_in_tenon = row.value("tenon", true);
    rule.is_generic = row.value("generic", false);
    rule.arguments = row.value("arguments", -1);
    if (const auto fix = row.find("fix"); fix != row.end()) {
      rule.deletes = fix->is_string();
      if (fix->is_object()) {
        rule.rename = fix->value("rename", "");
        rule.first = fix->value("first", "");
      }
    }
    if (rule.kind == Rule::Kind::kMethod)
      rules.classes.insert(rule.scopes.begin(), rule.scopes.end());
    for (const auto& name : row["names"]) rules.by_name.emplace(name.get<std::string>(), rule);
  }
  for (const auto& [function, type] : json["returns"].items()) {
    rules.returned[function] = type.get<std::string>();
    rules.classes.insert(type.get<std::string>());
  }
  return rules;
}

}  // namespace

const Rules& rules() {
  static const Rules* const rules = new Rules(read_rules());
  return *rules;
}

}  // namespace tenon::migrate
