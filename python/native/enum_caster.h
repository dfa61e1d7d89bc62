// Enumerations as arguments: only their own members will do.
//
// nanobind's own conversion also takes integers and members of other enumerations, which mean
// something else. bind.h and engine_call.h include this, so that all of the module agrees.
#pragma once

#include <nanobind/nanobind.h>

#include <type_traits>

namespace nanobind::detail {

template <class E>
  requires std::is_enum_v<E>
struct type_caster<E, enable_if_t<std::is_enum_v<E>>> {
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    int64_t number = 0;
    const uint32_t exact = flags & ~static_cast<uint32_t>(cast_flags::convert);
    if (!NB_CALL(enum_from_python)(NB_CTX_C(cleanup), &typeid(E), source.ptr(), &number, exact))
      return false;
    value = static_cast<E>(number);
    return true;
  }
  static handle from_cpp(E source, rv_policy, cleanup_list* cleanup) noexcept {
    return NB_CALL(enum_from_cpp)(NB_CTX_C(cleanup), &typeid(E), static_cast<int64_t>(source));
  }
  NB_TYPE_CASTER(E, const_name<E>())
};

}  // namespace nanobind::detail
