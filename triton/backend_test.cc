#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infer/test_models.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "test_host.h"
#include "test_networks.h"

namespace tenon::triton {
namespace {

namespace fs = std::filesystem;
using nvinfer1::DataType;
using nvinfer1::Dims;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string bytes_of(const auto& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0])};
}

template <class T> std::vector<T> values_of(const TRITONBACKEND_Output& output) {
  std::vector<T> values(output.bytes.size() / sizeof(T));
  std::memcpy(values.data(), output.bytes.data(), output.bytes.size());
  return values;
}

// x of rows of three: first, first + 1, ...
TRITONBACKEND_Request request_of(int64_t rows, float first) {
  std::vector<float> values(static_cast<size_t>(3 * rows));
  for (float& value : values) value = first++;
  TRITONBACKEND_Request request;
  request.inputs.push_back({"x", TRITONSERVER_TYPE_FP32, {rows, 3}, {bytes_of(values)}});
  return request;
}

// That y is `factor` times what request_of() has.
void expect_scaled(const TRITONBACKEND_Request& request, float factor, int64_t rows, float first) {
  EXPECT_EQ(request.error, "");
  ASSERT_TRUE(request.answer.contains("y"));
  const TRITONBACKEND_Output& y = request.answer.at("y");
  EXPECT_EQ(y.type, TRITONSERVER_TYPE_FP32);
  EXPECT_THAT(y.shape, ElementsAre(rows, 3));
  std::vector<float> expected(static_cast<size_t>(3 * rows));
  for (float& value : expected) value = factor * first++;
  EXPECT_EQ(values_of<float>(y), expected);
}

class BackendTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override {
    fs::remove_all(folder_);
    EXPECT_EQ(Host::left_over(), 0);
  }

  // The model's folder, with version 1.
  std::string write(const std::string& name, const std::string& content,
                    const std::string& file = "model.plan") const {
    fs::create_directories(folder_ / name / "1");
    std::ofstream(folder_ / name / "1" / file, std::ios::binary) << content;
    return folder_ / name;
  }
  std::string write_scaled(float factor, int64_t max) const {
    session::ErrorLog log;
    return write("scaled", session::plan_of(session::build_scaled(log, factor, max)));
  }
  std::string error_of(Host& host, const std::string& folder, const char* config,
                       bool completes = true) {
    return host.load(folder, {Json::parse(config), completes})->error();
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("triton_backend." + std::to_string(getpid()));
};

TEST_F(BackendTest, CompletesTheConfigurationFromThePlan) {
  Host host;
  const auto model = host.load(write_scaled(2, 8), {});
  ASSERT_EQ(model->error(), "");
  const Json expected = Json::parse(R"({"max_batch_size": 8, "dynamic_batching": {},
      "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [3]}],
      "output": [{"name": "y", "data_type": "TYPE_FP32", "dims": [3]}]})");
  for (const auto& [field, value] : expected.items()) EXPECT_EQ(model->config()[field], value);
  EXPECT_TRUE(model->is_ready());
}

TEST_F(BackendTest, RunsRequestsAsOneBatch) {
  Host host;
  const auto model = host.load(write_scaled(2, 8), {});
  ASSERT_EQ(model->error(), "");
  TRITONBACKEND_Request one = request_of(1, 5), two = request_of(2, -1), three = request_of(3, 100);
  model->execute({&one, &two, &three});
  expect_scaled(one, 2, 1, 5);
  expect_scaled(two, 2, 2, -1);
  expect_scaled(three, 2, 3, 100);
  EXPECT_THAT(model->instance().batches, ElementsAre(6));
  // More than the model takes at once is several runs.
  std::vector<TRITONBACKEND_Request> many;
  for (int i = 0; i < 5; ++i) many.push_back(request_of(3, static_cast<float>(i)));
  model->execute({&many[0], &many[1], &many[2], &many[3], &many[4]});
  for (int i = 0; i < 5; ++i)
    expect_scaled(many[static_cast<size_t>(i)], 2, 3, static_cast<float>(i));
  EXPECT_THAT(model->instance().batches, ElementsAre(6, 6, 6, 3));
}

