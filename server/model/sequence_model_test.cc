#include "sequence_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tensor_memory.h"
#include "test_models.h"

namespace tenon::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kState =
    "state { input_name: 'sum_in' output_name: 'sum_out' data_type: TYPE_FP32 dims: 1 } ";
const std::string kControls =
    "control_input { name: 'start' control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] "
    "} } "
    "control_input { name: 'end' control { kind: CONTROL_SEQUENCE_END fp32_false_true: [-1, 1] } } "
    "control_input { name: 'ready' control { kind: CONTROL_SEQUENCE_READY bool_false_true: [false, "
    "true] } } "
    "control_input { name: 'id' control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_INT64 } } ";

// y = x + sum_in = sum_out: what came of the sequence so far.
class SequenceModelTest : public ::testing::Test {
 protected:
  Result<std::shared_ptr<Model>> made(const std::string& sequence, const std::string& rest = "") {
    auto config = parse_model_config(rest + " sequence_batching { " + sequence + "}", false);
    if (!config) return Error{config.error()};
    config->name = "sum";
    config->folder = folder_;
    ModelMetadata metadata{
        "sum",
        "1",
        "",
        {{"x", DataType::kFLOAT, {-1, 1}}, {"sum_in", DataType::kFLOAT, {-1, 1}}},
        {{"y", DataType::kFLOAT, {-1, 1}}, {"sum_out", DataType::kFLOAT, {-1, 1}}},
        4};
    if (sequence.find("start") != std::string::npos)
      for (const auto& [name, type] :
           {std::pair{"start", DataType::kINT32}, std::pair{"end", DataType::kFLOAT},
            std::pair{"ready", DataType::kBOOL}, std::pair{"id", DataType::kINT64}})
        metadata.inputs.push_back({name, type, {-1, 1}});
    auto inner = std::make_shared<FunctionModel>(
        std::move(metadata), [this](InferRequest request, Receive receive) {
          seen_.push_back({std::move(request), std::move(receive)});
          if (!holds_) answer(seen_.size() - 1);
        });
    return make_sequence_model(std::move(inner), *config, limits_);
  }
  std::shared_ptr<Model> model(const std::string& sequence) {
    auto model = made(sequence);
    EXPECT_TRUE(model) << model.error();
    return *model;
  }

  void answer(size_t i) {
    InferRequest& request = seen_[i].request;
    if (fails_) return seen_[i].receive(RequestError{Failure::kInternal, "it failed"});
    const float sum = number("x", i) + number("sum_in", i);
    InferResponse response;
    for (const std::string& name : request.outputs)
      response.outputs.push_back({name, tensor_with({1, 1}, {sum})});
    seen_[i].receive(std::move(response));
  }
  Tensor& input(const std::string& name, size_t i) {
    return std::ranges::find(seen_[i].request.inputs, name, &NamedTensor::name)->tensor;
  }
  float number(const std::string& name, size_t i) { return **input(name, i).cpu<float>(); }

  static InferRequest request_of(float x, uint64_t id, bool is_start = false, bool is_end = false) {
    InferRequest request;
    request.inputs.push_back({"x", tensor_with({1, 1}, {x})});
    request.sequence = {id, is_start, is_end};
    return request;
  }
  // What the sequence sums up to; -1 after an error.
  static float sum_of(Model& model, InferRequest request) {
    InferAnswer answer = answer_of(model, std::move(request));
    auto* const response = std::get_if<InferResponse>(&answer);
    if (response == nullptr) return -1;
    EXPECT_EQ(response->outputs.size(), 1u);
    return values_of(response->outputs[0].tensor)[0];
  }
  std::shared_ptr<InferAnswer> ask(Model& model, InferRequest request) {
    auto to = std::make_shared<InferAnswer>(RequestError{Failure::kInternal, "none yet"});
    model.infer(std::move(request), [to](InferAnswer answer) { *to = std::move(answer); });
    return to;
  }

  struct Seen {
    InferRequest request;
    Receive receive;
  };
  const std::string folder_ = ::testing::TempDir() + "sequence." + std::to_string(getpid());
  std::deque<Seen> seen_;
  bool holds_ = false, fails_ = false;
  QueueLimits limits_;
};

TEST_F(SequenceModelTest, StatesGoFromRequestToRequest) {
  const auto sums = model(kState);
  ASSERT_EQ(sums->metadata().inputs.size(), 1u);
  EXPECT_EQ(sums->metadata().inputs[0].name, "x");
  ASSERT_EQ(sums->metadata().outputs.size(), 1u);
  EXPECT_EQ(sum_of(*sums, request_of(1, 5, true)), 1);
  EXPECT_EQ(sum_of(*sums, request_of(10, 6, true)), 10);
  EXPECT_EQ(sum_of(*sums, request_of(2, 5)), 3);
  EXPECT_EQ(sum_of(*sums, request_of(20, 6, false, true)), 30);
  InferRequest named = request_of(100, 0, true);
  named.sequence.id = "camera";
  EXPECT_EQ(sum_of(*sums, std::move(named)), 100);
  fails_ = true;
  EXPECT_EQ(error_of(answer_of(*sums, request_of(7, 5))), "it failed");  // and changes nothing
  fails_ = false;
  EXPECT_EQ(sum_of(*sums, request_of(3, 5, false, true)), 6);
  for (const uint64_t over : {5, 6, 7}) {
    const InferAnswer answer = answer_of(*sums, request_of(1, over));
    EXPECT_THAT(error_of(answer), HasSubstr("there is no sequence " + std::to_string(over)));
    EXPECT_EQ(std::get<RequestError>(answer).failure, Failure::kInvalid);
  }
  EXPECT_EQ(sum_of(*sums, request_of(1, 8, true)), 1);
  EXPECT_EQ(sum_of(*sums, request_of(2, 8, true)), 2);  // it begins anew
  EXPECT_EQ(sum_of(*sums, request_of(2, 8)), 4);
}

