// Engines as instances of a pipeline.
#ifndef TENON_SERVE_ENGINE_INSTANCES_H
#define TENON_SERVE_ENGINE_INSTANCES_H

#include <cstdint>
#include <memory>
#include <vector>

#include "tenon/serve/infer.h"
#include "tenon/serve/pipeline.h"

namespace tenon::serve {

/// The inputs, or the outputs, of a job: one for each of the engine, in its order.
using Tensors = std::vector<Tensor>;

struct EngineInstanceOptions {
  int count = 1;  ///< contexts that run side by side
  int profile = 0;
  size_t max_batch = 1;  ///< as of the pipeline; must fit the profile
  /// Sizes that the engine runs batches with, ascending: one of another size is filled up to the
  /// next with items whose results nobody sees. Empty: on a CPU all sizes; on a GPU, where kernels
  /// are prepared for each size anew and graphs are captured for each, powers of 2 and max_batch.
  std::vector<size_t> batch_sizes;
  bool cuda_graph = false;
  /// Runs batches of all these sizes before the pipeline starts; of 1 and of max_batch where an
  /// engine takes any.
  bool is_warm = true;
};

/// The sizes that an engine runs batches with, ascending, as EngineInstanceOptions::batch_sizes
/// says.
/// @param wanted empty for those of the target
/// @param min, max of the batches that are run: the profile's smallest, and the pipeline's largest
/// @return empty where batches run as they are. An error for sizes that do not ascend, or beyond
/// `max`.
Result<std::vector<size_t>> batch_sizes(std::vector<size_t> wanted, size_t min, size_t max,
                                        bool on_cpu) noexcept;

/// Instances that stack the tensors of a batch's jobs along axis 0, run the engine, and give each
/// job its part. A job is as many items as the extent of axis 0 says, which all its tensors share:
/// its JobOptions::cost. One that is a batch of its own is not copied, and its tensors may have any
/// extents that the engine takes. Outputs lie in memory of the host, and are views of
/// the batch's, which lives as long as one of them; an output whose axis 0 is not the batch is an
/// error in batches of several.
Result<std::vector<Instance<Tensors, Tensors>>> engine_instances(
    const std::shared_ptr<EngineContext>& engine, const EngineInstanceOptions& options) noexcept;

/// Jobs whose tensors have the same shapes but for axis 0 have the same key: Stages::batch_key.
uint64_t shape_key(const Tensors& tensors);

}  // namespace tenon::serve

#endif  // TENON_SERVE_ENGINE_INSTANCES_H
