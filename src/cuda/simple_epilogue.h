// The functions that commonly follow convolutions, for kernels that take no programs.
#pragma once

#include <cstdint>

namespace tenon::cuda {

struct SimpleEpilogue {
  enum class Function : uint8_t {
    kNone,
    kClip,       // to [low, high]
    kSwish,      // x * sigmoid(x)
    kHardSwish,  // x * clip(x / 6 + 0.5, 0, 1)
  };
  bool adds = false;  // the program's operand, first of all
  Function function = Function::kNone;
  float low = 0, high = 0;
};

#ifdef __CUDACC__
__device__ inline float activated(const SimpleEpilogue& e, float x) {
  switch (e.function) {
    case SimpleEpilogue::Function::kClip:
      x = x > e.high ? e.high : x;
      return x < e.low ? e.low : x;
    case SimpleEpilogue::Function::kSwish:
      return x / (1 + __expf(-x));
    case SimpleEpilogue::Function::kHardSwish: {
      const float gate = x * (1 / 6.f) + 0.5f;
      return x * (gate < 0 ? 0 : gate > 1 ? 1 : gate);
    }
    case SimpleEpilogue::Function::kNone:
      break;
  }
  return x;
}
#endif

}  // namespace tenon::cuda
