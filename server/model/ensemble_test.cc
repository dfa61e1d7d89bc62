#include "ensemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "test_models.h"

namespace tenon::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A member's request that waits for the test.
struct Held {
  InferRequest request;
  Receive receive;
};

// "scale" doubles x; "add" adds a and b; both take rows of two. "hold" is as "scale", and answers
// when the test does.
class EnsembleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Shape rows{-1, 2};
    models_.add(
        {"scale", "1", "", {{"x", DataType::kFLOAT, rows}}, {{"y", DataType::kFLOAT, rows}}, 8},
        [this](InferRequest request, const Receive& receive) {
          last_ = {request.id, request.trace, request.priority};
          receive(doubled(request.inputs[0].tensor));
        });
    models_.add(
        {"add",
         "1",
         "",
         {{"a", DataType::kFLOAT, rows}, {"b", DataType::kFLOAT, rows}},
         {{"sum", DataType::kFLOAT, rows}},
         4},
        [](InferRequest request, const Receive& receive) {
          std::ranges::sort(request.inputs, {}, &NamedTensor::name);
          std::vector<float> sum = values_of(request.inputs[0].tensor);
          const std::vector<float> other = values_of(request.inputs[1].tensor);
          for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
          InferResponse response;
          response.outputs.push_back({"sum", tensor_with(request.inputs[0].tensor.shape(), sum)});
          receive(std::move(response));
        });
    models_.add(
        {"hold", "1", "", {{"x", DataType::kFLOAT, rows}}, {{"y", DataType::kFLOAT, rows}}, 8},
        [this](InferRequest request, Receive receive) {
          held_.push_back({std::move(request), std::move(receive)});
        });
    models_.add(
        {"fail", "1", "", {{"x", DataType::kFLOAT, rows}}, {{"y", DataType::kFLOAT, rows}}, 8},
        [](const InferRequest&, const Receive& receive) {
          receive(RequestError{Failure::kInternal, "the engine failed"});
        });
    models_.add(
        {"names", "1", "", {{"x", DataType::kINT32, rows}}, {{"y", DataType::kFLOAT, {-1, 3}}}},
        {});
  }

  static InferAnswer doubled(Tensor& x) {
    std::vector<float> y = values_of(x);
    for (float& value : y) value *= 2;
    InferResponse response;
    response.outputs.push_back({"y", tensor_with(x.shape(), y)});
    return response;
  }

  Result<std::shared_ptr<Model>> made(const std::string& text) const {
    auto config = parse_model_config(text, false);
    if (!config) return Error{config.error()};
    config->name = "both";
    return make_ensemble(models_, "1", *config);
  }
  std::shared_ptr<Model> ensemble(const std::string& text) const {
    auto model = made(text);
    EXPECT_TRUE(model) << model.error();
    return *model;
  }
  std::string error(const std::string& text) const {
    const auto model = made(text);
    return model ? "none" : model.error();
  }

  static InferRequest request_of(const std::vector<float>& x) {
    InferRequest request;
    request.id = "7";
    request.trace = "trace";
    request.priority = -2;
    request.inputs.push_back({"x", tensor_with({static_cast<int64_t>(x.size() / 2), 2}, x)});
    return request;
  }

  FunctionModels models_;
  std::vector<Held> held_;
  struct {
    std::string id, trace;
    int priority = 0;
  } last_;
};

std::string step(const std::string& model, const std::string& inputs, const std::string& outputs) {
  const auto map = [](const char* name, const std::string& pairs) {
    std::string text;
    for (size_t begin = 0; begin < pairs.size();) {
      const size_t end = std::min(pairs.find(' ', begin), pairs.size());
      const size_t middle = pairs.find('=', begin);
      text += std::string(name) + " { key: '" + pairs.substr(begin, middle - begin) + "' value: '"
              + pairs.substr(middle + 1, end - middle - 1) + "' } ";
      begin = end + 1;
    }
    return text;
  };
  return "step { model_name: '" + model + "' model_version: -1 " + map("input_map", inputs)
         + map("output_map", outputs) + "} ";
}

std::string graph(const std::string& steps, const std::string& rest = "max_batch_size: 4") {
  return "platform: 'ensemble' " + rest
         + " input { name: 'x' data_type: TYPE_FP32 dims: 2 }"
           " output { name: 'z' data_type: TYPE_FP32 dims: 2 } ensemble_scheduling { "
         + steps + "}";
}

