#include "cuda/elements.cuh"
#include "cuda/groups.cuh"
#include "cuda/recurrent.h"

namespace tenon::cuda {
namespace {

using Task = RecurrentTask;

constexpr int kWarps = 4;      // units of a block
constexpr int kSequences = 4;  // of a warp
constexpr int kMaxGates = 4;
constexpr int32_t kAffine = 1000;

// What Recurrent has: an ActivationType by number, or alpha * x + beta.
__device__ float evaluated(const Task::Activation& f, float x) {
  switch (f.function) {
    case 0:
      return x < 0 ? 0.f : x;
    case 1:
      return 1 / (1 + expf(-x));
    case 2:
      return tanhf(x);
    case 3:
      return x < 0 ? f.alpha * x : x;
    case 4:
      return x < 0 ? f.alpha * expm1f(x) : x;
    case 5:
      return x > 0 ? f.beta * x : f.beta * f.alpha * expm1f(x);
    case 6:
      return x / (1 + fabsf(x));
    case 7: {
      const float y = f.beta * x;
      return f.alpha * ((y > 0 ? y : 0) + log1pf(expf(-fabsf(y))));
    }
    case 8: {
      const float y = x > f.beta ? f.beta : x;
      return y < f.alpha ? f.alpha : y;
    }
    case 9: {
      const float y = f.alpha * x + f.beta;
      return y < 0 ? 0.f : y > 1 ? 1.f : y;
    }
    case 10:
      return f.alpha * tanhf(f.beta * x);
    case 11:
      return x <= f.alpha ? 0.f : x;
    case 12:
      return .5f * x * (1 + erff(x * .70710678118654752f));
    case 13:
      return .5f * x * (1 + tanhf(.79788456080286536f * (x + .044715f * x * x * x)));
    case kAffine:
      return f.alpha * x + f.beta;
    default:
      return NAN;
  }
}

__device__ int64_t length_of(const Task& t, int64_t sequence) {
  if (t.lengths == nullptr) return t.steps;
  const int64_t length = t.length_type == DataType::kINT64
                             ? static_cast<const int64_t*>(t.lengths)[sequence]
                             : static_cast<const int32_t*>(t.lengths)[sequence];
  return length < 0 ? 0 : length < t.steps ? length : t.steps;
}

// Where states lie in inputs and outputs.
__device__ int64_t outer_state(const Task& t, int d, int64_t b) {
  return (t.batch_first ? b * t.directions + d : d * t.batch + b) * t.units;
}
__device__ int64_t inner_state(const Task& t, int d, int64_t b) {
  return (d * t.batch + b) * t.units;
}

// One unit of one sequence in one direction.
template <class T> struct Unit {
  const Task& t;
  int d;
  int64_t u;

  __device__ float activated(int which, float x) const {
    const float limited = t.clip > 0 ? fminf(fmaxf(x, -t.clip), t.clip) : x;
    return evaluated(t.activations[d][which], limited);
  }
  __device__ float bias(int gate, bool of_state) const {
    if (t.bias == nullptr) return 0;
    const int64_t rows = t.gates * t.units;
    return to_float(
        static_cast<const T*>(t.bias)[d * 2 * rows + (of_state ? rows : 0) + gate * t.units + u]);
  }
  __device__ float peephole(int gate, float cell) const {
    if (t.peepholes == nullptr) return 0;
    return to_float(static_cast<const T*>(t.peepholes)[(d * 3 + gate) * t.units + u]) * cell;
  }

  __device__ float lstm(const float* sums, float& cell) const {
    const float in = activated(0, sums[0] + peephole(0, cell));
    const float forget = t.input_forget ? 1 - in : activated(0, sums[2] + peephole(2, cell));
    cell = forget * cell + in * activated(1, sums[3]);
    const float out = activated(0, sums[1] + peephole(1, cell));
    return out * evaluated(t.activations[d][2], cell);
  }
};

// Sums over the state for kGates gates from `first` on, of up to kSequences sequences from b on.
template <class T, int kGates>
__device__ void multiply_state(const Task& t, const float* state, int d, int64_t b, int64_t u,
                               int first, float (&sums)[kSequences][kMaxGates]) {
  const auto* weights = static_cast<const T*>(t.weights) + d * t.gates * t.units * t.units;
  for (int64_t k = threadIdx.x; k < t.units; k += 32) {
    float w[kGates];
#pragma unroll
    for (int g = 0; g < kGates; ++g)
      w[g] = to_float(weights[((first + g) * t.units + u) * t.units + k]);
#pragma unroll
    for (int s = 0; s < kSequences; ++s) {
      if (b + s >= t.batch) break;
      const float h = state[inner_state(t, d, b + s) + k];
#pragma unroll
      for (int g = 0; g < kGates; ++g) sums[s][g] += w[g] * h;
    }
  }
#pragma unroll
  for (int s = 0; s < kSequences; ++s)
#pragma unroll
    for (int g = 0; g < kGates; ++g) sums[s][g] = warp_sum(sums[s][g]);
}

enum class Part { kAll, kResetAndUpdate, kCandidate };

// A warp has a unit of kSequences sequences; lane s ends sequence s.
template <class T, RecurrentCell kCell, Part kPart>
__global__ void step(Task t, const float* before, float* after, int64_t i) {
  constexpr int kGates = kPart == Part::kCandidate        ? 1
                         : kPart == Part::kResetAndUpdate ? 2
                         : kCell == RecurrentCell::kLstm  ? 4
                         : kCell == RecurrentCell::kGru   ? 3
                                                          : 1;
  constexpr int kFirst = kPart == Part::kCandidate ? 2 : 0;
  const int d = static_cast<int>(blockIdx.z);
  const int64_t u = blockIdx.x * int64_t{kWarps} + threadIdx.y;
  const int64_t first = blockIdx.y * int64_t{kSequences};
  if (u >= t.units) return;
  float sums[kSequences][kMaxGates] = {};
  const float* state = kPart == Part::kCandidate ? t.reset : before;
  multiply_state<T, kGates>(t, state, d, first, u, kFirst, sums);
  const int64_t b = first + threadIdx.x;
  if (threadIdx.x >= kSequences || b >= t.batch) return;
  float own[kMaxGates];
#pragma unroll
  for (int s = 0; s < kSequences; ++s)
    if (threadIdx.x == s)
#pragma unroll
      for (int g = 0; g < kGates; ++g) own[g] = sums[s][g];
  const int64_t length = length_of(t, b), at = inner_state(t, d, b) + u;
  const bool runs = i < length;
  const int64_t time = runs && t.reverse[d] ? length - 1 - i : i;
  T* y = static_cast<T*>(t.y)
         + (t.batch_first ? (b * t.steps + time) * t.directions + d
                          : (time * t.directions + d) * t.batch + b)
               * t.units
         + u;
  if (!runs) {
    if (kPart == Part::kResetAndUpdate) return;
    after[at] = before[at];
    *y = from_float<T>(0.f);
    return;
  }
  const Unit<T> unit{t, d, u};
  const int64_t row = t.batch_first ? b * t.steps + time : time * t.batch + b;
  const float* inputs = t.gate_sums + (d * t.steps * t.batch + row) * t.gates * t.units + u;
  const auto from_input = [&](int g) { return inputs[g * t.units] + unit.bias(g, false); };
  const auto from_state = [&](int g) { return own[g - kFirst] + unit.bias(g, true); };
  float h = 0;
  if constexpr (kPart == Part::kResetAndUpdate) {
    t.update[at] = unit.activated(0, from_input(0) + from_state(0));
    t.reset[at] = unit.activated(0, from_input(1) + from_state(1)) * before[at];
    return;
  } else if constexpr (kPart == Part::kCandidate) {
    const float candidate = unit.activated(1, from_input(2) + from_state(2));
    h = (1 - t.update[at]) * candidate + t.update[at] * before[at];
  } else if constexpr (kCell == RecurrentCell::kPlain) {
    h = unit.activated(0, from_input(0) + from_state(0));
  } else if constexpr (kCell == RecurrentCell::kLstm) {
    float all[kMaxGates];
    for (int g = 0; g < kMaxGates; ++g) all[g] = from_input(g) + from_state(g);
    h = unit.lstm(all, t.c[at]);
  } else {
    const float update = unit.activated(0, from_input(0) + from_state(0));
    const float reset = unit.activated(0, from_input(1) + from_state(1));
    const float candidate = unit.activated(1, from_input(2) + reset * from_state(2));
    h = (1 - update) * candidate + update * before[at];
  }
  after[at] = h;
  *y = from_float<T>(h);
}

__device__ float read(const void* data, DataType type, int64_t at) {
  if (data == nullptr) return 0;
  if (type == DataType::kFLOAT) return static_cast<const float*>(data)[at];
  if (type == DataType::kHALF) return to_float(static_cast<const __half*>(data)[at]);
  return to_float(static_cast<const __nv_bfloat16*>(data)[at]);
}

// The states between inputs or outputs and the work of the steps.
template <class T, bool kIsStart> __global__ void convert_states(Task t, const float* h) {
  const int64_t count = t.directions * t.batch * t.units;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x) {
    const int64_t u = i % t.units, b = i / t.units % t.batch;
    const int d = static_cast<int>(i / t.units / t.batch);
    const int64_t outside = outer_state(t, d, b) + u;
    if constexpr (kIsStart) {
      t.h[0][i] = read(t.first_h, t.type, outside);
      if (t.c != nullptr) t.c[i] = read(t.first_c, t.type, outside);
    } else {
      // A sequence without steps ends with zeros, whatever its first state.
      const bool ran = length_of(t, b) > 0;
      static_cast<T*>(t.last_h)[outside] = from_float<T>(ran ? h[i] : 0.f);
      if (t.last_c != nullptr)
        static_cast<T*>(t.last_c)[outside] = from_float<T>(ran ? t.c[i] : 0.f);
    }
  }
}

template <bool kIsStart> void launch_states(const Task& t, const float* h, cudaStream_t stream) {
  const int64_t count = t.directions * t.batch * t.units;
  if (count == 0) return;
  constexpr int kThreads = 256, kMaxBlocks = 1024;
  const int64_t blocks = (count + kThreads - 1) / kThreads;
  with_device_float(t.type, [&](auto zero) {
    convert_states<decltype(zero), kIsStart>
        <<<static_cast<unsigned>(blocks < kMaxBlocks ? blocks : kMaxBlocks), kThreads, 0, stream>>>(
            t, h);
  });
}

}  // namespace

