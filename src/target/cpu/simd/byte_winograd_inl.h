// Winograd's filtering in integers: exact, as nothing is rounded, and what wraps on the way wraps
// back. Each instruction set includes it behind its finishes and, in the same namespace,
//   Vector and kChannels: integers of 32 bits, kLanes of them, or so many of 16;
//   plus16, minus16, times_power16<N>; plus, minus, times_power<N>, times(x, int32_t), right<N>;
//   load_widened(bytes, flip): kChannels of them, exclusive-or `flip`; load(sums); store(x, words).
#pragma once

#include "target/cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

// Each gives the transforms along an axis of the data, in 16 bits, and of the sums, and the
// weights' matrix. The sums are those of the windows times a factor, squared as there are two axes.
struct Two {
  static constexpr int kTile = 2, kSize = 4;
  static constexpr int kLostBits = 2;
  static constexpr int8_t kWeights[kSize * 3] = {2, 0, 0, 1, 1, 1, 1, -1, 1, 0, 0, 2};

  [[gnu::always_inline]] static void transform(const Vector* x, Vector* to) {
    to[0] = minus16(x[0], x[2]);
    to[1] = plus16(x[1], x[2]);
    to[2] = minus16(x[2], x[1]);
    to[3] = minus16(x[1], x[3]);
  }
  [[gnu::always_inline]] static void collect(const Vector* m, Vector* to) {
    to[0] = plus(plus(m[0], m[1]), m[2]);
    to[1] = minus(minus(m[1], m[2]), m[3]);
  }
  // Less the factor 2 * 2.
  [[gnu::always_inline]] static Vector sum(Vector x) { return right<kLostBits>(x); }
};

struct Four {
  static constexpr int kTile = 4, kSize = 6;
  static constexpr int kLostBits = 6;
  // Rows are times 24, 6, 6, 24, 24 and 8 of those that give the sums themselves.
  static constexpr int8_t kWeights[kSize * 3] = {6, 0, 0, -1, -1, -1, -1, 1, -1,
                                                 1, 2, 4, 1,  -2, 4,  0,  0, 8};

  // The largest is 255 * (8 * 8 + 2 * 2), of rows with weights of 8 on one side and 2 on the other.
  [[gnu::always_inline]] static void transform(const Vector* x, Vector* to) {
    const auto four = [](Vector a) { return times_power16<2>(a); };
    const Vector x42 = minus16(x[4], x[2]), x31 = minus16(x[3], x[1]);
    const Vector even = minus16(x[4], four(x[2])), odd = minus16(x[3], four(x[1]));
    const Vector twice = plus16(x31, x31);
    to[0] = plus16(x42, four(minus16(x[0], x[2])));
    to[1] = plus16(even, odd);
    to[2] = minus16(even, odd);
    to[3] = plus16(x42, twice);
    to[4] = minus16(x42, twice);
    to[5] = minus16(minus16(x[5], x[3]), four(x31));
  }
  [[gnu::always_inline]] static void collect(const Vector* m, Vector* to) {
    const Vector p = times_power<2>(plus(m[1], m[2])), q = times_power<2>(minus(m[1], m[2]));
    const Vector r = plus(m[3], m[4]), t = times_power<1>(minus(m[3], m[4]));
    to[0] = plus(plus(m[0], p), r);
    to[1] = plus(q, t);
    to[2] = plus(p, times_power<2>(r));
    to[3] = plus(plus(q, times_power<2>(t)), plus(m[5], times_power<1>(m[5])));
  }
  // Less the factor 24 * 24: its odd part by its inverse among the integers of 32 bits.
  [[gnu::always_inline]] static Vector sum(Vector x) {
    constexpr int kNinth = 954437177;
    return right<kLostBits>(times(x, kNinth));
  }
};

template <class Form>
void transform(const uint8_t* const* elements, int64_t channels, uint8_t flip, int16_t* to,
               int64_t plane) {
  constexpr int kSize = Form::kSize;
  for (int64_t c = 0; c < channels; c += kChannels) {
    Vector rows[kSize][kSize];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      Vector x[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) x[j] = load_widened(elements[i * kSize + j] + c, flip);
      Form::transform(x, rows[i]);
    }
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) {
      Vector x[kSize], made[kSize];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) x[i] = rows[i][j];
      Form::transform(x, made);
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) store(made[i], to + (i * kSize + j) * plane + c);
    }
  }
}

// The sums of a tile's pixels.
template <class Form>
[[gnu::always_inline]] inline void sums_of(const int32_t* sums, int64_t plane, const Vector* add,
                                           Sums (*to)[Form::kTile]) {
  constexpr int kSize = Form::kSize, kTile = Form::kTile;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    Vector rows[kSize][kTile];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      Vector m[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j) m[j] = load(sums + (i * kSize + j) * plane + v * kLanes);
      Form::collect(m, rows[i]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < kTile; ++j) {
      Vector m[kSize], made[kTile];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) m[i] = rows[i][j];
      Form::collect(m, made);
#pragma GCC unroll 4
      for (int i = 0; i < kTile; ++i) to[i][j][v] = plus(Form::sum(made[i]), add[v]);
    }
  }
}

template <class Form>
void results(const int32_t* sums, int64_t plane, std::span<const ByteTile> tiles,
             const ByteResult& result, int64_t maps, void* out, ByteResultSteps out_steps) {
  with_finish(result, maps, out, [&](const auto& finish) {
    for (const ByteTile& tile : tiles) {
      Sums made[Form::kTile][Form::kTile];
      sums_of<Form>(sums, plane, finish.add, made);
      sums += kPanelMaps;
      for (int64_t i = 0; i < tile.rows; ++i)
        for (int64_t j = 0; j < tile.columns; j += 2) {
          const int64_t first = tile.out + i * out_steps.row + j * out_steps.pixel;
          const int64_t at[] = {first, first + out_steps.pixel};
          if (j + 1 < tile.columns)
            finish.template store<2>(made[i] + j, at);
          else
            finish.template store<1>(made[i] + j, at);
        }
    }
  });
}

template <class Form> constexpr ByteWinograd form() {
  return {Form::kTile,    Form::kSize,     Form::kLostBits, kChannels,
          Form::kWeights, transform<Form>, results<Form>};
}

}  // namespace
}  // namespace tenon::cpu
