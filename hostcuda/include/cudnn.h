/// What plugins use of cuDNN: tensors of four dimensions, sums, softmax and batch normalisation.
#pragma once
#pragma GCC system_header

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tenon/hostcuda/library_function.h"
#include "tenon/hostcuda/stream_work.h"

#define CUDNN_MAJOR 9
#define CUDNN_MINOR 0
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION 90000
#define CUDNN_BN_MIN_EPSILON 0.0

typedef enum {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_NOT_INITIALIZED = 1001,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_INTERNAL_ERROR = 4000,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
} cudnnStatus_t;
typedef enum {
  CUDNN_DATA_FLOAT = 0,
  CUDNN_DATA_DOUBLE = 1,
  CUDNN_DATA_HALF = 2,
  CUDNN_DATA_INT8 = 3,
  CUDNN_DATA_INT32 = 4,
} cudnnDataType_t;
typedef enum { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 } cudnnTensorFormat_t;
typedef enum {
  CUDNN_SOFTMAX_FAST = 0,
  CUDNN_SOFTMAX_ACCURATE = 1,
  CUDNN_SOFTMAX_LOG = 2
} cudnnSoftmaxAlgorithm_t;
typedef enum { CUDNN_SOFTMAX_MODE_INSTANCE = 0, CUDNN_SOFTMAX_MODE_CHANNEL = 1 } cudnnSoftmaxMode_t;
typedef enum {
  CUDNN_BATCHNORM_PER_ACTIVATION = 0,
  CUDNN_BATCHNORM_SPATIAL = 1,
  CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2,
} cudnnBatchNormMode_t;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
typedef struct cudnnContext* cudnnHandle_t;

namespace tenon::hostcuda {

/// Without a handle, the calling thread's own: engines on a CPU have none to give to
/// attachToContext().
inline cudnnContext& context_of(cudnnHandle_t handle) {
  static thread_local cudnnContext usual;
  return handle ? *handle : usual;
}

}  // namespace tenon::hostcuda

struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int extent[4] = {};  // n, c, h, w, in this order in memory

  std::int64_t volume() const {
    return std::int64_t{extent[0]} * extent[1] * extent[2] * extent[3];
  }
};
typedef struct cudnnTensorStruct* cudnnTensorDescriptor_t;

TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new cudnnContext;
  return CUDNN_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  tenon::hostcuda::context_of(handle).stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "CUDNN_STATUS_SUCCESS" : "a failure of cuDNN";
}
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) {
  *tensor = new cudnnTensorStruct;
  return CUDNN_STATUS_SUCCESS;
}
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  delete tensor;
  return CUDNN_STATUS_SUCCESS;
}
/// Only CUDNN_TENSOR_NCHW is supported yet.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor,
                                                                cudnnTensorFormat_t format,
                                                                cudnnDataType_t type, int n, int c,
                                                                int h, int w) {
  if (!tensor || n <= 0 || c <= 0 || h <= 0 || w <= 0) return CUDNN_STATUS_BAD_PARAM;
  if (format != CUDNN_TENSOR_NCHW) return CUDNN_STATUS_NOT_SUPPORTED;
  *tensor = {type, {n, c, h, w}};
  return CUDNN_STATUS_SUCCESS;
}
/// Only tensors without gaps are supported yet. Axes between the second and the last are one.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensor,
                                                                cudnnDataType_t type, int rank,
                                                                const int* extents,
                                                                const int* strides) {
  if (!tensor || rank < 3 || rank > 8) return CUDNN_STATUS_BAD_PARAM;
  std::int64_t step = 1;
  for (int d = rank - 1; d >= 0; step *= extents[d--]) {
    if (extents[d] <= 0) return CUDNN_STATUS_BAD_PARAM;
    if (strides[d] != step) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  const int last = rank == 3 ? 1 : extents[rank - 1];
  return cudnnSetTensor4dDescriptor(tensor, CUDNN_TENSOR_NCHW, type, extents[0], extents[1],
                                    static_cast<int>(step / extents[0] / extents[1] / last), last);
}
/// The same without gaps. Only CUDNN_TENSOR_NCHW is supported yet.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor,
                                                                  cudnnTensorFormat_t format,
                                                                  cudnnDataType_t type, int rank,
                                                                  const int* extents) {
  if (format != CUDNN_TENSOR_NCHW) return CUDNN_STATUS_NOT_SUPPORTED;
  int strides[8];
  for (int d = std::min(rank, 8) - 1, step = 1; d >= 0; step *= extents[d--]) strides[d] = step;
  return cudnnSetTensorNdDescriptor(tensor, type, rank, extents, strides);
}
/// What scales, biases and means are: a number for each channel, or for each place of a channel.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derived,
                                                                   cudnnTensorDescriptor_t x,
                                                                   cudnnBatchNormMode_t mode) {
  if (!derived || !x) return CUDNN_STATUS_BAD_PARAM;
  const bool is_spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION;
  return cudnnSetTensor4dDescriptor(derived, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, x->extent[1],
                                    is_spatial ? 1 : x->extent[2], is_spatial ? 1 : x->extent[3]);
}

