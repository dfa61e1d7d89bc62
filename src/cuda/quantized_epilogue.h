// What becomes of sums of products of integers or fp8, in the kernels that make them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "cuda/simple_epilogue.h"
#ifdef __CUDACC__
#include "cuda/elements.cuh"
#endif

namespace tenon::cuda {

/// Requantization, and then QuantizedSum or a program as the layers of integers have it.
struct QuantizedEpilogue {
  /// One number, or one for each output channel; null data: none.
  struct List {
    const void* data = nullptr;
    int step = 0;  // 0 or 1
  };
  /// Both included.
  struct Range {
    int lowest = -128, highest = 127;
  };
  enum class Form : uint8_t {
    kRequantize,  // sum * scale + shift, for bytes rounded
    kSum,         // that, dequantized and summed with the addend, quantized again
    kFunction,    // a function of it and the addend, over `divisor`, rounded
  };
  Form form = Form::kRequantize;
  /// int32, float, half, bfloat16, int8, uint8, and of sums of fp8 fp8; bytes unless kRequantize.
  DataType to = DataType::kINT32;
  List scale, shift;  // float; 1 and 0
  List zero;          // of the rounded number: of type `to`; 0
  Range range;        // of the rounded number

  const void* addend = nullptr;  // bytes of the result's shape and layout
  bool addend_is_signed = true;
  int addend_zero = 0;
  float addend_scale = 1;

  // Of kSum: the scale of the rounded number, and of the result.
  float product_scale = 1;
  int sum_zero = 0;
  Range sum_range;
  // Of both: what is divided by before it is rounded.
  float divisor = 1, reciprocal = 1;
  constexpr void divide_by(float number) {
    divisor = number;
    reciprocal = 1 / number;
  }
  SimpleEpilogue function;  // of kFunction

  constexpr bool has_addend() const { return form == Form::kSum || function.adds; }
  constexpr bool makes_bytes() const { return to == DataType::kINT8 || to == DataType::kUINT8; }
};

#ifdef __CUDACC__
__device__ inline int32_t byte_at(const void* data, bool is_signed, int64_t i) {
  return is_signed ? int32_t{static_cast<const int8_t*>(data)[i]}
                   : int32_t{static_cast<const uint8_t*>(data)[i]};
}

__device__ inline float number_at(const QuantizedEpilogue::List& list, int64_t output_channel,
                                  float otherwise) {
  return list.data == nullptr ? otherwise
                              : static_cast<const float*>(list.data)[output_channel * list.step];
}

// Products and sums are rounded each, as everywhere.
__device__ inline float scaled(int32_t sum, float scale, float shift) {
  return __fadd_rn(__fmul_rn(static_cast<float>(sum), scale), shift);
}

/// Bytes of a range from numbers that were saturated: (x + zero - lowest) / 256, between 0 and 1. A
/// multiplication and addition saturates at no cost, and of 256 it keeps halves what they are.
struct Saturation {
  static constexpr float kRounds = 12582912;  // added, it leaves whole numbers in the low bits
  static constexpr float kStep = 1 / 256.f;
  float limit, lowest, zero;