TEST_F(SequenceModelTest, ControlsSayWhereARequestIs) {
  const auto sums = model(kState + kControls);
  EXPECT_EQ(sums->metadata().inputs.size(), 1u);
  sum_of(*sums, request_of(1, 5, true));
  sum_of(*sums, request_of(1, 5));
  sum_of(*sums, request_of(1, 5, false, true));
  std::vector<int32_t> starts;
  std::vector<float> ends;
  for (size_t i = 0; i < 3; ++i) {
    starts.push_back(**input("start", i).cpu<int32_t>());
    ends.push_back(number("end", i));
    EXPECT_TRUE(**input("ready", i).cpu<bool>());
    EXPECT_EQ(**input("id", i).cpu<int64_t>(), 5);
  }
  EXPECT_THAT(starts, ElementsAre(1, 0, 0));
  EXPECT_THAT(ends, ElementsAre(-1, -1, 1));
  InferRequest named = request_of(1, 0, true);
  named.sequence.id = "camera";
  EXPECT_THAT(error_of(answer_of(*sums, std::move(named))), HasSubstr("the model takes numbers"));
}

TEST_F(SequenceModelTest, RequestsOfASequenceRunOneAfterTheOther) {
  const auto sums = model(kState);
  holds_ = true;
  std::vector<float> answered;
  const auto ask_for = [&](float x, uint64_t id, bool is_start, bool is_end) {
    sums->infer(request_of(x, id, is_start, is_end), [&](InferAnswer answer) {
      auto* const response = std::get_if<InferResponse>(&answer);
      answered.push_back(response == nullptr ? -1 : values_of(response->outputs[0].tensor)[0]);
    });
  };
  ask_for(1, 5, true, false);
  ask_for(2, 5, false, true);
  ask_for(4, 5, false, false);  // behind the end
  ask_for(8, 5, true, false);
  ask_for(16, 6, true, false);
  EXPECT_EQ(seen_.size(), 2u);  // one of each sequence
  EXPECT_EQ(sums->statistics().stage(serve::Stage::kPreprocess).waiting, 3u);
  for (size_t i = 0; i < seen_.size(); ++i) answer(i);
  EXPECT_THAT(answered, ElementsAre(1, 16, 3, -1, 8));
  EXPECT_EQ(sums->statistics().failures(), 1u);
}

TEST_F(SequenceModelTest, SequencesBeyondTheMostWait) {
  const auto sums = model(kState + "oldest { max_candidate_sequences: 1 }");
  holds_ = true;
  const auto first = ask(*sums, request_of(1, 5, true));
  const auto second = ask(*sums, request_of(10, 6, true));
  answer(0);
  EXPECT_EQ(error_of(*first), "");
  EXPECT_EQ(seen_.size(), 1u);
  const auto last = ask(*sums, request_of(2, 5, false, true));
  answer(1);
  EXPECT_EQ(error_of(*last), "");
  ASSERT_EQ(seen_.size(), 3u);  // its place is the second's
  answer(2);
  EXPECT_EQ(error_of(*second), "");
}

TEST_F(SequenceModelTest, SequencesThatAreIdleEnd) {
  const auto sums =
      model(kState + "max_sequence_idle_microseconds: 20000 oldest { max_candidate_sequences: 1 }");
  EXPECT_EQ(sum_of(*sums, request_of(1, 5, true)), 1);
  EXPECT_EQ(sum_of(*sums, request_of(2, 6, true)), 2);  // when the first is over
  EXPECT_THAT(error_of(answer_of(*sums, request_of(1, 5))), HasSubstr("there is no sequence 5"));
}

TEST_F(SequenceModelTest, WaitingEndsByDeadlinesAndCancellation) {
  const auto sums = model(kState);
  holds_ = true;
  const auto first = ask(*sums, request_of(1, 5, true));
  InferRequest late = request_of(2, 5);
  late.deadline = Clock::now() + std::chrono::milliseconds(20);
  EXPECT_THAT(error_of(answer_of(*sums, std::move(late))), HasSubstr("its deadline passed"));
  std::stop_source source;
  InferRequest cancelled = request_of(4, 5);
  cancelled.stop = source.get_token();
  std::promise<InferAnswer> promise;
  sums->infer(std::move(cancelled),
              [&](InferAnswer answer) { promise.set_value(std::move(answer)); });
  source.request_stop();
  EXPECT_EQ(std::get<RequestError>(promise.get_future().get()).failure, Failure::kCancelled);
  const auto last = ask(*sums, request_of(8, 5));
  answer(0);
  ASSERT_EQ(seen_.size(), 2u);
  EXPECT_EQ(number("sum_in", 1), 1);
  answer(1);
  EXPECT_EQ(error_of(*last), "");
}

