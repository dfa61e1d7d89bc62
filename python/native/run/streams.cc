// Readers and writers of plans that users write in Python.
#include <NvInferRuntime.h>

#include <cstring>

#include "bind.h"
#include "callback.h"

namespace tenon::python {
namespace {

using nvinfer1::APILanguage;
using nvinfer1::SeekPosition;
using nvinfer1::v_1_0::IStreamReader;
using nvinfer1::v_1_0::IStreamReaderV2;
using nvinfer1::v_1_0::IStreamWriter;

// Copies the bytes that a reader gave to where they belong.
int64_t take(const nb::object& given, void* destination, int64_t max_bytes) {
  Bytes bytes;
  if (!bytes.open(given)) throw nb::type_error("read() must give bytes or another buffer");
  const auto size = static_cast<int64_t>(bytes.size());
  if (size > max_bytes) throw nb::value_error("read() gave more bytes than it was asked for");
  if (size > 0) std::memcpy(destination, bytes.data(), bytes.size());
  return size;
}

class PythonReader : public IStreamReader {
 public:
  NB_TRAMPOLINE(IStreamReader);
  int64_t read(void* destination, int64_t size) override {
    return into_python<int64_t>(-1, "read", [&] {
      return take(call_override(nb_trampoline, "read", size), destination, size);
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

class PythonReaderV2 : public IStreamReaderV2 {
 public:
  NB_TRAMPOLINE(IStreamReaderV2);
  int64_t read(void* destination, int64_t size, cudaStream_t stream) noexcept override {
    return into_python<int64_t>(-1, "read", [&] {
      return take(call_override(nb_trampoline, "read", size, Address::of(stream)), destination,
                  size);
    });
  }
  bool seek(int64_t offset, SeekPosition where) noexcept override {
    return into_python(false, "seek",
                       [&] { return truth(call_override(nb_trampoline, "seek", offset, where)); });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

class PythonWriter : public IStreamWriter {
 public:
  NB_TRAMPOLINE(IStreamWriter);
  int64_t write(const void* data, int64_t size) override {
    return into_python<int64_t>(-1, "write", [&] {
      const nb::bytes bytes(data, static_cast<size_t>(size));
      return nb::cast<int64_t>(call_override(nb_trampoline, "write", bytes));
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

}  // namespace

void bind_streams(nb::module_& m) {
  nb::class_<IStreamReader, PythonReader>(
      m, "IStreamReader", "Where a plan is read from. Derive from it and define read().")
      .def(nb::init<>())
      .def("read", &required, nb::sig("def read(self, size: int) -> typing_extensions.Buffer"),
           "The next bytes, at most `size`.");
  nb::class_<IStreamReaderV2, PythonReaderV2>(
      m, "IStreamReaderV2",
      "Where a plan is read from, in any order. Derive from it and define read() and seek().")
      .def(nb::init<>())
      .def("read", &required,
           nb::sig("def read(self, num_bytes: int, stream: int) -> typing_extensions.Buffer"),
           "The next bytes, at most `num_bytes`.")
      .def("seek", &required, nb::sig("def seek(self, offset: int, where: SeekPosition) -> bool"),
           "Moves the position; False on failure.");
  nb::class_<IStreamWriter, PythonWriter>(
      m, "IStreamWriter", "Where a plan is written to. Derive from it and define write().")
      .def(nb::init<>())
      .def("write", &required, nb::sig("def write(self, data: bytes) -> int"),
           "Takes bytes and says how many it took; fewer mean failure.");
}

}  // namespace tenon::python