namespace tenon::hostcuda {

/// Elements of a tensor as floats.
struct Elements {
  cudnnDataType_t type;
  void* data;
  float get(std::int64_t i) const {
    return type == CUDNN_DATA_HALF ? static_cast<float>(static_cast<__half*>(data)[i])
                                   : static_cast<float*>(data)[i];
  }
  void set(std::int64_t i, float value) const {
    if (type == CUDNN_DATA_HALF)
      static_cast<__half*>(data)[i] = value;
    else
      static_cast<float*>(data)[i] = value;
  }
  /// alpha value + beta of what is there.
  void blend(std::int64_t i, float alpha, float value, float beta) const {
    set(i, alpha * value + (beta != 0 ? beta * get(i) : 0));
  }
};
inline Elements elements(cudnnTensorDescriptor_t tensor, const void* data) {
  return {tensor->type, const_cast<void*>(data)};
}
inline bool are_floats(cudnnTensorDescriptor_t tensor) {
  return tensor && (tensor->type == CUDNN_DATA_FLOAT || tensor->type == CUDNN_DATA_HALF);
}
/// As many elements, and some: a descriptor that was not set has none.
inline bool are_alike(cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y) {
  return x->volume() == y->volume() && x->volume() != 0;
}
template <class F> cudnnStatus_t put_into_cudnn(cudnnHandle_t handle, F&& work) {
  return put_into(tenon::hostcuda::context_of(handle).stream, std::forward<F>(work)) == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace tenon::hostcuda

/// c = alpha a + beta c, where extents of 1 of `a` are repeated.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha,
                                                    cudnnTensorDescriptor_t a_desc, const void* a,
                                                    const void* beta,
                                                    cudnnTensorDescriptor_t c_desc, void* c) {
  using namespace tenon::hostcuda;
  if (!are_floats(a_desc) || !are_floats(c_desc)) return CUDNN_STATUS_NOT_SUPPORTED;
  for (int d = 0; d < 4; ++d)
    if (a_desc->extent[d] != 1 && a_desc->extent[d] != c_desc->extent[d])
      return CUDNN_STATUS_BAD_PARAM;
  const float x = *static_cast<const float*>(alpha), y = *static_cast<const float*>(beta);
  return put_into_cudnn(handle, [=, from = elements(a_desc, a), to = elements(c_desc, c),
                                 ad = *a_desc, cd = *c_desc] {
    for (std::int64_t i = 0; i < cd.volume(); ++i) {
      std::int64_t rest = i, place = 0, step = 1;
      for (int d = 3; d >= 0; --d) {
        const std::int64_t at = rest % cd.extent[d];
        rest /= cd.extent[d];
        place += ad.extent[d] == 1 ? 0 : at * step;
        step *= ad.extent[d];
      }
      to.blend(i, x, from.get(place), y);
    }
  });
}

/// Over c, h and w of each n, or over c at each place.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle,
                                                         cudnnSoftmaxAlgorithm_t algorithm,
                                                         cudnnSoftmaxMode_t mode, const void* alpha,
                                                         cudnnTensorDescriptor_t x_desc,
                                                         const void* x, const void* beta,
                                                         cudnnTensorDescriptor_t y_desc, void* y) {
  using namespace tenon::hostcuda;
  if (!are_floats(x_desc) || !are_floats(y_desc)) return CUDNN_STATUS_NOT_SUPPORTED;
  if (!are_alike(x_desc, y_desc)) return CUDNN_STATUS_BAD_PARAM;
  const float a = *static_cast<const float*>(alpha), b = *static_cast<const float*>(beta);
  return put_into_cudnn(
      handle, [=, from = elements(x_desc, x), to = elements(y_desc, y), d = *x_desc] {
        const std::int64_t plane = std::int64_t{d.extent[2]} * d.extent[3];
        const bool is_instance = mode == CUDNN_SOFTMAX_MODE_INSTANCE;
        const std::int64_t count = is_instance ? d.extent[1] * plane : d.extent[1],
                           step = is_instance ? 1 : plane;
        const std::int64_t rows = d.volume() / count;
        for_each(rows, [&](long row) {
          const std::int64_t first =
              is_instance ? row * count : row / plane * d.extent[1] * plane + row % plane;
          float largest = -INFINITY, sum = 0;
          for (std::int64_t i = 0; i < count; ++i)
            largest = std::fmax(largest, from.get(first + i * step));
          for (std::int64_t i = 0; i < count; ++i)
            sum += std::exp(from.get(first + i * step) - largest);
          for (std::int64_t i = 0; i < count; ++i) {
            const float distance = from.get(first + i * step) - largest;
            to.blend(first + i * step, a,
                     algorithm == CUDNN_SOFTMAX_LOG ? distance - std::log(sum)
                                                    : std::exp(distance) / sum,
                     b);
          }
        });
      });
}

