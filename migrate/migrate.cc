#include "migrate/migrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "migrate/rules_text.h"
#include "migrate/tokens.h"

namespace tenon::migrate {
namespace {

using Kind = Token::Kind;

struct Rule {
  enum class Kind { kHeader, kName, kEnumerator, kMethod };
  Kind kind = Kind::kName;
  std::set<std::string, std::less<>>
      scopes;  // classes of a method, the enumeration of an enumerator
  int removed = 0;
  std::string instead;
  bool is_in_tenon = true;
  bool is_generic = false;    // a name that many types have
  std::string rename, first;  // of a fix: another name, and another first argument
  bool deletes = false;       // of a fix: x->destroy(); becomes delete x;

  bool is_fixable() const { return deletes || !rename.empty(); }
  bool is_about(int to) const { return removed == 0 ? to >= 11 : removed <= to; }
};

struct Rules {
  std::multimap<std::string, Rule, std::less<>> by_name;
  std::map<std::string, std::string, std::less<>>
      returned;  // function -> class that it gives a pointer to
  std::set<std::string, std::less<>> classes;
};

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

const Rules& rules() {
  static const Rules* const rules = new Rules(read_rules());
  return *rules;
}

// All layers have what ILayer has.
bool is_a(std::string_view type, const Rule& rule) {
  return rule.scopes.contains(type) || (type.ends_with("Layer") && rule.scopes.contains("ILayer"));
}

/// What a file says a variable is.
struct Variable {
  std::set<std::string> types;
  bool is_pointer = true;  // a plain one, in all its declarations
};

class Source {
 public:
  Source(std::string_view text, int to) : text_(text), to_(to), tokens_(tokens_of(text)) {
    find_variables();
    for (size_t i = 0; i < tokens_.size(); ++i) look_at(i);
  }

  std::vector<Finding> findings;
  /// Bytes to put in the place of others, by where they begin.
  struct Edit {
    size_t begin, end;
    std::string text;
  };
  std::vector<Edit> edits;

 private:
  std::string_view text_at(size_t i) const {
    return i < tokens_.size() ? tokens_[i].text : std::string_view();
  }
  bool is_name(size_t i) const { return i < tokens_.size() && tokens_[i].kind == Kind::kName; }
  bool is_mark(size_t i, std::string_view mark) const {
    return i < tokens_.size() && tokens_[i].kind == Kind::kMark && tokens_[i].text == mark;
  }
  // The token before the bracket that closes at i, as "(" of ")".
  std::optional<size_t> before_bracket(size_t i, std::string_view open,
                                       std::string_view close) const {
    int depth = 0;
    for (size_t k = i + 1; k-- > 0;) {
      if (is_mark(k, close)) ++depth;
      if (is_mark(k, open) && --depth == 0) return k == 0 ? std::nullopt : std::optional(k - 1);
    }
    return std::nullopt;
  }

  void declare(std::string_view variable, std::string_view type, bool is_pointer) {
    Variable& known = variables_[std::string(variable)];
    known.types.insert(std::string(type));
    known.is_pointer = known.is_pointer && is_pointer;
  }

