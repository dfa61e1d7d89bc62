// Finds faults that exports have, and takes away those that can be without changing the numbers.
//
//   const auto rules = tenon::lint::own_rules();
//   for (const tenon::lint::Finding& finding : tenon::lint::lint(model, rules)) …
//   tenon::lint::fix(model, rules);
#pragma once

#include <tenon/onnx.h>

#include <string>
#include <vector>

#include "lint/rules.h"

namespace tenon::lint {

struct Finding {
  std::string rule, message, help;
  Severity severity = Severity::kWarning;
  std::string node;    ///< its name, or its first output; "" for a fault of the model
  std::string tensor;  ///< the first output, or what the fault is in
  std::string source;  ///< "file.py:12", where an exporter of PyTorch left it; or ""
  bool can_be_fixed = false;
};

/// The rules of rules.json, and those of a text besides; a rule of the text with an id of ours
/// takes its place.
std::vector<Rule> own_rules(std::string_view more = {}, const std::string& where = {});

/// What the rules find, in their order and that of the nodes. Throws std::runtime_error for a model
/// that cannot be read.
std::vector<Finding> lint(const edit::Model& model, const std::vector<Rule>& rules);

/// Takes away what can be, until nothing more is found; says what. Fixes are steps of the model's
/// journal, so that undo_to() takes them back.
std::vector<Finding> fix(edit::Model& model, const std::vector<Rule>& rules);

/// A line for each finding, and one that counts them.
std::string text_of(const std::vector<Finding>& findings, const std::string& file);
/// The findings in the form of SARIF 2.1.0, which CI systems show beside sources.
std::string sarif_of(const std::vector<Finding>& findings, const std::vector<Rule>& rules,
                     const std::string& file);

}  // namespace tenon::lint
