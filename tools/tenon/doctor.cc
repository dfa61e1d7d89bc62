// `tenon doctor`: what this machine has, and whether Tenon can use it.
#include <NvInferPlugin.h>
#include <fmt/format.h>
#include <tenon/describe.h>
#include <zip.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "error.h"
#include "model.h"
#include "picture.h"

namespace tenon::tool {

namespace {

std::string jpeg_version() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  constexpr int kNumber = LIBJPEG_TURBO_VERSION_NUMBER;
  return fmt::format("turbo {}.{}.{}", kNumber / 1'000'000, kNumber / 1000 % 1000, kNumber % 1000);
#else
  return fmt::format("{}", JPEG_LIB_VERSION);
#endif
}

// A line, or one for each part: "targets: cpu  ...".
void print(const std::string& key, const nlohmann::ordered_json& value) {
  if (value.is_object())
    for (const auto& [part, text] : value.items()) print(key + ": " + part, text);
  else
    fmt::print("{:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

void add_doctor(CLI::App& app, Logger& logger) {
  struct Options {
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor", "Say what this machine has for Tenon");
  command->add_flag("--json", o->json, "Print JSON");
  command->callback([o, &logger] {
    initLibNvInferPlugins(&logger, "");
    const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
    if (runtime == nullptr) fail_with_log(logger, "cannot make a runtime");
    const tenon::Text text = tenon::describe_machine();
    if (text == nullptr) fail_with_log(logger, "the machine cannot be described");
    auto facts = nlohmann::ordered_json::parse(
        std::string_view(static_cast<const char*>(text->data()), text->size()));
    int32_t plugins = 0;
    getPluginRegistry()->getAllCreatorsRecursive(&plugins);
    facts["libjpeg"] = jpeg_version();
    facts["libpng"] = png_get_libpng_ver(nullptr);
    facts["libzip"] = zip_libzip_version();
    facts["plugins"] = plugins;
    if (o->json) {
      fmt::print("{}\n", facts.dump(2));
      return;
    }
    for (const auto& [key, value] : facts.items()) print(key, value);
  });
}

}  // namespace tenon::tool
