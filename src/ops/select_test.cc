#include "ops/select.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Select, AgreesWithOnnx) {
  run_cases("select");
}

}  // namespace
}  // namespace tenon
