// Exports with planted faults (testdata/make_exports.py), rules that are none, and SARIF.
#include "lint/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lint/view.h"

namespace tenon::lint {
namespace {

using nlohmann::json;

const std::string kFolder = TENON_LINT_TESTDATA "/exports/";

json expected() {
  return json::parse(std::ifstream(kFolder + "expected.json"));
}

bool is_about(const Finding& finding, const std::string& what, const edit::Model& model) {
  const auto id = model.find_node(finding.node);
  const auto producer = model.producer(model.graph(), finding.tensor);
  return finding.tensor == what || finding.node == what
         || (producer && model.node(*producer).op_type == what)
         || (id && model.node(*id).op_type == what);
}

TEST(Lint, FindsEachPlantedFaultAndNoOther) {
  const json rows = expected();
  ASSERT_GE(rows.size(), 20u);
  for (const auto& [name, row] : rows.items()) {
    const edit::Model model = edit::Model::load(kFolder + name + ".onnx");
    const auto findings = lint(model, own_rules());
    const auto is_planted = [&](const Finding& finding) {
      return finding.rule == row["rule"] && is_about(finding, row["node"], model);
    };
    EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), is_planted))
        << name << "\n"
        << text_of(findings, name);
    std::set<std::string> allowed{row["rule"]};
    for (const json& other : row.value("also", json::array())) allowed.insert(other);
    for (const Finding& finding : findings)
      EXPECT_TRUE(allowed.contains(finding.rule))
          << name << ": " << finding.message << " [" << finding.rule << "]";
    if (row["source"].get<bool>()) {
      EXPECT_NE(findings.front().source.find("make_exports.py:"), std::string::npos)
          << findings.front().source;
    }
  }
}

TEST(Lint, FixesAndUndoes) {
  const json rows = expected();
  for (const auto& [name, row] : rows.items()) {
    edit::Model model = edit::Model::load(kFolder + name + ".onnx");
    const std::string before = model.serialize();
    const auto fixed = fix(model, own_rules());
    const auto is_rule = [&](const Finding& finding) { return finding.rule == row["rule"]; };
    EXPECT_EQ(std::any_of(fixed.begin(), fixed.end(), is_rule), row["fixed"].get<bool>()) << name;
    const auto left = lint(model, own_rules());
    EXPECT_EQ(std::none_of(left.begin(), left.end(), is_rule), row["fixed"].get<bool>()) << name;
    model.undo();
    EXPECT_EQ(model.serialize(), before) << name;
  }
}

TEST(Lint, LinesOfPrograms) {
  EXPECT_EQ(source_of("File \"/a/net.py\", line 3, in forward\n    x = f(x)\n"
                      "File \"/a/block.py\", line 12, in forward\n"
                      "File \"/lib/torch/nn/linear.py\", line 9, in forward\n"),
            "/a/block.py:12");
  EXPECT_EQ(
      source_of("/lib/torch/nn/linear.py(9): forward\n/a/block.py(12): forward\n/a/net.py(3): f\n"),
      "/a/block.py:12");
  for (const char* const text : {"", "\n\n", "File \"", "File \"a.py\", line ", "a.py(", "a.py(x)",
                                 "File \"<eval>\", line 3, in f", "made by hand"})
    EXPECT_EQ(source_of(text), "") << text;
  EXPECT_EQ(source_of("a.py(99999999999999999999)"), "a.py:9999999");
}

TEST(Lint, UsersRules) {
  const edit::Model model = edit::Model::load(kFolder + "unused_weights.onnx");
  const char* const rules = R"({"rules": [
    {"id": "no-relu", "severity": "error", "operator": ["Relu"], "message": "'{node}' of {in0}"},
    {"id": "unused-initializer", "check": "unused-initializers", "message": "{tensor}"}]}  // ours)";
  const auto findings = lint(model, own_rules(rules, "mine.json"));
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].message, "old");  // in the place of ours
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_EQ(findings[1].message, "'y' of x ?x4x8x8");
}

std::string error_of(const std::string& rules) {
  try {
    parse_rules(rules, "mine.json");
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(Lint, MistakesInRules) {
  const auto rule = [](const std::string& keys) {
    return R"({"rules": [{"id": "a", "message": "m", )" + keys + "}]}";
  };
  EXPECT_NE(error_of("{").find("mine.json: not JSON"), std::string::npos);
  EXPECT_NE(error_of(R"({"rules": [{"id": )" + std::string(1000000, '[')).find("too deep"),
            std::string::npos);
  EXPECT_NE(error_of("[]").find("expected an object"), std::string::npos);
  EXPECT_NE(error_of("{}").find("expected {\"rules\": [...]}"), std::string::npos);
  EXPECT_NE(error_of(R"({"rules": [{"message": "m"}]})").find("rule 0: 'id' is missing"),
            std::string::npos);
  EXPECT_NE(
      error_of(rule(R"("operator": ["Relu"], "whn": [])")).find("rule 'a': nobody knows 'whn'"),
      std::string::npos);
  EXPECT_NE(error_of(rule(R"("when": [{"input": -1}])"))
                .find("condition 0: 'input' is -1: expected 0 to 255"),
            std::string::npos);
  EXPECT_NE(error_of(rule(R"("when": [{"input": 0, "is": "odd"}])")).find("expected one of"),
            std::string::npos);
  EXPECT_NE(error_of(rule(R"("when": [{"rank": true}])")).find("expected \"input\", \"output\""),
            std::string::npos);
  EXPECT_NE(error_of(rule(R"("check": "none")")).find("'check' is \"none\""), std::string::npos);
  EXPECT_NE(error_of(rule(R"("operator": ["Relu"], "fix": "burn")")).find("there is no fix 'burn'"),
            std::string::npos);
  EXPECT_NE(error_of(rule(R"("severity": "error")")).find("it is of every node"),
            std::string::npos);
}

TEST(Lint, Sarif) {
  const edit::Model model = edit::Model::load(kFolder + "batch_in_view.onnx");
  const auto rules = own_rules();
  const json report = json::parse(sarif_of(lint(model, rules), rules, "m.onnx"));
  EXPECT_EQ(report["version"], "2.1.0");
  const json& run = report["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["rules"].size(), rules.size());
  ASSERT_EQ(run["results"].size(), 1u);
  EXPECT_EQ(run["results"][0]["ruleId"], "lost-batch-in-reshape");
  EXPECT_EQ(run["results"][0]["level"], "warning");
}

}  // namespace
}  // namespace tenon::lint
