#include "guard.h"

#include <gtest/gtest.h>

namespace tenon::session {
namespace {

TEST(Guard, GivesTheValueOrTheError) {
  const auto fine = guard([] { return 3; });
  ASSERT_TRUE(fine);
  EXPECT_EQ(*fine, 3);
  EXPECT_EQ(fine.error(), "");
  const auto bad = guard([]() -> int { throw Error{"why"}; });
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error(), "why");
  EXPECT_TRUE(guard([] {}));
  EXPECT_EQ(guard([] { throw Error{"why"}; }).error(), "why");
}

TEST(Guard, MemoryThatIsNotThereIsAnError) {
  EXPECT_EQ(guard([] { throw std::bad_alloc(); }).error(), "out of memory");
  EXPECT_EQ(guard([] { return std::string(1, 'x').substr(0).append(SIZE_MAX / 2, 'x'); }).error(),
            "out of memory");
}

TEST(Guard, ValuesOfResultsAreThrownOn) {
  const auto inner = [](bool fine) -> Result<int> {
    if (fine) return 1;
    return Error{"inner"};
  };
  EXPECT_EQ(*guard([&] { return value_of(inner(true)); }), 1);
  EXPECT_EQ(guard([&] { return value_of(inner(false)); }).error(), "inner");
}

}  // namespace
}  // namespace tenon::session
