#include "plan/load_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cpu/cpu_target.h"
#include "ops/non_zero.h"
#include "plan/plan_test_network.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// A plan whose checksums are right may still hold anything: what loading it says of the first step
// of that op after `change`.
std::string kernels_error(Plan plan, std::string_view op,
                          const std::function<void(Plan&, PlanStep&)>& change,
                          bool is_body = false) {
  const auto step = std::find_if(plan.steps.begin(), plan.steps.end(),
                                 [&](const PlanStep& s) { return s.op == op; });
  change(plan, *step);
  try {
    load_steps(plan, cpu_target(), is_body);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::string kernels_error(std::string_view op, const std::function<void(Plan&, PlanStep&)>& change,
                          bool is_body = false) {
  Network n;
  testing::make_network(n);
  BuildOptions options;
  options.profiles = {testing::profile({1, 4, 4, 4}, {2, 4, 8, 8}, {4, 4, 16, 16})};
  return kernels_error(testing::optimized_plan(n, cpu_target(), options), op, change, is_body);
}

FieldValue& attribute(PlanStep& step, std::string_view name) {
  return std::find_if(step.attributes.begin(), step.attributes.end(),
                      [&](const auto& field) { return field.first == name; })
      ->second;
}

TEST(LoadSteps, AcceptsWhatWasBuilt) {
  EXPECT_EQ(kernels_error("Convolution", [](Plan&, PlanStep&) {}), "");
}

TEST(LoadSteps, RefusesAttributesThatDoNotFitTheShapes) {
  EXPECT_THAT(kernels_error(
                  "Convolution",
                  [](Plan&, PlanStep& s) { attribute(s, "stride") = std::vector<int64_t>{2, 2}; }),
              HasSubstr("output 0 is float32 of shape 2x4x4x4; the plan states float32 of shape "
                        "2x4x8x8"));
  EXPECT_THAT(
      kernels_error("Convolution", [](Plan&, PlanStep& s) { attribute(s, "groups") = int64_t{3}; }),
      HasSubstr("groups"));
}

TEST(LoadSteps, RefusesARegisterThatIsNotThere) {
  // Of the first step with a program: an epilogue, or a layer of its own where kernels take none.
  const auto change = [](Plan& plan, PlanStep&) {
    for (PlanStep& s : plan.steps)
      for (auto& [name, value] : s.attributes) {
        auto* registers = std::get_if<std::vector<int64_t>>(&value);
        if ((name != "a" && !name.ends_with("_a")) || registers == nullptr || registers->empty())
          continue;
        registers->at(0) = 1000;
        return;
      }
  };
  EXPECT_THAT(kernels_error("Convolution", change), HasSubstr("reads register 1000"));
}

TEST(LoadSteps, RefusesAMissingInputOrOutput) {
  EXPECT_THAT(kernels_error("Convolution", [](Plan&, PlanStep& s) { s.inputs.clear(); }),
              HasSubstr("input 0 is missing"));
  EXPECT_THAT(
      kernels_error("Convolution", [](Plan&, PlanStep& s) { s.outputs.push_back(s.outputs[0]); }),
      HasSubstr("it has 2 outputs; expected 1"));
}

// In a body, and after a step that tells a size, extents are not known when a plan is loaded.
TEST(LoadSteps, RefusesAMissingInputWhereSizesAreNotKnown) {
  const auto clear = [](Plan&, PlanStep& s) { s.inputs.clear(); };
  EXPECT_EQ(kernels_error("Convolution", [](Plan&, PlanStep&) {}, true), "");
  EXPECT_THAT(kernels_error("Convolution", clear, true), HasSubstr("input 0 is missing"));
  EXPECT_THAT(kernels_error(
                  "Convolution", [](Plan&, PlanStep& s) { s.inputs.resize(1); }, true),
              HasSubstr("Convolution"));
  EXPECT_THAT(kernels_error(
                  "Convolution",
                  [](Plan& plan, PlanStep& s) {
                    plan.tensors[static_cast<size_t>(s.inputs[0])].extents.pop_back();
                  },
                  true),
              // Or of the reorder before it, if timing chose a kernel that has one.
              ::testing::AnyOf(HasSubstr("Convolution"), HasSubstr("Reorder")));

  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {6});
  Value& found = *n.add_node(std::make_unique<NonZero>(), {&x}, "find").outputs[0];
  Value& sum = *n.add_node(std::make_unique<ElementWise>(), {&found, &found}, "add").outputs[0];
  n.mark_output(sum);
  const Plan plan = testing::optimized_plan(n, cpu_target(), BuildOptions());
  EXPECT_EQ(kernels_error(plan, "ElementWise", [](Plan&, PlanStep&) {}), "");
  EXPECT_THAT(kernels_error(plan, "ElementWise", clear), HasSubstr("layer add (ElementWise)"));
  EXPECT_THAT(kernels_error(plan, "NonZero", clear), HasSubstr("layer find (NonZero)"));
}

TEST(LoadSteps, RefusesAnotherTypeThanTheLayerGives) {
  EXPECT_THAT(kernels_error("Convolution",
                            [](Plan& plan, PlanStep& s) {
                              plan.tensors[static_cast<size_t>(s.outputs[0])].type =
                                  DataType::kBOOL;
                            }),
              HasSubstr("the plan states bool"));
}

// As the layouts of a processor with longer vectors.
TEST(LoadSteps, LayoutsOfAnotherMachineAreErrorsThatSayWhatToDo) {
  const std::string error = kernels_error("Convolution", [](Plan& plan, PlanStep& s) {
    s.kernel = "convolution";  // which works in rows
    s.packed.clear();
    plan.tensors[static_cast<size_t>(s.inputs[0])].layout = Layout::kBlocked16;
    plan.fingerprint = "cpu: another processor";
  });
  // Of this layer, or of the reorder before it, if timing chose a kernel that has one.
  EXPECT_THAT(error, HasSubstr("put 0 is channels / 16; kernel '"));
  EXPECT_THAT(error, HasSubstr("built for \"cpu: another processor\""));
  EXPECT_THAT(error, HasSubstr("build it again here, or as a portable plan"));
}

}  // namespace
}  // namespace tenon
