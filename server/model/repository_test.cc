#include "repository.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "config_answer.h"
#include "test_models.h"
#include "test_networks.h"

namespace tenon::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Plans of y = factor * x, of 1 to `max` rows of three.
std::string plan_of(float factor, int64_t max) {
  session::ErrorLog log;
  return session::plan_of(session::build_scaled(log, factor, max));
}

class RepositoryTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& content) const {
    fs::create_directories(fs::path(folder_ / path).parent_path());
    std::ofstream(folder_ / path, std::ios::binary) << content;
  }
  std::unique_ptr<Repository> start(std::chrono::milliseconds poll = {}) const {
    RepositoryOptions options;
    options.folders = {folder_};
    options.poll = poll;
    auto models = std::make_unique<Repository>(options);
    const auto started = models->start();
    EXPECT_TRUE(started) << started.error();
    return models;
  }
  static std::shared_ptr<Model> found(const Repository& models, const std::string& name,
                                      const std::string& version = "") {
    auto model = models.find(name, version);
    auto* const there = std::get_if<std::shared_ptr<Model>>(&model);
    return there == nullptr ? nullptr : *there;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("repository." + std::to_string(getpid()));
};

InferRequest request_of(int64_t rows, float first) {
  InferRequest request;
  Tensor x(Shape{rows, 3});
  for (int64_t i = 0; i < x.numel(); ++i) (*x.cpu<float>())[i] = first + static_cast<float>(i);
  request.inputs.push_back({"x", std::move(x)});
  return request;
}

// The factor that the model multiplies by; -1 after an error, which fails the test.
float factor_of(Model& model) {
  InferAnswer answer = answer_of(model, request_of(2, 1));
  auto* const response = std::get_if<InferResponse>(&answer);
  if (response == nullptr) {
    ADD_FAILURE() << std::get<RequestError>(answer).text;
    return -1;
  }
  EXPECT_EQ(response->outputs[0].tensor.shape(), (Shape{2, 3}));
  return *response->outputs[0].tensor.at<float>({1, 2}) / 6;
}

TEST_F(RepositoryTest, ServesTheVersionsThatThePolicyWants) {
  for (const int version : {1, 2, 10})
    write("scale/" + std::to_string(version) + "/model.plan",
          plan_of(static_cast<float>(version), 4));
  write("single.plan", plan_of(7, 4));
  {
    const auto models = start();
    EXPECT_TRUE(models->is_ready());
    EXPECT_THAT(models->versions("scale"), ElementsAre("10"));
    EXPECT_EQ(factor_of(*found(*models, "scale")), 10);
    EXPECT_EQ(factor_of(*found(*models, "single")), 7);
    EXPECT_EQ(found(*models, "scale", "2"), nullptr);
    EXPECT_EQ(found(*models, "none"), nullptr);
    const ModelMetadata& metadata = found(*models, "scale")->metadata();
    EXPECT_EQ(metadata.inputs[0].shape, (Shape{-1, 3}));
    EXPECT_EQ(metadata.max_batch, 4u);
  }
  write("scale/config.pbtxt", "version_policy { all {} } max_batch_size: 2");
  const auto models = start();
  EXPECT_THAT(models->versions("scale"), ElementsAre("1", "2", "10"));
  EXPECT_EQ(factor_of(*found(*models, "scale", "1")), 1);
  EXPECT_EQ(found(*models, "scale")->metadata().max_batch, 2u);
}

