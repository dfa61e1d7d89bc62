#include "builder/fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/targets.h"
#include "base/error.h"
#include "base/parallel.h"
#include "builder/build_plan.h"
#include "cpu/cpu_target.h"
#include "network/clone.h"
#include "plan/plan_file.h"
#include "plan/plan_test_network.h"
#include "streams/host_device.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// A target of another name and machine, with the CPU's kernels.
class Elsewhere final : public Target {
 public:
  explicit Elsewhere(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::string fingerprint() const override { return name_ + ": another machine"; }
  std::string instruction_set() const override { return "another"; }
  std::span<const Candidate> candidates(const Op& op) const override {
    return cpu_target().candidates(op);
  }
  bool fuses(const Op&, const PointwiseProgram&) const override { return false; }
  const Device& device() const override { return host_device(); }

 private:
  std::string name_;
};

BuildOptions options_for(bool portable) {
  BuildOptions options;
  options.profiles = {testing::profile({1, 4, 4, 4}, {2, 4, 8, 8}, {4, 4, 16, 16}),
                      testing::profile({1, 4, 2, 2}, {1, 4, 2, 2}, {1, 4, 2, 2})};
  options.time_kernels = false;
  options.portable = portable;
  options.tf32 = true;
  options.precision = {DataType::kHALF, Precision::Constraints::kPrefer};
  options.max_workspace = size_t{1} << 30;
  options.max_growth = {1000, 5000};
  return options;
}

// Built, written and read.
Plan plan_from_file(bool portable, const Target& target = cpu_target()) {
  Network n;
  testing::make_network(n);
  const auto bytes = write_plan(build_plan(n, target, options_for(portable)));
  return read_plan(bytes, nullptr, "x.plan");
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(Fit, APlanOfThisMachineIsTakenAsItIs) {
  for (const bool portable : {false, true}) {
    const auto before = write_plan(plan_from_file(portable));
    EXPECT_EQ(write_plan(fit(plan_from_file(portable), cpu_target(), Log())), before);
  }
}

// Which kernels are fastest may depend on the threads, but building takes time at each loading.
TEST(Fit, AnotherNumberOfThreadsIsTheSameMachine) {
  const int threads = thread_count();
  const auto before = write_plan(plan_from_file(true));
  set_thread_count(threads + 1);
  Plan plan = read_plan(before, nullptr, "x.plan");
  EXPECT_NE(plan.fingerprint, cpu_target().fingerprint());
  EXPECT_EQ(write_plan(fit(std::move(plan), cpu_target(), Log())), before);
  set_thread_count(threads);
  Plan other = read_plan(before, nullptr, "x.plan");
  other.fingerprint = "cpu: another processor, another instruction set, 2 threads";
  EXPECT_EQ(fit(std::move(other), cpu_target(), Log()).fingerprint, cpu_target().fingerprint());
}

// What is built elsewhere from the plan is what would be built there from the model.
TEST(Fit, APortablePlanIsBuiltAgainElsewhere) {
  const Elsewhere other_cpu("cpu"), gpu("gpu");
  for (const Target* target : {&other_cpu, &gpu}) {
    Network n;
    testing::make_network(n);
    const auto expected = write_plan(build_plan(n, *target, options_for(true)));
    const Plan again = fit(plan_from_file(true), *target, Log());
    EXPECT_EQ(again.target, target->name());
    EXPECT_EQ(again.fingerprint, target->fingerprint());
    EXPECT_EQ(write_plan(again), expected);
  }
}

TEST(Fit, APlanOfAnotherMachineIsRefused) {
  const Elsewhere gpu("gpu"), other("cpu");
  EXPECT_EQ(
      error_of([&] { fit(plan_from_file(false), gpu, Log()); }),
      fmt::format("the plan was built for \"{}\", and here is \"gpu: another machine\": build "
                  "it again here, or as a portable plan (tenon build --portable, "
                  "tenon::set_portable)",
                  cpu_target().fingerprint()));
  // The same target, but kernels for other instructions.
  EXPECT_THAT(error_of([&] { fit(plan_from_file(false), other, Log()); }),
              HasSubstr("and here is \"cpu: another machine\""));
  // The CPU packs weights anew.
  EXPECT_EQ(error_of([&] { fit(plan_from_file(false, other), cpu_target(), Log()); }), "");
}

TEST(Fit, APlanOfATargetThatIsNotHereIsRefusedUnlessItIsPortable) {
  const Elsewhere gpu("gpu");
  EXPECT_THAT(error_of([&] { target_for(plan_from_file(false, gpu)); }),
              HasSubstr("there is no target \"gpu\""));
  EXPECT_EQ(&target_for(plan_from_file(true, gpu)), &default_target());
  EXPECT_EQ(&target_for(plan_from_file(false)), &cpu_target());
}

TEST(Fit, ANetworkComesBackWithAllThatWasSet) {
  Network n;
  testing::make_network(n);
  n.name = "network";
  n.inputs()[0]->requested_type = DataType::kFLOAT;
  n.outputs()[0]->requested_type = DataType::kHALF;
  n.outputs()[0]->allowed_formats = 3;
  n.nodes()[0]->precision = DataType::kBF16;
  n.nodes()[0]->output_types[0] = DataType::kHALF;
  n.nodes()[0]->metadata = "meta";
  const Plan plan = [&] {
    const auto copy = clone(n);
    copy->infer();
    const auto bytes = write_plan(build_plan(*copy, cpu_target(), options_for(true)));
    return read_plan(bytes, nullptr, "x.plan");
  }();
  const auto copy = clone(*plan.source->network);
  copy->infer();
  EXPECT_EQ(dump_json(*copy), dump_json(n));
  EXPECT_EQ(copy->inputs()[0]->requested_type, DataType::kFLOAT);
  EXPECT_EQ(copy->outputs()[0]->requested_type, DataType::kHALF);
  EXPECT_EQ(copy->outputs()[0]->allowed_formats, 3u);
  EXPECT_EQ(copy->nodes()[0]->precision, DataType::kBF16);
  EXPECT_EQ(copy->nodes()[0]->output_types[0], DataType::kHALF);
  EXPECT_EQ(copy->nodes()[0]->metadata, "meta");
  EXPECT_EQ(plan.source->max_workspace, size_t{1} << 30);
  EXPECT_EQ(plan.source->max_growth.layer, 1000u);
  EXPECT_EQ(plan.source->max_growth.plan, 5000u);
  EXPECT_EQ(plan.source->precision.reduced, DataType::kHALF);
  EXPECT_TRUE(plan.tf32);
}

}  // namespace
}  // namespace tenon
