// What becomes of sums of products of integers, in the kernels that make them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "base/dtype.h"
#include "cuda/simple_epilogue.h"
#ifdef __CUDACC__
#include "cuda/elements.cuh"
#endif

namespace tenon::cuda {

/// Requantization, and then QuantizedSum or a program as the layers of integers have it.
struct IntegerEpilogue {
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
  /// int32, float, half, bfloat16, int8, uint8; bytes unless kRequantize.
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
  float divisor = 1;
  SimpleEpilogue function;  // of kFunction

  constexpr bool has_addend() const { return form == Form::kSum || function.adds; }
  constexpr bool makes_bytes() const { return to == DataType::kINT8 || to == DataType::kUINT8; }
};

#ifdef __CUDACC__
__device__ inline int32_t byte_at(const void* data, bool is_signed, int64_t i) {
  return is_signed ? int32_t{static_cast<const int8_t*>(data)[i]}
                   : int32_t{static_cast<const uint8_t*>(data)[i]};
}

__device__ inline float number_at(const IntegerEpilogue::List& list, int64_t output_channel,
                                  float otherwise) {
  return list.data == nullptr ? otherwise
                              : static_cast<const float*>(list.data)[output_channel * list.step];
}

// Products and sums are rounded each, as everywhere: bits must not depend on the kernel.
__device__ inline float scaled(int32_t sum, float scale, float shift) {
  return __fadd_rn(__fmul_rn(static_cast<float>(sum), scale), shift);
}

/// Rounds to bytes of a range; NaN becomes the lowest.
struct Rounding {
  static constexpr float kRounds = 12582912;  // added, it leaves whole numbers in the low bits
  float low, high;
  uint32_t zero;

  __device__ Rounding(const IntegerEpilogue::Range& range, int zero_point)
      : low(static_cast<float>(range.lowest - zero_point)),
        high(static_cast<float>(range.highest - zero_point)),
        zero(static_cast<uint32_t>(zero_point)) {}
  __device__ float shifted(float x) const { return __fadd_rn(fminf(fmaxf(x, low), high), kRounds); }
  /// Less the zero point.
  __device__ float number(float x) const { return __fsub_rn(shifted(x), kRounds); }
  /// In the low eight bits.
  __device__ uint32_t byte(float x) const { return __float_as_uint(shifted(x)) + zero; }
};

/// The addend's numbers.
struct Addend {
  static constexpr uint32_t kOne = 0x4b000000;  // 2^23 as a float, whose last bit counts ones
  uint32_t flip;
  float offset, scale;

  __device__ explicit Addend(const IntegerEpilogue& e)
      : flip(kOne | (e.addend_is_signed ? 0x80 : 0)),
        offset(8388608.f + static_cast<float>((e.addend_is_signed ? 0x80 : 0) + e.addend_zero)),
        scale(e.addend_scale) {}
  __device__ float number(uint32_t byte) const {
    return __fmul_rn(__fsub_rn(__uint_as_float(byte ^ flip), offset), scale);
  }
};

/// What makes bytes of scaled sums, in one of its forms. What all elements share is found once.
template <IntegerEpilogue::Form kForm, SimpleEpilogue::Function kFunction> class ByteEpilogue {
  using Form = IntegerEpilogue::Form;

 public:
  __device__ explicit ByteEpilogue(const IntegerEpilogue& e)
      : product_(e.range,
                 e.zero.data == nullptr ? 0 : byte_at(e.zero.data, e.to == DataType::kINT8, 0)),
        sum_(e.sum_range, e.sum_zero),
        addend_(e),
        product_scale_(e.product_scale),
        divisor_(e.divisor),
        reciprocal_(1 / e.divisor),
        low_(e.function.low),
        high_(e.function.high),
        reads_addend_(e.has_addend()) {}

  __device__ bool reads_addend() const {
    return kForm == Form::kSum || (kForm == Form::kFunction && reads_addend_);
  }

  /// In the low eight bits; `addend` is a byte.
  __device__ uint32_t operator()(float x, uint32_t addend) const {
    if constexpr (kForm == Form::kFunction) {
      if (reads_addend_) x = __fadd_rn(x, addend_.number(addend));
      x = activated({false, kFunction, low_, high_}, x);
      constexpr bool kIsExact = kFunction == SimpleEpilogue::Function::kNone
                                || kFunction == SimpleEpilogue::Function::kClip;
      return product_.byte(kIsExact ? divided(x) : __fmul_rn(x, reciprocal_));
    } else if constexpr (kForm == Form::kSum) {
      const float product = __fmul_rn(product_.number(x), product_scale_);
      return sum_.byte(divided(__fadd_rn(product, addend_.number(addend))));
    } else {
      return product_.byte(x);
    }
  }

 private:
  // The quotient's rounding, made right by what it leaves. (Markstein, Computation of Elementary
  // Functions on the IBM RISC System/6000 Processor, 1990.)
  __device__ float divided(float x) const {
    const float quotient = __fmul_rn(x, reciprocal_);
    return __fmaf_rn(__fmaf_rn(-quotient, divisor_, x), reciprocal_, quotient);
  }

  Rounding product_, sum_;
  Addend addend_;
  float product_scale_, divisor_, reciprocal_, low_, high_;
  bool reads_addend_;
};

/// Calls body with the epilogue's ByteEpilogue.
template <class Body> __device__ void with_byte_epilogue(const IntegerEpilogue& e, Body&& body) {
  using Form = IntegerEpilogue::Form;
  using Function = SimpleEpilogue::Function;
  if (e.form == Form::kRequantize) return body(ByteEpilogue<Form::kRequantize, Function::kNone>(e));
  if (e.form == Form::kSum) return body(ByteEpilogue<Form::kSum, Function::kNone>(e));
  switch (e.function.function) {
    case Function::kNone:
      return body(ByteEpilogue<Form::kFunction, Function::kNone>(e));
    case Function::kClip:
      return body(ByteEpilogue<Form::kFunction, Function::kClip>(e));
    case Function::kSwish:
      return body(ByteEpilogue<Form::kFunction, Function::kSwish>(e));
    case Function::kHardSwish:
      return body(ByteEpilogue<Form::kFunction, Function::kHardSwish>(e));
    case Function::kGelu:
      return body(ByteEpilogue<Form::kFunction, Function::kGelu>(e));
    case Function::kGeluTanh:
      return body(ByteEpilogue<Form::kFunction, Function::kGeluTanh>(e));
  }
}

/// Writes element `at` of the result.
__device__ inline void store_result(const IntegerEpilogue& e, int32_t sum, int64_t output_channel,
                                    void* result, int64_t at) {
  if (e.to == DataType::kINT32) {
    static_cast<int32_t*>(result)[at] = sum;
    return;
  }
  const float x =
      scaled(sum, number_at(e.scale, output_channel, 1), number_at(e.shift, output_channel, 0));
  if (with_device_float(e.to, [&](auto zero) {
        using T = decltype(zero);
        static_cast<T*>(result)[at] = from_float<T>(x);
      }))
    return;
  with_byte_epilogue(e, [&](const auto& epilogue) {
    const uint32_t addend = epilogue.reads_addend() ? static_cast<const uint8_t*>(e.addend)[at] : 0;
    static_cast<uint8_t*>(result)[at] = static_cast<uint8_t>(epilogue(x, addend));
  });
}
#endif

}  // namespace tenon::cuda
