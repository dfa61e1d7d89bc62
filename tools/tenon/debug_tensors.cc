#include "debug_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/session/debug_arrays.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "error.h"
#include "files.h"
#include "io_formats.h"
#include "npz.h"
#include "output_text.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;
using session::Array;

constexpr std::string_view kFormats[] = {"summary", "numpy", "string", "raw"};

// Rows in brackets, one inside the other.
std::string nested(const Array& array) {
  const std::vector<std::string> texts = texts_of(array);
  size_t next = 0;
  std::string text;
  const auto write = [&](const auto& self, size_t axis) -> void {
    if (axis == array.shape.size()) {
      text += texts.at(next++);
      return;
    }
    const bool is_row = axis + 1 == array.shape.size();
    text += '[';
    for (int64_t i = 0; i < array.shape[axis]; ++i) {
      if (i > 0) text += is_row ? " " : "\n" + std::string(axis + 1, ' ');
      self(self, axis + 1);
    }
    text += ']';
  };
  write(write, 0);
  return text + "\n";
}

// As trtexec's summary has it.
const char* name_of(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kFLOAT:
      return "FLOAT";
    case nvinfer1::DataType::kHALF:
      return "HALF";
    case nvinfer1::DataType::kBF16:
      return "BF16";
    case nvinfer1::DataType::kINT8:
      return "INT8";
    case nvinfer1::DataType::kINT32:
      return "INT32";
    case nvinfer1::DataType::kINT64:
      return "INT64";
    case nvinfer1::DataType::kUINT8:
      return "UINT8";
    case nvinfer1::DataType::kBOOL:
      return "BOOL";
    default:  // arrays have no others
      return "UNKNOWN";
  }
}

// JSON has no infinities: these are texts.
ordered_json number(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json(fmt::format("{}", value));
}
ordered_json number(int64_t value) {
  return value;
}

// NaNs are counted, and are no minimum and no maximum.
template <class T> void add_range(ordered_json& result, std::vector<T> values) {
  const auto is_nan = [](T value) { return value != value; };
  if (const auto nans = std::erase_if(values, is_nan); nans > 0) result["nan"] = nans;
  if (values.empty()) return;
  const auto [min, max] = std::minmax_element(values.begin(), values.end());
  double sum = 0;
  for (T value : values) sum += static_cast<double>(value);
  result["min"] = number(*min);
  result["max"] = number(*max);
  result["avg"] = number(sum / static_cast<double>(values.size()));
}

ordered_json statistics(const Array& array) {
  ordered_json result = ordered_json::object();
  if (is_float(array.type))
    add_range(result, value_or_fail(session::numbers(array)));
  else
    add_range(result, value_or_fail(session::integers(array)));
  constexpr size_t kShown = 10;
  std::vector<std::string> texts = texts_of(array);
  if (texts.size() > kShown) {
    texts.erase(texts.begin() + kShown / 2, texts.end() - kShown / 2);
    texts.insert(texts.begin() + kShown / 2, "...");
  }
  result["elements"] = fmt::format("{}", fmt::join(texts, ", "));
  return result;
}

// Writes what it is told.
class Writer {
 public:
  explicit Writer(const DebugTensorOptions& options)
      : formats_(options.formats.begin(), options.formats.end()) {
    for (const std::string& text : options.named) named_.insert(split_file(text));
  }

  // After the run.
  void finish(Logger& logger) {
    for (const auto& [name, path] : named_)
      if (!written_.contains(name))
        fail(ErrorClass::kNotInModel, "--saveDebugTensors: the run did not make debug tensor '{}'",
             name);
    if (count_ == 0)
      fail(ErrorClass::kNotInModel,
           "--saveAllDebugTensors: the engine has no debug tensors: build it with --markDebug or "
           "--markUnfusedTensorsAsDebugTensors");
    if (formats_.contains("summary")) {
      const ordered_json summary = {{"tensors", tensors_}};
      const std::string text =
          summary.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
      write_file(kDebugSummaryFile, text.data(), text.size());
    }
    logger.say(fmt::format("Wrote {} debug tensor{}", count_, count_ == 1 ? "" : "s"));
  }