void launch_recurrent_start(const Task& t, cudaStream_t stream) {
  launch_states<true>(t, nullptr, stream);
}

void launch_recurrent_end(const Task& t, cudaStream_t stream) {
  launch_states<false>(t, t.h[t.steps % 2], stream);
}

void launch_recurrent_step(const Task& t, int64_t i, cudaStream_t stream) {
  if (t.batch * t.units == 0) return;
  const dim3 grid(static_cast<unsigned>((t.units + kWarps - 1) / kWarps),
                  static_cast<unsigned>((t.batch + kSequences - 1) / kSequences),
                  static_cast<unsigned>(t.directions)),
      threads(32, kWarps);
  const float* before = t.h[i % 2];
  float* after = t.h[(i + 1) % 2];
  with_device_float(t.type, [&](auto zero) {
    using T = decltype(zero);
    const auto launch = [&](auto* kernel) {
      kernel<<<grid, threads, 0, stream>>>(t, before, after, i);
    };
    if (t.cell == RecurrentCell::kPlain) {
      launch(step<T, RecurrentCell::kPlain, Part::kAll>);
    } else if (t.cell == RecurrentCell::kLstm) {
      launch(step<T, RecurrentCell::kLstm, Part::kAll>);
    } else if (t.linear_before_reset) {
      launch(step<T, RecurrentCell::kGru, Part::kAll>);
    } else {
      launch(step<T, RecurrentCell::kGru, Part::kResetAndUpdate>);
      launch(step<T, RecurrentCell::kGru, Part::kCandidate>);
    }
  });
}

}  // namespace tenon::cuda
