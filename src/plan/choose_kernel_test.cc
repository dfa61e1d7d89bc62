#include "plan/choose_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "ops/identity.h"
#include "plan/choose_kernel_testing.h"
#include "plan/timing_cache.h"

namespace tenon {
namespace {

using testing::FakeTarget;
using testing::SleepingKernel;

// Kernels of one candidate, slow and fast.
class VariedKernel final : public Kernel {
 public:
  VariedKernel(const KernelRequest& request, int milliseconds) : request_(request) {
    name = "varied";
    variant = fmt::format("{} ms", milliseconds);
    timing_id = id;
    input_layouts.assign(request.inputs.size(), Layout::kLinear);
    output_layouts.assign(request.outputs.size(), Layout::kLinear);
    input_is_packed.assign(request.inputs.size(), false);
    milliseconds_ = milliseconds;
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> in,
                                     std::span<const TensorSpec> out) const override {
    return SleepingKernel("", milliseconds_, milliseconds_ == 0 ? 1000 : 1, request_)
        .prepare(in, out);
  }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    for (int ms : {0, 4}) list.push_back(std::make_unique<VariedKernel>(request_, ms));
    return list;
  }
  static inline std::optional<std::string> id = "";

 private:
  const KernelRequest& request_;
  int milliseconds_ = 0;
};
Offer varied(const KernelRequest& r) {
  return std::make_unique<VariedKernel>(r, 8);
}

Offer slow(const KernelRequest& r) {
  return std::make_unique<SleepingKernel>("slow", 8, 100, r);
}
Offer fast(const KernelRequest& r) {
  return std::make_unique<SleepingKernel>("quick", 0, 1000, r);
}
// Fast, but for data that arrive otherwise.
Offer elsewhere(const KernelRequest& r) {
  auto kernel = std::make_unique<SleepingKernel>("elsewhere", 0, 100, r);
  kernel->input_layouts = {Layout::kBlocked8};
  return kernel;
}
Offer never(const KernelRequest&) {
  return std::string("it never does");
}

// Slow at first, since something else keeps the machine busy; then fast, or of no use.
class UnsteadyKernel final : public SleepingKernel {
 public:
  UnsteadyKernel(const KernelRequest& request, bool breaks)
      : SleepingKernel("unsteady", 0, 100, request), breaks_(breaks) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const override {
    if (++prepared_ > 1 && breaks_) throw std::runtime_error("broken");
    return std::make_unique<Sleep>(prepared_ == 1 ? 6 : 0, 100);
  }

 private:
  bool breaks_;
  mutable int prepared_ = 0;
};
Offer unsteady(const KernelRequest& r) {
  return std::make_unique<UnsteadyKernel>(r, false);
}
Offer breaking(const KernelRequest& r) {
  return std::make_unique<UnsteadyKernel>(r, true);
}
Offer steady(const KernelRequest& r) {
  return std::make_unique<SleepingKernel>("steady", 4, 100, r);
}

// Kernels whose code takes long to make.
int compiled = 0;
Tensor compile_slowly(const KernelRequest& r, std::string_view source) {
  const Digest key = digest_of(source);
  if (r.code_cache != nullptr)
    if (const auto known = r.code_cache->find_code(key)) return *known;
  ++compiled;
  const Tensor code = Tensor::of<char>(DataType::kUINT8, {4}, source);
  if (r.code_cache != nullptr) r.code_cache->keep_code(key, code);
  return code;
}
Offer generated(const KernelRequest& r) {
  auto kernel = std::make_unique<SleepingKernel>("generated", 4, 100, r);
  kernel->packed = {compile_slowly(r, "good")};
  return kernel;
}
Offer generated_in_vain(const KernelRequest& r) {
  compile_slowly(r, "vain");
  return std::string("its code is of no use");
}

std::string chosen(const FakeTarget& target, const BuildOptions& options) {
  const Identity op;
  const TensorSpec spec{DataType::kFLOAT, Layout::kLinear, {4}, true};
  const Tensor* constant = nullptr;
  const auto kernel =
      choose_kernel(target, {op, {&spec, 1}, {&spec, 1}, {&constant, 1}}, "layer", options);
  return kernel->variant.empty() ? kernel->name : kernel->variant;
}

TEST(ChooseKernel, CountsWhatReordersOfInputsTake) {
  const Identity op;
  const auto chosen_for = [&](Layout arrives, const Tensor* constant) {
    const FakeTarget target({timed({"elsewhere", elsewhere}), {"slow", slow}});
    const TensorSpec spec{DataType::kFLOAT, arrives, {1, 8, 2, 2}, true};
    return choose_kernel(target, {op, {&spec, 1}, {&spec, 1}, {&constant, 1}}, "layer",
                         BuildOptions())
        ->name;
  };
  EXPECT_EQ(chosen_for(Layout::kLinear, nullptr), "slow");
  EXPECT_EQ(chosen_for(Layout::kBlocked8, nullptr), "elsewhere");
  // A constant is reordered once.
  const Tensor constant(DataType::kFLOAT, {1, 8, 2, 2});
  EXPECT_EQ(chosen_for(Layout::kLinear, &constant), "elsewhere");
}

// Reads a constant of four channels in groups of eight.
class ReadingKernel final : public SleepingKernel {
 public:
  explicit ReadingKernel(const KernelRequest& request)
      : SleepingKernel("reading", 0, 100, request) {
    input_layouts = {Layout::kBlocked8};
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<Read>();
  }
  static inline std::set<const void*> read;

