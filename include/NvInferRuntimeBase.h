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

// Marks what TensorRT 11 has not: its slots and values stay, and using it does not compile.
#if TENON_TRT_OLDER_NAMES
#define TENON_REMOVED_IN_11
#else
#define TENON_REMOVED_IN_11                                                         \
  __attribute__((                                                                   \
      unavailable("TensorRT 11 has not got it. `tenon migrate` says what to write " \
                  "instead; -DTENON_TRT_OLDER_NAMES=1 keeps it")))
#endif

#if TENON_TRT_API == 8
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 1000 + (minor) * 100 + (patch))
#else
#define NV_TENSORRT_VERSION_INT(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#endif
#define NV_TENSORRT_VERSION \
  NV_TENSORRT_VERSION_INT(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH)

namespace nvinfer1 {

/// Characters of names and messages, which are encoded in ASCII.
using char_t = char;
using AsciiChar = char_t;

namespace impl {
template <typename T> struct EnumMaxImpl;
}  // namespace impl

/// One more than the largest value of an enumeration; values that only 8.x had are not counted.
template <typename T> constexpr int32_t EnumMax() noexcept {
  return impl::EnumMaxImpl<T>::kVALUE;
}

/// The type of the elements of a tensor or of weights.
enum class DataType : int32_t {
  kFLOAT = 0,  ///< 32-bit IEEE floating point.
  kHALF = 1,   ///< 16-bit IEEE floating point.
  kINT8 = 2,   ///< 8-bit signed integer, quantized or plain.
  kINT32 = 3,  ///< 32-bit signed integer.
  kBOOL = 4,   ///< One byte, 0 for false and 1 for true.
  kUINT8 = 5,  ///< 8-bit unsigned integer; only inputs and outputs of a network have it.
  kFP8 = 6,    ///< 8-bit floating point with 4 exponent and 3 fraction bits.
  kBF16 = 7,   ///< 16-bit floating point with 8 exponent and 7 fraction bits.
  kINT64 = 8,  ///< 64-bit signed integer.
  kINT4 = 9,   ///< 4-bit signed integer, two to a byte, the first in the low half.
  kFP4 = 10,   ///< 4-bit floating point with 2 exponent bits and 1 fraction bit, two to a byte.
  kE8M0 = 11,  ///< 8-bit power of two, the scale of blocks.
};

template <> struct impl::EnumMaxImpl<DataType> {
  static constexpr int32_t kVALUE = 12;
};

/// A shape: up to eight dimensions, outermost first. -1 stands for a dimension that is known only
/// at run time, nbDims = -1 for a shape that is not known or could not be computed.
class Dims64 {
 public:
  static constexpr int32_t MAX_DIMS{8};  ///< The largest number of dimensions.

  int32_t nbDims;       ///< The number of dimensions; 0 for a scalar.
  int64_t d[MAX_DIMS];  ///< The dimensions, of which the first nbDims count.
};
using Dims = Dims64;

using InterfaceKind = const char*;

/// What an interface calls itself, and in which version.
class InterfaceInfo {
 public:
  InterfaceKind kind;  ///< The name of the interface.
  int32_t major;       ///< Changes when old programs would break.
  int32_t minor;       ///< Changes when methods are added.
};

/// The language that an object is written in.
enum class APILanguage : int32_t {
  kCPP = 0,
  kPYTHON = 1,
};

/// Base of the interfaces that applications and plugins implement and that may grow.
class IVersionedInterface {
 public:
  /// The language the object is written in.
  virtual APILanguage getAPILanguage() const noexcept { return APILanguage::kCPP; }

  /// The kind and version of the interface; each interface implements it and applications leave it
  /// alone.
  virtual InterfaceInfo getInterfaceInfo() const noexcept = 0;
  virtual ~IVersionedInterface() noexcept = default;

 protected:
  IVersionedInterface() = default;
  IVersionedInterface(const IVersionedInterface&) = default;
  IVersionedInterface(IVersionedInterface&&) = default;
  IVersionedInterface& operator=(const IVersionedInterface&) = default;
  IVersionedInterface& operator=(IVersionedInterface&&) = default;
};

/// What went wrong.
enum class ErrorCode : int32_t {
  kSUCCESS = 0,                ///< Nothing did.
  kUNSPECIFIED_ERROR = 1,      ///< Something that fits no other code.
  kINTERNAL_ERROR = 2,         ///< The library broke a promise to itself; please report it.
  kINVALID_ARGUMENT = 3,       ///< An argument is null, out of range or does not fit the others.
  kINVALID_CONFIG = 4,         ///< Settings or a network that contradict themselves.
  kFAILED_ALLOCATION = 5,      ///< Memory could not be had.
  kFAILED_INITIALIZATION = 6,  ///< A library or device needed could not be set up.
  kFAILED_EXECUTION = 7,       ///< A kernel or a plugin failed while running.
  kFAILED_COMPUTATION = 8,     ///< A computation gave no valid result.
  kINVALID_STATE = 9,          ///< The call came at a time at which it is not allowed.
  kUNSUPPORTED_STATE = 10,     ///< What was asked for is not supported.
};

template <> struct impl::EnumMaxImpl<ErrorCode> {
  static constexpr int32_t kVALUE = 11;
};

namespace v_1_0 {
/// Collects errors for the application, which implements it. The library calls it from several
/// threads; it holds a reference for as long as the recorder is set on one of its objects.
class IErrorRecorder : public IVersionedInterface {
 public:
  using ErrorDesc = const char*;
  using RefCount = int32_t;
  static constexpr size_t kMAX_DESC_LENGTH{127U};
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IErrorRecorder", 1, 0}; }
  ~IErrorRecorder() noexcept override = default;

  /// The number of errors held, from 0 to the recorder's capacity.
  virtual int32_t getNbErrors() const noexcept = 0;

  /// The code of error `index`; kINVALID_ARGUMENT if there is no such error.
  virtual ErrorCode getErrorCode(int32_t index) const noexcept = 0;

  /// The text of error `index`, null-terminated, valid until clear(); empty if there is no such
  /// error.
  virtual ErrorDesc getErrorDesc(int32_t index) const noexcept = 0;

  /// Whether errors were lost because there was no room.
  virtual bool hasOverflowed() const noexcept = 0;

  /// Forgets all errors.
  virtual void clear() noexcept = 0;

  /// Records an error; the text is copied. True if the error is fatal for what was going on.
  virtual bool reportError(ErrorCode code, ErrorDesc description) noexcept = 0;

  /// Counts one more user and returns how many there are.
  virtual RefCount incRefCount() noexcept = 0;

  /// Counts one user less and returns how many are left; the recorder may go at 0.
  virtual RefCount decRefCount() noexcept = 0;
};
}  // namespace v_1_0
using IErrorRecorder = v_1_0::IErrorRecorder;

}  // namespace nvinfer1

/// The version of the library that is loaded, major * 10000 + minor * 100 + patch.
extern "C" TENSORRTAPI int32_t getInferLibVersion() noexcept;

#endif  // NV_INFER_RUNTIME_BASE_H
