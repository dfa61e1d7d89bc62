// INT8 calibrators that users write in Python.
#include <NvInfer.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind.h"
#include "callback.h"

namespace tenon::python {
namespace {

using nvinfer1::APILanguage;
using nvinfer1::CalibrationAlgoType;
using nvinfer1::IInt8Calibrator;
using nvinfer1::v_1_0::IInt8EntropyCalibrator;
using nvinfer1::v_1_0::IInt8EntropyCalibrator2;
using nvinfer1::v_1_0::IInt8LegacyCalibrator;
using nvinfer1::v_1_0::IInt8MinMaxCalibrator;

template <class Base> class PythonCalibrator : public Base {
 public:
  NB_TRAMPOLINE(Base);

  int32_t getBatchSize() const noexcept override {
    return into_python(0, "get_batch_size", [&] {
      return nb::cast<int32_t>(call_override(nb_trampoline, "get_batch_size"));
    });
  }
  // After an exception there is no address, which ends the build: no range is found from part of
  // the data.
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    return into_python(true, "get_batch", [&] {
      const std::vector<std::string> inputs(names, names + count);
      const nb::object batch = call_override(nb_trampoline, "get_batch", inputs);
      if (batch.is_none()) return false;
      const auto addresses = nb::cast<std::vector<Address>>(batch);
      if (addresses.empty()) return false;
      if (addresses.size() != inputs.size())
        throw nb::value_error("get_batch() must give one address per input, or None at the end");
      for (size_t i = 0; i < addresses.size(); ++i) bindings[i] = addresses[i].as();
      return true;
    });
  }
  const void* readCalibrationCache(size_t& size) noexcept override {
    size = 0;
    // After an exception an empty cache, which is an error, and no calibration.
    return into_python<const void*>("", "read_calibration_cache", [&]() -> const void* {
      const nb::object cache = call_override(nb_trampoline, "read_calibration_cache");
      if (cache.is_none()) return nullptr;
      cache_ = Bytes();
      if (!cache_.open(cache))
        throw nb::type_error("read_calibration_cache() must give bytes, another buffer, or None");
      size = cache_.size();
      return cache_.data();
    });
  }
  void writeCalibrationCache(const void* data, size_t size) noexcept override {
    into_python("write_calibration_cache", [&] {
      // A view, as NVIDIA's bindings have it: callers ask it for tobytes().
      const nb::bytes bytes(data, size);
      call_override(nb_trampoline, "write_calibration_cache",
                    nb::steal(PyMemoryView_FromObject(bytes.ptr())));
    });
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return into_python(CalibrationAlgoType::kLEGACY_CALIBRATION, "get_algorithm", [&] {
      if constexpr (!std::is_same_v<Base, IInt8Calibrator>)
        if (!is_overridden(nb_trampoline, "get_algorithm")) return Base::getAlgorithm();
      return nb::cast<CalibrationAlgoType>(call_override(nb_trampoline, "get_algorithm"));
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

 private:
  Bytes cache_;
};

class PlainCalibrator : public PythonCalibrator<IInt8Calibrator> {
 public:
  using PythonCalibrator::PythonCalibrator;
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"IInt8Calibrator", 1, 0};
  }
};

class LegacyCalibrator : public PythonCalibrator<IInt8LegacyCalibrator> {
 public:
  using PythonCalibrator::PythonCalibrator;
  double getQuantile() const noexcept override { return 1; }
  double getRegressionCutoff() const noexcept override { return 1; }
  const void* readHistogramCache(size_t& size) noexcept override {
    size = 0;
    return nullptr;
  }
  void writeHistogramCache(const void*, size_t) noexcept override {}
};

template <class Base, class Python>
void bind_derived(nb::module_& m, const char* name, const char* doc) {
  nb::class_<Base, IInt8Calibrator, Python>(m, name, doc)
      .def(nb::init<>())
      .def(
          "get_algorithm", [](Base& self) { return self.Base::getAlgorithm(); },
          "How ranges are found.");
}

}  // namespace

void bind_calibrators(nb::module_& m) {
  nb::class_<IInt8Calibrator, PlainCalibrator>(
      m, "IInt8Calibrator",
      "Feeds inputs to the builder so that it finds the ranges of INT8 tensors. Derive from one of "
      "the classes below it and define all methods but "
      "get_algorithm().")
      .def(nb::init<>())
      .def("get_batch_size", &required, nb::sig("def get_batch_size(self) -> int"))
      .def("get_batch", &required,
           nb::sig("def get_batch(self, names: collections.abc.Sequence[str]) -> list[int] | None"),
           "The device addresses of the next batch, one per input; None when there are no more.")
      .def("read_calibration_cache", &required,
           nb::sig("def read_calibration_cache(self) -> typing_extensions.Buffer | None"),
           "Ranges saved before; None if there are none.")
      .def("write_calibration_cache", &required,
           nb::sig("def write_calibration_cache(self, cache: typing_extensions.Buffer) -> None"),
           "Takes the ranges found.")
      .def("get_algorithm", &required, nb::sig("def get_algorithm(self) -> CalibrationAlgoType"));
  bind_derived<IInt8EntropyCalibrator, PythonCalibrator<IInt8EntropyCalibrator>>(
      m, "IInt8EntropyCalibrator", "Ranges that lose the least information.");
  bind_derived<IInt8EntropyCalibrator2, PythonCalibrator<IInt8EntropyCalibrator2>>(
      m, "IInt8EntropyCalibrator2", "Ranges that lose the least information; the usual choice.");
  bind_derived<IInt8MinMaxCalibrator, PythonCalibrator<IInt8MinMaxCalibrator>>(
      m, "IInt8MinMaxCalibrator", "Ranges from the least to the largest value.");
  bind_derived<IInt8LegacyCalibrator, LegacyCalibrator>(m, "IInt8LegacyCalibrator",
                                                        "Ranges by a quantile.");
}

}  // namespace tenon::python
