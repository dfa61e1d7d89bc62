// `tenon serve` and `tenon load`: start tenon-server and tenon-load, which are programs of their
// own, since they link gRPC.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "commands.h"
#include "error.h"

namespace tenon::tool {
namespace {

// Where an installation has it, and where the build has, in that folder of it.
std::string find_program(const std::string& name, const std::string& folder_of_build) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = self.parent_path();
  for (const auto& path : {folder / name, folder / "../.." / folder_of_build / name})
    if (::access(path.c_str(), X_OK) == 0) return path;
  fail("there is no {} beside {}: install it, or build it", name, self.string());
}

// The command becomes the program, whose options are all that follows.
void add_program(CLI::App& app, const std::string& name, const std::string& text,
                 const std::string& program_name, const std::string& folder_of_build) {
  CLI::App* command = app.add_subcommand(name, text);
  command->prefix_command();
  command->set_help_flag();
  command->callback([=] {
    std::string program = find_program(program_name, folder_of_build);
    std::vector<std::string> words = command->remaining();
    std::vector<char*> pointers{program.data()};
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    fail("{}: {}: {}", name, program, std::strerror(errno));
  });
}

}  // namespace

void add_serve(CLI::App& app, Logger&) {
  add_program(app, "serve", "Serve the models of a folder: KServe's protocol v2 over HTTP and gRPC",
              "tenon-server", "server");
}

void add_load(CLI::App& app, Logger&) {
  add_program(app, "load", "Load for a server, and how it answers: concurrency, rates, latencies",
              "tenon-load", "server/load");
}

}  // namespace tenon::tool
