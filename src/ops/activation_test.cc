#include "ops/activation.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Activation, AgreesWithOnnx) {
  run_cases("activation");
}

}  // namespace
}  // namespace tenon
