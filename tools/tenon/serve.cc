// `tenon serve` and `tenon load`: become tenon-server and tenon-load, which are programs of their
// own, since they link gRPC, or the Python package's tenon.ray.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "commands.h"
#include "error.h"

namespace tenon::tool {
namespace {

std::filesystem::path this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

// Where an installation has it, and where the build has, in that folder of it.
std::string find_program(const std::string& name, const std::string& folder_of_build) {
  const std::filesystem::path folder = this_program().parent_path();
  for (const auto& path : {folder / name, folder / "../.." / folder_of_build / name})
    if (::access(path.c_str(), X_OK) == 0) return path;
  fail(ErrorClass::kSetUp, "there is no {} beside {}: install it, or build it", name,
       this_program().string());
}

[[noreturn]] void become(const std::string& command, std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  fail(ErrorClass::kSetUp, "{}: {}: {}", command, words[0], std::strerror(errno));
}

// Ray's applications are Python: the package that this program is of, or that of the build, or the
// one that is installed.
[[noreturn]] void become_ray(std::vector<std::string> words) {
  const std::filesystem::path folder = this_program().parent_path();
  for (const auto& package : {folder / "..", folder / "../../python/tenon"})
    if (std::filesystem::exists(package / "ray/__main__.py")) {
      const char* const others = std::getenv("PYTHONPATH");
      const std::string path = (package / "..").lexically_normal().string()
                               + (others == nullptr ? "" : std::string(":") + others);
      ::setenv("PYTHONPATH", path.c_str(), 1);
      break;
    }
  const char* const python = std::getenv("TENON_PYTHON");
  words.insert(words.begin(), {python == nullptr ? "python3" : python, "-m", "tenon.ray"});
  become("serve", std::move(words));
}

// All that follows is the program's.
CLI::App* add_program(CLI::App& app, const std::string& name, const std::string& text) {
  CLI::App* command = app.add_subcommand(name, text);
  command->prefix_command();
  command->set_help_flag();
  return command;
}

}  // namespace

void add_serve(CLI::App& app, Logger&) {
  CLI::App* command = add_program(
      app, "serve",
      "Serve the models of a folder: KServe's protocol v2 over HTTP and gRPC; --ray APP: an "
      "application of Ray Serve");
  command->callback([command] {
    std::vector<std::string> words = command->remaining();
    if (!words.empty() && words[0] == "--ray") {
      words.erase(words.begin());
      become_ray(std::move(words));
    }
    words.insert(words.begin(), find_program("tenon-server", "server"));
    become("serve", std::move(words));
  });
}

void add_load(CLI::App& app, Logger&) {
  CLI::App* command = add_program(
      app, "load", "Load for a server, and how it answers: concurrency, rates, latencies");
  command->callback([command] {
    std::vector<std::string> words = command->remaining();
    words.insert(words.begin(), find_program("tenon-load", "server/load"));
    become("load", std::move(words));
  });
}

}  // namespace tenon::tool
