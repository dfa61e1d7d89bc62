#include "plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "cpu/cpu_target.h"
#include "plan/inspect.h"
#include "plan/plan_generated.h"
#include "plan/plan_test_network.h"
#include "plan/structure.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

Plan make_plan() {
  Network n;
  testing::make_network(n);
  BuildOptions options;
  options.profiles = {testing::profile({1, 4, 4, 4}, {2, 4, 8, 8}, {4, 4, 16, 16})};
  // Which kernel is fastest is measured once.
  static TimingCache cache;
  options.timing_cache = &cache;
  return testing::optimized_plan(n, cpu_target(), options);
}

std::string error_of(std::span<const std::byte> bytes) {
  try {
    read_plan(bytes, nullptr, "x.plan");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(PlanFile, RoundTripsByteForByte) {
  const auto bytes = write_plan(make_plan());
  EXPECT_EQ(write_plan(read_plan(bytes, nullptr, "x.plan")), bytes);
}

TEST(PlanFile, EqualBuildsAreEqualFiles) {
  EXPECT_EQ(write_plan(make_plan()), write_plan(make_plan()));
}

// What trtexec --getPlanVersionOnly reads: a tag, how the plan is stored, and at byte 24 the
// version.
TEST(PlanFile, BeginsAsPlansOfTensorRT) {
  const auto bytes = write_plan(make_plan());
  EXPECT_EQ(std::memcmp(bytes.data(), "ftrt\0\0\0", 8), 0);
  EXPECT_EQ(bytes[24], std::byte{10});
  EXPECT_EQ(bytes[25], std::byte{16});
}

TEST(PlanFile, RefusesEveryDamagedByte) {
  const auto good = write_plan(make_plan());
  for (size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x10};
    ASSERT_NE(error_of(bad), "") << "byte " << i << " of " << good.size();
  }
}

TEST(PlanFile, RefusesEveryTruncation) {
  const auto good = write_plan(make_plan());
  for (size_t length = 0; length < good.size(); length += length < 512 ? 1 : 37)
    ASSERT_NE(error_of(std::span(good).first(length)), "") << "length " << length;
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_NE(error_of(longer), "");
}

TEST(PlanFile, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(std::as_bytes(std::span("hello, I am no plan"))),
              HasSubstr("x.plan: this is not a Tenon plan"));
  const std::string model("\x08\x09\x12\x07pytorch:\x20", 13);
  EXPECT_THAT(error_of(std::as_bytes(std::span(model))), HasSubstr("not a Tenon plan"));
  const std::string named = std::string("\x12\0\0\0", 4) + "{\"task\": \"detect\"}ftrt";
  EXPECT_THAT(error_of(std::as_bytes(std::span(named))), HasSubstr("as engines of Ultralytics do"));
  auto other = write_plan(make_plan());
  other[16] = std::byte{99};
  EXPECT_THAT(error_of(other), HasSubstr("format 99"));
}

// Bodies that share tables would make ten plans of one at each level.
TEST(PlanFile, RefusesAFileThatGrowsWhenItIsRead) {
  flatbuffers::FlatBufferBuilder b;
  const auto plan_of = [&](const std::vector<flatbuffers::Offset<schema::Step>>& steps) {
    const std::vector profiles{schema::CreateProfileDirect(b)};
    return schema::CreatePlanDirect(b, "plan", "cpu", "", "", 0, 0, false, nullptr, nullptr,
                                    nullptr, &steps, nullptr, &profiles);
  };
  auto plan = plan_of({});
  for (int level = 0; level < 7; ++level) {
    const std::vector bodies(10, plan);
    plan = plan_of({schema::CreateStepDirect(b, "loop", "", "Loop", nullptr, 0, "bodies", nullptr,
                                             nullptr, nullptr, nullptr, &bodies)});
  }
  schema::FinishPlanBuffer(b, plan);
  const auto memory = allocate_aligned(b.GetSize());
  std::copy_n(reinterpret_cast<const std::byte*>(b.GetBufferPointer()), b.GetSize(), memory.get());
  EXPECT_THROW(read_structure({memory.get(), b.GetSize()}, {}, nullptr), Error);
}

TEST(PlanFile, BodiesMayLieAsDeepAsModelsNestThem) {
  const auto nested = [](int depth) {
    Plan plan = make_plan();
    for (int i = 0; i < depth; ++i) {
      Plan outer = make_plan();
      outer.steps[0].bodies.push_back(std::move(plan));
      plan = std::move(outer);
    }
    return write_plan(plan);
  };
  const auto deep = nested(64);
  EXPECT_EQ(write_plan(read_plan(deep, nullptr, "x.plan")), deep);
  EXPECT_THAT(error_of(nested(65)), HasSubstr("bodies are nested more than 64 deep"));
}

TEST(PlanFile, OpensByPathInPlace) {
  const std::string path = ::testing::TempDir() + "/open.plan";
  const auto bytes = write_plan(make_plan());
  write_file(path, bytes);
  EXPECT_EQ(write_plan(open_plan_file(path)), bytes);
  EXPECT_THROW(open_plan_file(::testing::TempDir()), Error);
  EXPECT_THROW(open_plan_file(path + ".absent"), Error);
}

TEST(Inspect, NamesWhatAPlanHolds) {
  const Plan plan = make_plan();
  const std::string text = plan_text(plan);
  EXPECT_THAT(text, HasSubstr("image"));
  EXPECT_THAT(text, HasSubstr("image.0x4ximage.2ximage.3"));
  EXPECT_THAT(text, HasSubstr("min 1x4x4x4, opt 2x4x8x8, max 4x4x16x16"));
  EXPECT_THAT(text, HasSubstr("conv1"));
  EXPECT_THAT(plan_json(plan), HasSubstr("\"LayerType\": \"Convolution\""));
}

TEST(Inspect, ANameForgesNoRow) {
  Plan plan = make_plan();
  const auto rows = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto before = rows(plan_text(plan));
  plan.name = plan.steps[0].name = plan.tensors[0].name = "a\n  9  b";
  plan.steps[0].kernel = "c\n";
  EXPECT_EQ(rows(plan_text(plan)), before);
  EXPECT_THAT(plan_text(plan), HasSubstr("  a\\n  9  b  "));
}

TEST(Inspect, ListsTheLayersOfBodies) {
  Plan plan = make_plan();
  const std::string weights = plan_text(plan);
  const Plan body = plan;
  plan.steps[1].bodies = {body, body};
  const std::string text = plan_text(plan), json = plan_json(plan);
  EXPECT_THAT(text, HasSubstr("  1.0.0  " + body.steps[0].name));
  EXPECT_THAT(text, HasSubstr("  1.1.0  " + body.steps[0].name));
  EXPECT_THAT(json, HasSubstr("\"Bodies\""));
  // Weights that bodies share count once.
  const auto line = weights.find("  weights");
  EXPECT_THAT(text, HasSubstr(weights.substr(line, weights.find('\n', line) - line)));
}

TEST(Inspect, ADimensionMayBeCalledByANumber) {
  Plan plan = make_plan();
  plan.bindings[0].dimension_names.assign(4, std::string(30, '9'));
  EXPECT_THAT(plan_json(plan), HasSubstr("\"999999999999999999999999999999\""));
}

}  // namespace
}  // namespace tenon