TEST_F(BackendTest, ReadsInputsOfSeveralBuffers) {
  Host host;
  const auto model = host.load(write_scaled(4, 8), {});
  ASSERT_EQ(model->error(), "");
  TRITONBACKEND_Request split = request_of(2, 7);
  const std::string whole = split.inputs[0].buffers[0];
  split.inputs[0].buffers = {whole.substr(0, 5), "", whole.substr(5)};
  model->execute({&split});
  expect_scaled(split, 4, 2, 7);
  TRITONBACKEND_Request unaligned = request_of(2, 7);
  unaligned.inputs[0].buffers[0].insert(0, "+");
  unaligned.inputs[0].skip = 1;
  model->execute({&unaligned});
  expect_scaled(unaligned, 4, 2, 7);
}

TEST_F(BackendTest, AnswersEachBadRequestAndAllOthers) {
  Host host;
  const auto model = host.load(write_scaled(2, 8), {});
  ASSERT_EQ(model->error(), "");
  TRITONBACKEND_Request wide = request_of(1, 0), large = request_of(9, 0), typed = request_of(1, 0);
  wide.inputs[0].shape = {3, 1};
  typed.inputs[0].type = TRITONSERVER_TYPE_INT32;
  TRITONBACKEND_Request strings = request_of(1, 0), shorter = request_of(1, 0);
  strings.inputs[0].type = TRITONSERVER_TYPE_BYTES;
  shorter.inputs[0].buffers[0].pop_back();
  TRITONBACKEND_Request missing, other = request_of(1, 0), twice = request_of(1, 0);
  other.inputs[0].name = "z";
  twice.inputs.push_back(twice.inputs[0]);
  TRITONBACKEND_Request unknown = request_of(1, 0), on_gpu = request_of(1, 0);
  unknown.outputs = {"z"};
  on_gpu.inputs[0].memory = TRITONSERVER_MEMORY_GPU;
  TRITONBACKEND_Request cancelled = request_of(1, 0), good = request_of(2, 1);
  cancelled.is_cancelled = true;
  model->execute({&wide, &large, &typed, &strings, &shorter, &missing, &other, &twice, &unknown,
                  &on_gpu, &cancelled, &good});
  EXPECT_EQ(wide.error, "input 'x' has the shape 3x1; expected 1x3 to 8x3");
  EXPECT_EQ(wide.code, TRITONSERVER_ERROR_INVALID_ARG);
  EXPECT_EQ(large.error, "input 'x' has the shape 9x3; expected 1x3 to 8x3");
  EXPECT_EQ(typed.error, "input 'x' has the datatype INT32; expected FP32");
  EXPECT_EQ(strings.error, "input 'x' has the datatype BYTES, which no model takes");
  EXPECT_EQ(shorter.error, "input 'x' has 11 bytes; its shape 1x3 takes 12");
  EXPECT_EQ(missing.error, "input 'x' is missing");
  EXPECT_EQ(other.error, "there is no input 'z'; the input is x");
  EXPECT_EQ(twice.error, "input 'x' is given twice");
  EXPECT_EQ(unknown.error, "there is no output 'z'; the output is y");
  EXPECT_THAT(on_gpu.error, HasSubstr("input 'x' lies in memory of a GPU"));
  EXPECT_EQ(cancelled.code, TRITONSERVER_ERROR_CANCELLED);
  expect_scaled(good, 2, 2, 1);
  EXPECT_THAT(model->instance().batches, ElementsAre(2));
}

