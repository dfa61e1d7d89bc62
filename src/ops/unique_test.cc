#include "ops/unique.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Unique, AgreesWithNumpy) {
  run_cases("unique");
}

}  // namespace
}  // namespace tenon
