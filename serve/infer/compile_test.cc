#include "tenon/serve/compile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/serve/infer.h"
#include "tenon/serve/trt.h"
#include "test_models.h"

namespace tenon::serve {
namespace {

TEST(Compile, MakesAPlanInMemoryWithADynamicBatch) {
  CompileOutput output;
  CompileOptions options;
  options.max_batch_size = 5;
  std::vector<std::string> phases;
  options.progress = [&](std::string_view phase, int step, int steps) {
    EXPECT_LT(step, steps);
    phases.emplace_back(phase);
    return true;
  };
  const std::string model = relu_model(false);
  const auto done = compile(Mode::FP32, source_of(model), output, options);
  ASSERT_TRUE(done) << done.error();
  EXPECT_FALSE(phases.empty());
  const auto infer = load_infer_from_memory(output.data().data(), output.data().size());
  ASSERT_TRUE(infer) << infer.error();
  EXPECT_EQ((*infer)->get_max_batch_size(), 5);
  EXPECT_EQ((*infer)->input()->shape(), (Shape{5, 2, 4}));
}

TEST(Compile, OtherExtentsThanTheBatchWantAProfile) {
  CompileOutput output;
  const std::string model = relu_model(true);
  EXPECT_EQ(compile(Mode::FP32, source_of(model), output).error(),
            "input 'x' has shape -1x2x-1, and more than its batch varies: give a profile with its "
            "shapes, which a server's model has by the parameters min_shapes, opt_shapes and "
            "max_shapes");
  CompileOptions options;
  options.profiles = {{{"x", {{1, 2, 1}, {2, 2, 8}, {4, 2, 16}}}}};
  const auto done = compile(Mode::FP16, source_of(model), output, options);
  ASSERT_TRUE(done) << done.error();
  EXPECT_TRUE(load_infer_from_memory(output.data().data(), output.data().size()));
}

TEST(Compile, AHookMayChangeAndThrow) {
  CompileOutput output;
  CompileOptions options;
  const std::string model = relu_model(false);
  options.hook = [](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig&) {
    network.getOutput(0)->setName("result");
  };
  ASSERT_TRUE(compile(Mode::FP32, source_of(model), output, options));
  const auto infer = load_infer_from_memory(output.data().data(), output.data().size());
  EXPECT_TRUE((*infer)->is_output_name("result"));
  options.hook = [](auto&, auto&) { throw std::runtime_error("no such layer"); };
  EXPECT_EQ(compile(Mode::FP32, source_of(model), output, options).error(), "no such layer");
  options.hook = [](auto&, auto&) { throw std::out_of_range("no such weight"); };
  EXPECT_EQ(compile(Mode::FP32, source_of(model), output, options).error(), "no such weight");
  options.hook = [](auto&, auto&) { throw 1; };
  EXPECT_FALSE(compile(Mode::FP32, source_of(model), output, options));
  options.hook = nullptr;
  options.progress = [](auto...) { return false; };
  EXPECT_FALSE(compile(Mode::FP32, source_of(model), output, options));
}

TEST(Compile, WhatCannotBeReadOrWrittenIsAnErrorThatNamesIt) {
  CompileOutput nowhere("/no/such/folder/plan"), memory;
  const std::string model = relu_model(false);
  EXPECT_NE(compile(Mode::FP32, source_of(model), nowhere).error().find("/no/such/folder/plan"),
            std::string::npos);
  EXPECT_NE(compile(Mode::FP32, "/no/such.onnx", memory).error().find("/no/such.onnx"),
            std::string::npos);
  EXPECT_FALSE(compile(Mode::FP32, ModelSource::onnx_data("dummy", 5), memory));
}

}  // namespace
}  // namespace tenon::serve
