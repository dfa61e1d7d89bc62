/// Status values, checks and sizes under the names that MMDeploy's plugins use.
///
/// The declarations with cuDNN's types are there where cuDNN's header is; what they declare is in
/// the plugin library's own CUDA sources.
#pragma once

#include <NvInferRuntime.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#if __has_include(<cudnn.h>)
#include <cudnn.h>
cudnnStatus_t convert_trt2cudnn_dtype(nvinfer1::DataType trt_dtype, cudnnDataType_t* cudnn_dtype);
#endif

enum pluginStatus_t {
  STATUS_SUCCESS = 0,
  STATUS_FAILURE = 1,
  STATUS_BAD_PARAM = 2,
  STATUS_NOT_SUPPORTED = 3,
  STATUS_NOT_INITIALIZED = 4
};

namespace tenon::mmdeploy {

/// Says on standard error what is wrong where.
template <class What> void complain(const char* file, int line, const What& what) {
  std::cerr << file << ':' << line << ": " << what << '\n';
}

}  // namespace tenon::mmdeploy

// ASSERT and CHECK end the program, the others say what happened: plugins are written for that.
// They are blocks, since plugins put no semicolon after some of them.
#define ASSERT(assertion)                                                    \
  {                                                                          \
    if (!(assertion)) {                                                      \
      tenon::mmdeploy::complain(__FILE__, __LINE__, #assertion " is false"); \
      std::abort();                                                          \
    }                                                                        \
  }
#define CHECK(status) ASSERT((status) == 0)

#define TENON_COMPLAIN_UNLESS(status, good, text)                                                  \
  {                                                                                                \
    const auto status_value = (status);                                                            \
    if (status_value != (good)) tenon::mmdeploy::complain(__FILE__, __LINE__, text(status_value)); \
  }
#define CUASSERT(status) TENON_COMPLAIN_UNLESS(status, cudaSuccess, cudaGetErrorString)
#define CUBLASASSERT(status) TENON_COMPLAIN_UNLESS(status, CUBLAS_STATUS_SUCCESS, int)
#define CUERRORMSG(status) TENON_COMPLAIN_UNLESS(int(status), 0, int)

// These leave the function with a status.
#define TENON_RETURN_UNLESS(condition, status) \
  do {                                         \
    if (!(condition)) return status;           \
  } while (0)
#define ASSERT_PARAM(condition) TENON_RETURN_UNLESS(condition, STATUS_BAD_PARAM)
#define ASSERT_FAILURE(condition) TENON_RETURN_UNLESS(condition, STATUS_FAILURE)
#define CSC(call, status) TENON_RETURN_UNLESS((call) == cudaSuccess, status)

#ifdef DEBUG
#define DEBUG_PRINTF(...) std::printf(__VA_ARGS__)
#else
#define DEBUG_PRINTF(...) static_cast<void>(0)
#endif

namespace mmdeploy {

constexpr int MAXTENSORDIMS = 10;

/// Extents and strides, in elements, of the first `dim` axes.
struct TensorDesc {
  int shape[MAXTENSORDIMS];
  int stride[MAXTENSORDIMS];
  int dim;
};

/// Bytes of an element; throws std::runtime_error for types of other sizes than whole bytes.
inline unsigned int getElementSize(nvinfer1::DataType type) {
  using nvinfer1::DataType;
  switch (type) {
    case DataType::kINT64:
      return 8;
    case DataType::kFLOAT:
    case DataType::kINT32:
      return 4;
    case DataType::kHALF:
    case DataType::kBF16:
      return 2;
    case DataType::kINT8:
    case DataType::kUINT8:
    case DataType::kBOOL:
      return 1;
    default:
      throw std::runtime_error("getElementSize: data type " + std::to_string(static_cast<int>(type))
                               + " has no size in bytes");
  }
}

/// The next multiple of `aligned_number`.
inline size_t getAlignedSize(size_t origin_size, size_t aligned_number = 16) {
  return (origin_size + aligned_number - 1) / aligned_number * aligned_number;
}

}  // namespace mmdeploy