TEST_F(RepositoryTest, AConfigurationThatIsGivenStandsInForThatOfTheFolder) {
  write("scale/1/model.plan", plan_of(2, 4));
  write("scale/2/model.plan", plan_of(3, 4));
  write("scale/labels.txt", "cat\ndog\n");
  write("scale/config.pbtxt", "max_batch_size: 2");
  const auto models = start();
  ASSERT_TRUE(models->load("scale", R"({"max_batch_size": 3, "version_policy": {"all": {}},
      "output": [{"name": "y", "label_filename": "labels.txt"}]})"));
  EXPECT_THAT(models->versions("scale"), ElementsAre("1", "2"));
  EXPECT_EQ(found(*models, "scale")->metadata().max_batch, 3u);
  EXPECT_THAT(found(*models, "scale")->metadata().outputs[0].labels, ElementsAre("cat", "dog"));
  // What cannot be loaded leaves the model as it is.
  EXPECT_THAT(models->load("scale", "{").error(),
              HasSubstr("scale: the configuration that is given"));
  EXPECT_THAT(models->load("scale", R"({"name": "other"})").error(), HasSubstr("name: expected"));
  EXPECT_EQ(found(*models, "scale")->metadata().max_batch, 3u);
  ASSERT_TRUE(models->load("scale"));
  EXPECT_EQ(found(*models, "scale")->metadata().max_batch, 2u);
}

TEST_F(RepositoryTest, AConfigurationNamesOnlyFilesOfItsModel) {
  write("single.plan", plan_of(2, 4));
  write("scale/1/model.plan", plan_of(2, 4));
  write("scale/config.pbtxt", "max_batch_size: 2");
  const auto models = start();
  const std::string labels = R"({"output": [{"name": "y", "label_filename": ")";
  // The working directory is none of its folders.
  std::ofstream("labels_of_nobody.txt") << "secret\n";
  EXPECT_THAT(models->load("single", labels + "labels_of_nobody.txt\"}]}").error(),
              HasSubstr("the model's folder has no file 'labels_of_nobody.txt'"));
  fs::remove("labels_of_nobody.txt");
  EXPECT_THAT(models->load("scale", labels + "config.pbtxt\"}]}").error(),
              HasSubstr("has no file"));
  EXPECT_THAT(models
                  ->load("single", R"({"sequence_batching": {"state": [{"input_name": "x",
      "output_name": "y", "data_type": "TYPE_FP32", "dims": [3], "initial_state": [{"name": "s",
      "data_file": "etc"}]}]}})")
                  .error(),
              HasSubstr("has no file 'initial_state/etc'"));
}

TEST_F(RepositoryTest, TheConfigurationIsAnsweredWithWhatTheModelHas) {
  write("scale/1/model.plan", plan_of(2, 8));
  write("scale/config.pbtxt",
        "max_batch_size: 8 version_policy { specific { versions: [1] } } "
        "instance_group { count: 2 kind: KIND_CPU } input { name: 'x' } "
        "dynamic_batching { max_queue_delay_microseconds: 100 } "
        "parameters { key: 'warm_up' value { string_value: 'off' } }");
  const auto models = start();
  ASSERT_NE(found(*models, "scale"), nullptr);
  EXPECT_EQ(config_json(found(*models, "scale")->metadata()).dump(),
            R"({"name":"scale","platform":"tensorrt_plan","version_policy":{"specific":)"
            R"({"versions":[1]}},"max_batch_size":8,)"
            R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":[3]}],)"
            R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[3]}],)"
            R"("instance_group":[{"count":2,"kind":"KIND_CPU"}],)"
            R"("dynamic_batching":{"max_queue_delay_microseconds":100},)"
            R"("parameters":{"warm_up":{"string_value":"off"}},"backend":"tenon"})");
}

