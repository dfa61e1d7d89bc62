#include "ops/lrn.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Lrn, AgreesWithOnnxRuntime) {
  run_cases("lrn");
}

}  // namespace
}  // namespace tenon