// A batch that fails runs again request by request.
TEST_F(BackendTest, FailsTheRequestThatAModelCannotAnswer) {
  session::ErrorLog log;
  // y = 10 * index, of the indices 0 to 2.
  const auto built = session::build_engine(log, [](auto& builder, auto& network, auto& config) {
    auto* x = network.addInput("x", DataType::kINT32, Dims{1, {-1}});
    static constexpr float kTable[] = {0, 10, 20};
    auto* table = network.addConstant(Dims{1, {3}}, {DataType::kFLOAT, kTable, 3});
    session::add_output(network, *network.addGather(*table->getOutput(0), *x, 0)->getOutput(0),
                        "y");
    auto* profile = builder.createOptimizationProfile();
    for (const auto& [selector, extent] : {std::pair{nvinfer1::OptProfileSelector::kMIN, 1},
                                           {nvinfer1::OptProfileSelector::kOPT, 8},
                                           {nvinfer1::OptProfileSelector::kMAX, 8}})
      profile->setDimensions("x", selector, Dims{1, {extent}});
    config.addOptimizationProfile(profile);
  });
  Host host;
  const auto model = host.load(write("table", session::plan_of(built)), {});
  ASSERT_EQ(model->error(), "");
  const auto request_for = [](std::vector<int32_t> indices) {
    TRITONBACKEND_Request request;
    const auto count = static_cast<int64_t>(indices.size());
    request.inputs.push_back({"x", TRITONSERVER_TYPE_INT32, {count}, {bytes_of(indices)}});
    return request;
  };
  TRITONBACKEND_Request one = request_for({2}), bad = request_for({1, 3}),
                        two = request_for({1, 0});
  model->execute({&one, &bad, &two});
  EXPECT_THAT(values_of<float>(one.answer["y"]), ElementsAre(20));
  EXPECT_THAT(values_of<float>(two.answer["y"]), ElementsAre(10, 0));
  EXPECT_THAT(bad.error, HasSubstr("index 3 is outside [-3, 3)"));
  EXPECT_EQ(bad.code, TRITONSERVER_ERROR_INTERNAL);
  EXPECT_THAT(model->instance().batches, ElementsAre(1, 2));
  EXPECT_TRUE(model->is_ready());
}

TEST_F(BackendTest, LoadsOnlyWhatAgreesWithThePlan) {
  Host host;
  const std::string folder = write_scaled(2, 8);
  const auto error = [&](const char* config) { return error_of(host, folder, config); };
  EXPECT_EQ(error(R"({"max_batch_size": 9})"),
            "max_batch_size: the engine takes batches of at most 8, found 9");
  EXPECT_EQ(error(R"({"input": [{"name": "z"}]})"),
            "the configuration has input 'z', and the model not");
  EXPECT_EQ(error(R"({"input": [{"name": "x", "data_type": "TYPE_STRING"}]})"),
            "input 'x' is BYTES in the configuration, and FP32 in the model");
  EXPECT_EQ(error(R"({"input": [{"name": "x", "dims": [4]}]})"),
            "input 'x' is 4 in the configuration, and 3 in the model, without the axis of the "
            "batch");
  EXPECT_EQ(error(R"({"input": [{"name": "x", "optional": true}]})"),
            "input 'x': optional is not supported: every request has all inputs, and those of a "
            "batch the same shapes");
  EXPECT_EQ(error(R"({"model_transaction_policy": {"decoupled": true}})"),
            "model_transaction_policy: a model answers each request once; expected decoupled: "
            "false, found true");
  EXPECT_EQ(error(R"({"model_operations": {"op_library_filename": ["none.so"]}})"),
            "cannot load none.so: expected a library of plugins");
  EXPECT_EQ(error(R"({"default_model_filename": "other.plan"})"),
            fs::path(folder) / "1/other.plan: cannot be read: No such file or directory [TN2005]");
  EXPECT_EQ(error_of(host, folder, R"({"max_batch_size": 8})", false),
            "the model has input 'x', and the configuration not: add it, or let the server "
            "complete it");
  Host::LoadOptions on_gpu;
  on_gpu.kind = TRITONSERVER_INSTANCEGROUPKIND_GPU;
  EXPECT_THAT(host.load(folder, on_gpu)->error(),
              HasSubstr("is a plan for the CPU, and an instance is of KIND_GPU: build the plan for "
                        "the target cuda, or set the instance_group's kind to KIND_CPU"));
  fs::remove(fs::path(folder) / "1/model.plan");
  EXPECT_EQ(error("{}"),
            fs::path(folder) / "1: expected model.plan, model.engine or model.onnx, or the file "
                               "that default_model_filename names");
}

