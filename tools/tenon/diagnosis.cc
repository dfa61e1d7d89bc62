#include "diagnosis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/closest_names.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "check/process.h"
#include "load_failure.h"
#include "options.h"

namespace tenon::tool {
namespace {

using Level = Finding::Level;
constexpr std::chrono::seconds kLimit{60};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Why a GPU that is there cannot be used, as cudart says it.
std::string fix_of_gpu(const std::string& why) {
  if (has(why, "TENON_TARGET is cpu")) return "leave TENON_TARGET out to use the GPU";
  if (has(why, "no CUDA target"))
    return "install a build with it: `./dev cuda`, or CMake's preset cuda-release";
  if (has(why, "driver is one for CUDA") || has(why, "driver version"))
    return "install a driver of NVIDIA for CUDA 13, 580 or newer";
  if (has(why, "sees no GPU"))
    return "let this process see it: CUDA_VISIBLE_DEVICES, and a container's option --gpus=all";
  if (has(why, "runtime is not there"))
    return "pip install nvidia-cuda-runtime, and name its libcudart.so.13 by TENON_CUDART or by "
           "its "
           "folder in LD_LIBRARY_PATH";
  return fix_of_load_failure(why);
}

constexpr std::string_view kVariables[] = {
    "TENON_THREADS",      "TENON_LOG",          "TENON_ISA",          "TENON_TARGET",
    "TENON_KERNEL_CACHE", "TENON_IMPORT_LIMIT", "TENON_IMPORT_NODES", "TENON_CUDART",
    "TENON_TRT_API",      "TENON_CUDA_ORDER",   "TENON_CUDA_TIMEOUT", "TENON_PYTHON"};

bool is_variable(std::string_view name) {
  return std::ranges::find(kVariables, name) != std::end(kVariables);
}

// The variable that is meant by a name that is none.
std::string_view nearest_variable(std::string_view name) {
  constexpr size_t kMaxDistance = 2;
  const auto nearest = std::ranges::min_element(
      kVariables, {}, [&](std::string_view known) { return edit_distance(name, known); });
  return edit_distance(name, *nearest) <= kMaxDistance ? *nearest : std::string_view();
}

// The text behind the last `mark`, up to the end of its line.
std::string behind(const std::string& text, std::string_view mark) {
  const size_t at = text.rfind(mark);
  if (at == std::string::npos) return "";
  const size_t begin = at + mark.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// "LIBRARY: cause", where the cause may begin so itself.
std::string cause_at(const std::string& library, std::string_view cause) {
  for (const std::string& known :
       {std::string("--plugins: "), "./" + library + ": ", library + ": "})
    if (cause.starts_with(known)) cause.remove_prefix(known.size());
  return fmt::format("{}: {}", library, cause);
}

std::string fix_of_cause(const std::string& library, const std::string& cause) {
  if (has(cause, "not a shared library")) return fix_of_load_failure("invalid ELF header");
  // A name without a folder, which the loader looked for itself.
  if (cause.starts_with(library + ": cannot open shared object file: No such file"))
    return "name a file that is there: neither this folder nor those of the system have it";
  return fix_of_load_failure(cause);
}

// Where a folder named in a variable is a place that files can be written to, once it is made.
bool can_hold_files(std::filesystem::path folder) {
  std::error_code ignored;
  while (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
    if (folder == folder.parent_path()) return false;
    folder = folder.parent_path();
  }
  if (folder.empty()) folder = ".";
  return std::filesystem::is_directory(folder, ignored)
         && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

std::vector<Finding> findings_of_targets(const nlohmann::ordered_json& facts) {
  std::vector<Finding> findings;
  const auto target = facts.value("target", std::string());
  if (target.starts_with("no: "))
    findings.push_back({Level::kError, "there is nothing to build for: " + target.substr(4),
                        "set TENON_TARGET to cpu or cuda, or leave it out"});
  const auto gpu = facts.value("GPU", std::string());
  const auto cuda =
      facts.value("targets", nlohmann::ordered_json::object()).value("cuda", std::string());
  if (gpu.starts_with("NVIDIA") && cuda.starts_with("no: "))
    findings.push_back(
        {Level::kWarning,
         fmt::format("there is a GPU ({}), and it is not used: {}", gpu, cuda.substr(4)),
         fix_of_gpu(cuda)});
  if (::access("/dev/nvidiactl", F_OK) == 0 && ::access("/dev/nvidiactl", R_OK | W_OK) != 0)
    findings.push_back({Level::kWarning, "this user may not open /dev/nvidiactl, the GPU's device",
                        "add the user to the group that owns it, as `ls -l /dev/nvidiactl` says"});
  const auto set = facts.value("instruction set", std::string());
  if (set.starts_with("SSE"))
    findings.push_back(
        {Level::kWarning,
         "kernels use no vector instructions beyond " + set
             + ", and are several times "
               "slower than with AVX2",
         "run on a processor with AVX2, let the virtual machine pass it on, or leave "
         "TENON_ISA out"});
  return findings;
}

std::vector<Finding> findings_of_environment(const std::vector<std::string>& environment) {
  std::vector<Finding> findings;
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : entry.substr(equals + 1);
    if (!name.starts_with("TENON_")) continue;
    if (!is_variable(name)) {
      if (const std::string_view meant = nearest_variable(name); !meant.empty())
        findings.push_back({Level::kWarning, fmt::format("{} is set, and changes nothing", name),
                            fmt::format("its name may be meant to be {}", meant)});
      continue;
    }
    if (name == "TENON_ISA" && !value.empty())
      findings.push_back(
          {Level::kWarning,
           fmt::format("TENON_ISA={} limits the vector instructions of kernels", value),
           "leave it out, unless that is what you want to measure"});
    if (name == "TENON_KERNEL_CACHE" && !value.empty() && !can_hold_files(value))
      findings.push_back(
          {Level::kWarning,
           fmt::format("TENON_KERNEL_CACHE={} cannot be written to: code for GPUs is generated "
                       "again by each process",
                       value),
           "name a folder that this user may write to"});
  }
  return findings;
}

std::vector<Finding> findings_of_versions(const std::string& program, const std::string& library) {
  if (program == library) return {};
  return {
      {Level::kError,
       fmt::format("this program is of version {}, and the libtenon that it loads of version {}",
                   program, library),
       "install both from one build, and look at LD_LIBRARY_PATH: `ldd` of this program says "
       "where its libtenon is"}};
}

std::vector<Finding> findings_of_plugins(const std::string& library) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  check::Start start;
  start.command = {self, "plugins", "--plugins=" + library};
  const check::Ending ending = check::run_process(start, kLimit, [](auto&) {});
  if (ending.succeeded) {
    if (!has(ending.errors, "registers no plugin that was not there before")) return {};
    return {
        {Level::kWarning, fmt::format("{}: registers no plugin that was not there before", library),
         "let it register creators when it is loaded (REGISTER_TENSORRT_PLUGIN, TENON_PLUGIN) or "
         "export getCreators; names that come along need --preferPlugins"}};
  }
  std::string cause = behind(ending.errors, "cannot load plugin library " + library + ": ");
  if (cause.empty()) cause = behind(ending.errors, "tenon: ");
  if (!cause.empty())
    return {{Level::kError, cause_at(library, cause), fix_of_cause(library, cause)}};
  return {{Level::kError, fmt::format("{}: when it is loaded, {}", library, ending.text),
           "run `gdb --args tenon plugins --plugins=...` to see where; functions of its static "
           "objects and initLibNvInferPlugins run then"}};
}

std::vector<Finding> findings_of_python(const std::string& program_version) {
  std::string version;
  check::Start start;
  start.command = {"/usr/bin/env", "python3", "-c",
                   "import importlib.metadata as m, os\n"
                   "os.write(3, (m.version('tenon') + '\\n').encode())"};
  try {
    check::run_process(start, kLimit, [&](const std::string& line) { version = line; });
  } catch (const std::exception&) {
    return {};
  }
  if (version.empty() || version == program_version) return {};
  return {
      {Level::kWarning,
       fmt::format("python3 has the package tenon of version {}, and this program is of version "
                   "{}: plans of one may not open in the other",
                   version, program_version),
       "install both from one build (./dev wheel), or use the package's own `python3 -m tenon`"}};
}

std::vector<Finding> findings_of_search_path(const std::string& search_path,
                                             const std::string& own) {
  std::vector<Finding> findings;
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    if (folder.empty() || std::filesystem::equivalent(folder, own, ignored)) break;
    const std::string library = folder + "/libnvinfer.so.10";
    if (!std::filesystem::exists(library, ignored)) continue;
    const auto target = std::filesystem::canonical(library, ignored).parent_path();
    if (std::filesystem::equivalent(target, own, ignored)) continue;
    findings.push_back(
        {Level::kWarning,
         fmt::format("LD_LIBRARY_PATH has {}, which is not beside this libtenon: programs that are "
                     "linked with TensorRT load that one",
                     library),
         fmt::format("put {} before {} in LD_LIBRARY_PATH where Tenon is meant", own, folder)});
    break;
  }
  return findings;
}

}  // namespace tenon::tool
