#include "calibration/calibrate.h"

#include <cmath>
#include <deque>

#include "cpu/cpu_target.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

// Batches of inputs in their order.
struct Batches {
  std::deque<std::vector<std::vector<float>>> batches;
  std::vector<std::vector<float>> current;
  bool operator()(std::span<void*> addresses) {
    if (batches.empty()) return false;
    current = batches.front();
    batches.pop_front();
    for (size_t i = 0; i < addresses.size(); ++i) addresses[i] = current[i].data();
    return true;
  }
};

Observations observed(const Network& network, Batches batches,
                      const CalibrationOptions& options = CalibrationOptions()) {
  return observe(network, cpu_target(), std::ref(batches), options);
}

std::string error_of(const Network& network, Batches batches,
                     const CalibrationOptions& options = CalibrationOptions()) {
  try {
    observed(network, std::move(batches), options);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// y = relu(x * w) + b, with names for what is between.
struct Small : Model {
  explicit Small(int64_t rows = 1) {
    Value& x = input({rows, 2});
    Value& b = input({rows, 1}, "b");
    Value& w =
        network.add_weight(Tensor::of<float>(DataType::kFLOAT, {2, 1}, std::vector<float>{2, -4}));
    Value& product = matrix_product(x, w);
    product.name = "product";
    Value& positive = relu(product);
    positive.name = "positive";
    output(sum(positive, b));
  }
};

TEST(Calibrate, ObservesInputsAndResults) {
  Small m;
  const auto found = observed(m.network, {{{{1, 0}, {-9}}, {{0, 3}, {1}}, {{2, 1}, {0.5f}}}, {}});
  EXPECT_THAT(found, UnorderedElementsAre(Key("x"), Key("b"), Key("positive"), Key("y")));
  EXPECT_EQ(found.at("x").largest(), 3);
  EXPECT_EQ(found.at("b").largest(), 9);
  EXPECT_EQ(found.at("positive").largest(), 2);
  EXPECT_EQ(found.at("y").largest(), 7);
}

TEST(Calibrate, ObservesAllIfWanted) {
  Small m;
  CalibrationOptions options;
  options.observe_all = true;
  const auto found = observed(m.network, {{{{0, 3}, {1}}}, {}}, options);
  EXPECT_EQ(found.at("product").largest(), 12);
  EXPECT_EQ(found.at("positive").largest(), 0);
}

TEST(Calibrate, RunsInTheShapesOfTheProfile) {
  Small m(-1);
  CalibrationOptions options;
  options.profile.emplace();
  for (const auto& [name, columns] : {std::pair("x", 2), std::pair("b", 1)}) {
    auto& range = options.profile->inputs[name];
    range.min = range.opt = range.max = Shape{3, columns};
  }
  const auto found = observed(m.network, {{{{0, 0, 0, 0, 5, 0}, {0, 0, 0}}}, {}}, options);
  EXPECT_EQ(found.at("x").largest(), 5);
  EXPECT_EQ(found.at("y").largest(), 10);
}

TEST(Calibrate, TypesThatWereSetChangeNothing) {
  Small m;
  for (const auto& node : m.network.nodes()) node->precision = DataType::kHALF;
  const auto found = observed(m.network, {{{{1, 0}, {2049}}}, {}});
  EXPECT_EQ(found.at("y").largest(), 2051);
}

TEST(Calibrate, SaysWhatIsWrongWithBatches) {
  Small m;
  EXPECT_THAT(error_of(m.network, {}), HasSubstr("gave no batch"));
  EXPECT_THAT(error_of(m.network, {{{{1, 0}, {0}}, {{1, std::nanf("")}, {0}}}, {}}),
              HasSubstr("tensor 'x' holds NaN or infinity in batch 1"));
  EXPECT_THAT(error_of(m.network, {{{{3e38f, 0}, {0}}}, {}}),
              HasSubstr("tensor 'positive' holds NaN or infinity in batch 0"));
  const NextBatch forgets = [](std::span<void*>) { return true; };
  EXPECT_THROW(observe(m.network, cpu_target(), forgets, CalibrationOptions()), Error);
}

struct Steps final : BuildProgress {
  void begin(const char* phase, const char*, int) override { events.emplace_back(phase); }
  bool step(const char*, int) override {
    events.emplace_back("step");
    return events.size() < limit;
  }
  void end(const char*) override { events.emplace_back("end"); }
  std::vector<std::string> events;
  size_t limit = 100;
};

TEST(Calibrate, ReportsProgressAndCanBeCancelled) {
  Small m;
  const Batches batches{{{{1, 0}, {0}}, {{1, 0}, {0}}}, {}};
  Steps steps;
  CalibrationOptions options;
  options.progress = &steps;
  observed(m.network, batches, options);
  EXPECT_THAT(steps.events, ElementsAre("Calibrating", "step", "step", "end"));
  steps.events.clear();
  steps.limit = 1;
  EXPECT_THAT(error_of(m.network, batches, options), HasSubstr("cancelled"));
  EXPECT_THAT(steps.events, ElementsAre("Calibrating", "step", "end"));
}

}  // namespace
}  // namespace tenon
