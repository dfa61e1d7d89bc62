// ONNX's node tests give the numbers; here are other types, and errors.
#include "ops/cache_update.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> updated(int64_t place, bool circular) {
  CacheUpdate op;
  op.axis = 1;
  op.circular = circular;
  return run(op, {input(make<int8_t>({1, 3}, {1, 2, 3})), input(make<int8_t>({1, 2}, {8, 9})),
                  input(make<int64_t>({1}, {place}))})
      .at(0)
      .numbers();
}

TEST(CacheUpdate, WritesAtThePlace) {
  EXPECT_THAT(updated(0, false), ElementsAre(8, 9, 3));
  EXPECT_THAT(updated(1, false), ElementsAre(1, 8, 9));
  EXPECT_THAT(updated(2, true), ElementsAre(9, 2, 8));
  EXPECT_THAT(updated(4, true), ElementsAre(1, 8, 9));
}

TEST(CacheUpdate, PlacesOutsideAreErrors) {
  const auto message = [](int64_t place, bool circular) -> std::string {
    try {
      updated(place, circular);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(message(2, false), HasSubstr("place 2 is outside [0, 1]"));
  EXPECT_THAT(message(-1, false), HasSubstr("place -1 is outside [0, 1]"));
  EXPECT_THAT(message(-1, true), HasSubstr("place -1 is outside"));
}

TEST(CacheUpdate, ShapesMustFit) {
  const auto error = [](const Shape& cache, const Shape& update) {
    return infer_error(CacheUpdate(), {input(Tensor(DataType::kFLOAT, cache)),
                                       input(Tensor(DataType::kFLOAT, update))});
  };
  EXPECT_EQ(error({1, 2, 5, 4}, {1, 2, 3, 4}), "");
  EXPECT_THAT(error({1, 2, 5, 4}, {1, 2, 6, 4}), HasSubstr("an update of 1x2x6x4 does not fit"));
  EXPECT_THAT(error({1, 2, 5, 4}, {1, 1, 3, 4}), HasSubstr("an update of 1x1x3x4 does not fit"));
  EXPECT_THAT(error({1, 2, 5, 4}, {2, 5, 4}), HasSubstr("of the same rank"));
}

}  // namespace
}  // namespace tenon
