#include "ops/fully_connected.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(FullyConnected, AgreesWithOnnx) {
  run_cases("fully_connected");
}

}  // namespace
}  // namespace tenon