 private:
  class Read final : public Execution {
   public:
    void run(const RunArguments& arguments) override { read.insert(arguments.inputs[0]); }
  };
};
Offer reading(const KernelRequest& r) {
  return std::make_unique<ReadingKernel>(r);
}

TEST(ChooseKernel, TimesWithConstantsInTheLayoutOfTheKernel) {
  const Identity op;
  const FakeTarget target({timed({"reading", reading}), {"slow", slow}});
  const TensorSpec spec{DataType::kFLOAT, Layout::kLinear, {1, 4, 2, 2}, true};
  const Tensor linear(DataType::kFLOAT, {1, 4, 2, 2});  // half as many bytes
  const Tensor* constant = &linear;
  const KernelRequest request{op, {&spec, 1}, {&spec, 1}, {&constant, 1}};
  EXPECT_EQ(choose_kernel(target, request, "layer", BuildOptions())->name, "reading");
  EXPECT_FALSE(ReadingKernel::read.empty());
  EXPECT_FALSE(ReadingKernel::read.contains(linear.data()));
}

const FakeTarget kTimed({timed({"slow", slow}), timed({"never", never}), {"quick", fast}});

TEST(ChooseKernel, TimesCandidatesWhoseOrderIsNotPlain) {
  EXPECT_EQ(chosen(kTimed, BuildOptions()), "quick");
  const FakeTarget plain({{"slow", slow}, {"quick", fast}});
  EXPECT_EQ(chosen(plain, BuildOptions()), "slow");
}

TEST(ChooseKernel, TheLeastOfSeveralRoundsCounts) {
  EXPECT_EQ(chosen(FakeTarget({timed({"unsteady", unsteady}), {"steady", steady}}), BuildOptions()),
            "unsteady");
  EXPECT_EQ(chosen(FakeTarget({timed({"breaking", breaking}), {"steady", steady}}), BuildOptions()),
            "steady");
}

TEST(ChooseKernel, AKernelThatCannotBeTimedIsTakenWhenThereIsNoOther) {
  EXPECT_EQ(chosen(FakeTarget({timed({"breaking", breaking})}), BuildOptions()), "breaking");
}

TEST(ChooseKernel, TrustsTheOrderWhenAskedNotToTime) {
  BuildOptions options;
  options.time_kernels = false;
  EXPECT_EQ(chosen(kTimed, options), "slow");
}

TEST(ChooseKernel, RemembersInTheTimingCache) {
  TimingCache cache;
  BuildOptions options;
  options.timing_cache = &cache;
  options.error_on_timing_cache_miss = true;
  EXPECT_THROW(chosen(kTimed, options), Error);
  options.error_on_timing_cache_miss = false;
  EXPECT_EQ(chosen(kTimed, options), "quick");
  EXPECT_EQ(cache.keys().size(), 1u);
  TimingCache another_process;
  another_process.read(cache.write());
  options.timing_cache = &another_process;
  SleepingKernel::runs = 0;
  EXPECT_EQ(chosen(kTimed, options), "quick");
  EXPECT_EQ(SleepingKernel::runs, 0);
}

TEST(ChooseKernel, APlanThatIsBuiltAgainHasTheKernelsOfItsLayers) {
  const FakeTarget target({timed({"slow", slow}), timed({"varied", varied}), {"quick", fast}});
  Plan plan;
  const auto add_step = [&](const char* name, const char* kernel, const char* variant = "") {
    PlanStep step;
    step.name = name;
    step.op = Identity().name();
    step.kernel = kernel;
    step.variant = variant;
    plan.steps.push_back(step);
  };
  // Two layers of one name and the same shapes, whose timings differed.
  add_step("layer", "varied", "4 ms");
  add_step("layer", "quick");
  add_step("layer", "gone");
  add_step("another", "slow");
  PlanKernels kernels(plan);
  BuildOptions options;
  options.kernels = &kernels;
  options.measure = false;
  SleepingKernel::runs = 0;
  EXPECT_EQ(chosen(target, options), "4 ms");
  EXPECT_EQ(chosen(target, options), "quick");
  EXPECT_EQ(chosen(target, options), "slow") << "no kernel has that name: the order decides";
  EXPECT_EQ(chosen(target, options), "slow") << "the plan has no more layers of the name";
  EXPECT_EQ(SleepingKernel::runs, 0);
}

TEST(ChooseKernel, WithoutMeasuringTheTimingCacheDecidesOrElseTheOrder) {
  TimingCache cache;
  BuildOptions options;
  options.timing_cache = &cache;
  chosen(kTimed, options);
  options.measure = false;
  SleepingKernel::runs = 0;
  EXPECT_EQ(chosen(kTimed, options), "quick");
  TimingCache empty;
  for (TimingCache* knows_nothing : {&empty, static_cast<TimingCache*>(nullptr)}) {
    options.timing_cache = knows_nothing;
    EXPECT_EQ(chosen(kTimed, options), "slow");
  }
  EXPECT_EQ(SleepingKernel::runs, 0);
  EXPECT_TRUE(empty.keys().empty());
}

// Also those that are alone, or behind one whose place in the order is plain. The last resort is
// one where there is no other.
TEST(ChooseKernel, EditableTimingCachesHaveEveryLayerAndKernel) {
  const std::pair<std::vector<Candidate>, const char*> layers[] = {
      {{{"slow", slow}}, "slow"},
      {{{"slow", slow}, {"reference", fast}}, "reference"},
      {{{"slow", slow}, {"steady", steady}, {"reference", fast}}, "steady"}};
  BuildOptions options;
  for (const bool editable : {false, true}) {
    options.editable_timing_cache = editable;
    for (const auto& [list, fastest] : layers) {
      TimingCache cache;
      options.timing_cache = &cache;
      EXPECT_EQ(chosen(FakeTarget(list), options), editable ? fastest : "slow");
      EXPECT_EQ(cache.keys().size(), editable ? 1u : 0u);
    }
  }
}

TEST(ChooseKernel, RemembersWhetherWeightsWereCold) {
  const Identity op;
  const TensorSpec spec{DataType::kFLOAT, Layout::kLinear, {4}, true};
  const Tensor* constant = nullptr;
  KernelRequest request{op, {&spec, 1}, {&spec, 1}, {&constant, 1}};
  const FakeTarget target({});
  const TimingKey warm = timing_key(target, request, "");
  request.cold_weights = true;
  EXPECT_NE(timing_key(target, request, ""), warm);
}

TEST(ChooseKernel, PassesOverKernelsThatWantMoreWorkspaceThanTheLimit) {
  BuildOptions options;
  options.max_workspace = 1000;
  EXPECT_EQ(chosen(kTimed, options), "quick");
  options.max_workspace = 999;
  EXPECT_EQ(chosen(kTimed, options), "slow");
  const FakeTarget plain({{"quick", fast}, {"slow", slow}});
  EXPECT_EQ(chosen(plain, options), "slow");
  options.max_workspace = 99;
  try {
    chosen(plain, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("quick: it wants 1000 bytes of workspace, and the "
                                               "limit is 99; slow: it wants 100 bytes"));
  }
}

// Packed weights that are three times as large as the network's, or twice: the faster, the larger.
class GrownKernel final : public SleepingKernel {
 public:
  GrownKernel(const KernelRequest& request, int times)
      : SleepingKernel("grown", times == 3 ? 0 : 4, 100, request),
        request_(request),
        bytes_(static_cast<size_t>(times) * request.constants[0]->bytes()) {
    variant = fmt::format("{} times", times);
    input_is_packed[0] = true;
  }
  size_t packed_bytes() const override { return bytes_; }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    list.push_back(std::make_unique<GrownKernel>(request_, 2));
    return list;
  }

