#include "tenon/session/session.h"

#include <gmock/gmock.h>

#include <cstring>

#include "test_networks.h"

namespace tenon::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T> Array array_of(DataType type, const Shape& shape, const std::vector<T>& values) {
  Array array = *make_array(type, shape);
  EXPECT_EQ(array.bytes.size(), values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

Array floats(const Shape& shape, const std::vector<float>& values) {
  return array_of(DataType::kFLOAT, shape, values);
}

std::vector<double> output(Session& session, const char* name) {
  return *numbers(session.outputs().at(name));
}

TEST(Session, RunsOnArrays) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  const auto session = *Session::make(*sum.engine, log);
  EXPECT_THAT(session->input_names(), ElementsAre("x"));
  EXPECT_THAT(session->output_names(), ElementsAre("y"));
  for (int64_t rows = 1; rows <= 2; ++rows) {
    const std::vector<float> values(static_cast<size_t>(rows) * 3, 1.5F);
    ASSERT_TRUE(session->set_inputs({{"x", floats({rows, 3}, values)}}));
    ASSERT_TRUE(session->run());
    EXPECT_EQ(session->outputs().at("y").shape, (Shape{rows, 3}));
    EXPECT_EQ(output(*session, "y"), std::vector<double>(values.size(), 3));
  }
  // The same with other values, on the caller's thread.
  session->inputs().at("x").as<float>()[0] = 10;
  ASSERT_TRUE(session->copy_in());
  ASSERT_TRUE(session->wait());
  ASSERT_TRUE(session->execute());
  ASSERT_TRUE(session->copy_out());
  ASSERT_TRUE(session->wait());
  EXPECT_THAT(output(*session, "y"), ElementsAre(20, 3, 3, 3, 3, 3));
}

// What x and y hold in rows, whatever the engine's memory holds.
TEST(Session, PacksFormats) {
  using nvinfer1::TensorFormat;
  for (const TensorFormat format : {TensorFormat::kHWC, TensorFormat::kHWC8, TensorFormat::kCHW2}) {
    ErrorLog log;
    const Engine sum = build_engine(log, [=](auto&, auto& network, auto&) {
      auto* x = network.addInput("x", DataType::kFLOAT, Dims{4, {1, 3, 1, 2}});
      auto& y = *network.addElementWise(*x, *x, nvinfer1::ElementWiseOperation::kSUM)->getOutput(0);
      x->setAllowedFormats(1U << static_cast<int>(format));
      y.setAllowedFormats(1U << static_cast<int>(format));
      add_output(network, y, "y");
    });
    const auto session = *Session::make(*sum.engine, log);
    ASSERT_TRUE(session->set_inputs({{"x", floats({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6})}}));
    ASSERT_TRUE(session->run());
    EXPECT_THAT(output(*session, "y"), ElementsAre(2, 4, 6, 8, 10, 12));
    session->inputs().at("x").as<float>()[5] = 10;
    ASSERT_TRUE(session->run());
    EXPECT_THAT(output(*session, "y"), ElementsAre(2, 4, 6, 8, 10, 20));
  }
}

TEST(Session, HasTheMemoryOfLayersItself) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  for (const auto layer_memory :
       {SessionOptions::LayerMemory::kProfile, SessionOptions::LayerMemory::kShapes}) {
    const auto session =
        *Session::make(*sum.engine, log, SessionOptions{1, layer_memory, /*is_managed=*/true});
    for (int64_t rows : {3, 4}) {
      const std::vector<float> values(static_cast<size_t>(rows) * 3, 1.5F);
      ASSERT_TRUE(session->set_inputs({{"x", floats({rows, 3}, values)}}));
      ASSERT_TRUE(session->run());
      EXPECT_EQ(output(*session, "y"), std::vector<double>(values.size(), 3));
    }
  }
}

TEST(Session, ConvertsWhatIsGiven) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  const auto session = *Session::make(*sum.engine, log);
  ASSERT_TRUE(session->set_inputs({{"x", array_of<int32_t>(DataType::kINT32, {1, 3}, {1, 2, 3})}}));
  ASSERT_TRUE(session->run());
  EXPECT_THAT(output(*session, "y"), ElementsAre(2, 4, 6));
}

TEST(Session, WithoutArraysShapesAreTheProfilesOptimum) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  const auto session = *Session::make(*sum.engine, log, 1);
  ASSERT_TRUE(session->set_inputs({}));
  EXPECT_THAT(session->zero_filled(), ElementsAre("x"));
  ASSERT_TRUE(session->run());
  EXPECT_EQ(session->outputs().at("y").shape, (Shape{4, 3}));
  ASSERT_TRUE(session->set_inputs({}, {{"x", {5, 3}}}));
  ASSERT_TRUE(session->run());
  EXPECT_EQ(session->outputs().at("y").shape, (Shape{5, 3}));
}

