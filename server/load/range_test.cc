#include "range.h"

#include <gtest/gtest.h>
#include <tenon/session/result.h>

namespace tenon::load {
namespace {

using Levels = std::vector<double>;

TEST(Range, IsFromToAndStep) {
  EXPECT_EQ(parse_range("--r", "8"), Levels{8});
  EXPECT_EQ(parse_range("--r", "1:4"), (Levels{1, 2, 3, 4}));
  EXPECT_EQ(parse_range("--r", "1:64:21"), (Levels{1, 22, 43, 64}));
  EXPECT_EQ(parse_range("--r", "1:6:2"), (Levels{1, 3, 5}));
  EXPECT_EQ(parse_range("--r", "1,8,64"), (Levels{1, 8, 64}));
  EXPECT_EQ(parse_range("--r", "1:2,0.5"), (Levels{1, 2, 0.5}));
  EXPECT_EQ(parse_range("--r", "0.1:0.3:0.1").size(), 3U);
}

TEST(Range, OtherTextsAreRefusedByName) {
  for (const char* text : {"", ",", "1,", "0", "-1", "1:0", "1:2:0", "1:2:3:4", "x", "1x", "nan",
                           "inf", "1:2:", "1:1e9", "1:1000:0.1"}) {
    try {
      parse_range("--concurrency-range", text);
      ADD_FAILURE() << text;
    } catch (const session::Error& error) {
      EXPECT_EQ(error.text.find("--concurrency-range: expected"), 0U) << error.text;
    }
  }
}

}  // namespace
}  // namespace tenon::load
