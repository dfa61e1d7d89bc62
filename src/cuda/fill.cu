#include "cuda/element_types.cuh"
#include "cuda/fill.h"

namespace tenon::cuda {
namespace {

template <class E> inline constexpr bool is_whole = std::is_integral_v<E>;
template <class E> using Number = std::conditional_t<is_whole<E>, int64_t, double>;

template <class E> __device__ Number<E> number_of(const FillNumber& n, int64_t i = 0) {
  if (n.data == nullptr) {
    if constexpr (is_whole<E>)
      return n.integer;
    else
      return n.real;
  }
  const E element = static_cast<const E*>(n.data)[i];
  if constexpr (is_whole<E>)
    return static_cast<int64_t>(element);
  else
    return static_cast<double>(static_cast<float>(element));
}

// Through float, as everywhere.
template <class E> __device__ E rounded(double x) {
  return static_cast<E>(static_cast<float>(x));
}

template <class E, class Index> struct Spacing {
  EvenSpacing spacing;
  Divisor<Index> extents[8];
};

template <class E, class Index> __global__ void space_evenly(Spacing<E, Index> s) {
  for_own(static_cast<Index>(s.spacing.count), [&](Index i) {
    Index rest = i;
    if constexpr (is_whole<E>) {  // integers wrap
      auto sum = static_cast<uint64_t>(number_of<E>(s.spacing.start));
      for (int axis = s.spacing.axes - 1; axis >= 0; --axis) {
        Index at = 0;
        rest = s.extents[axis].divide(rest, at);
        sum +=
            static_cast<uint64_t>(at) * static_cast<uint64_t>(number_of<E>(s.spacing.step, axis));
      }
      static_cast<E*>(s.spacing.target)[i] = static_cast<E>(sum);
    } else {
      double sum = number_of<E>(s.spacing.start);
      for (int axis = s.spacing.axes - 1; axis >= 0; --axis) {
        Index at = 0;
        rest = s.extents[axis].divide(rest, at);
        // As the reference rounds it: not fused.
        sum =
            __dadd_rn(sum, __dmul_rn(static_cast<double>(at), number_of<E>(s.spacing.step, axis)));
      }
      static_cast<E*>(s.spacing.target)[i] = rounded<E>(sum);
    }
  });
}

struct RandomWords {
  uint32_t word[4];
};

// Philox4x32-10, as in ops/fill.cc.
__device__ RandomWords philox(uint64_t counter, uint64_t key) {
  uint32_t c[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0};
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    c[0] = static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0;
    c[1] = static_cast<uint32_t>(b);
    c[2] = static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1;
    c[3] = static_cast<uint32_t>(a);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c[0], c[1], c[2], c[3]};
}

template <class E> __global__ void draw(RandomNumbers numbers) {
  const double alpha = number_of<E>(numbers.alpha), beta = number_of<E>(numbers.beta);
  const double scale = numbers.is_uniform ? beta - alpha : beta;
  const int64_t count = numbers.count;
  for_own(static_cast<uint64_t>((count + 3) / 4), [&](uint64_t block) {
    const RandomWords random = philox(block, numbers.seed);
    double four[4];
    for (int i = 0; i < 4; ++i) four[i] = static_cast<double>(random.word[i] >> 8) * 0x1p-24;
    if (!numbers.is_uniform)
      for (int i = 0; i < 4; i += 2) {
        const double radius = sqrt(-2 * log(1 - four[i]));
        const double angle = 2 * 3.14159265358979323846 * four[i + 1];
        four[i] = radius * cos(angle);
        four[i + 1] = radius * sin(angle);
      }
    for (int i = 0; i < 4; ++i) {
      const int64_t at = static_cast<int64_t>(block) * 4 + i;
      if (at < count)
        static_cast<E*>(numbers.target)[at] =
            rounded<E>(__dadd_rn(alpha, __dmul_rn(scale, four[i])));
    }
  });
}

template <class Word, class Index>
__global__ void set_one_hot(OneHotVectors v, Divisor<Index> depth, Divisor<Index> inner,
                            Index count) {
  const Word off = static_cast<const Word*>(v.values)[0],
             on = static_cast<const Word*>(v.values)[1];
  for_own(count, [&](Index i) {
    Index column = 0, position = 0;
    const Index outer = depth.divide(inner.divide(i, column), position);
    const int64_t index = integer_at(v.indices, v.is_wide, outer * v.inner + column);
    static_cast<Word*>(v.target)[i] =
        wrapped_index(index, v.depth) == static_cast<int64_t>(position) ? on : off;
  });
}

}  // namespace

void launch_even_spacing(const EvenSpacing& spacing, cudaStream_t stream) {
  with_element(spacing.type, [&](auto zero) {
    with_index(spacing.count, [&](auto index) {
      using E = decltype(zero);
      using Index = decltype(index);
      Spacing<E, Index> s{spacing, {}};
      for (int axis = 0; axis < spacing.axes; ++axis)
        s.extents[axis] = Divisor<Index>(spacing.extents[axis]);
      launch(space_evenly<E, Index>, blocks_for(spacing.count), kThreads, stream, s);
    });
  });
}

void launch_random(const RandomNumbers& numbers, cudaStream_t stream) {
  with_real(numbers.type, [&](auto zero) {
    launch(draw<decltype(zero)>, blocks_for((numbers.count + 3) / 4), kThreads, stream, numbers);
  });
}

void launch_one_hot(const OneHotVectors& v, cudaStream_t stream) {
  const int64_t count = v.outer * v.depth * v.inner;
  with_word(v.bytes, [&](auto word) {
    with_index(count, [&](auto index) {
      using Index = decltype(index);
      launch(set_one_hot<decltype(word), Index>, blocks_for(count), kThreads, stream, v,
             Divisor<Index>(v.depth), Divisor<Index>(v.inner), static_cast<Index>(count));
    });
  });
}

}  // namespace tenon::cuda