TEST(Session, WhatDoesNotFitIsAnErrorAndTheNextCallWorks) {
  ErrorLog log;
  const Engine sum = build_sum(log);
  EXPECT_THAT(Session::make(*sum.engine, log, 2).error(), HasSubstr("no profile 2"));
  const auto session = *Session::make(*sum.engine, log);
  const Array good = floats({1, 3}, {1, 2, 3});
  EXPECT_THAT(session->set_inputs({{"z", good}}).error(),
              HasSubstr("no input 'z'; its inputs are: x"));
  EXPECT_THAT(session->set_inputs({}, {{"z", {1}}}).error(), HasSubstr("no input 'z'"));
  EXPECT_THAT(session->set_inputs({{"x", floats({3, 3}, std::vector<float>(9))}}).error(),
              HasSubstr("outside profile 0"));
  EXPECT_THAT(session->set_inputs({{"x", good}}, {{"x", {2, 3}}}).error(),
              HasSubstr("of shape 1x3, and its shape is to be 2x3"));
  ASSERT_TRUE(session->set_inputs({{"x", good}}));
  ASSERT_TRUE(session->run());
  EXPECT_THAT(output(*session, "y"), ElementsAre(2, 4, 6));
}

TEST(Session, ReadsOutputsWhoseShapeTheRunTells) {
  ErrorLog log;
  const Engine non_zero = build_non_zero(log);
  const auto session = *Session::make(*non_zero.engine, log);
  for (const auto& [values, found] :
       {std::pair(std::vector<float>{0, 1, 0, 1, 0, 1}, std::vector<double>{1, 3, 5}),
        std::pair(std::vector<float>{1, 0, 0, 0, 0, 0}, std::vector<double>{0}),
        std::pair(std::vector<float>(6, 0), std::vector<double>{}),
        std::pair(std::vector<float>(6, 2), std::vector<double>{0, 1, 2, 3, 4, 5})}) {
    ASSERT_TRUE(session->set_inputs({{"x", floats({6}, values)}}));
    const auto ran = session->run();
    ASSERT_TRUE(ran) << ran.error();
    EXPECT_EQ(output(*session, "y"), found);
    EXPECT_EQ(session->outputs().at("y").shape, (Shape{1, static_cast<int64_t>(found.size())}));
  }
}

// None of these is a double.
class LargeValues : public ::testing::TestWithParam<int64_t> {};

TEST_P(LargeValues, ComeThroughAsArraysAndAsValues) {
  ErrorLog log;
  const Engine first = build_first(log, DataType::kINT64, GetParam());
  const auto session = *Session::make(*first.engine, log);
  const std::vector<int64_t> count{GetParam()};
  const auto expect = [&](const char* how, const Result<void>& set) {
    SCOPED_TRACE(how);
    ASSERT_TRUE(set) << set.error();
    const auto ran = session->run();
    ASSERT_TRUE(ran) << ran.error();
    EXPECT_EQ(session->outputs().at("y").shape, Shape{10});
    EXPECT_EQ(*integers(session->outputs().at("echo")), count);
  };
  expect("array", session->set_inputs({{"count", array_of(DataType::kINT64, {1}, count)}}));
  expect("values", session->set_inputs({}, {{"count", count}}));
  expect("profile", session->set_inputs({}));
}

INSTANTIATE_TEST_SUITE_P(NearTheLargest, LargeValues,
                         ::testing::Values(INT64_MAX, INT64_MAX - 1, INT64_MAX - 511,
                                           (int64_t{1} << 62) + 1, (int64_t{1} << 53) + 1));

TEST(Session, ShapeValuesDecideAndAreCheckedForTheirType) {
  ErrorLog log;
  for (const DataType type : {DataType::kINT32, DataType::kINT64}) {
    const Engine first = build_first(log, type, 4);
    const auto session = *Session::make(*first.engine, log);
    for (const int64_t count : {3, 0, 7}) {
      ASSERT_TRUE(session->set_inputs({}, {{"count", {count}}}));
      const auto ran = session->run();
      ASSERT_TRUE(ran) << ran.error();
      EXPECT_EQ(session->outputs().at("y").shape, Shape{count});
    }
    EXPECT_THAT(session->set_inputs({}, {{"count", {1, 2}}}).error(),
                HasSubstr("input 'count' takes 1 values; 2 were given"));
    if (type == DataType::kINT64) continue;
    EXPECT_THAT(session->set_inputs({}, {{"count", {int64_t{1} << 31}}}).error(),
                HasSubstr("is 2147483648, which int32 cannot hold"));
  }
}

}  // namespace
}  // namespace tenon::session