  void write(const std::string& name, const Array& array) {
    ordered_json files = ordered_json::object();
    const std::string own = file_name(fmt::format("{:04}_{}", count_++, name));
    if (const auto found = named_.find(name); found != named_.end()) {
      write_file(found->second, array.bytes.data(), array.bytes.size());
      written_.insert(name);
      files["assigned"] = found->second;
    }
    if (formats_.contains("numpy")) {
      write_npy(own + ".npy", array);
      files["numpy"] = own + ".npy";
    }
    if (formats_.contains("string")) {
      const std::string text = nested(array);
      write_file(own + ".str", text.data(), text.size());
      files["string"] = own + ".str";
    }
    if (formats_.contains("raw")) {
      write_file(own + ".raw", array.bytes.data(), array.bytes.size());
      files["raw"] = own + ".raw";
    }
    if (formats_.contains("summary"))
      tensors_.push_back({{"name", name},
                          {"shape", array.shape},
                          {"type", name_of(array.type)},
                          {"statistics", statistics(array)},
                          {"files", files}});
  }

 private:
  const std::set<std::string, std::less<>> formats_;
  std::map<std::string, std::string> named_;
  std::set<std::string> written_;  // of these
  ordered_json tensors_ = ordered_json::array();
  int count_ = 0;
};

}  // namespace

bool DebugTensorOptions::has_summary() const {
  return std::find(formats.begin(), formats.end(), "summary") != formats.end();
}

void DebugTensorOptions::check() const {
  std::set<std::string> names;
  for (const std::string& text : named) {
    const auto [name, path] = split_file(text);
    if (name.empty() || path.empty())
      fail(ErrorClass::kOptions,
           "--saveDebugTensors: '{}' is not a tensor with a file; expected NAME:FILE", text);
    if (!names.insert(name).second)
      fail(ErrorClass::kOptions, "--saveDebugTensors: tensor '{}' has two files; give it one",
           name);
  }
  for (const std::string& format : formats)
    if (std::find(std::begin(kFormats), std::end(kFormats), format) == std::end(kFormats))
      fail(ErrorClass::kOptions, "--saveAllDebugTensors: '{}' is not a format; expected one of: {}",
           format, fmt::join(kFormats, ", "));
}

void save_debug_tensors(session::Session& session, const DebugTensorOptions& options,
                        Logger& logger) {
  nvinfer1::IExecutionContext& context = session.context().get();
  Writer writer(options);
  session::DebugArrays listener(
      [&](const std::string& name, const Array& array) -> session::Result<void> {
        try {
          writer.write(name, array);
          return {};
        } catch (const Failure& e) {
          return session::Error{with_code(e.what(), e.error_class())};
        }
      });
  if (!context.setDebugListener(&listener)) fail_with_log(logger, "setDebugListener");
  const auto forget = [](nvinfer1::IExecutionContext* c) { c->setDebugListener(nullptr); };
  const std::unique_ptr<nvinfer1::IExecutionContext, decltype(forget)> heard(&context, forget);
  for (const std::string& text : options.named) {
    const std::string name = split_file(text).first;
    if (!context.setTensorDebugState(name.c_str(), true))
      fail(ErrorClass::kNotInModel,
           "--saveDebugTensors: the engine has no debug tensor '{}': build it with --markDebug={}",
           name, name);
  }
  if (!options.formats.empty())
    if (!context.setAllTensorsDebugState(true) || !context.setUnfusedTensorsDebugState(true))
      fail_with_log(logger, "--saveAllDebugTensors");
  const auto ran = session.run();
  if (!listener.failure().empty()) throw Failure(listener.failure());
  value_or_fail(ran);
  writer.finish(logger);
}

}  // namespace tenon::tool