  __device__ Saturation(const QuantizedEpilogue::Range& range, int zero_point)
      : limit(static_cast<float>(range.highest - range.lowest) * kStep),
        lowest(static_cast<float>(range.lowest)),
        zero(static_cast<float>(zero_point)) {}
  /// Of a number and what is added to it before it is saturated.
  __device__ float offset() const { return (zero - lowest) * kStep; }
  /// In the low eight bits.
  __device__ uint32_t byte(float saturated) const {
    return __float_as_uint(__fmaf_rn(fminf(saturated, limit), 256, kRounds + lowest));
  }
  /// Less the lowest.
  __device__ float number(float saturated) const {
    return __fsub_rn(__fmaf_rn(fminf(saturated, limit), 256, kRounds), kRounds);
  }
};

/// Four bytes as numbers from 0 to 255, which are 128 too large if they are signed.
struct ByteNumbers {
  uint32_t word;
  __device__ ByteNumbers(uint32_t bytes, bool is_signed)
      : word(bytes ^ (is_signed ? 0x80808080 : 0)) {}
  /// Less a whole number.
  __device__ float less(float offset, unsigned i) const {
    // Bytes of 2^23 as a float, whose last bit counts ones.
    return __fsub_rn(__uint_as_float(__byte_perm(word, 0x4b000000, 0x7540 + i)), 8388608 + offset);
  }
  __device__ float operator[](unsigned i) const { return less(0, i); }
};

/// What makes bytes of sums, in one of its forms: of each sum and the output channel's entry a
/// multiplication and addition, which are rounded once. Next to the middle between two bytes the
/// result may be the other than that of numbers rounded after each operation.
template <QuantizedEpilogue::Form kForm, SimpleEpilogue::Function kFunction, bool kAdds>
class ByteEpilogue {
  using Form = QuantizedEpilogue::Form;
  using Function = SimpleEpilogue::Function;
  // A range of the result, then.
  static constexpr bool kClips = kFunction == Function::kNone || kFunction == Function::kClip;

 public:
  static constexpr bool kReadsAddend = kForm == Form::kSum || kAdds;
  struct Entry {
    float scale, shift;
  };

  __device__ explicit ByteEpilogue(const QuantizedEpilogue& e)
      : product_(range_of(e), zero_of(e)),
        sum_(e.sum_range, e.sum_zero),
        by_(e.reciprocal * kStep) {
    const float addend_zero = static_cast<float>(e.addend_zero + (e.addend_is_signed ? 128 : 0));
    if constexpr (kForm == Form::kSum) {
      product_scale_ = e.product_scale * by_;
      addend_scale_ = e.addend_scale * by_;
      shift_ = (product_.lowest - product_.zero) * product_scale_ - addend_zero * addend_scale_
               + sum_.offset();
    } else {
      addend_scale_ = e.addend_scale * (kClips ? by_ : 1);
      shift_ = (kClips ? product_.offset() : 0) - (kAdds ? addend_zero * addend_scale_ : 0);
    }
  }

  /// Of an output channel with these, and a bias.
  __device__ Entry entry(float scale, float shift, int32_t bias) const {
    const float by = kForm == Form::kFunction ? (kClips ? by_ : 1) : kStep;
    const float offset = kForm == Form::kFunction ? shift_ : product_.offset();
    return {scale * by, (static_cast<float>(bias) * scale + shift) * by + offset};
  }

  /// Of a sum and the addend's byte `i`; in the low eight bits.
  __device__ uint32_t operator()(float number, const Entry& entry, const ByteNumbers& addends,
                                 unsigned i) const {
    if constexpr (kForm == Form::kSum) {
      const float product =
          product_.number(__saturatef(__fmaf_rn(number, entry.scale, entry.shift)));
      const float rest = __fmaf_rn(product, product_scale_, shift_);
      return sum_.byte(__saturatef(__fmaf_rn(addends[i], addend_scale_, rest)));
    } else if constexpr (kClips && !kAdds) {
      return product_.byte(__saturatef(__fmaf_rn(number, entry.scale, entry.shift)));
    } else {
      float x = __fmaf_rn(number, entry.scale, entry.shift);
      if constexpr (kClips)
        return product_.byte(__saturatef(__fmaf_rn(addends[i], addend_scale_, x)));
      if constexpr (kAdds) x = __fmaf_rn(addends[i], addend_scale_, x);
      x = activated_coarsely({false, kFunction}, x);
      return product_.byte(__saturatef(__fmaf_rn(x, by_, product_.offset())));
    }
  }

 private:
  static constexpr float kStep = Saturation::kStep;

