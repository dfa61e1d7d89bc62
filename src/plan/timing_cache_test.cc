#include "plan/timing_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"

namespace tenon {
namespace {

TimingKey key(uint8_t first) {
  TimingKey k{};
  k[0] = first;
  return k;
}

Tensor code(std::string_view text) {
  return Tensor::of<char>(DataType::kUINT8, {static_cast<int64_t>(text.size())}, text);
}

// "" when there is none.
std::string code_in(TimingCache& cache, const Digest& at) {
  const auto found = cache.find_code(at);
  return found ? std::string(found->data<char>(), found->bytes()) : "";
}

std::unique_ptr<TimingCache> read_again(const TimingCache& cache, size_t max_code_bytes = 100) {
  auto again = std::make_unique<TimingCache>(max_code_bytes);
  again->read(cache.write());
  return again;
}

TEST(TimingCache, SurvivesARoundTrip) {
  TimingCache cache;
  cache.keep_code(key(9), code("nine"));
  cache.keep_code(key(1), code("one, of another kind"));
  cache.insert(key(2), {"onednn", 1.5f});
  cache.insert(key(1), {"reference", 30.f});
  TimingCache again;
  again.read(cache.write());
  ASSERT_TRUE(again.find(key(1)).has_value());
  EXPECT_EQ(again.find(key(1))->kernel, "reference");
  EXPECT_FLOAT_EQ(again.find(key(2))->milliseconds, 1.5f);
  EXPECT_EQ(code_in(again, key(9)), "nine");
  EXPECT_EQ(code_in(again, key(1)), "one, of another kind");
  EXPECT_EQ(code_in(again, key(2)), "");
  EXPECT_EQ(again.keys().size(), 2u) << "keys are those of timings";
  EXPECT_EQ(again.write(), cache.write());
}

TEST(TimingCache, EqualContentsAreEqualBytes) {
  TimingCache a, b;
  a.insert(key(1), {"x", 1});
  a.insert(key(2), {"y", 2});
  b.insert(key(2), {"y", 2});
  b.insert(key(1), {"x", 1});
  a.keep_code(key(3), code("x"));
  a.keep_code(key(4), code("y"));
  b.keep_code(key(4), code("y"));
  b.keep_code(key(3), code("x"));
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

TEST(TimingCache, CombineTakesCodeWhileItFits) {
  TimingCache a(10), b;
  a.keep_code(key(1), code("mine"));
  b.keep_code(key(1), code("theirs"));
  b.keep_code(key(2), code("too much"));
  b.keep_code(key(3), code("theirs"));
  a.combine(b);
  EXPECT_EQ(code_in(a, key(1)), "mine");
  EXPECT_EQ(code_in(a, key(2)), "");
  EXPECT_EQ(code_in(a, key(3)), "theirs");
}

TEST(TimingCache, ResetForgetsAll) {
  TimingCache cache;
  cache.insert(key(1), {"onednn", 1.5f});
  cache.keep_code(key(1), code("code"));
  cache.reset();
  EXPECT_EQ(cache.write(), TimingCache().write());
}

TEST(TimingCache, CodeStays) {
  TimingCache cache;
  cache.keep_code(key(1), code("first"));
  cache.keep_code(key(1), code("second"));
  EXPECT_EQ(code_in(cache, key(1)), "first");
  cache.erase(key(1));
  EXPECT_EQ(code_in(cache, key(1)), "first");
}

TEST(TimingCache, CodeThatNoBuildAsksForMakesRoom) {
  TimingCache old(100);
  for (uint8_t i = 1; i <= 3; ++i) old.keep_code(key(i), code("123456789"));
  const auto cache = read_again(old, 30);
  EXPECT_EQ(code_in(*cache, key(2)), "123456789");
  cache->keep_code(key(4), code("123"));
  EXPECT_EQ(code_in(*cache, key(4)), "123");
  EXPECT_EQ(cache->write(), read_again(*cache)->write());
  cache->keep_code(key(5), code("12345678"));  // 1 and 3 go
  EXPECT_EQ(code_in(*cache, key(1)), "");
  EXPECT_EQ(code_in(*cache, key(2)), "123456789");
  EXPECT_EQ(code_in(*cache, key(5)), "12345678");
  cache->keep_code(key(6), code("12345678901"));  // all are in use
  EXPECT_EQ(code_in(*cache, key(6)), "");
  EXPECT_EQ(code_in(*cache, key(5)), "12345678");
}

TEST(TimingCache, ThreadsShareIt) {
  TimingCache cache;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (uint8_t i = 0; i < 100; ++i) {
        cache.keep_code(key(i), code("code"));
        EXPECT_EQ(code_in(cache, key(i)), "code");
        if (i % 10 == 0) cache.write();
      }
    });
  threads.clear();
  EXPECT_EQ(code_in(cache, key(99)), "code");
}

TEST(TimingCache, RefusesOtherVersions) {
  TimingCache cache;
  auto bytes = cache.write();
  bytes[7] = std::byte{'1'};
  try {
    cache.read(bytes);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "these bytes are not a timing cache of this version");
  }
}

TEST(TimingCache, RefusesEveryDamagedByteAndKeepsItsEntries) {
  TimingCache cache;
  cache.insert(key(1), {"onednn", 1.5f});
  cache.keep_code(key(2), code("code"));
  const auto good = cache.write();
  for (size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x40};
    EXPECT_THROW(cache.read(bad), Error) << "byte " << i;
  }
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(cache.read(std::span(good).first(length)), Error) << "length " << length;
  EXPECT_EQ(cache.keys().size(), 1u);
  EXPECT_EQ(code_in(cache, key(2)), "code");
}

}  // namespace
}  // namespace tenon
