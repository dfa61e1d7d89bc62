#include "migrate/migrate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "migrate/rules.h"
#include "migrate/tokens.h"

namespace tenon::migrate {
namespace {

using Kind = Token::Kind;

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
    find_definitions();
    find_variables();
    const auto is_of_tensorrt = [&](const auto& variable) {
      return std::ranges::any_of(variable.second.types, [&](const std::string& type) {
        return !without_base_.contains(type);
      });
    };
    uses_tensorrt_ = std::ranges::any_of(variables_, is_of_tensorrt)
                     || std::ranges::any_of(tokens_, names_tensorrt);
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
    for (size_t k = i + 1; k-- > (i > kFurthest ? i - kFurthest : 0);) {
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
      const bool is_known = rules().classes.contains(text_at(i)) && !defined_.contains(text_at(i));
      if (is_known || without_base_.contains(text_at(i))) find_declared(i);
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
    const size_t end = std::min(tokens_.size(), k + kFurthest);
    for (k += 2; k < end && !is_mark(k, ";") && !is_mark(k, "{"); ++k) {
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

  // Types that the file defines itself, and whether it opens TensorRT's namespace.
  void find_definitions() {
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const std::string_view word = text_at(i);
      if (word == "namespace" && text_at(i + 1) == "nvinfer1" && !is_mark(i + 2, "::"))
        opens_tensorrt_ = true;
      const bool is_type = word == "class" || word == "struct" || word == "enum";
      if (is_type && is_name(i + 1)
          && (is_mark(i + 2, "{") || is_mark(i + 2, ":") || text_at(i + 2) == "final"))
        defined_.insert(text_at(i + 1));
      if (is_type && is_name(i + 1) && (is_mark(i + 2, "{") || is_mark(i + 3, "{")))
        without_base_.insert(text_at(i + 1));
    }
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

  bool is_qualified(size_t i) const { return i > 1 && is_mark(i - 1, "::") && is_name(i - 2); }

  // Whose a type is that is named without a namespace, as far as this file says.
  enum class Owner { kOther, kUnknown, kTensorRT };
  Owner owner_of(std::string_view type, const Rule& rule) const {
    if (defined_.contains(type)) return Owner::kOther;
    if (!rule.is_generic || opens_tensorrt_) return Owner::kTensorRT;
    return uses_tensorrt_ ? Owner::kUnknown : Owner::kOther;
  }

  bool matches_name(size_t i, const Rule& rule) {
    // A member of that name is somebody else's, and so is a name of another namespace.
    if (i > 0 && (is_mark(i - 1, ".") || is_mark(i - 1, "->"))) return false;
    const std::string_view space = is_qualified(i) ? text_at(i - 2) : std::string_view();
    if (!space.empty() && !space.starts_with("nv") && space != "trt" && space != "v_1_0")
      return false;
    return add_name(i, rule, "", space.empty() ? owner_of(text_at(i), rule) : Owner::kTensorRT);
  }

  bool matches_enumerator(size_t i, const Rule& rule) {
    if (i < 2 || !is_mark(i - 1, "::") || !rule.scopes.contains(text_at(i - 2))) return false;
    const std::string_view type = text_at(i - 2);
    return add_name(i, rule, std::string(type),
                    is_qualified(i - 2) ? Owner::kTensorRT : owner_of(type, rule));
  }

  bool add_name(size_t i, const Rule& rule, const std::string& scope, Owner owner) {
    if (owner == Owner::kOther) return false;
    add(i, rule, scope, owner == Owner::kTensorRT);
    if (findings.back().is_fixable)
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
    const bool is_own = text_at(i - 2) == "this";  // or its base's
    if (rule.arguments >= 0 && rule.arguments != arguments_at(i + 1)) return false;
    // A generic name is worth a word only in files that are about TensorRT.
    if (!is_certain && rule.is_generic && !uses_tensorrt_) return false;
    add(i, rule, is_certain ? *type : *rule.scopes.begin(),
        is_certain || !(rule.is_generic || is_own));
    if (is_certain && of.types.size() == 1) fix_call(i, rule, of);
    return true;
  }

  static bool names_tensorrt(const Token& t) {
    return (t.kind == Kind::kName && (t.text == "nvinfer1" || t.text == "nvonnxparser"))
           || (t.kind == Kind::kInclude && t.text.starts_with("NvInfer"));
  }

  // How many arguments the call has whose ( is token i.
  int arguments_at(size_t i) const {
    int depth = 0, commas = 0;
    for (size_t k = i; k < std::min(tokens_.size(), i + kFurthest); ++k) {
      if (is_mark(k, "(") || is_mark(k, "{") || is_mark(k, "[")) ++depth;
      if (is_mark(k, ")") || is_mark(k, "}") || is_mark(k, "]")) --depth;
      if (depth == 0) return k == i + 1 ? 0 : commas + 1;
      if (depth == 1 && is_mark(k, ",")) ++commas;
    }
    return -1;
  }

  // In the call whose arguments begin at token i: {3, 3} makes a DimsHW of 3 and 3, and Dims of 3
  // extents.
  bool has_braced_argument(size_t i) const {
    int depth = 0;
    for (const size_t end = i + kFurthest; i < std::min(tokens_.size(), end); ++i) {
      if (is_mark(i, "(") || is_mark(i, "{") || is_mark(i, "[")) ++depth;
      if (is_mark(i, ")") || is_mark(i, "}") || is_mark(i, "]")) --depth;
      if (depth == 0) return false;
      if (depth == 1 && (is_mark(i, "(") || is_mark(i, ",")) && is_mark(i + 1, "{")) return true;
    }
    return true;
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
    } else if (rule.rename.ends_with("Nd") && has_braced_argument(i + 1)) {
      return;
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

  // Findings come in the source's order: lines are counted once.
  size_t line_at(size_t at) {
    line_ += static_cast<size_t>(std::ranges::count(text_.substr(counted_, at - counted_), '\n'));
    counted_ = at;
    return line_;
  }

  void add(size_t i, const Rule& rule, const std::string& scope, bool is_certain) {
    const Token& token = tokens_[i];
    const size_t line_begin =
        token.at == 0 ? std::string_view::npos : text_.rfind('\n', token.at - 1);
    Finding finding;
    finding.line = line_at(token.at);
    finding.column = token.at - (line_begin == std::string_view::npos ? 0 : line_begin + 1) + 1;
    finding.what = scope.empty() ? std::string(token.text) : scope + "::" + std::string(token.text);
    finding.removed = rule.removed;
    finding.instead = rule.instead;
    finding.is_certain = is_certain;
    finding.is_in_tenon = rule.is_in_tenon;
    finding.is_fixable = is_certain && rule.is_fixable() && rule.kind != Rule::Kind::kMethod;
    finding.at = token.at;
    findings.push_back(finding);
  }

  const std::string_view text_;
  const int to_;
  const std::vector<Token> tokens_;
  std::map<std::string, Variable, std::less<>> variables_;
  std::set<std::string_view> defined_;
  std::set<std::string_view> without_base_;  // of these: they have no methods but their own
  bool uses_tensorrt_ = false, opens_tensorrt_ = false;
  size_t line_ = 1, counted_ = 0;  // the line of a byte
  // Tokens to either side that an expression goes on for, at most.
  static constexpr size_t kFurthest = 10'000;
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