// z = 2 x + 4 x; the last step is the first in the file.
const std::string kDiamond =
    graph(step("add", "a=once b=twice", "sum=z") + step("scale", "x=once", "y=twice")
          + step("scale", "x=x", "y=once"));

TEST_F(EnsembleTest, TensorsGoFromStepToStep) {
  const auto model = ensemble(kDiamond);
  EXPECT_EQ(model->metadata().platform, "ensemble");
  EXPECT_EQ(model->metadata().max_batch, 4u);
  EXPECT_EQ(model->metadata().inputs[0].shape, (Shape{-1, 2}));
  InferAnswer answer = answer_of(*model, request_of({1, 2, 3, 4}));
  ASSERT_EQ(error_of(answer), "");
  auto& response = std::get<InferResponse>(answer);
  EXPECT_EQ(response.model, "both");
  EXPECT_EQ(response.id, "7");
  ASSERT_EQ(response.outputs.size(), 1u);
  EXPECT_EQ(response.outputs[0].name, "z");
  EXPECT_THAT(values_of(response.outputs[0].tensor), ElementsAre(6, 12, 18, 24));
  EXPECT_EQ(last_.id, "7");
  EXPECT_EQ(last_.trace, "trace");
  EXPECT_EQ(last_.priority, -2);
  const serve::Statistics statistics = model->statistics();
  EXPECT_EQ(statistics.succeeded, 1u);
  EXPECT_EQ(statistics.batch.sum(), 2);
  EXPECT_EQ(statistics.jobs, 0u);
}

TEST_F(EnsembleTest, StepsThatDoNotWaitForEachOtherRunTogether) {
  const auto model = ensemble(graph(step("hold", "x=x", "y=left") + step("hold", "x=x", "y=right")
                                    + step("add", "a=left b=right", "sum=z")));
  std::promise<InferAnswer> promise;
  model->infer(request_of({1, 2}),
               [&](InferAnswer answer) { promise.set_value(std::move(answer)); });
  ASSERT_EQ(held_.size(), 2u);
  EXPECT_EQ(model->statistics().jobs, 1u);
  for (Held& held : held_) held.receive(doubled(held.request.inputs[0].tensor));
  InferAnswer answer = promise.get_future().get();
  ASSERT_EQ(error_of(answer), "");
  EXPECT_THAT(values_of(std::get<InferResponse>(answer).outputs[0].tensor), ElementsAre(4, 8));
}

TEST_F(EnsembleTest, AnErrorNamesItsStepAndCancelsTheOthers) {
  const auto model = ensemble(graph(step("hold", "x=x", "y=left") + step("fail", "x=x", "y=right")
                                    + step("add", "a=left b=right", "sum=z")));
  std::promise<InferAnswer> promise;
  model->infer(request_of({1, 2}),
               [&](InferAnswer answer) { promise.set_value(std::move(answer)); });
  ASSERT_EQ(held_.size(), 1u);
  EXPECT_TRUE(held_[0].request.stop.stop_requested());
  held_[0].receive(RequestError{Failure::kCancelled, "it was cancelled"});
  const InferAnswer answer = promise.get_future().get();
  EXPECT_EQ(error_of(answer), "both, step 2 (model 'fail'): the engine failed");
  EXPECT_EQ(std::get<RequestError>(answer).failure, Failure::kInternal);
  EXPECT_EQ(model->statistics().failures(), 1u);
}

TEST_F(EnsembleTest, DeadlinesAndCancellationAreTheSteps) {
  const auto model = ensemble(graph(step("hold", "x=x", "y=z")));
  std::stop_source source;
  InferRequest request = request_of({1, 2});
  request.stop = source.get_token();
  request.deadline = Clock::now() + std::chrono::hours(1);
  const auto deadline = request.deadline;
  bool is_answered = false;
  model->infer(std::move(request), [&](const InferAnswer&) { is_answered = true; });
  EXPECT_EQ(held_.at(0).request.deadline, deadline);
  EXPECT_FALSE(held_[0].request.stop.stop_requested());
  source.request_stop();
  EXPECT_TRUE(held_[0].request.stop.stop_requested());
  std::jthread draining([&] { model->drain(); });  // waits for it
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(is_answered);
  held_[0].receive(RequestError{Failure::kExpired, "its deadline passed"});
  draining.join();
  EXPECT_TRUE(is_answered);
  EXPECT_EQ(std::get<RequestError>(answer_of(*model, request_of({1, 2}))).failure,
            Failure::kUnavailable);
}

