// Reading and writing plans piece by piece.
#ifndef TENON_API_STREAM_H
#define TENON_API_STREAM_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

enum class SeekPosition : int32_t {
  kSET = 0,
  kCUR = 1,
  kEND = 2,
};

template <>
struct impl::EnumMaxImpl<SeekPosition> {
  static constexpr int32_t kVALUE = 3;
};

namespace v_1_0 {
class IStreamReader : public IVersionedInterface {
 public:
  ~IStreamReader() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IStreamReader", 1, 0}; }
  virtual int64_t read(void* destination, int64_t nbBytes) = 0;
};
}  // namespace v_1_0

namespace v_1_0 {
class IStreamReaderV2 : public IVersionedInterface {
 public:
  ~IStreamReaderV2() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IStreamReaderV2", 1, 0}; }
  virtual int64_t read(void* destination, int64_t nbBytes, cudaStream_t stream) noexcept = 0;
  virtual bool seek(int64_t offset, SeekPosition where) noexcept = 0;
};
}  // namespace v_1_0

namespace v_1_0 {
class IStreamWriter : public IVersionedInterface {
 public:
  ~IStreamWriter() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IStreamWriter", 1, 0}; }
  virtual int64_t write(const void* data, int64_t nbBytes) = 0;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_STREAM_H
