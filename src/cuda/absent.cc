// Stands for the CUDA target in builds without it: it says why there is none.
#include "backend/targets.h"
#include "base/error.h"

namespace tenon {
namespace {

std::string reason() {
  return "this build was configured without TENON_CUDA";
}

const Target& absent() {
  fail(ErrorCode::kINVALID_ARGUMENT, "{}", reason());
}

TENON_REGISTER_TARGET(
    {.name = "cuda", .preference = 1, .reason_for_absence = reason, .get = absent});

}  // namespace
}  // namespace tenon