TEST_F(RepositoryTest, RequestsThatDoNotFitAreRefusedByName) {
  write("scale/1/model.plan", plan_of(2, 4));
  const auto models = start();
  Model& model = *found(*models, "scale");
  const auto error = [&](InferRequest request) {
    InferAnswer answer = answer_of(model, std::move(request));
    const auto* const error = std::get_if<RequestError>(&answer);
    return error == nullptr ? "" : error->text;
  };
  EXPECT_EQ(error(request_of(4, 1)), "");
  EXPECT_THAT(error(request_of(5, 1)), HasSubstr("has the shape 5x3; expected 1x3 to 4x3"));
  EXPECT_THAT(error(request_of(0, 1)), HasSubstr("has the shape 0x3"));
  EXPECT_THAT(error({}), HasSubstr("input 'x' is missing"));
  InferRequest twice = request_of(1, 1);
  twice.inputs.push_back({"x", Tensor(Shape{1, 3})});
  EXPECT_THAT(error(std::move(twice)), HasSubstr("is given twice"));
  InferRequest typed;
  typed.inputs.push_back({"x", Tensor(Shape{1, 3}, DataType::kINT32)});
  EXPECT_THAT(error(std::move(typed)), HasSubstr("has the datatype INT32; expected FP32"));
  InferRequest output = request_of(1, 1);
  output.outputs = {"z"};
  EXPECT_THAT(error(std::move(output)), HasSubstr("there is no output 'z'; the output is y"));
  InferRequest late = request_of(1, 1);
  late.deadline = Clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(std::get<RequestError>(answer_of(model, std::move(late))).failure, Failure::kExpired);
}

TEST_F(RepositoryTest, RequestsAtTheSameTimeBecomeBatches) {
  write("scale/1/model.plan", plan_of(2, 8));
  write("scale/config.pbtxt",
        "max_batch_size: 8 dynamic_batching { max_queue_delay_microseconds: 200000 }");
  const auto models = start();
  Model& model = *found(*models, "scale");
  std::atomic<int> good = 0;
  std::promise<void> done;
  std::atomic<int> left = 4;
  for (int64_t rows = 1; rows <= 3; ++rows)
    for (int i = 0; i < (rows == 2 ? 2 : 1); ++i)
      model.infer(request_of(rows, 10), [&, rows](InferAnswer answer) {
        auto* const response = std::get_if<InferResponse>(&answer);
        good += response != nullptr && response->outputs[0].tensor.shape() == Shape{rows, 3}
                && *response->outputs[0].tensor.at<float>({0, 1}) == 22;
        if (--left == 0) done.set_value();
      });
  done.get_future().wait();
  EXPECT_EQ(good, 4);
  EXPECT_EQ(model.statistics().batch.count(), 1u);  // of 1 + 2 + 2 + 3 rows
  EXPECT_EQ(model.statistics().batch.sum(), 8);
}

TEST_F(RepositoryTest, WhatCannotBeLoadedIsInTheIndex) {
  write("damaged/1/model.plan", "not a plan");
  write("configured/1/model.plan", plan_of(1, 4));
  write("configured/config.pbtxt", "max_batch_size: 5");
  write("named/config.pbtxt", "name: 'other'");
  write("typed/1/model.plan", plan_of(1, 4));
  write("typed/config.pbtxt", "input { name: 'x' data_type: TYPE_FP16 }");
  write("empty/1/readme.txt", "");
  const auto models = start();
  std::map<std::string, std::string> reasons;
  for (const ModelStatus& status : models->index()) {
    EXPECT_EQ(status.state, ModelState::kFailed) << status.name;
    reasons[status.name] = status.reason;
  }
  EXPECT_THAT(reasons["damaged"], HasSubstr("damaged"));
  EXPECT_THAT(reasons["configured"],
              HasSubstr("max_batch_size: the engine takes batches of at most 4"));
  EXPECT_THAT(reasons["typed"], HasSubstr("input 'x' is FP16 in the configuration, and FP32"));
  EXPECT_THAT(reasons["named"], HasSubstr("found 'other'"));
  EXPECT_THAT(reasons["empty"], HasSubstr("has no VERSION/model.plan"));
  EXPECT_FALSE(models->is_ready());
  RepositoryOptions nowhere;
  nowhere.folders = {"/no/such/folder"};
  EXPECT_THAT(Repository(nowhere).start().error(), HasSubstr("/no/such/folder"));
}

