#include "onnx_lint.h"

#include <fmt/format.h>
#include <tenon/onnx.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "error.h"
#include "files.h"
#include "lint/lint.h"
#include "npz.h"
#include "options.h"

namespace tenon::tool {
namespace {

struct LintOptions {
  std::string model, output, rules, sarif;
  int min_severity = static_cast<int>(lint::Severity::kError);
  bool fixes = false;
  CommonOptions common;
};

std::string rules_text(const std::string& path) {
  if (path.empty()) return {};
  const auto bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

edit::Model model_of(const std::string& path) {
  return path == "-" ? edit::Model::parse(read_standard_input()) : edit::Model::load(path);
}

void lint_model(const LintOptions& o, Logger& logger) {
  check_files({{"model", o.model == "-" ? "" : o.model}, {"--rules", o.rules}},
              {{"-o", o.output == o.model ? "" : o.output}, {"--sarif", o.sarif}});
  if (o.fixes && o.output.empty())
    fail(ErrorClass::kOptions, "onnx lint --fix: say with -o where to write the model");
  if (!o.fixes && !o.output.empty()) fail(ErrorClass::kOptions, "onnx lint: -o is for --fix");
  o.common.apply(logger);
  const auto rules = lint::own_rules(rules_text(o.rules), o.rules);
  edit::Model model = model_of(o.model);
  if (o.fixes)
    for (const lint::Finding& finding : lint::fix(model, rules))
      fmt::print("fixed: {} [{}]\n", printable(finding.message), finding.rule);
  const auto findings = lint::lint(model, rules);
  fmt::print("{}", lint::text_of(findings, o.model));
  if (!o.sarif.empty()) {
    const std::string text = lint::sarif_of(findings, rules, o.model);
    write_file(o.sarif, text.data(), text.size());
  }
  if (!o.output.empty()) model.save(o.output);
  const size_t bad = static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const lint::Finding& finding) {
        return static_cast<int>(finding.severity) >= o.min_severity;
      }));
  if (bad > 0)
    fail(ErrorClass::kVerdict, "onnx lint: {} findings that --failOn does not let pass", bad);
}

}  // namespace

CLI::App* add_onnx_lint(CLI::App& onnx, Logger& logger) {
  auto o = std::make_shared<LintOptions>();
  CLI::App* command = onnx.add_subcommand("lint", "Find faults that exports have");
  command->add_option("model", o->model, "ONNX file (- is standard input)")->required();
  command->add_flag("--fix", o->fixes, "Take away what can be without changing the numbers");
  command->add_option("-o,--output", o->output, "The model to write after --fix");
  command->add_option("--rules", o->rules, "A file of rules, which come besides ours");
  command->add_option("--sarif", o->sarif, "Write the findings as SARIF 2.1.0, for CI systems");
  command
      ->add_option("--failOn", o->min_severity,
                   "The lowest severity that makes the status 1: note, warning, error or never")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, int>{{"note", 0}, {"warning", 1}, {"error", 2}, {"never", 3}}));
  command->footer(  // in the place of the verbs, which it would take over
      "Rules are data: lint/README.md says what they may say.\n"
      "  tenon onnx lint model.onnx --fix -o fixed.onnx");
  o->common.add_to(*command);
  command->callback([o, &logger] { lint_model(*o, logger); });
  return command;
}

}  // namespace tenon::tool