TEST_F(BackendTest, RefusesACorruptPlan) {
  Host host;
  session::ErrorLog log;
  std::string plan = session::plan_of(session::build_scaled(log, 2, 8));
  plan[plan.size() / 2] ^= 1;
  EXPECT_THAT(host.load(write("flipped", plan), {})->error(), HasSubstr("checksum"));
  EXPECT_NE(host.load(write("empty", ""), {})->error(), "");
  EXPECT_NE(host.load(write("text", "no model", "model.onnx"), {})->error(), "");
}

TEST_F(BackendTest, RunsWithoutBatchesWhereTheConfigurationHasWholeShapes) {
  Host host;
  Host::LoadOptions options;
  options.config =
      Json::parse(R"({"input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 3]}]})");
  const auto model = host.load(write_scaled(2, 8), options);
  ASSERT_EQ(model->error(), "");
  EXPECT_EQ(model->config()["max_batch_size"], 0);
  EXPECT_FALSE(model->config().contains("dynamic_batching"));
  EXPECT_EQ(model->config()["output"][0]["dims"], Json({-1, 3}));
  TRITONBACKEND_Request one = request_of(5, 1), other = request_of(2, 1);
  model->execute({&one, &other});
  expect_scaled(one, 2, 5, 1);
  expect_scaled(other, 2, 2, 1);
  EXPECT_THAT(model->instance().batches, ElementsAre(1, 1));
}

TEST_F(BackendTest, BuildsOnnxModels) {
  const std::string folder = write("relu", serve::relu_model(), "model.onnx");
  Host host(Host::Options{{"default-max-batch-size", "3"}});
  const auto model = host.load(folder, {});
  ASSERT_EQ(model->error(), "");
  EXPECT_EQ(model->config()["max_batch_size"], 3);
  EXPECT_EQ(model->config()["input"][0]["dims"], Json({2, 4}));
  const std::vector<float> values = {-1, 2, -3, 4, 5, -6, 7, -8};
  TRITONBACKEND_Request request;
  request.inputs.push_back({"x", TRITONSERVER_TYPE_FP32, {1, 2, 4}, {bytes_of(values)}});
  TRITONBACKEND_Request other = request;
  model->execute({&request, &other});
  for (const auto* done : {&request, &other}) {
    ASSERT_EQ(done->error, "");
    EXPECT_THAT(values_of<float>(done->answer.at("y")), ElementsAre(0, 2, 0, 4, 5, 0, 7, 0));
  }
  EXPECT_THAT(model->instance().batches, ElementsAre(2));

  const std::string wide = write("wide", serve::relu_model(true), "model.onnx");
  EXPECT_THAT(error_of(host, wide, "{}"), HasSubstr("more than its batch varies"));
  const char* const shapes = R"({"max_batch_size": 2, "parameters": {
      "max_shapes": {"string_value": "x:2x2x9"}, "min_shapes": {"string_value": "x:1x2x1"}}})";
  EXPECT_EQ(error_of(host, wide, shapes), "");
}

