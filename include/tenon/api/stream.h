// Reading and writing plans piece by piece.
#ifndef TENON_API_STREAM_H
#define TENON_API_STREAM_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

/// What an offset counts from.
enum class SeekPosition : int32_t {
  kSET = 0,  ///< The start.
  kCUR = 1,  ///< The current position.
  kEND = 2,  ///< The end.
};

template <> struct impl::EnumMaxImpl<SeekPosition> {
  static constexpr int32_t kVALUE = 3;
};

namespace v_1_0 {
/// Where a plan is read from, front to back; the application implements it.
class IStreamReader : public IVersionedInterface {
 public:
  ~IStreamReader() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IStreamReader", 1, 0}; }

  /// Copies up to `nbBytes` bytes to host memory; how many there were, or -1 on failure.
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;
};

/// Where a plan is read from, in any order; the application implements it.
class IStreamReaderV2 : public IVersionedInterface {
 public:
  ~IStreamReaderV2() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IStreamReaderV2", 1, 0}; }

  /// Copies up to `nbBytes` bytes to host or device memory, on `stream`; how many there were, or -1
  /// on failure.
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;

  /// Moves the position; false on failure.
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;
};

/// Where a plan is written to; the application implements it.
class IStreamWriter : public IVersionedInterface {
 public:
  ~IStreamWriter() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IStreamWriter", 1, 0}; }

  /// Takes `nbBytes` bytes of host memory; how many it took, fewer meaning failure.
  virtual int64_t write(const void* data, int64_t nbBytes) = 0;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_STREAM_H