TEST_F(EnsembleTest, MembersAreThoseOfTheRequestsTime) {
  const auto model =
      ensemble(graph(step("hold", "x=x", "y=once") + step("scale", "x=once", "y=z")));
  std::promise<InferAnswer> promise;
  model->infer(request_of({1, 2}),
               [&](InferAnswer answer) { promise.set_value(std::move(answer)); });
  EXPECT_TRUE(models_.unload("scale", false));
  held_.at(0).receive(doubled(held_[0].request.inputs[0].tensor));
  EXPECT_EQ(error_of(promise.get_future().get()), "");
  const InferAnswer later = answer_of(*model, request_of({1, 2}));
  EXPECT_EQ(error_of(later), "both, step 2 (model 'scale'): there is no model 'scale'");
  EXPECT_EQ(std::get<RequestError>(later).failure, Failure::kUnavailable);
}

TEST_F(EnsembleTest, RequestsThatDoNotFitAreRefused) {
  const auto model = ensemble(kDiamond);
  InferRequest request = request_of({1, 2});
  request.inputs[0].tensor = tensor_with({1, 1}, {1});
  EXPECT_THAT(error_of(answer_of(*model, std::move(request))),
              HasSubstr("both: input 'x' has the shape 1x1; expected -1x2"));
  request = request_of({1, 2});
  request.outputs = {"y"};
  EXPECT_EQ(error_of(answer_of(*model, std::move(request))),
            "both: there is no output 'y'; the output is z");
}

TEST_F(EnsembleTest, GraphsThatCannotRunAreRefused) {
  EXPECT_EQ(error(graph(step("none", "x=x", "y=z"))),
            "both: step 1 (model 'none'): there is no model 'none'");
  EXPECT_EQ(error(graph(step("both", "x=x", "y=z"))),
            "both: step 1 (model 'both'): an ensemble cannot be its own step");
  EXPECT_EQ(error(graph(step("scale", "w=x", "y=z"))),
            "both: step 1 (model 'scale'): the model has no input 'w'");
  EXPECT_EQ(error(graph(step("scale", "x=x", "w=z"))),
            "both: step 1 (model 'scale'): the model has no output 'w'");
  EXPECT_EQ(error(graph(step("add", "a=x", "sum=z"))),
            "both: step 1 (model 'add'): input_map has nothing for input 'b'");
  EXPECT_EQ(error(graph(step("scale", "x=x", ""))),
            "both: step 1 (model 'scale'): output_map is empty");
  EXPECT_EQ(
      error(graph(step("add", "a=x b=w", "sum=z"))),
      "both: tensor 'w', which input 'b' of step 1 (model 'add') reads, comes from no step and "
      "is no input");
  EXPECT_EQ(
      error(graph(step("scale", "x=x", "y=z") + step("hold", "x=x", "y=z"))),
      "both: tensor 'z' comes from output 'y' of step 1 (model 'scale') and from output 'y' of "
      "step 2 (model 'hold')");
  EXPECT_EQ(error(graph(step("scale", "x=x", "y=y"))), "both: output 'z' comes from no step");
  EXPECT_EQ(error(graph(step("scale", "x=w", "y=z"))), "both: input 'x' goes to no step");
  EXPECT_THAT(error(graph(step("scale", "x=x", "y=z") + step("add", "a=x b=c", "sum=b")
                          + step("scale", "x=b", "y=c"))),
              HasSubstr("step 2 (model 'add'): waits for its own output"));
  EXPECT_EQ(
      error(graph(step("names", "x=x", "y=z"), "")),
      "both: tensor 'x': input 'x' is FP32 2, and input 'x' of step 1 (model 'names') is INT32 "
      "-1x2");
  EXPECT_EQ(
      error("platform: 'ensemble' input { name: 'x' } output { name: 'z' dims: 2 } "
            "max_batch_size: 1 ensemble_scheduling { "
            + step("names", "x=x", "y=z") + "}"),
      "both: tensor 'z': output 'y' of step 1 (model 'names') is FP32 -1x3, and output 'z' is "
      "FP32 -1x2");
  EXPECT_EQ(error(graph(step("add", "a=x b=x", "sum=z"), "max_batch_size: 5")),
            "both: max_batch_size: step 1 (model 'add') takes batches of at most 4, found 5");
  EXPECT_THAT(error("platform: 'ensemble'"), HasSubstr("an ensemble needs ensemble_scheduling"));
}

}  // namespace
}  // namespace tenon::server