// Each output that is asked for, and no other.
TEST_F(BackendTest, GivesTheOutputsThatAreWanted) {
  session::ErrorLog log;
  const auto built = session::build_first(log, DataType::kINT64, 4);
  Host host;
  const auto model = host.load(write("first", session::plan_of(built)), {});
  ASSERT_EQ(model->error(), "");
  EXPECT_EQ(model->config()["max_batch_size"], 0);
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto request_for = [&](int64_t count, std::vector<std::string> outputs) {
    TRITONBACKEND_Request request;
    request.inputs.push_back({"x", TRITONSERVER_TYPE_FP32, {10}, {bytes_of(x)}});
    request.inputs.push_back(
        {"count", TRITONSERVER_TYPE_INT64, {1}, {bytes_of(std::vector{count})}});
    request.outputs = std::move(outputs);
    return request;
  };
  TRITONBACKEND_Request both = request_for(2, {"echo", "y"}), one = request_for(3, {"y"});
  TRITONBACKEND_Request none = request_for(0, {"y"}), negative = request_for(-1, {"y"});
  model->execute({&both, &one, &none, &negative});
  EXPECT_EQ(both.answer.size(), 2u);
  EXPECT_THAT(values_of<int64_t>(both.answer["echo"]), ElementsAre(2));
  EXPECT_THAT(values_of<float>(both.answer["y"]), ElementsAre(0, 1));
  EXPECT_EQ(one.answer.size(), 1u);
  EXPECT_THAT(values_of<float>(one.answer["y"]), ElementsAre(0, 1, 2));
  EXPECT_THAT(none.answer["y"].shape, ElementsAre(0));
  EXPECT_THAT(none.answer["y"].bytes, IsEmpty());
  EXPECT_THAT(negative.error, HasSubstr("'count'"));
  EXPECT_EQ(negative.code, TRITONSERVER_ERROR_INTERNAL);
  EXPECT_THAT(error_of(host, folder_ / "first", R"({"max_batch_size": 1})"),
              HasSubstr("has no axis of a batch; expected 0, found 1"));
}

TEST_F(BackendTest, TakesAllTypesOfModels) {
  const std::vector<std::pair<DataType, TRITONSERVER_DataType>> types = {
      {DataType::kFLOAT, TRITONSERVER_TYPE_FP32},  {DataType::kHALF, TRITONSERVER_TYPE_FP16},
      {DataType::kBF16, TRITONSERVER_TYPE_BF16},   {DataType::kINT32, TRITONSERVER_TYPE_INT32},
      {DataType::kINT64, TRITONSERVER_TYPE_INT64}, {DataType::kBOOL, TRITONSERVER_TYPE_BOOL},
      {DataType::kUINT8, TRITONSERVER_TYPE_UINT8}, {DataType::kINT8, TRITONSERVER_TYPE_INT8}};
  Host host;
  for (const auto& [type, number] : types) {
    SCOPED_TRACE(number);
    session::ErrorLog log;
    // The elements in the reverse order.
    const auto built = session::build_engine(log, [&](auto&, auto& network, auto&) {
      auto* x = network.addInput("x", type, Dims{1, {4}});
      auto* reversed = network.addSlice(*x, Dims{1, {3}}, Dims{1, {4}}, Dims{1, {-1}});
      session::add_output(network, *reversed->getOutput(0), "y");
      if (type == DataType::kINT8)
        for (auto* tensor : {x, reversed->getOutput(0)}) tensor->setDynamicRange(-127, 127);
    });
    const auto model =
        host.load(write("type" + std::to_string(number), session::plan_of(built)), {});
    ASSERT_EQ(model->error(), "");
    const size_t size = session::element_size(type);
    // Of numbers of one byte, so that they are finite, and true or false.
    std::string forth, back;
    for (char i = 0; i < 4; ++i) {
      const std::string element = std::string(size - 1, '\0') + static_cast<char>(i % 2);
      forth += element;
      back.insert(0, element);
    }
    TRITONBACKEND_Request request;
    request.inputs.push_back({"x", number, {4}, {forth}});
    model->execute({&request});
    ASSERT_EQ(request.error, "");
    EXPECT_EQ(request.answer["y"].type, number);
    EXPECT_EQ(request.answer["y"].bytes, back);
  }
}

TEST_F(BackendTest, InstancesRunSideBySide) {
  Host host;
  Host::LoadOptions options;
  options.instances = 3;
  const auto model = host.load(write_scaled(3, 8), options);
  ASSERT_EQ(model->error(), "");
  std::vector<std::thread> threads;
  for (size_t instance = 0; instance < 3; ++instance)
    threads.emplace_back([&, instance] {
      for (int i = 0; i < 50; ++i) {
        const auto first = static_cast<float>(100 * instance + static_cast<size_t>(i));
        TRITONBACKEND_Request one = request_of(1 + i % 3, first), other = request_of(2, -first);
        model->execute({&one, &other}, instance);
        expect_scaled(one, 3, 1 + i % 3, first);
        expect_scaled(other, 3, 2, -first);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon::triton