 private:
  const KernelRequest& request_;  // while a kernel is chosen
  size_t bytes_;
};
Offer grown(const KernelRequest& r) {
  return std::make_unique<GrownKernel>(r, 3);
}

TEST(ChooseKernel, PassesOverKernelsWhoseWeightsGrowBeyondTheLimit) {
  const FakeTarget target({timed({"grown", grown}), {"slow", slow}});
  const Identity op;
  const TensorSpec spec{DataType::kFLOAT, Layout::kLinear, {4}, true};
  const Tensor weights(DataType::kFLOAT, {4});
  const Tensor* constant = &weights;
  const KernelRequest request{op, {&spec, 1}, {&spec, 1}, {&constant, 1}};
  TimingCache cache;
  BuildOptions options;
  options.timing_cache = &cache;
  const auto variant_within = [&](size_t limit) {
    const auto kernel = choose_kernel(target, request, "layer", options, {}, limit);
    EXPECT_LE(growth_of(*kernel, request), limit);
    return kernel->name + "/" + kernel->variant;
  };
  // What a limit chose is no answer for another one.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(variant_within(15), "slow/");
    EXPECT_EQ(variant_within(16), "grown/2 times");
    EXPECT_EQ(variant_within(31), "grown/2 times");
    EXPECT_EQ(variant_within(32), "grown/3 times");
    EXPECT_EQ(variant_within(SIZE_MAX), "grown/3 times");
  }
  options.time_kernels = false;
  EXPECT_EQ(variant_within(16), "grown/2 times");
}

