#include "base/variant.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace tenon {
namespace {

// Memory of which a copy finds none. libstdc++ knows such vectors as never valueless.
bool has_memory = true;
template <class T> struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <class U> Allocator(const Allocator<U>&) {}
  T* allocate(size_t count) {
    if (!has_memory) throw std::bad_alloc();
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* data, size_t count) { std::allocator<T>().deallocate(data, count); }
  friend bool operator==(const Allocator&, const Allocator&) { return true; }
};
template <class T> using Vector = std::vector<T, Allocator<T>>;
using String = std::basic_string<char, std::char_traits<char>, Allocator<char>>;
using Value = Variant<bool, int64_t, double, String, Vector<int64_t>, Vector<double>>;

// Whether `copy` ends in std::bad_alloc where there is no memory.
template <class Copy> bool throws_without_memory(const Copy& copy) {
  has_memory = false;
  bool thrown = false;
  try {
    copy();
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  has_memory = true;
  return thrown;
}

const Value kOriginal = Vector<int64_t>{1, 2, 3};

TEST(Variant, ACopyWithoutMemoryDestroysNothing) {
  std::vector<std::pair<std::string, Value>> list;
  list.reserve(2);
  list.emplace_back("first", kOriginal);
  EXPECT_TRUE(throws_without_memory([&] { list.emplace_back("second", kOriginal); }));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].second, kOriginal);
}

TEST(Variant, AnAssignmentWithoutMemoryLeavesWhatWasThere) {
  Value same = Vector<int64_t>{4}, other = Vector<double>{5}, number = int64_t{6};
  for (Value* target : {&same, &other, &number})
    EXPECT_TRUE(throws_without_memory([&] { *target = kOriginal; }));
  EXPECT_EQ(std::get<Vector<int64_t>>(same), Vector<int64_t>{4});
  EXPECT_EQ(std::get<Vector<double>>(other), Vector<double>{5});
  EXPECT_EQ(std::get<int64_t>(number), 6);
}

TEST(Variant, AMoveNeedsNoMemory) {
  Value copy = kOriginal, target = true;
  EXPECT_FALSE(throws_without_memory([&] { target = std::move(copy); }));
  EXPECT_EQ(target, kOriginal);
}

TEST(Variant, IsWhatStdVariantIs) {
  Variant<std::unique_ptr<int>, std::string> offer = "a reason";
  EXPECT_EQ(std::get<std::string>(offer), "a reason");
  offer = std::make_unique<int>(7);
  const auto moved = std::move(offer);
  EXPECT_EQ(*std::get<0>(moved), 7);
  EXPECT_EQ(std::get_if<std::string>(&moved), nullptr);
  static_assert(!std::is_copy_constructible_v<decltype(offer)>);

  Variant<int, std::string> a = "x", b = a;
  EXPECT_EQ(a, b);
  static_assert(std::is_same_v<decltype(b = 3), decltype(a)&>);
  static_assert(!std::is_assignable_v<decltype(b)&, std::vector<int>>);
  b = 3;
  EXPECT_EQ(b.index(), 0u);
  EXPECT_TRUE(std::visit([](const auto& v) { return std::is_same_v<decltype(v), const int&>; }, b));
}

}  // namespace
}  // namespace tenon
