// Network in, plan out: profiles, kernels, layouts, memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/target.h"
#include "base/log.h"
#include "network/network.h"
#include "network/precision.h"
#include "plan/kernel_selector.h"
#include "plan/plan.h"
#include "plan/plan_kernels.h"
#include "plan/timing_cache.h"

namespace tenon {

/// One optimization profile as the caller gave it, by input name.
struct ProfileRequest {
  struct Range {
    std::optional<Shape> min, opt, max;
    std::vector<int64_t> min_values, opt_values, max_values;
  };
  std::map<std::string, Range> inputs;
};

/// Told about progress; returns false to cancel the build, which then throws.
class BuildProgress {
 public:
  virtual ~BuildProgress() = default;
  virtual void begin(const char* phase, const char* parent, int steps) = 0;
  virtual bool step(const char* phase, int step) = 0;
  virtual void end(const char* phase) = 0;
};

/// The phase that all others of a build are parts of.
inline constexpr const char* kBuildPhase = "Building the plan";

/// Which weights can be replaced in the plan.
enum class RefitScope : uint8_t {
  kNone,
  kMarked,  // those with Value::refittable
  kAll,
};

struct BuildOptions {
  std::vector<ProfileRequest> profiles;
  TimingCache* timing_cache = nullptr;
  /// Where generated code is kept across builds.
  CodeCache* code_cache = nullptr;
  BuildProgress* progress = nullptr;
  Log log;
  nvinfer1::ProfilingVerbosity verbosity = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
  /// Time candidates against each other where the order is not plain (optimisation level above 0).
  bool time_kernels = true;
  /// What the timing cache does not know may be measured now; otherwise the order decides.
  bool measure = true;
  bool error_on_timing_cache_miss = false;
  /// Each layer has entries of its own in the timing cache, and the log says what they are.
  bool editable_timing_cache = false;
  /// Takes the place of all this, and knows no timing cache; null: nobody does.
  KernelSelector* selector = nullptr;
  /// Bytes of scratch memory that one layer may want, at the optimum of the first profile. Kernels
  /// that want more are passed over.
  size_t max_workspace = SIZE_MAX;
  WeightGrowth max_growth;
  Precision precision;
  /// KernelRequest::tf32.
  bool tf32 = false;
  /// Machines of another kind build the plan again: PlanSource::portable.
  bool portable = false;
  RefitScope refit = RefitScope::kNone;
  /// The kernels of a plan that is built again, which are taken first; null for none.
  PlanKernels* kernels = nullptr;
  /// Plan::max_batch.
  int32_t max_batch = 0;
  /// Plan::aux_streams, on a device.
  int32_t aux_streams = 0;
  /// The network is a body: shapes of its inputs are guesses, and any may come.
  bool is_body = false;
};

/// Plans the network as it is: it is optimised already. Throws Error, naming the layer, on anything
/// that cannot be built, and on cancellation.
Plan compile(Network& network, const Target& target, const BuildOptions& options);

}  // namespace tenon
