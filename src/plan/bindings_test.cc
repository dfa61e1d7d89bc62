#include "plan/bindings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/tensor_format.h"
#include "cpu/cpu_target.h"
#include "cpu/remote_target_testing.h"
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/non_zero.h"
#include "plan/plan_test_network.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using Place = PlanTensor::Place;

Value& relu_called(Network& n, Value& x, const char* output) {
  Value& y = *n.add_node(std::make_unique<Activation>(), {&x}).outputs[0];
  y.name = output;
  return y;
}

Plan bindings_plan(Network& n, const BuildOptions& options = BuildOptions()) {
  n.infer();
  return compile(n, cpu_target(), options);
}

std::string bindings_error(Network& n, const BuildOptions& options = BuildOptions()) {
  try {
    bindings_plan(n, options);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Bindings, AnOutputIsWrittenInPlaceWhereItCanBe) {
  Network n;
  Value& y = relu_called(n, n.add_input("x", DataType::kFLOAT, {4}), "y");
  n.mark_output(y);
  const Plan direct = bindings_plan(n);
  EXPECT_EQ(direct.steps.size(), 1u);
  ASSERT_EQ(direct.bindings.size(), 2u);
  EXPECT_EQ(direct.tensors[static_cast<size_t>(direct.bindings[1].tensor)].place, Place::kOutput);

  y.requested_type = DataType::kHALF;
  const Plan converted = bindings_plan(n);
  ASSERT_EQ(converted.steps.size(), 2u);
  EXPECT_EQ(converted.steps[1].name, "Output y");
  EXPECT_EQ(converted.steps[1].op, "Cast");
  const PlanTensor& t = converted.tensors[static_cast<size_t>(converted.bindings[1].tensor)];
  EXPECT_EQ(t.type, DataType::kHALF);
}

TEST(Bindings, DataDependentSymbolsNameTheTensorThatTellsThem) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {4});
  Value& found = *n.add_node(std::make_unique<NonZero>(), {&x}).outputs[0];
  found.name = "found";
  n.mark_output(found);
  const Plan plan = bindings_plan(n);
  ASSERT_EQ(plan.symbols.size(), 1u);
  EXPECT_TRUE(plan.symbols[0].is_data_dependent());
  const PlanTensor& t = plan.tensors[static_cast<size_t>(plan.symbols[0].tensor)];
  EXPECT_EQ(t.place, Place::kDataDependent);
  EXPECT_EQ(largest_shape(plan, plan.symbols[0].tensor, {std::nullopt}), Shape({1, 4}));
}

TEST(Bindings, RefusesWhatCallersCouldNotTellApart) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {4});
  Value& y = relu_called(n, x, "x");
  n.mark_output(y);
  EXPECT_THAT(bindings_error(n), HasSubstr("output 'x' has the name of an input"));
  y.name = "y";
}

TEST(Bindings, ExtentsAreCheckedAtTheEndsOfAProfile) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {-1});
  Value& y = relu_called(n, x, "y");
  n.mark_output(y);
  n.infer();
  y.dims = {n.pool().sub(x.dims[0], n.pool().constant(3))};
  BuildOptions options;
  options.profiles.resize(1);
  options.profiles[0].inputs["x"] = {Shape{2}, Shape{4}, Shape{8}, {}, {}, {}};
  try {
    compile(n, cpu_target(), options);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("profile 0 at its minimum: tensor 'y' would have a negative "
                                    "extent (-1)"));
  }
}

uint32_t only(nvinfer1::TensorFormat format) {
  return 1u << static_cast<int>(format);
}

TEST(Bindings, FormatsThatKernelsKnowNeedNoReorder) {
  using nvinfer1::TensorFormat;
  for (const TensorFormat format : {TensorFormat::kHWC, TensorFormat::kCHW16, TensorFormat::kHWC8})
    for (const int channels : {16, 3}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(format), channels));
      Network m;
      Value& in = m.add_input("x", DataType::kFLOAT, {1, channels, 4, 4});
      Value& out = relu_called(m, in, "y");
      m.mark_output(out);
      in.allowed_formats = out.allowed_formats = only(format);
      const Plan plan = bindings_plan(m);
      const bool pads = channels == 3 && format != TensorFormat::kHWC;
      EXPECT_EQ(plan.steps.size(), pads ? 3u : 1u);
      for (const PlanBinding& b : plan.bindings)
        EXPECT_EQ(format_of(plan.tensors[static_cast<size_t>(b.tensor)].layout, 4), format);
    }
}

// Kernels of a device read no blocks of channels.
TEST(Bindings, BlocksAreReorderedForADevice) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1, 16, 4, 4});
  n.mark_output(relu_called(n, x, "y"));
  x.allowed_formats = only(nvinfer1::TensorFormat::kCHW16);
  n.infer();
  const testing::RemoteTarget remote;
  const Plan plan = compile(n, remote, BuildOptions());
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].op, "Reorder");
  const auto made = static_cast<size_t>(plan.steps[0].outputs[0]);
  EXPECT_EQ(plan.tensors[made].layout, Layout::kLinear);
}

// Blocks between layers are those of axis 1, and the channels of the format those of axis 0.
TEST(Bindings, BlocksBecomeLinearForUnbatchedFormats) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {2, 32, 8, 8});
  auto op = std::make_unique<Convolution>();
  op->output_channels = 32;
  op->kernel = op->stride = op->dilation = {1, 1};
  op->pre_padding = op->post_padding = {0, 0};
  Value& kernel = n.add_weight(testing::ramp({32, 32, 1, 1}, 1));
  Value& y = *n.add_node(std::move(op), {&x, &kernel}).outputs[0];
  y.name = "y";
  n.mark_output(y);
  y.allowed_formats = only(nvinfer1::TensorFormat::kDHWC);
  const Plan plan = bindings_plan(n);
  const PlanStep& last = plan.steps.back();
  EXPECT_EQ(last.op, "Reorder");
  EXPECT_EQ(plan.tensors[static_cast<size_t>(last.inputs[0])].layout, Layout::kLinear);
  EXPECT_EQ(plan.tensors[static_cast<size_t>(last.outputs[0])].layout,
            Layout::kUnbatchedChannelsLast);
}

TEST(Bindings, FormatsOfOtherTensorsAreRefusedByName) {
  using nvinfer1::TensorFormat;
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {16, 4});
  Value& y = relu_called(n, x, "y");
  n.mark_output(y);
  x.allowed_formats = only(TensorFormat::kHWC8);
  EXPECT_THAT(bindings_error(n), HasSubstr("kHWC8 is for tensors of rank 3 or 4, found rank 2"));
  x.allowed_formats |= only(TensorFormat::kLINEAR);
  EXPECT_EQ(bindings_error(n), "");
  y.allowed_formats = only(TensorFormat::kDLA_HWC4);
  EXPECT_THAT(bindings_error(n), HasSubstr("output 'y' can have none of the formats"));
  EXPECT_THAT(bindings_error(n), HasSubstr("kDLA_HWC4 is a format of DLA"));
}

}  // namespace
}  // namespace tenon
