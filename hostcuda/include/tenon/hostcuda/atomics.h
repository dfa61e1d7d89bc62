/// Atomic functions.
#pragma once
#pragma GCC system_header

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tenon::hostcuda {

template <class T> struct Same {
  using Type = T;
};
template <class T>
using WordOf = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

/// Replaces *place by change(*place), and returns what was there.
template <class T, class Change> T modify(T* place, Change change) {
  using Word = WordOf<T>;
  static_assert(sizeof(T) == sizeof(Word), "atomics are for 2, 4 and 8 bytes");
  auto* const word = reinterpret_cast<Word*>(place);
  Word before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
  T old;
  do {
    std::memcpy(static_cast<void*>(&old), &before, sizeof(T));
    const T changed = change(old);
    std::memcpy(&after, static_cast<const void*>(&changed), sizeof(T));
  } while (
      !__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

}  // namespace tenon::hostcuda

// Kernels read the memory of atomics with plain loads too, which is right on a GPU.
#define TENON_ATOMIC(name, expression)                                                            \
  template <class T> T name(T* place, typename tenon::hostcuda::Same<T>::Type value) {            \
    return tenon::hostcuda::modify(place, [value](T old) { return static_cast<T>(expression); }); \
  }                                                                                               \
  template <class T> T name##_block(T* place, typename tenon::hostcuda::Same<T>::Type value) {    \
    return name(place, value);                                                                    \
  }                                                                                               \
  template <class T> T name##_system(T* place, typename tenon::hostcuda::Same<T>::Type value) {   \
    return name(place, value);                                                                    \
  }
TENON_ATOMIC(atomicAdd, old + value)
TENON_ATOMIC(atomicSub, old - value)
TENON_ATOMIC(atomicMax, old < value ? value : old)
TENON_ATOMIC(atomicMin, value < old ? value : old)
TENON_ATOMIC(atomicExch, value)
TENON_ATOMIC(atomicAnd, old& value)
TENON_ATOMIC(atomicOr, old | value)
TENON_ATOMIC(atomicXor, old ^ value)
#undef TENON_ATOMIC

template <class T>
T atomicCAS(T* place, typename tenon::hostcuda::Same<T>::Type expected,
            typename tenon::hostcuda::Same<T>::Type value) {
  return tenon::hostcuda::modify(
      place, [expected, value](T old) { return old == expected ? value : old; });
}
inline unsigned atomicInc(unsigned* place, unsigned most) {
  return tenon::hostcuda::modify(place, [most](unsigned old) { return old >= most ? 0 : old + 1; });
}
inline unsigned atomicDec(unsigned* place, unsigned most) {
  return tenon::hostcuda::modify(
      place, [most](unsigned old) { return old == 0 || old > most ? most : old - 1; });
}