TEST_F(RepositoryTest, LoadingReplacesWhatServesAndUnloadingEndsIt) {
  write("scale/1/model.plan", plan_of(2, 4));
  const auto models = start();
  const auto before = found(*models, "scale");
  write("scale/1/model.plan", plan_of(3, 4));
  ASSERT_TRUE(models->load("scale"));
  EXPECT_EQ(factor_of(*found(*models, "scale")), 3);
  // Who holds the old one is told that it is over.
  EXPECT_EQ(std::get<RequestError>(answer_of(*before, request_of(1, 1))).failure,
            Failure::kUnavailable);

  write("scale/1/model.plan", "damaged");
  EXPECT_THAT(models->load("scale").error(), HasSubstr("scale"));
  EXPECT_EQ(factor_of(*found(*models, "scale")), 3);  // goes on
  ASSERT_TRUE(models->unload("scale"));
  EXPECT_EQ(found(*models, "scale"), nullptr);
  EXPECT_THAT(models->versions("scale"), IsEmpty());
  EXPECT_FALSE(models->load("none"));
  EXPECT_FALSE(models->unload("none"));
}

TEST_F(RepositoryTest, AVersionThatCannotBeLoadedKeepsNoOtherOut) {
  write("scale/config.pbtxt", "version_policy { all {} }");
  write("scale/1/model.plan", plan_of(1, 4));
  write("scale/2/model.plan", "damaged");
  const auto models = start();
  EXPECT_EQ(factor_of(*found(*models, "scale", "1")), 1);

  const auto first = found(*models, "scale", "1");
  write("scale/1/model.plan", "damaged");
  write("scale/2/model.plan", plan_of(2, 4));
  write("scale/3/model.plan", "damaged");
  EXPECT_THAT(models->load("scale").error(), HasSubstr("scale"));
  EXPECT_EQ(found(*models, "scale", "1"), first);  // goes on
  EXPECT_EQ(factor_of(*first), 1);
  EXPECT_EQ(factor_of(*found(*models, "scale")), 2);
  EXPECT_EQ(found(*models, "scale", "3"), nullptr);
}

TEST_F(RepositoryTest, LabelsOfOutputsAreRead) {
  write("scale/config.pbtxt", "output { name: 'y' label_filename: 'labels.txt' }");
  write("scale/1/model.plan", plan_of(1, 4));
  write("scale/labels.txt", "cat\r\ndog\x1b[31m\n\nfish");
  const auto models = start();
  EXPECT_THAT(found(*models, "scale")->metadata().outputs[0].labels,
              ElementsAre("cat", "dog\\x1b[31m", "", "fish"));
  write("scale/config.pbtxt", "output { name: 'y' label_filename: 'none.txt' }");
  EXPECT_THAT(models->load("scale").error(), HasSubstr("none.txt"));
  write("scale/config.pbtxt", "output { name: 'y' label_filename: '../labels.txt' }");
  EXPECT_THAT(models->load("scale").error(), HasSubstr("expected a name without '/'"));
}