/// Each channel has its own mean and variance; running ones are not supported yet.
TENON_LIBRARY_FUNCTION cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,
    cudnnTensorDescriptor_t x_desc, const void* x, cudnnTensorDescriptor_t y_desc, void* y,
    cudnnTensorDescriptor_t, const void* scale, const void* bias, double, void* running_mean,
    void* running_variance, double epsilon, void* saved_mean, void* saved_deviation) {
  using namespace tenon::hostcuda;
  if (!are_floats(x_desc) || !are_floats(y_desc) || mode == CUDNN_BATCHNORM_PER_ACTIVATION
      || running_mean || running_variance)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!are_alike(x_desc, y_desc)) return CUDNN_STATUS_BAD_PARAM;
  const float a = *static_cast<const float*>(alpha), b = *static_cast<const float*>(beta);
  return put_into_cudnn(
      handle, [=, from = elements(x_desc, x), to = elements(y_desc, y), d = *x_desc] {
        const std::int64_t plane = std::int64_t{d.extent[2]} * d.extent[3];
        const auto each = [&](std::int64_t c, auto&& f) {
          for (std::int64_t n = 0; n < d.extent[0]; ++n)
            for (std::int64_t i = 0; i < plane; ++i) f((n * d.extent[1] + c) * plane + i);
        };
        for_each(d.extent[1], [&](long c) {
          const auto count = static_cast<double>(d.extent[0] * plane);
          double sum = 0, squares = 0;
          each(c, [&](std::int64_t i) { sum += from.get(i); });
          const double mean = sum / count;
          each(c, [&](std::int64_t i) { squares += (from.get(i) - mean) * (from.get(i) - mean); });
          const double inverse = 1 / std::sqrt(squares / count + epsilon);
          const auto factor = static_cast<float>(static_cast<const float*>(scale)[c] * inverse);
          const float offset = static_cast<const float*>(bias)[c];
          each(c, [&](std::int64_t i) {
            to.blend(i, a, static_cast<float>(from.get(i) - mean) * factor + offset, b);
          });
          if (saved_mean) static_cast<float*>(saved_mean)[c] = static_cast<float>(mean);
          if (saved_deviation)
            static_cast<float*>(saved_deviation)[c] = static_cast<float>(inverse);
        });
      });
}