TEST(ChooseKernel, RemembersWhichLaterKernelsWerePassedOver) {
  const FakeTarget target({timed({"slow", slow}), {"varied", varied}});
  TimingCache cache;
  BuildOptions limited, free;
  limited.timing_cache = free.timing_cache = &cache;
  limited.max_workspace = 100;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(chosen(target, limited), "4 ms");
    EXPECT_EQ(chosen(target, free), "0 ms");
  }
}

TEST(ChooseKernel, TimesVariantsOfAKernel) {
  const FakeTarget target({{"varied", varied}});
  BuildOptions options;
  EXPECT_EQ(chosen(target, options), "0 ms");
  options.max_workspace = 999;
  EXPECT_EQ(chosen(target, options), "4 ms");
  options.time_kernels = false;
  EXPECT_EQ(chosen(target, options), "8 ms");
  const FakeTarget later({timed({"slow", slow}), {"varied", varied}});
  EXPECT_EQ(chosen(later, BuildOptions()), "0 ms");
}

TEST(ChooseKernel, RemembersVariantsUnlessTheKernelKeepsNoTimings) {
  const FakeTarget target({{"varied", varied}});
  TimingCache cache;
  BuildOptions options;
  options.timing_cache = &cache;
  EXPECT_EQ(chosen(target, options), "0 ms");
  ASSERT_EQ(cache.keys().size(), 1u);
  EXPECT_EQ(cache.find(cache.keys()[0])->kernel, "varied/0 ms");
  SleepingKernel::runs = 0;
  EXPECT_EQ(chosen(target, options), "0 ms");
  EXPECT_EQ(SleepingKernel::runs, 0);
  VariedKernel::id = "another";
  EXPECT_EQ(chosen(target, options), "0 ms");
  EXPECT_GT(SleepingKernel::runs, 0);
  EXPECT_EQ(cache.keys().size(), 2u);
  VariedKernel::id = std::nullopt;
  SleepingKernel::runs = 0;
  EXPECT_EQ(chosen(target, options), "0 ms");
  EXPECT_GT(SleepingKernel::runs, 0);
  EXPECT_EQ(cache.keys().size(), 2u);
  VariedKernel::id = "";
}

TEST(ChooseKernel, CodeOfEveryOfferIsThereForTheNextBuild) {
  const FakeTarget target({timed({"generated_in_vain", generated_in_vain}),
                           timed({"generated", generated}),
                           {"quick", fast}});
  TimingCache cache, another_process;
  BuildOptions options;
  options.timing_cache = &cache;
  compiled = 0;
  chosen(target, options);
  EXPECT_EQ(compiled, 2) << "without a code cache every build compiles";
  options.code_cache = &cache;
  EXPECT_EQ(chosen(target, options), "quick");
  EXPECT_EQ(compiled, 4);
  another_process.read(cache.write());
  options.timing_cache = &another_process;
  options.code_cache = &another_process;
  EXPECT_EQ(chosen(target, options), "quick");
  EXPECT_EQ(compiled, 4);
  EXPECT_EQ(another_process.write(), cache.write());
}

TEST(ChooseKernel, ListsEveryRefusal) {
  const FakeTarget hopeless({{"never", never}});
  try {
    chosen(hopeless, BuildOptions());
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(),
                ::testing::HasSubstr("layer layer (Identity): the target fake has no kernel"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("it never does"));
  }
}

}  // namespace
}  // namespace tenon
