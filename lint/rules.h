// Rules of lint: which nodes and models have a fault, as data.
//
// A text of rules is JSON, where comments are allowed:
//
//   {"rules": [{"id": "lost-batch", "severity": "warning", "operator": ["Reshape"],
//     "when": [{"input": 0, "extent": 0, "is": "dynamic"}, {"input": 1, "element": 0, "min": 1}],
//     "message": "'{node}' makes the batch {in1}", "help": "Export with -1 for the batch.",
//     "fix": {"set-element": {"input": 1, "element": 0, "value": 0}}}]}
//
// A rule is of nodes: "operator" (a list of types; without it every node) and "when", conditions
// that must all hold (README.md has their forms). Or it is of the model: "check" names one of the
// checks of checks.cc, and "operators" is what "attribute-kinds" compares with. "severity" is
// "error", "warning" or "note". In a message {node}, {operator}, {in0}, {out0} and so on are what
// the finding is about.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::lint {

enum class Severity : uint8_t { kNote, kWarning, kError };

/// What must hold of a node. What is not known, such as the rank of a tensor without a type, does
/// not hold.
struct Condition {
  enum class Subject : uint8_t { kInput, kOutput, kAttribute, kReaders };
  Subject subject = Subject::kInput;
  size_t index = 0;                      ///< of an input or output
  std::string attribute;                 ///< its name
  std::optional<size_t> extent;          ///< of the tensor's shape
  std::optional<size_t> element;         ///< of the constant
  bool is_rank = false;                  ///< min and max are of the rank
  std::optional<double> min, max;        ///< of the rank, the element or the attribute
  std::optional<size_t> within_rank_of;  ///< an input that has at least as many dimensions as the
                                         ///< constant has elements
  std::string is;                        ///< "constant", "dynamic", "static", "positive", "ones",
                                         ///< "near-integers"
  std::vector<std::string> any;          ///< types of a tensor, or operators of readers
};

/// What takes a fault away without changing what the model computes.
struct Fix {
  std::string action;  ///< one of fixes.cc
  size_t input = 0, element = 0;
  double value = 0;
};

struct Rule {
  std::string id, message, help;
  Severity severity = Severity::kWarning;
  std::vector<std::string> operators;  ///< empty: any
  std::vector<Condition> when;
  std::string check;  ///< of the model; empty for a rule of nodes
  /// {operator: {attribute: "int", "float", "string", "ints", "floats" or "strings"}}
  std::map<std::string, std::map<std::string, std::string>> attribute_kinds;
  std::optional<Fix> fix;
};

/// rules.json, which is part of the program.
extern const std::string_view kOwnRules;

/// Throws std::runtime_error with `where`, the rule and the key for a text that is none of rules.
std::vector<Rule> parse_rules(std::string_view text, const std::string& where);

std::string_view name_of(Severity severity);

}  // namespace tenon::lint
