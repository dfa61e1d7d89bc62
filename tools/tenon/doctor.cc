// `tenon doctor`: what this machine has, whether Tenon can use it, and what helps where it cannot.
#include <NvInferPlugin.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <tenon/describe.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "diagnosis.h"
#include "error.h"
#include "machine_limits.h"
#include "model.h"
#include "picture.h"

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;

std::string jpeg_version() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  constexpr int kNumber = LIBJPEG_TURBO_VERSION_NUMBER;
  return fmt::format("turbo {}.{}.{}", kNumber / 1'000'000, kNumber / 1000 % 1000, kNumber % 1000);
#else
  return fmt::format("{}", JPEG_LIB_VERSION);
#endif
}

// A line, or one for each part: "targets: cpu  ...".
void print(const std::string& key, const ordered_json& value) {
  if (value.is_object())
    for (const auto& [part, text] : value.items()) print(key + ": " + part, text);
  else
    fmt::print("{:<16} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
}

void add(std::vector<Finding> more, std::vector<Finding>& findings) {
  std::ranges::move(more, std::back_inserter(findings));
}

// What this process runs on, as far as that can be told.
ordered_json facts_of_machine(std::vector<Finding>& findings, Logger& logger) {
  initLibNvInferPlugins(&logger, "");
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(logger));
  const tenon::Text text = runtime != nullptr ? tenon::describe_machine() : nullptr;
  ordered_json facts = ordered_json::object();
  if (text == nullptr)
    findings.push_back({Finding::Level::kError,
                        "no engine can be made: " + logger.failure("the library says no more").text,
                        "what the message says: a variable TENON_… may hold what is not allowed"});
  else
    facts =
        ordered_json::parse(std::string_view(static_cast<const char*>(text->data()), text->size()));
  facts["libjpeg"] = jpeg_version();
  facts["libpng"] = png_get_libpng_ver(nullptr);
  facts["libzip"] = zip_libzip_version();
  int32_t plugins = 0;
  getPluginRegistry()->getAllCreatorsRecursive(&plugins);
  facts["plugins"] = plugins;
  return facts;
}

// The folder of the libtenon that this process has loaded.
std::string own_folder() {
  Dl_info info{};
  std::error_code ignored;
  if (::dladdr(reinterpret_cast<void*>(&getPluginRegistry), &info) == 0) return "";
  return std::filesystem::canonical(info.dli_fname, ignored).parent_path();
}

std::vector<std::string> environment() {
  std::vector<std::string> list;
  for (char** one = environ; *one != nullptr; ++one) list.emplace_back(*one);
  return list;
}

// What the target cuda opens when it needs it, and where the loader finds it.
void add_cuda_libraries(ordered_json& facts) {
  for (const char* name : {"libcuda.so.1", "libcudart.so.13", "libcublasLt.so.13", "libcudnn.so.9",
                           "libnvrtc.so.13"}) {
    void* const library = ::dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    link_map* map = nullptr;
    const bool is_there = library != nullptr && ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0;
    facts[name] = is_there ? map->l_name : "not found";
    if (library != nullptr) ::dlclose(library);
  }
}

struct DoctorOptions {
  bool json = false;
  std::vector<std::string> plugins;
  std::string program_version;
};

// Adds to `facts` what it finds of the machine beside describe_machine().
std::vector<Finding> examine(const DoctorOptions& o, ordered_json& facts, Logger& logger) {
  std::vector<Finding> findings;
  facts = facts_of_machine(findings, logger);
  const MachineLimits limits = read_machine_limits("/");
  facts["processors"] = limits.processors;
  if (limits.cpu_quota) facts["processor quota"] = *limits.cpu_quota;
  if (limits.memory_max)
    facts["memory limit"] = fmt::format("{:.1f} GB", static_cast<double>(*limits.memory_max) / 1e9);
  facts["NUMA nodes"] = limits.numa_nodes;
  facts["huge pages"] = limits.huge_pages;
  facts["libraries"] = own_folder();
  if (!facts.value("targets", ordered_json::object())
           .value("cuda", "")
           .ends_with("without TENON_CUDA"))
    add_cuda_libraries(facts);
  add(findings_of_targets(facts), findings);
  add(findings_of(limits, facts.value("threads", 1)), findings);
  add(findings_of_environment(environment()), findings);
  add(findings_of_versions(o.program_version, facts.value("version", o.program_version)), findings);
  const char* const search_path = std::getenv("LD_LIBRARY_PATH");
  add(findings_of_search_path(search_path != nullptr ? search_path : "", own_folder()), findings);
  add(findings_of_python(o.program_version), findings);
  for (const std::string& library : o.plugins) add(findings_of_plugins(library), findings);
  return findings;
}

const char* name_of(Finding::Level level) {
  return level == Finding::Level::kError ? "error" : "warning";
}

void print(const DoctorOptions& o, ordered_json facts, const std::vector<Finding>& findings) {
  if (o.json) {
    facts["findings"] = ordered_json::array();
    for (const Finding& f : findings)
      facts["findings"].push_back({{"level", name_of(f.level)}, {"what", f.what}, {"fix", f.fix}});
    fmt::print("{}\n", facts.dump(2, ' ', false, ordered_json::error_handler_t::replace));
    return;
  }
  for (const auto& [key, value] : facts.items()) print(key, value);
  for (const Finding& f : findings)
    fmt::print("\n{}: {}\n  fix: {}\n", name_of(f.level), printable(f.what), printable(f.fix));
  if (findings.empty()) fmt::print("\nnothing is wrong\n");
}

void examine_and_print(const DoctorOptions& o, Logger& logger) {
  ordered_json facts;
  const std::vector<Finding> findings = examine(o, facts, logger);
  print(o, facts, findings);
  const auto errors = std::ranges::count(findings, Finding::Level::kError, &Finding::level);
  if (errors == 0) return;
  const auto first = std::ranges::find(findings, Finding::Level::kError, &Finding::level);
  fail(ErrorClass::kVerdict, "{} error{} found: {}", errors, errors == 1 ? "" : "s",
       continued(first->what, errors == 1 ? "" : "; and others"));
}

// The second word of "tenon 0.1.0 (…)".
std::string version_in(const std::string& text) {
  const size_t begin = text.find(' ') + 1;
  return text.substr(begin, text.find(' ', begin) - begin);
}

}  // namespace

void add_doctor(CLI::App& app, Logger& logger) {
  auto o = std::make_shared<DoctorOptions>();
  o->program_version = version_in(app.version());
  CLI::App* command = app.add_subcommand(
      "doctor", "Say what this machine has for Tenon, what is wrong with it, and what helps");
  command->add_flag("--json", o->json, "Print JSON");
  command->add_option("--plugins", o->plugins, "A library of plugins to look at, too; repeatable")
      ->allow_extra_args(false);
  command->callback([o, &logger] { examine_and_print(*o, logger); });
}

}  // namespace tenon::tool
