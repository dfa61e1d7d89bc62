// Macros, data types, shapes and error reporting: what every other header stands on.
#ifndef NV_INFER_RUNTIME_BASE_H
#define NV_INFER_RUNTIME_BASE_H

#include <cuda_runtime_api.h>
#include <cstddef>
#include <cstdint>
#include "NvInferVersion.h"

// Every name below stays supported, so none of them warns.
#define TRT_DEPRECATED
#define TRT_DEPRECATED_BECAUSE(reason)
#define TRT_DEPRECATED_ENUM
#define TRT_DEPRECATED_API
#define TRT_NODISCARD [[nodiscard]]
#define TRT_NODISCARD_BECAUSE(reason) [[nodiscard]]
#define TENSORRTAPI __attribute__((visibility("default")))
#define TRTNOEXCEPT noexcept

#if TENON_TRT_API == 8
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 1000 + (minor) * 100 + (patch))
#else
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#endif
#define NV_TENSORRT_VERSION \
  NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

namespace nvinfer1 {

using char_t = char;
using AsciiChar = char_t;

namespace impl {
template <typename T>
struct EnumMaxImpl;
}  // namespace impl

template <typename T>
constexpr int32_t EnumMax() noexcept {
  return impl::EnumMaxImpl<T>::kVALUE;
}

enum class DataType : int32_t {
  kFLOAT = 0,
  kHALF = 1,
  kINT8 = 2,
  kINT32 = 3,
  kBOOL = 4,
  kUINT8 = 5,
  kFP8 = 6,
  kBF16 = 7,
  kINT64 = 8,
  kINT4 = 9,
  kFP4 = 10,
  kE8M0 = 11,
};

template <>
struct impl::EnumMaxImpl<DataType> {
  static constexpr int32_t kVALUE = 12;
};

class Dims64 {
 public:
  static constexpr int32_t MAX_DIMS{8};

  int32_t nbDims;
  int64_t d[MAX_DIMS];
};
using Dims = Dims64;

using InterfaceKind = const char*;

class InterfaceInfo {
 public:
  InterfaceKind kind;
  int32_t major;
  int32_t minor;
};

enum class APILanguage : int32_t {
  kCPP = 0,
  kPYTHON = 1,
};

class IVersionedInterface {
 public:
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }
  virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;
  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(const IVersionedInterface&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(const IVersionedInterface&) = default;
  IVersionedInterface& operator=(IVersionedInterface&&) = default;
};

enum class ErrorCode : int32_t {
  kSUCCESS = 0,
  kUNSPECIFIED_ERROR = 1,
  kINTERNAL_ERROR = 2,
  kINVALID_ARGUMENT = 3,
  kINVALID_CONFIG = 4,
  kFAILED_ALLOCATION = 5,
  kFAILED_INITIALIZATION = 6,
  kFAILED_EXECUTION = 7,
  kFAILED_COMPUTATION = 8,
  kINVALID_STATE = 9,
  kUNSUPPORTED_STATE = 10,
};

template <>
struct impl::EnumMaxImpl<ErrorCode> {
  static constexpr int32_t kVALUE = 11;
};

namespace v_1_0 {
class IErrorRecorder : public IVersionedInterface {
 public:
  using ErrorDesc = const char*;
  using RefCount = int32_t;
  static constexpr size_t kMAX_DESC_LENGTH{127U};
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IErrorRecorder", 1, 0}; }
  ~IErrorRecorder() noexcept override = default;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual ErrorCode getErrorCode(int32_t index) const noexcept = 0;
  virtual ErrorDesc getErrorDesc(int32_t index) const noexcept = 0;
  virtual bool hasOverflowed() const noexcept = 0;
  virtual void clear() noexcept = 0;
  virtual bool reportError(ErrorCode code, ErrorDesc description) noexcept = 0;
  virtual RefCount incRefCount() noexcept = 0;
  virtual RefCount decRefCount() noexcept = 0;
};
}  // namespace v_1_0
using IErrorRecorder = v_1_0::IErrorRecorder;

}  // namespace nvinfer1

extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;

#endif  // NV_INFER_RUNTIME_BASE_H
