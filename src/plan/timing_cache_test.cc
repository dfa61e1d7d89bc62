#include "plan/timing_cache.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

TimingKey key(uint8_t first) {
  TimingKey k{};
  k[0] = first;
  return k;
}

TEST(TimingCache, SurvivesARoundTrip) {
  TimingCache cache;
  cache.insert(key(2), {"onednn", 1.5f});
  cache.insert(key(1), {"reference", 30.f});
  TimingCache again;
  again.read(cache.write());
  ASSERT_TRUE(again.find(key(1)).has_value());
  EXPECT_EQ(again.find(key(1))->kernel, "reference");
  EXPECT_FLOAT_EQ(again.find(key(2))->milliseconds, 1.5f);
  EXPECT_EQ(again.write(), cache.write());
}

TEST(TimingCache, EqualContentsAreEqualBytes) {
  TimingCache a, b;
  a.insert(key(1), {"x", 1});
  a.insert(key(2), {"y", 2});
  b.insert(key(2), {"y", 2});
  b.insert(key(1), {"x", 1});
  EXPECT_EQ(a.write(), b.write());
}

TEST(TimingCache, CombineKeepsWhatIsThere) {
  TimingCache a, b;
  a.insert(key(1), {"mine", 1});
  b.insert(key(1), {"theirs", 2});
  b.insert(key(2), {"new", 2});
  a.combine(b);
  EXPECT_EQ(a.find(key(1))->kernel, "mine");
  EXPECT_EQ(a.find(key(2))->kernel, "new");
}

TEST(TimingCache, RefusesEveryDamagedByteAndKeepsItsEntries) {
  TimingCache cache;
  cache.insert(key(1), {"onednn", 1.5f});
  const auto good = cache.write();
  for (size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x40};
    EXPECT_THROW(cache.read(bad), Error) << "byte " << i;
  }
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(cache.read(std::span(good).first(length)), Error) << "length " << length;
  EXPECT_EQ(cache.keys().size(), 1u);
}

}  // namespace
}  // namespace tenon
