#include "ops/unary.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Unary, AgreesWithOnnx) {
  run_cases("unary");
}

}  // namespace
}  // namespace tenon
