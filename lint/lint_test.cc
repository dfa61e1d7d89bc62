// Exports with planted faults (testdata/make_exports.py), rules that are none, and SARIF.
#include "lint/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
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

edit::Value value(const std::string& name, const std::vector<edit::Extent>& shape) {
  return {name, edit::TensorType{1, true, shape}};
}

void set_integers(edit::Model& model, const std::string& name,
                  const std::vector<int64_t>& elements) {
  model.set_constant(name, {7,
                            {static_cast<int64_t>(elements.size())},
                            std::string(reinterpret_cast<const char*>(elements.data()),
                                        elements.size() * sizeof(int64_t))});
}

// A Reshape takes one batch alone where all its numbers are known, and they are as many elements
// as the input has behind its first extent; -1 takes others.
TEST(Lint, FreesTheBatchOnlyWhereItIsOne) {
  struct Row {
    std::vector<edit::Extent> input;
    std::vector<int64_t> shape;
    bool is_fixed;
  };
  const edit::Extent rows{-1, "rows"};
  const Row table[] = {{{rows, {8, ""}}, {1, 8}, true},
                       {{rows, {4, ""}, {6, ""}}, {5, 2, 12}, true},
                       {{rows, {4, ""}, {6, ""}}, {5, 0, 6}, true},
                       {{rows, {8, ""}}, {1, -1, 8}, false},  // an axis before a sequence
                       {{rows, {6, ""}}, {3, -1}, false},     // groups
                       {{rows, {8, ""}}, {1, 4, 8}, false},
                       {{rows, {8, ""}, {-1, "columns"}}, {1, 8}, false},
                       {{rows, {0, ""}}, {1, 0}, false}};
  for (const Row& row : table) {
    edit::Model model = edit::Model::load(kFolder + "batch_in_numbers.onnx");
    model.set_inputs({value("x", row.input)});
    model.set_outputs({{"y", {}}});
    set_integers(model, "s", row.shape);
    const std::string before = model.serialize();
    const std::string shape = json(row.shape).dump();
    EXPECT_EQ(lint(model, own_rules()).at(0).can_be_fixed, row.is_fixed) << shape;
    EXPECT_EQ(fix(model, own_rules()).size(), row.is_fixed ? 1u : 0u) << shape;
    if (!row.is_fixed) {
      EXPECT_EQ(model.serialize(), before) << shape;
    }
  }
}

TEST(Lint, KeepsAnExpandThatAddsAxes) {
  edit::Model model = edit::Model::load(kFolder + "expand_to_ones.onnx");
  model.set_inputs({value("x", {{4, ""}})});
  model.set_outputs({{"y", {}}});
  EXPECT_TRUE(lint(model, own_rules()).empty()) << text_of(lint(model, own_rules()), "");
}

TEST(Lint, FixesManyFaultsOfARuleInFewPasses) {
  edit::Model model = edit::Model::load(kFolder + "equal_names.onnx");
  constexpr size_t kNodes = 3000;
  std::string last = model.outputs()[0].name;
  for (size_t i = 0; i < kNodes; ++i) {
    const std::string next = "t" + std::to_string(i);
    model.insert_node(model.graph(), {"act", "Relu", "", {last}, {next}, {}});
    last = next;
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(fix(model, own_rules()).size(), kNodes + 1);
  EXPECT_TRUE(lint(model, own_rules()).empty());
  // Linting after each of the fixes takes more than a minute.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
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
  for (const char* const condition :
       {R"({"input": 0, "max": 3})", R"({"input": 0})", R"({"input": 0, "is": ""})",
        R"({"input": 0, "type": []})", R"({"input": 0, "rank": true})",
        R"({"input": 0, "element": 0})", R"({"attribute": "to"})", R"({"input": 0, "extent": 1})",
        R"({"input": 0, "is": "ones", "min": 3})", R"({"readers": ["Cast"], "min": 3})",
        R"({"input": 0, "is": "static", "withinRankOf": 0})",
        R"({"input": 0, "type": ["int32"], "is": "ones"})", R"({"attribute": "to", "is": "ones"})"})
    EXPECT_NE(error_of(rule(R"("when": [)" + std::string(condition) + "]"))
                  .find("mine.json: rule 'a', condition 0: "),
              std::string::npos)
        << condition;
  EXPECT_EQ(error_of(rule(R"("when": {"input": 0, "is": "ones"})")),
            "mine.json: rule 'a': 'when' is no list: expected [{...}], conditions that must all "
            "hold");
  EXPECT_NE(error_of(rule(R"("check": "none")")).find("'check' is \"none\""), std::string::npos);
  EXPECT_NE(error_of(rule(R"("operator": ["Relu"], "fix": "burn")")).find("there is no fix 'burn'"),
            std::string::npos);
  EXPECT_NE(error_of(rule(R"("severity": "error")")).find("it is of every node"),
            std::string::npos);
}

// What the schema of SARIF 2.1.0 asks of the parts that a report has.
void expect_sarif(const json& report) {
  EXPECT_EQ(report.at("version"), "2.1.0");
  ASSERT_TRUE(report.at("runs").is_array());
  for (const json& run : report["runs"]) {
    const json& driver = run.at("tool").at("driver");
    EXPECT_FALSE(driver.at("name").get<std::string>().empty());
    std::set<std::string> rules;
    for (const json& rule : driver.at("rules")) {
      EXPECT_TRUE(rules.insert(rule.at("id")).second) << rule["id"];
      EXPECT_FALSE(rule.at("shortDescription").at("text").get<std::string>().empty());
      const std::string level = rule.at("defaultConfiguration").at("level");
      EXPECT_TRUE(level == "note" || level == "warning" || level == "error") << level;
      if (rule.contains("help")) {
        EXPECT_TRUE(rule["help"].at("text").is_string());
      }
    }
    for (const json& result : run.at("results")) {
      EXPECT_TRUE(rules.contains(result.at("ruleId"))) << result;
      const std::string level = result.at("level");
      EXPECT_TRUE(level == "note" || level == "warning" || level == "error") << level;
      EXPECT_FALSE(result.at("message").at("text").get<std::string>().empty());
      for (const json& location : result.at("locations")) {
        const json& physical = location.at("physicalLocation");
        const std::string uri = physical.at("artifactLocation").at("uri");
        EXPECT_EQ(uri.find_first_of(" \\<>\"{}|^`:#?"), uri.npos) << uri;
        const json region = physical.value("region", json{{"startLine", 1}});
        EXPECT_GE(region.at("startLine"), 1);
        for (const json& logical : location.value("logicalLocations", json::array()))
          EXPECT_TRUE(logical.at("name").is_string());
      }
    }
  }
}

TEST(Lint, SarifIsAsItsSchemaSays) {
  const auto rules = own_rules();
  size_t results = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".onnx") continue;
    const edit::Model model = edit::Model::load(entry.path().string());
    const json report = json::parse(sarif_of(lint(model, rules), rules, "a folder/50%: m.onnx"));
    SCOPED_TRACE(entry.path());
    expect_sarif(report);
    results += report["runs"][0]["results"].size();
  }
  EXPECT_GT(results, 15u);
  Finding odd;
  odd.rule = rules[0].id;
  odd.message = "odd";
  odd.source = "a net.py:0";
  const json report = json::parse(sarif_of({odd}, rules, "m.onnx"));
  expect_sarif(report);
  EXPECT_EQ(report["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
                  ["uri"],
            "a%20net.py");
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