TEST_F(RepositoryTest, ChangesAreSeenWhileRequestsCome) {
  write("scale/1/model.plan", plan_of(1, 4));
  const auto models = start(std::chrono::milliseconds(20));
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0, answered = 0;
  std::thread asking([&] {
    while (!is_over) {
      const auto model = found(*models, "scale");
      if (model == nullptr) continue;
      InferAnswer answer = answer_of(*model, request_of(1, 1));
      if (auto* const response = std::get_if<InferResponse>(&answer)) {
        const float factor = *response->outputs[0].tensor.at<float>({0, 0});
        wrong += factor != 1 && factor != 2;
        ++answered;
      } else {
        wrong += std::get<RequestError>(answer).failure != Failure::kUnavailable;
      }
    }
  });
  const auto wait_for = [&](const auto& is_so) {
    for (int i = 0; i < 500 && !is_so(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return is_so();
  };
  write("scale/2/model.plan", plan_of(2, 4));
  EXPECT_TRUE(wait_for([&] { return found(*models, "scale", "2") != nullptr; }));
  fs::remove_all(folder_ / "scale");
  EXPECT_TRUE(wait_for([&] { return found(*models, "scale") == nullptr; }));
  is_over = true;
  asking.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(answered, 0);
}

// Steps of one input x and one output y, by the models' names, one behind the other.
std::string chain(const std::vector<std::string>& models) {
  std::string text =
      "platform: 'ensemble' input { name: 'x' } output { name: 'y' } ensemble_scheduling { ";
  for (size_t i = 0; i < models.size(); ++i) {
    const std::string from = i == 0 ? "x" : "t" + std::to_string(i);
    const std::string to = i + 1 == models.size() ? "y" : "t" + std::to_string(i + 1);
    text += "step { model_name: '" + models[i] + "' input_map { key: 'x' value: '" + from
            + "' } output_map { key: 'y' value: '" + to + "' } } ";
  }
  return text + "}";
}

TEST_F(RepositoryTest, OfAConfigurationThatIsRefusedNothingStays) {
  write("scale/1/model.plan", plan_of(2, 4));
  write("other/1/model.plan", plan_of(3, 4));
  write("both/config.pbtxt", chain({"scale", "other"}));
  const auto models = start();
  const auto ensemble_of = [](const std::string& member) {
    return R"({"platform": "ensemble", "input": [{"name": "x"}], "output": [{"name": "y"}],
        "ensemble_scheduling": {"step": [{"model_name": ")"
           + member + R"(", "input_map": {"x": "x"}, "output_map": {"y": "y"}}]}})";
  };
  EXPECT_THAT(models->load("scale", ensemble_of("both")).error(),
              HasSubstr("has the ensemble itself as a step"));
  EXPECT_TRUE(models->load("both"));
  EXPECT_THAT(models->load("both", ensemble_of("none")).error(), HasSubstr("none"));
  // Its members are those of the configuration that serves.
  ASSERT_TRUE(models->unload("both", true));
  EXPECT_EQ(found(*models, "scale"), nullptr);
  EXPECT_EQ(found(*models, "other"), nullptr);
}

TEST_F(RepositoryTest, EnsemblesAreBehindTheirMembers) {
  write("a/config.pbtxt", chain({"b", "scale"}));
  write("b/config.pbtxt", chain({"scale", "other"}));
  write("scale/1/model.plan", plan_of(2, 4));
  write("other.plan", plan_of(3, 4));
  const auto models = start();
  EXPECT_TRUE(models->is_ready());
  const auto all = found(*models, "a");
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(factor_of(*all), 12);
  EXPECT_EQ(found(*models, "scale")->statistics().succeeded, 2u);
  EXPECT_EQ(found(*models, "b")->statistics().succeeded, 1u);
  EXPECT_EQ(all->statistics().succeeded, 1u);

  write("scale/1/model.plan", plan_of(5, 4));  // a member that is loaded anew
  ASSERT_TRUE(models->load("scale"));
  EXPECT_EQ(factor_of(*found(*models, "a")), 75);
  ASSERT_TRUE(models->unload("scale"));
  const InferAnswer answer = answer_of(*found(*models, "a"), request_of(1, 1));
  EXPECT_THAT(error_of(answer), HasSubstr("a, step 2 (model 'scale'): model 'scale' is not ready"));
  ASSERT_TRUE(models->load("a"));  // and what it needs
  EXPECT_EQ(factor_of(*found(*models, "a")), 75);
  ASSERT_TRUE(models->unload("b", true));
  EXPECT_EQ(found(*models, "scale"), nullptr);
  EXPECT_EQ(found(*models, "other"), nullptr);
}