  // `ICudaEngine* engine`, `std::unique_ptr<nvinfer1::ICudaEngine, Deleter> engine`,
  // `auto engine = runtime->deserializeCudaEngine(…)`.
  void find_variables() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (!is_name(i)) continue;
      if (rules().classes.contains(text_at(i))) find_declared(i);
      if (text_at(i) == "auto") find_deduced(i);
    }
  }
  void find_declared(size_t i) {
    size_t k = i + 1;
    bool is_pointer = false;
    int depth = 0;
    // Out of the template's arguments that the type stands in, if it does.
    for (; k < tokens_.size() && k < i + 40; ++k) {
      if (is_mark(k, "*"))
        is_pointer = depth == 0 || is_pointer;
      else if (is_mark(k, "<"))
        ++depth;
      else if (is_mark(k, ">")) {
        --depth;
        is_pointer = false;
      } else if (is_mark(k, "&") || text_at(k) == "const")
        continue;
      else if (is_in_template(i, k) || depth > 0)
        continue;
      else
        break;
    }
    if (is_name(k) && !is_mark(k + 1, "::")) declare(text_at(k), text_at(i), is_pointer);
  }
  // Whether token k is behind the type i within angle brackets that began before i.
  bool is_in_template(size_t i, size_t k) const {
    int depth = 0;
    size_t begin = i;
    while (begin >= 2 && is_mark(begin - 1, "::")) begin -= 2;
    if (begin == 0 || !is_mark(begin - 1, "<")) return false;
    for (size_t j = i; j < k; ++j) {
      if (is_mark(j, "<")) ++depth;
      if (is_mark(j, ">")) --depth;
    }
    return depth >= 0;
  }
  void find_deduced(size_t i) {
    size_t k = i + 1;
    while (is_mark(k, "*") || is_mark(k, "&") || text_at(k) == "const") ++k;
    if (!is_name(k) || !is_mark(k + 1, "=")) return;
    const size_t variable = k;
    // The last function of a chain says the type; a smart pointer around it is none that is
    // deleted.
    std::string_view type;
    bool is_wrapped = false;
    int depth = 0, type_depth = 0;
    for (k += 2; k < tokens_.size() && !is_mark(k, ";") && !is_mark(k, "{"); ++k) {
      if (is_mark(k, "(")) ++depth;
      if (is_mark(k, ")")) --depth;
      if (!is_name(k)) continue;
      if (const auto found = rules().returned.find(text_at(k));
          found != rules().returned.end() && is_mark(k + 1, "(")
          && (type.empty() || depth <= type_depth)) {
        type = found->second;
        type_depth = depth;
        is_wrapped = depth > 0;
      } else if (rules().classes.contains(text_at(k)) && type.empty() && k > 0
                 && !is_mark(k - 1, "::")) {
        is_wrapped = true;
      }
    }
    if (!type.empty()) declare(text_at(variable), type, !is_wrapped);
  }

  // The types that the expression before token i (-> or .) may be of; empty where nothing is known.
  Variable receiver(size_t i) const {
    if (i == 0) return {};
    if (is_name(i - 1)) {
      const auto found = variables_.find(text_at(i - 1));
      return found != variables_.end() ? found->second : Variable{};
    }
    if (!is_mark(i - 1, ")")) return {};
    const auto callee = before_bracket(i - 1, "(", ")");
    if (!callee || !is_name(*callee)) return {};
    const auto found = rules().returned.find(text_at(*callee));
    if (found != rules().returned.end()) return {{found->second}, false};
    // x.get()->…: what the smart pointer x is of.
    if (text_at(*callee) == "get" && *callee >= 2) return receiver(*callee - 1);
    return {};
  }

  void look_at(size_t i) {
    const Token& token = tokens_[i];
    if (token.kind != Kind::kName && token.kind != Kind::kInclude) return;
    // A header's folder does not matter.
    std::string_view name = token.text;
    if (token.kind == Kind::kInclude) name = name.substr(name.rfind('/') + 1);
    const auto [begin, end] = rules().by_name.equal_range(name);
    for (auto rule = begin; rule != end; ++rule)
      if (rule->second.is_about(to_) && matches(i, rule->second)) return;
  }

  bool matches(size_t i, const Rule& rule) {
    switch (rule.kind) {
      case Rule::Kind::kHeader:
        return tokens_[i].kind == Kind::kInclude && (add(i, rule, "", true), true);
      case Rule::Kind::kName:
        return tokens_[i].kind == Kind::kName && matches_name(i, rule);
      case Rule::Kind::kEnumerator:
        return matches_enumerator(i, rule);
      case Rule::Kind::kMethod:
        return matches_method(i, rule);
    }
    return false;
  }

  bool matches_name(size_t i, const Rule& rule) {
    // A member of that name is somebody else's, and so is a name of another namespace.
    if (i > 0 && (is_mark(i - 1, ".") || is_mark(i - 1, "->"))) return false;
    if (i > 1 && is_mark(i - 1, "::") && is_name(i - 2) && text_at(i - 2) != "nvinfer1"
        && !text_at(i - 2).starts_with("nv") && text_at(i - 2) != "trt"
        && text_at(i - 2) != "v_1_0")
      return false;
    add(i, rule, "", true);
    if (!rule.rename.empty())
      edits.push_back({tokens_[i].at, tokens_[i].at + tokens_[i].text.size(), rule.rename});
    return true;
  }

  bool matches_enumerator(size_t i, const Rule& rule) {
    if (i < 2 || !is_mark(i - 1, "::") || !rule.scopes.contains(text_at(i - 2))) return false;
    add(i, rule, std::string(text_at(i - 2)), true);
    if (!rule.rename.empty())
      edits.push_back({tokens_[i].at, tokens_[i].at + tokens_[i].text.size(), rule.rename});
    return true;
  }

