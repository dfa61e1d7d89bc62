#include "check_options.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tenon/serve/job.h"

namespace tenon::serve {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error{"pipeline options: " + what};
}

}  // namespace

PipelineOptions checked_options(PipelineOptions options, size_t instances) {
  if (instances == 0) refuse("there must be an instance");
  if (options.max_batch == 0 || options.max_batch > 65536)
    refuse("max_batch must be 1 to 65536, found " + std::to_string(options.max_batch));
  if (options.max_jobs == 0) refuse("max_jobs must be at least 1");
  for (const auto& [name, workers] :
       {std::pair{"preprocess_workers", options.preprocess_workers},
        std::pair{"postprocess_workers", options.postprocess_workers}})
    if (workers < 0 || workers > 1024)
      refuse(std::string(name) + " must be 0 to 1024, found " + std::to_string(workers));
  for (const size_t size : options.preferred_batches)
    if (size == 0 || size > options.max_batch)
      refuse("preferred batch " + std::to_string(size) + " is not within 1 and max_batch "
             + std::to_string(options.max_batch));
  const auto check_time = [](const char* name, Clock::duration time) {
    if (time < Clock::duration::zero() || time > std::chrono::hours(1))
      refuse(std::string(name) + " must be from 0 to an hour");
  };
  check_time("max_wait", options.max_wait);
  check_time("ageing", options.ageing);
  check_time("admission_timeout", options.admission_timeout);
  if (options.max_prepared == 0) options.max_prepared = 2 * options.max_batch * instances;
  options.max_prepared = std::max<size_t>(options.max_prepared, 1);
  return options;
}

}  // namespace tenon::serve
