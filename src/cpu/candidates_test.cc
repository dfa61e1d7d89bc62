#include "cpu/candidates.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <set>

#include "base/error.h"
#include "cpu/cpu_target.h"
#include "ops/convolution.h"
#include "ops/gather.h"
#include "ops/matrix_multiply.h"
#include "ops/softmax.h"

namespace tenon::cpu {
namespace {

using ::testing::HasSubstr;

// An op of each kind that a kernel computes.
std::vector<std::unique_ptr<Op>> ops_with_kernels() {
  std::vector<std::unique_ptr<Op>> ops;
  for (const std::string_view name : op_names())
    if (auto op = make_op(name); op->traits().runs == Runs::kKernel) ops.push_back(std::move(op));
  return ops;
}

TEST(Candidates, HaveNamesOfTheirOwn) {
  for (const CandidateList& list : candidate_table().lists()) {
    std::set<std::string> names;
    for (const Candidate& candidate : list.candidates)
      EXPECT_TRUE(names.insert(candidate.name).second) << candidate.name << " is there twice";
  }
}

TEST(Candidates, AKindIsInOneList) {
  std::set<LayerType> kinds;
  for (const CandidateList& list : candidate_table().lists())
    for (const LayerType kind : list.kinds)
      EXPECT_TRUE(kinds.insert(kind).second) << static_cast<int>(kind);
}

TEST(Candidates, EndInOneThatTakesWhateverTheKindCanBe) {
  for (const auto& op : ops_with_kernels()) {
    const std::string name(op->name());
    const bool is_reorder = op->kind() == layer_type(PrivateLayer::kReorder);
    const Candidate& last = candidate_table().of(op->kind()).back();
    EXPECT_EQ(last.name, is_reorder ? "reorder" : "reference") << name;
    const TensorSpec spec{DataType::kINT64, Layout::kLinear, {3}, true};
    const Tensor* const none = nullptr;
    const Offer offer = last.offer({*op, {&spec, 1}, {&spec, 1}, {&none, 1}});
    EXPECT_TRUE(std::holds_alternative<std::unique_ptr<Kernel>>(offer)) << name;
  }
}

// A row for 16-bit floats follows its row for float32.
TEST(Candidates, RowsFor16BitFloatsFollowTheirs) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidate_table().of(LayerType::kPOOLING))
    names.push_back(candidate.name);
  EXPECT_THAT(names, ::testing::ElementsAre("maximum_pooling", "maximum_pooling_16bit",
                                            "onednn_pooling", "onednn_pooling_16bit", "reference"));
}

#ifndef TENON_ONEDNN
TEST(Candidates, WhatThisBuildLacksRefuses) {
  const MatrixMultiply op;
  const std::vector<TensorSpec> specs(2, {DataType::kFLOAT, Layout::kLinear, {3, 3}, true});
  const std::vector<const Tensor*> none(2, nullptr);
  const KernelRequest request{op, specs, {specs.data(), 1}, none};
  EXPECT_THAT(choose(cpu_target(), request, 1).refusals,
              ::testing::Contains("onednn_matrix_multiply: this build has no oneDNN"));
}
#endif

std::string error_of(auto&& body) {
  try {
    body();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// A damaged plan may give a step any inputs: no kernel reads one that is not there.
TEST(Candidates, AreNotAskedAboutInputsThatAreMissing) {
  for (const auto& op : ops_with_kernels()) {
    if (op->kind() == LayerType::kFILL) continue;  // whose inputs may all be left out
    const std::string name(op->name());
    const std::vector<TensorSpec> outputs(static_cast<size_t>(op->output_count()));
    const KernelRequest request{*op, {}, outputs, {}};
    EXPECT_THAT(error_of([&] { choose(cpu_target(), request); }), HasSubstr(name));
    for (const Candidate& candidate : candidate_table().of(op->kind()))
      EXPECT_THAT(error_of([&] { load_kernel(cpu_target(), candidate.name, request); }),
                  HasSubstr(name))
          << candidate.name;
  }
}

TEST(Candidates, AreNotAskedAboutOtherNumbersOrTypesOfOperands) {
  const TensorSpec floats{DataType::kFLOAT, Layout::kLinear, {1, 4, 8, 8}, true};
  TensorSpec halves = floats;
  halves.type = DataType::kHALF;
  const auto error = [](const Op& op, std::vector<TensorSpec> inputs,
                        const std::vector<TensorSpec>& outputs) {
    const std::vector<const Tensor*> constants(inputs.size(), nullptr);
    return error_of(
        [&] { load_kernel(cpu_target(), "reference", {op, inputs, outputs, constants}); });
  };
  EXPECT_THAT(error(Gather(), {floats}, {floats}), HasSubstr("input 1 is missing"));
  TensorSpec left_out = floats;
  left_out.present = false;
  EXPECT_THAT(error(Gather(), {floats, left_out}, {floats}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(error(Softmax(), {floats, floats}, {floats}), HasSubstr("at most 1 inputs, found 2"));
  EXPECT_THAT(error(Softmax(), {floats}, {}), HasSubstr("has 1 outputs, found 0"));
  EXPECT_THAT(error(Convolution(), {floats, halves}, {floats}), HasSubstr("float16"));
  Convolution with_epilogue;
  with_epilogue.epilogue.inputs = 2;
  with_epilogue.epilogue.steps = {{PointwiseStep::Family::kElementWise, 0, 0, 1}};
  EXPECT_THAT(error(with_epilogue, {floats, floats, floats}, {floats}),
              HasSubstr("expected 1 operands of the epilogue, found 0"));
}

// In a program of its own, since topics are read once.
TEST(CandidatesDeathTest, TheLogTellsOfRefusals) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Softmax op;
  const TensorSpec spec{DataType::kHALF, Layout::kLinear, {2, 5}, true};
  const Tensor* const none = nullptr;
  EXPECT_EXIT(
      {
        ::setenv("TENON_LOG", "choose", 1);
        choose(cpu_target(), {op, {&spec, 1}, {&spec, 1}, {&none, 1}});
        std::_Exit(0);
      },
      ::testing::ExitedWithCode(0), "softmax: only float32 is supported");
}

}  // namespace
}  // namespace tenon::cpu