TEST_F(RepositoryTest, EnsemblesThatCannotRunAreInTheIndex) {
  write("a/config.pbtxt", chain({"b"}));
  write("b/config.pbtxt", chain({"a"}));
  write("c/config.pbtxt", chain({"none"}));
  const auto models = start();
  std::map<std::string, std::string> reasons;
  for (const ModelStatus& status : models->index()) reasons[status.name] = status.reason;
  EXPECT_THAT(reasons["a"] + reasons["b"], HasSubstr("has the ensemble itself as a step"));
  EXPECT_THAT(reasons["c"], HasSubstr("c: step 1 (model 'none'): there is no model 'none'"));
  EXPECT_FALSE(models->is_ready());
  write("none/1/model.plan", plan_of(2, 4));  // what it waits for
  ASSERT_TRUE(models->load("none"));
  EXPECT_EQ(factor_of(*found(*models, "c")), 2);
}

TEST_F(RepositoryTest, CachedResponsesAreTheLoadedVersions) {
  write("scale/1/model.plan", plan_of(2, 4));
  write("scale/config.pbtxt", "response_cache { enable: true }");
  RepositoryOptions options;
  options.folders = {folder_};
  options.cache = std::make_shared<ResponseCache>(1 << 20);
  Repository models(options);
  ASSERT_TRUE(models.start());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(factor_of(*found(models, "scale")), 2);
  EXPECT_EQ(found(models, "scale")->cache_statistics()->hits, 2u);
  EXPECT_EQ(found(models, "scale")->statistics().batch.count(), 1u);
  write("scale/1/model.plan", plan_of(3, 4));
  ASSERT_TRUE(models.load("scale"));
  EXPECT_EQ(factor_of(*found(models, "scale")), 3);
  ASSERT_TRUE(models.unload("scale"));
  EXPECT_EQ(options.cache->bytes(), 0u);
}

// As of voice detection: a state of two rows beside a batch of one.
std::string stateful_plan() {
  session::ErrorLog log;
  const session::Engine built = session::build_engine(log, [&](auto& builder, auto& network,
                                                               auto& config) {
    auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims{2, {-1, 3}});
    auto* state = network.addInput("state", DataType::kFLOAT, nvinfer1::Dims{2, {2, 3}});
    using nvinfer1::ElementWiseOperation;
    session::add_output(
        network, *network.addElementWise(*state, *x, ElementWiseOperation::kSUM)->getOutput(0),
        "next");
    session::add_output(
        network, *network.addElementWise(*x, *x, ElementWiseOperation::kSUM)->getOutput(0), "y");
    auto* profile = builder.createOptimizationProfile();
    using Selector = nvinfer1::OptProfileSelector;
    for (const auto selector : {Selector::kMIN, Selector::kOPT, Selector::kMAX})
      profile->setDimensions("x", selector, nvinfer1::Dims{2, {1, 3}});
    config.addOptimizationProfile(profile);
  });
  const std::unique_ptr<nvinfer1::IHostMemory> plan(built.engine->serialize());
  return {static_cast<const char*>(plan->data()), plan->size()};
}

TEST_F(RepositoryTest, StatesMayHaveOtherRowsThanTheBatch) {
  write("sums/1/model.plan", stateful_plan());
  write("sums/config.pbtxt",
        "output { name: 'y' } output { name: 'next' } sequence_batching { state { input_name: "
        "'state' output_name: 'next' data_type: TYPE_FP32 dims: [2, 3] } }");
  const auto models = start();
  const auto model = found(*models, "sums");
  ASSERT_NE(model, nullptr);
  for (int i = 1; i <= 3; ++i) {
    InferRequest request = request_of(1, 1);
    request.sequence = {uint64_t{5}, i == 1, false};
    InferAnswer answer = answer_of(*model, std::move(request));
    ASSERT_EQ(error_of(answer), "");
    Tensor& next = std::get<InferResponse>(answer).outputs.at(0).tensor;
    EXPECT_EQ(next.shape(), (Shape{2, 3}));
    EXPECT_EQ(*next.at<float>({1, 2}), 3 * i);
  }
}

}  // namespace
}  // namespace tenon::server
