// The targets of this build, and the one that a machine gets without asking.
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "target/target.h"
#ifdef TENON_CUDA
#include "target/cuda/cuda_target.h"
#endif

namespace tenon {

const Target& target_named(std::string_view name) {
  if (name == "cpu") return cpu_target();
#ifdef TENON_CUDA
  if (name == "cuda") return cuda::cuda_target();
#endif
  require(name != "cuda",
          "this build has no target \"cuda\": it was configured without TENON_CUDA");
  fail(ErrorCode::kINVALID_ARGUMENT, "there is no target \"{}\"; expected cpu or cuda", name);
}

const Target& default_target() {
  if (const char* name = std::getenv("TENON_TARGET"); name != nullptr && *name != '\0')
    return with_context("the environment variable TENON_TARGET",
                        [&]() -> const Target& { return target_named(name); });
#ifdef TENON_CUDA
  if (cuda::reason_for_no_gpu().empty()) return cuda::cuda_target();
#endif
  return cpu_target();
}

}  // namespace tenon