  __device__ static int zero_of(const QuantizedEpilogue& e) {
    return e.zero.data == nullptr ? 0 : byte_at(e.zero.data, e.to == DataType::kINT8, 0);
  }
  // A clip before the rounding is one of bytes after it.
  __device__ static QuantizedEpilogue::Range range_of(const QuantizedEpilogue& e) {
    if constexpr (kForm != Form::kFunction || kFunction != Function::kClip) return e.range;
    const int zero = zero_of(e);
    const auto bound = [&](float x) {
      const float number = rintf(x / e.divisor) + static_cast<float>(zero);
      return static_cast<int>(fminf(fmaxf(number, static_cast<float>(e.range.lowest)),
                                    static_cast<float>(e.range.highest)));
    };
    return {bound(e.function.low), bound(e.function.high)};
  }

  Saturation product_, sum_;
  float by_, product_scale_ = 0, addend_scale_, shift_;
};

/// The low eight bits of four words.
__device__ inline uint32_t packed_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
}

/// Calls body with the function as a type, whose `value` the compiler knows.
template <class Body>
__device__ __forceinline__ void with_function(SimpleEpilogue::Function function, const Body& body) {
  using Function = SimpleEpilogue::Function;
  switch (function) {
    case Function::kNone:
      return body(std::integral_constant<Function, Function::kNone>());
    case Function::kClip:
      return body(std::integral_constant<Function, Function::kClip>());
    case Function::kSwish:
      return body(std::integral_constant<Function, Function::kSwish>());
    case Function::kHardSwish:
      return body(std::integral_constant<Function, Function::kHardSwish>());
    case Function::kGelu:
      return body(std::integral_constant<Function, Function::kGelu>());
    case Function::kGeluTanh:
      return body(std::integral_constant<Function, Function::kGeluTanh>());
  }
}
/// Calls body with the epilogue's ByteEpilogue.
template <class Body>
__device__ __forceinline__ void with_byte_epilogue(const QuantizedEpilogue& e, const Body& body) {
  using Form = QuantizedEpilogue::Form;
  using Function = SimpleEpilogue::Function;
  if (e.form == Form::kRequantize)
    return body(ByteEpilogue<Form::kRequantize, Function::kNone, false>(e));
  if (e.form == Form::kSum) return body(ByteEpilogue<Form::kSum, Function::kNone, false>(e));
  with_function(e.function.function, [&](auto function) {
    if (e.function.adds)
      body(ByteEpilogue<Form::kFunction, decltype(function)::value, true>(e));
    else
      body(ByteEpilogue<Form::kFunction, decltype(function)::value, false>(e));
  });
}
/// Calls body with what makes a number that is rounded to fp8 of one.
template <class Body>
__device__ __forceinline__ void with_float8_epilogue(const QuantizedEpilogue& e, const Body& body) {
  with_function(e.function.function, [&](auto function) {
    SimpleEpilogue own = e.function;
    own.function = function;
    body([own, by = e.reciprocal](float x) { return activated_coarsely(own, x) * by; });
  });
}

/// Writes element `at` of the result.
__device__ inline void store_result(const QuantizedEpilogue& e, int32_t sum, int64_t output_channel,
                                    void* result, int64_t at) {
  if (e.to == DataType::kINT32) {
    static_cast<int32_t*>(result)[at] = sum;
    return;
  }
  const float scale = number_at(e.scale, output_channel, 1);
  const float shift = number_at(e.shift, output_channel, 0);
  if (with_device_float(e.to, [&](auto zero) {
        using T = decltype(zero);
        static_cast<T*>(result)[at] = from_float<T>(scaled(sum, scale, shift));
      }))
    return;
  with_byte_epilogue(e, [&](const auto& epilogue) {
    uint32_t addend = 0;
    if constexpr (std::decay_t<decltype(epilogue)>::kReadsAddend)
      addend = static_cast<const uint8_t*>(e.addend)[at];
    static_cast<uint8_t*>(result)[at] =
        static_cast<uint8_t>(epilogue(static_cast<float>(sum), epilogue.entry(scale, shift, 0),
                                      ByteNumbers(addend, e.addend_is_signed), 0));
  });
}
#endif

}  // namespace tenon::cuda
