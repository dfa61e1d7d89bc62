#include "ops/scale.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Scale, AgreesWithOnnx) {
  run_cases("scale");
}

}  // namespace
}  // namespace tenon
