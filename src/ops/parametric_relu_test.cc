#include "ops/parametric_relu.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(ParametricRelu, AgreesWithOnnxRuntime) {
  run_cases("parametric_relu");
}

}  // namespace
}  // namespace tenon