TEST_F(SequenceModelTest, TheQueueIsBounded) {
  limits_.max_requests = 2;
  const auto sums = model(kState);
  holds_ = true;
  ask(*sums, request_of(1, 5, true));
  ask(*sums, request_of(1, 5));
  ask(*sums, request_of(1, 5));
  const InferAnswer answer = answer_of(*sums, request_of(1, 5));
  EXPECT_EQ(std::get<RequestError>(answer).failure, Failure::kFull);
  for (size_t i = 0; i < seen_.size(); ++i) this->answer(i);
  EXPECT_EQ(seen_.size(), 3u);
}

TEST_F(SequenceModelTest, DrainingAnswersWhatCame) {
  const auto sums = model(kState + "oldest { max_candidate_sequences: 1 }");
  holds_ = true;
  const auto first = ask(*sums, request_of(1, 5, true));
  const auto next = ask(*sums, request_of(2, 5));
  std::promise<InferAnswer> other;
  sums->infer(request_of(4, 6, true),
              [&](InferAnswer answer) { other.set_value(std::move(answer)); });
  std::jthread draining([&] { sums->drain(); });
  const InferAnswer refused = other.get_future().get();  // it has not begun
  EXPECT_EQ(std::get<RequestError>(refused).failure, Failure::kUnavailable);
  answer(0);
  answer(1);
  draining.join();
  EXPECT_EQ(error_of(*first), "");
  EXPECT_EQ(error_of(*next), "");
  EXPECT_EQ(std::get<RequestError>(answer_of(*sums, request_of(1, 7, true))).failure,
            Failure::kUnavailable);
}

TEST_F(SequenceModelTest, InitialStatesComeFromFiles) {
  std::filesystem::create_directories(folder_ + "/initial_state");
  const float start = 1000;
  std::ofstream(folder_ + "/initial_state/start", std::ios::binary)
      .write(reinterpret_cast<const char*>(&start), sizeof start);
  const std::string state =
      "state { input_name: 'sum_in' output_name: 'sum_out' data_type: TYPE_FP32 dims: -1 "
      "initial_state { data_type: TYPE_FP32 dims: 1 name: 'start' data_file: ";
  EXPECT_EQ(sum_of(*model(state + "'start' } }"), request_of(1, 5, true)), 1001);
  EXPECT_THAT(made(state + "'none' } }").error(), HasSubstr("/initial_state/none"));
  std::ofstream(folder_ + "/initial_state/short") << "ab";
  EXPECT_THAT(made(state + "'short' } }").error(), HasSubstr("expected the 4 bytes of the state"));
  EXPECT_THAT(made(state + "'../x' } }").error(), HasSubstr("without '/'"));
  std::filesystem::remove_all(folder_);
}

TEST_F(SequenceModelTest, WhatDoesNotFitIsRefused) {
  const auto sums = model(kState);
  EXPECT_THAT(error_of(answer_of(*sums, request_of(1, 0, true))), HasSubstr("sequence_id"));
  InferRequest two = request_of(1, 5, true);
  two.inputs[0].tensor = tensor_with({2, 1}, {1, 2});
  EXPECT_THAT(error_of(answer_of(*sums, std::move(two))), HasSubstr("has a batch of 1"));
  InferRequest state = request_of(1, 5, true);
  state.inputs.push_back({"sum_in", tensor_with({1, 1}, {1})});
  EXPECT_THAT(error_of(answer_of(*sums, std::move(state))), HasSubstr("'sum_in' for clients"));
  InferRequest output = request_of(1, 5, true);
  output.outputs = {"sum_out"};
  EXPECT_THAT(error_of(answer_of(*sums, std::move(output))), HasSubstr("no output 'sum_out'"));

  const auto error = [&](const std::string& sequence) { return made(sequence).error(); };
  EXPECT_EQ(error("control_input { name: 'none' control { int32_false_true: [0, 1] } }"),
            "sum: sequence_batching: the model has no input 'none'");
  EXPECT_EQ(
      error("state { input_name: 'sum_in' output_name: 'sum_out' data_type: TYPE_INT32 dims: 1 }"),
      "sum: sequence_batching: 'sum_in' is INT32 1x1 in the configuration, and FP32 -1x1 in the "
      "model");
  EXPECT_THAT(error("control_input { name: 'x' control { int32_false_true: [0] } }"),
              HasSubstr("expected two values"));
  EXPECT_THAT(error("state { input_name: 'a' output_name: 'b' data_type: TYPE_FP32 dims: -1 }"),
              HasSubstr("need the dims of an initial_state"));
}

}  // namespace
}  // namespace tenon::server
