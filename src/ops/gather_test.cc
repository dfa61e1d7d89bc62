#include "ops/gather.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Gather, AgreesWithOnnx) {
  run_cases("gather");
}

TEST(Gather, IndicesOutsideAreErrorsThatNameThem) {
  const Given x = input(make<float>({3}, {1, 2, 3}));
  const auto message = [&](int64_t index) -> std::string {
    try {
      run(Gather(), {x, input(make<int64_t>({2}, {0, index}))});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(2), "");
  EXPECT_EQ(message(3), "layer layer (Gather): index 3 is outside [-3, 3)");
  EXPECT_EQ(message(-4), "layer layer (Gather): index -4 is outside [-3, 3)");
}

TEST(Gather, OneExtentOfASymbolicShapeIsKnown) {
  const auto known =
      content(Gather(), {make<int64_t>({4}, {1, 3, 224, 7}), make<int64_t>({}, {2})});
  ASSERT_TRUE(known.has_value());
  EXPECT_THAT(*known, ::testing::ElementsAre(224));
}

}  // namespace
}  // namespace tenon