  bool matches_method(size_t i, const Rule& rule) {
    if (i == 0 || !(is_mark(i - 1, "->") || is_mark(i - 1, ".")) || !is_mark(i + 1, "("))
      return false;
    const Variable of = receiver(i - 1);
    const auto type =
        std::ranges::find_if(of.types, [&](const std::string& t) { return is_a(t, rule); });
    // Of another type of TensorRT it is that one's own.
    if (type == of.types.end() && !of.types.empty()) return false;
    const bool is_certain = type != of.types.end();
    if (!is_certain && rule.is_generic && !uses_tensorrt()) return false;
    add(i, rule, is_certain ? *type : *rule.scopes.begin(), is_certain || !rule.is_generic);
    if (is_certain && of.types.size() == 1) fix_call(i, rule, of);
    return true;
  }

  // A generic name is worth a word only in files that are about TensorRT.
  bool uses_tensorrt() const {
    if (!variables_.empty()) return true;
    return std::ranges::any_of(tokens_, [](const Token& t) {
      return (t.kind == Kind::kName && (t.text == "nvinfer1" || t.text == "nvonnxparser"))
             || (t.kind == Kind::kInclude && t.text.starts_with("NvInfer"));
    });
  }

  void fix_call(size_t i, const Rule& rule, const Variable& of) {
    const size_t begin = tokens_[i].at, end = begin + tokens_[i].text.size();
    if (rule.deletes) {
      // The whole statement, of a plain pointer by its name: `engine->destroy();`.
      const bool is_statement = i >= 2 && of.is_pointer && is_name(i - 2) && is_mark(i - 1, "->")
                                && is_mark(i + 2, ")") && is_mark(i + 3, ";")
                                && (i == 2 || is_mark(i - 3, ";") || is_mark(i - 3, "{")
                                    || is_mark(i - 3, "}") || is_mark(i - 3, ")"));
      if (!is_statement) return;
      edits.push_back(
          {tokens_[i - 2].at, tokens_[i + 2].at + 1, "delete " + std::string(text_at(i - 2))});
    } else if (!rule.rename.empty()) {
      const std::string_view argument = rule.first;
      const char* const comma = argument.empty() || is_mark(i + 2, ")") ? "" : ", ";
      edits.push_back({begin, end, rule.rename});
      if (!argument.empty())
        edits.push_back(
            {tokens_[i + 1].at + 1, tokens_[i + 1].at + 1, std::string(argument) + comma});
    } else {
      return;
    }
    findings.back().is_fixable = true;
  }

  void add(size_t i, const Rule& rule, const std::string& scope, bool is_certain) {
    const Token& token = tokens_[i];
    const size_t line_begin =
        token.at == 0 ? std::string_view::npos : text_.rfind('\n', token.at - 1);
    Finding finding;
    finding.line = static_cast<size_t>(std::count(
                       text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(token.at), '\n'))
                   + 1;
    finding.column = token.at - (line_begin == std::string_view::npos ? 0 : line_begin + 1) + 1;
    finding.what = scope.empty() ? std::string(token.text) : scope + "::" + std::string(token.text);
    finding.removed = rule.removed;
    finding.instead = rule.instead;
    finding.is_certain = is_certain;
    finding.is_in_tenon = rule.is_in_tenon;
    finding.is_fixable = rule.is_fixable() && rule.kind != Rule::Kind::kMethod;
    finding.at = token.at;
    findings.push_back(finding);
  }

  const std::string_view text_;
  const int to_;
  const std::vector<Token> tokens_;
  std::map<std::string, Variable, std::less<>> variables_;
};

}  // namespace

std::vector<Finding> findings_of(std::string_view source, int to) {
  return Source(source, to).findings;
}

std::string fixed(std::string_view source, int to) {
  Source read(source, to);
  std::ranges::stable_sort(read.edits, {}, &Source::Edit::begin);
  std::string text;
  size_t at = 0;
  for (const Source::Edit& edit : read.edits) {
    text += source.substr(at, edit.begin - at);
    text += edit.text;
    at = edit.end;
  }
  return text + std::string(source.substr(at));
}

std::vector<RuleName> rule_names() {
  std::vector<RuleName> names;
  for (const auto& [name, rule] : rules().by_name)
    if (rule.kind != Rule::Kind::kHeader) names.push_back({name, rule.is_in_tenon});
  return names;
}

}  // namespace tenon::migrate
