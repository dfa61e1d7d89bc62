// What a loop does with bodies that are not what it says; src/run/control_flow_test.cc runs good
// ones.
#include "ops/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// One iteration of a loop that collects vectors of two floats along axis 0.
std::string error_with(const Tensor& piece) {
  Loop loop;
  loop.collect_axes = loop.collect_reverse = {0};
  loop.outputs.add({DataType::kFLOAT, {BodyExtent(), BodyExtent::of(2)}});
  const int64_t one = 1;
  const bool go = true;
  const Tensor trips = Tensor::of<int64_t>(DataType::kINT64, Shape(), {&one, 1});
  const Tensor again = Tensor::of<bool>(DataType::kBOOL, Shape(), {&go, 1});
  const Tensor* inputs[] = {&trips, nullptr};
  try {
    const Tensor made[] = {again, piece};
    const auto runner = loop.make_runner(host_memory());
    const auto results = runner->run(
        inputs, [&](size_t, std::span<const Tensor>) { return std::span<const Tensor>(made); });
    EXPECT_EQ(results[0].shape(), (Shape{1, 2}));
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Loop, RefusesSlicesOfAnotherTypeOrRank) {
  EXPECT_EQ(error_with(Tensor(DataType::kFLOAT, {2})), "");
  EXPECT_THAT(error_with(Tensor(DataType::kINT8, {2})),
              HasSubstr("made a slice of type int8; expected float32"));
  EXPECT_THAT(error_with(Tensor(DataType::kFLOAT, {})),
              HasSubstr("made a slice of 0 dimensions; expected 1"));
}

}  // namespace
}  // namespace tenon
