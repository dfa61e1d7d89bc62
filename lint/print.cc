// Findings as text, and as SARIF.
#include <fmt/format.h>
#include <tenon/printable.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "lint/lint.h"

namespace tenon::lint {
namespace {

using nlohmann::json;

json rule_row(const Rule& rule) {
  json row = {{"id", rule.id},
              {"shortDescription", {{"text", rule.help.empty() ? rule.id : rule.help}}},
              {"defaultConfiguration", {{"level", name_of(rule.severity)}}}};
  if (!rule.help.empty()) row["help"] = {{"text", rule.help}};
  return row;
}

// A path as SARIF has it: a URI reference, whose other characters stand as %20.
std::string uri_of(const std::string& path) {
  constexpr std::string_view kPlain = "-._~/!$&'()*+,;=@";
  std::string uri;
  for (const char c : path)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos)
      uri += c;
    else
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return uri;
}

json result_row(const Finding& finding, const std::string& file) {
  json physical = {{"artifactLocation", {{"uri", uri_of(file)}}}};
  if (const size_t colon = finding.source.rfind(':'); colon != std::string::npos)
    physical = {
        {"artifactLocation", {{"uri", uri_of(finding.source.substr(0, colon))}}},
        {"region", {{"startLine", std::max(1, std::stoi(finding.source.substr(colon + 1)))}}}};
  json location = {{"physicalLocation", physical}};
  const std::string& name = finding.node.empty() ? finding.tensor : finding.node;
  if (!name.empty()) location["logicalLocations"] = {{{"name", name}, {"kind", "element"}}};
  return {{"ruleId", finding.rule},
          {"level", name_of(finding.severity)},
          {"message", {{"text", finding.message}}},
          {"locations", {location}},
          {"properties", {{"model", file}, {"canBeFixed", finding.can_be_fixed}}}};
}

}  // namespace

std::string text_of(const std::vector<Finding>& findings, const std::string& file) {
  std::string text;
  size_t counts[3] = {}, fixable = 0;
  for (const Finding& finding : findings) {
    ++counts[static_cast<size_t>(finding.severity)];
    fixable += finding.can_be_fixed;
    text += fmt::format("{}: {}: {} [{}]{}\n",
                        printable(finding.source.empty() ? file : finding.source),
                        name_of(finding.severity), printable(finding.message), finding.rule,
                        finding.can_be_fixed ? " (--fix)" : "");
    if (!finding.help.empty()) text += "    " + printable(finding.help) + "\n";
  }
  return text
         + fmt::format("{}: {} errors, {} warnings, {} notes; {} can be fixed\n", printable(file),
                       counts[2], counts[1], counts[0], fixable);
}

std::string sarif_of(const std::vector<Finding>& findings, const std::vector<Rule>& rules,
                     const std::string& file) {
  json rows = json::array(), results = json::array();
  for (const Rule& rule : rules) rows.push_back(rule_row(rule));
  for (const Finding& finding : findings) results.push_back(result_row(finding, file));
  const json driver = {{"name", "tenon onnx lint"}, {"version", TENON_VERSION}, {"rules", rows}};
  const json run = {{"tool", {{"driver", driver}}}, {"results", results}};
  const json report = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                       {"version", "2.1.0"},
                       {"runs", {run}}};
  return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace tenon::lint
