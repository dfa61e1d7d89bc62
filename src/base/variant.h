// A std::variant whose copies may fail.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace tenon {

/// A std::variant whose alternatives are all of different types. A copy that throws makes nothing,
/// and what it was assigned to keeps its value.
///
/// Where copying strings, vectors and the like throws, libstdc++ 12's std::variant destroys
/// alternative 255. So the alternative is copied alone, and then moved into its place.
template <class... Alternatives> class Variant : public std::variant<Alternatives...> {
  using Base = std::variant<Alternatives...>;
  static constexpr bool kIsCopyable = (std::is_copy_constructible_v<Alternatives> && ...);
  static_assert((std::is_nothrow_move_constructible_v<Alternatives> && ...),
                "moving an alternative must not fail");

 public:
  using Base::Base;
  Variant() = default;
  Variant(const Variant& other)
    requires kIsCopyable
      : Base(copy_of(other)) {}
  Variant(Variant&&) = default;
  Variant& operator=(const Variant& other)
    requires kIsCopyable
  {
    if (this != &other) *this = Variant(other);
    return *this;
  }
  Variant& operator=(Variant&&) = default;
  template <class Alternative>
    requires(!std::is_same_v<std::remove_cvref_t<Alternative>, Variant>
             && std::is_assignable_v<Base&, Alternative>)
  Variant& operator=(Alternative&& alternative) {
    Base::operator=(std::forward<Alternative>(alternative));
    return *this;
  }
  ~Variant() = default;

 private:
  static Base copy_of(const Base& other) {
    return std::visit(
        []<class T>(const T& alternative) { return Base(std::in_place_type<T>, alternative); },
        other);
  }
};

}  // namespace tenon
