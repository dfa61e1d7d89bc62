#include "ops/cast.h"
#include "ops/shuffle.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;

std::unique_ptr<Shuffle> shuffle(std::vector<int32_t> first, std::optional<Shape> reshape = {},
                                 std::vector<int32_t> second = {}) {
  auto op = std::make_unique<Shuffle>();
  op->first_transpose = std::move(first);
  op->second_transpose = std::move(second);
  op->has_reshape = reshape.has_value();
  if (reshape) op->reshape = *reshape;
  return op;
}

TEST(MergePairs, JoinsShuffles) {
  const auto layers_after = [](std::unique_ptr<Shuffle> a, std::unique_ptr<Shuffle> b) {
    Model m;
    Value& first = m.add(std::move(a), {&m.input({2, 3, 4})});
    m.output(m.add(std::move(b), {&first}));
    return rewritten(m.network, merge_pairs)->nodes().size();
  };
  EXPECT_EQ(layers_after(shuffle({1, 2, 0}), shuffle({2, 1, 0})), 1u);
  EXPECT_EQ(layers_after(shuffle({1, 2, 0}), shuffle({2, 1, 0}, Shape{6, 4}, {1, 0})), 1u);
  EXPECT_EQ(layers_after(shuffle({2, 0, 1}, Shape{0, 6}, {1, 0}), shuffle({1, 0})), 1u);
  EXPECT_EQ(layers_after(shuffle({2, 0, 1}, Shape{4, 6}), shuffle({}, Shape{3, 2, -1}, {1, 2, 0})),
            1u);
  EXPECT_EQ(layers_after(shuffle({}, Shape{4, 6}, {1, 0}), shuffle({1, 0}, Shape{0, 2, 3})), 1u);
  EXPECT_EQ(layers_after(shuffle({}, Shape{4, 6}, {1, 0}), shuffle({}, Shape{8, 3})), 2u)
      << "a transpose between two reshapes stays";
}

TEST(MergePairs, JoinsReshapesOfUnknownExtents) {
  Model m;
  Value& flat = m.add(shuffle({}, Shape{0, -1}), {&m.input({-1, 3, 4})});
  m.output(m.add(shuffle({}, Shape{0, 4, 3}), {&flat}));
  EXPECT_EQ(rewritten(m.network, merge_pairs)->nodes().size(), 1u);
}

TEST(MergePairs, ShortensLongChains) {
  Model m;
  Value* v = &m.input({2, 3, 4});
  for (int i = 0; i < 20; ++i) v = &m.add(shuffle({1, 2, 0}), {v});
  m.output(*v);
  EXPECT_EQ(rewritten(m.network, merge_pairs)->nodes().size(), 1u);
}

TEST(MergePairs, JoinsCastsOfWhichTheFirstLosesNothing) {
  const auto layers_after = [](DataType from, DataType between, DataType to) {
    Model m;
    m.type = from;
    auto first = std::make_unique<Cast>(), second = std::make_unique<Cast>();
    first->to = between;
    second->to = to;
    Value& v = m.add(std::move(first), {&m.input({3})});
    m.output(m.add(std::move(second), {&v}));
    return rewritten(m.network, merge_pairs)->nodes().size();
  };
  EXPECT_EQ(layers_after(DataType::kHALF, DataType::kFLOAT, DataType::kBF16), 1u);
  EXPECT_EQ(layers_after(DataType::kFLOAT, DataType::kHALF, DataType::kFLOAT), 2u);
  EXPECT_EQ(layers_after(DataType::kFLOAT, DataType::kINT32, DataType::kFLOAT), 2u);
}

}  // namespace
}  // namespace tenon
