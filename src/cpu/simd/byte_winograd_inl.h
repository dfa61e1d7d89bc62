// Winograd's filtering in integers: exact, as nothing is rounded, and what wraps on the way wraps
// back. Each instruction set includes it behind its epilogues, whose names it uses.
#pragma once

#include "cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

constexpr int kVectorBytes = kLanes * static_cast<int>(sizeof(int32_t));
// Integers of a vector, which wrap; twice as many have 16 bits.
typedef uint32_t Integers __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef int32_t SignedIntegers __attribute__((vector_size(kVectorBytes)));
typedef uint16_t Halves __attribute__((vector_size(kVectorBytes), aligned(2), may_alias));
constexpr int64_t kChannels = kVectorBytes / sizeof(uint16_t);
typedef uint8_t Channels __attribute__((vector_size(kChannels), aligned(1), may_alias));

// Each gives the transforms along an axis of the data, in 16 bits, and of the sums, and the
// weights' matrix. The sums are those of the windows times a factor, squared as there are two axes.
struct Two {
  static constexpr int kTile = 2, kSize = 4;
  static constexpr int kLostBits = 2;
  static constexpr int8_t kWeights[kSize * 3] = {2, 0, 0, 1, 1, 1, 1, -1, 1, 0, 0, 2};

  [[gnu::always_inline]] static void transform(const Halves* x, Halves* to) {
    to[0] = x[0] - x[2];
    to[1] = x[1] + x[2];
    to[2] = x[2] - x[1];
    to[3] = x[1] - x[3];
  }
  [[gnu::always_inline]] static void collect(const Integers* m, Integers* to) {
    to[0] = m[0] + m[1] + m[2];
    to[1] = m[1] - m[2] - m[3];
  }
  // Less the factor 2 * 2.
  [[gnu::always_inline]] static SignedIntegers sum(Integers x) {
    return reinterpret_cast<SignedIntegers>(x) >> kLostBits;
  }
};

struct Four {
  static constexpr int kTile = 4, kSize = 6;
  static constexpr int kLostBits = 6;
  // Rows are times 24, 6, 6, 24, 24 and 8 of those that give the sums themselves.
  static constexpr int8_t kWeights[kSize * 3] = {6, 0, 0, -1, -1, -1, -1, 1, -1,
                                                 1, 2, 4, 1,  -2, 4,  0,  0, 8};

  // The largest is 255 * (8 * 8 + 2 * 2), of rows with weights of 8 on one side and 2 on the other.
  [[gnu::always_inline]] static void transform(const Halves* x, Halves* to) {
    const Halves x42 = x[4] - x[2], x31 = x[3] - x[1];
    const Halves even = x[4] - (x[2] << 2), odd = x[3] - (x[1] << 2);
    const Halves twice = x31 + x31;
    to[0] = x42 + ((x[0] - x[2]) << 2);
    to[1] = even + odd;
    to[2] = even - odd;
    to[3] = x42 + twice;
    to[4] = x42 - twice;
    to[5] = x[5] - x[3] - (x31 << 2);
  }
  [[gnu::always_inline]] static void collect(const Integers* m, Integers* to) {
    const Integers p = (m[1] + m[2]) << 2, q = (m[1] - m[2]) << 2;
    const Integers r = m[3] + m[4], t = (m[3] - m[4]) << 1;
    to[0] = m[0] + p + r;
    to[1] = q + t;
    to[2] = p + (r << 2);
    to[3] = q + (t << 2) + (m[5] + (m[5] << 1));
  }
  // Less the factor 24 * 24: its odd part by its inverse among the integers of 32 bits.
  [[gnu::always_inline]] static SignedIntegers sum(Integers x) {
    constexpr uint32_t kNinth = 954437177;
    return reinterpret_cast<SignedIntegers>(x * kNinth) >> kLostBits;
  }
};

template <class Form>
void transform(const uint8_t* const* elements, int64_t channels, uint8_t flip, int16_t* to,
               int64_t plane) {
  constexpr int kSize = Form::kSize;
  for (int64_t c = 0; c < channels; c += kChannels) {
    Halves rows[kSize][kSize];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      Halves x[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j)
        x[j] = __builtin_convertvector(
            *reinterpret_cast<const Channels*>(elements[i * kSize + j] + c) ^ flip, Halves);
      Form::transform(x, rows[i]);
    }
#pragma GCC unroll 6
    for (int j = 0; j < kSize; ++j) {
      Halves x[kSize], made[kSize];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) x[i] = rows[i][j];
      Form::transform(x, made);
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i)
        *reinterpret_cast<Halves*>(to + (i * kSize + j) * plane + c) = made[i];
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
    Integers rows[kSize][kTile];
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) {
      Integers m[kSize];
#pragma GCC unroll 6
      for (int j = 0; j < kSize; ++j)
        m[j] = *reinterpret_cast<const Integers*>(sums + (i * kSize + j) * plane + v * kLanes);
      Form::collect(m, rows[i]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < kTile; ++j) {
      Integers m[kSize], made[kTile];
#pragma GCC unroll 6
      for (int i = 0; i < kSize; ++i) m[i] = rows[i][j];
      Form::collect(m, made);
#pragma GCC unroll 4
      for (int i = 0; i < kTile; ++i)
        to[i][j][v] = reinterpret_cast<Vector>(reinterpret_cast<Integers>(Form::sum(made[i]))
                                               + reinterpret_cast<Integers>(add[v]));
    }
  }
}

template <class Form>
void results(const int32_t* sums, int64_t plane, std::span<const ByteTile> tiles,
             const ByteResult& result, int64_t output_channels, void* out,
             ByteResultSteps out_steps) {
  with_epilogue(result, output_channels, out, [&](const auto& epilogue) {
    for (const ByteTile& tile : tiles) {
      Sums made[Form::kTile][Form::kTile];
      sums_of<Form>(sums, plane, epilogue.add, made);
      sums += kPanelChannels;
      for (int64_t i = 0; i < tile.rows; ++i)
        for (int64_t j = 0; j < tile.columns; j += 2) {
          const int64_t first = tile.out + i * out_steps.row + j * out_steps.pixel;
          const int64_t at[] = {first, first + out_steps.pixel};
          if (j + 1 < tile.columns)
            store<2>(epilogue, made[i] + j, at);
          else
            store<1>(epilogue, made[i] + j, at);
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
