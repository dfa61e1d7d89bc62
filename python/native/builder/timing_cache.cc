// ITimingCache: kernel timings that survive a process.
#include <NvInfer.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"

namespace tenon::python {
namespace {

using nvinfer1::ITimingCache;
using Key = nvinfer1::v_1_0::TimingCacheKey;
using Value = nvinfer1::v_1_0::TimingCacheValue;

constexpr char kDigits[] = "0123456789abcdef";

std::string text_of(const Key& key) {
  std::string text = "0x";
  for (const uint8_t byte : key.data) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Key parse_key(const std::string& text) {
  Key key{};
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  const std::string digits = text.substr(prefixed ? 2 : 0);
  if (digits.size() != 2 * sizeof key.data)
    throw nb::value_error("the text of a TimingCacheKey is 0x and 32 hexadecimal digits");
  for (size_t i = 0; i < digits.size(); ++i) {
    const int letter = std::tolower(static_cast<unsigned char>(digits[i]));
    const size_t value = std::string(kDigits).find(static_cast<char>(letter));
    if (value == std::string::npos)
      throw nb::value_error("the text of a TimingCacheKey is 0x and 32 hexadecimal digits");
    key.data[i / 2] = static_cast<uint8_t>(key.data[i / 2] << 4 | value);
  }
  return key;
}

std::vector<Key> keys_of(const ITimingCache& cache) {
  const int64_t count = cache.queryKeys(nullptr, 0);
  std::vector<Key> keys(count > 0 ? static_cast<size_t>(count) : 0);
  if (!keys.empty()) cache.queryKeys(keys.data(), count);
  return keys;
}

}  // namespace

void bind_timing_cache(nb::module_& m) {
  nb::class_<Key>(m, "TimingCacheKey", "What a timing is of, as a number of 128 bits.")
      .def_static("parse", &parse_key, nb::arg("text"), "The key that str() wrote.")
      .def("__str__", &text_of);
  nb::class_<Value>(m, "TimingCacheValue", "Which kernel was timed, and its time.")
      .def(
          "__init__",
          [](Value* self, uint64_t hash, float milliseconds) {
            new (self) Value{hash, milliseconds};
          },
          nb::arg("tacticHash"), nb::arg("timingMSec"))
      .def_rw("tacticHash", &Value::tacticHash)
      .def_rw("timingMSec", &Value::timingMSec);
  handle_class<ITimingCache>(m, "ITimingCache",
                             "Kernel timings; IBuilderConfig.create_timing_cache() makes one.")
      .def(
          "serialize", [](const ITimingCache& self) { return Owned(self.serialize()); },
          "The cache as bytes.")
      .def("combine", engine_call(&ITimingCache::combine), nb::arg("input_cache"),
           nb::arg("ignore_mismatch"),
           "Adds the timings of another cache; False if it is of another device or version and "
           "`ignore_mismatch` is False.")
      .def("reset", engine_call(&ITimingCache::reset), "Forgets all timings.")
      .def("queryKeys", &keys_of, "The keys of all timings.")
      .def("query", engine_call(&ITimingCache::query), nb::arg("key"),
           "The timing under a key; its tacticHash is 2**64 - 1 if there is none.")
      .def("update", engine_call(&ITimingCache::update), nb::arg("key"), nb::arg("value"),
           "Sets the timing under a key that is there; False otherwise.");
}

}  // namespace tenon::python
