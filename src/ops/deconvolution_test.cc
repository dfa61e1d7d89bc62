#include "ops/deconvolution.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Deconvolution, AgreesWithOnnx) {
  run_cases("deconvolution");
}

}  // namespace
}  // namespace tenon
