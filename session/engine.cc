#include "tenon/session/engine.h"

#include <NvInferPlugin.h>
#include <tenon/error_codes.h>
#include <tenon/open_plan.h>

#include <fstream>
#include <vector>

#include "guard.h"
#include "read_file.h"

namespace tenon::session {
namespace {

std::unique_ptr<nvinfer1::IRuntime> make_runtime(ErrorLog& log, const EngineOptions& options) {
  initLibNvInferPlugins(nullptr, "");
  std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(log));
  if (runtime == nullptr) throw log.failure("cannot make a runtime");
  runtime->setEngineHostCodeAllowed(options.allows_host_code);
  return runtime;
}

class FileReader final : public nvinfer1::IStreamReaderV2 {
 public:
  explicit FileReader(const std::string& path) : file_(path, std::ios::binary) {
    if (!file_) throw Error{with_code(path + ": cannot be read", ErrorClass::kFile)};
  }
  int64_t read(void* to, int64_t bytes, cudaStream_t) noexcept override {
    file_.read(static_cast<char*>(to), bytes);
    return file_.gcount();
  }
  bool seek(int64_t offset, nvinfer1::SeekPosition where) noexcept override {
    file_.clear();
    file_.seekg(offset, where == nvinfer1::SeekPosition::kSET   ? std::ios::beg
                        : where == nvinfer1::SeekPosition::kCUR ? std::ios::cur
                                                                : std::ios::end);
    return file_.good();
  }

 private:
  std::ifstream file_;
};

}  // namespace

Result<Engine> Engine::stream(const std::string& path, ErrorLog& log,
                              const EngineOptions& options) noexcept {
  return guard([&] {
    FileReader reader(path);
    Engine engine{make_runtime(log, options), nullptr};
    engine.engine.reset(engine.runtime->deserializeCudaEngine(reader));
    if (engine.engine == nullptr)
      throw Error{path + ": " + log.failure("the engine cannot be loaded").text};
    return engine;
  });
}

Result<Engine> Engine::load(std::span<const std::byte> plan, ErrorLog& log,
                            const EngineOptions& options) noexcept {
  return guard([&] {
    Engine engine{make_runtime(log, options), nullptr};
    engine.engine.reset(engine.runtime->deserializeCudaEngine(plan.data(), plan.size()));
    if (engine.engine == nullptr) throw log.failure("the engine cannot be loaded");
    return engine;
  });
}

Result<Engine> Engine::open(const std::string& path, ErrorLog& log,
                            const EngineOptions& options) noexcept {
  return guard([&] {
    if (tenonOpenPlan == nullptr) return value_of(load(read_file(path), log, options));
    Engine engine{make_runtime(log, options), nullptr};
    engine.engine = open_plan(*engine.runtime, path.c_str());
    if (engine.engine == nullptr) throw log.failure(path + ": the engine cannot be loaded");
    return engine;
  });
}

}  // namespace tenon::session
