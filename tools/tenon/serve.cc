// `tenon serve`: starts tenon-server, which is a program of its own, since it links gRPC.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.h"
#include "error.h"

namespace tenon::tool {
namespace {

// Where an installation has it, and where the build has.
std::string server_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = self.parent_path();
  for (const auto& path : {folder / "tenon-server", folder / "../../server/tenon-server"})
    if (::access(path.c_str(), X_OK) == 0) return path;
  fail("serve: there is no tenon-server beside {}: install it, or build its target tenon_server",
       self.string());
}

}  // namespace

void add_serve(CLI::App& app, Logger&) {
  CLI::App* command = app.add_subcommand(
      "serve", "Serve the models of a folder: KServe's protocol v2 over HTTP and gRPC");
  command->prefix_command();  // all else is the server's
  command->set_help_flag();
  command->callback([command] {
    std::string program = server_program();
    std::vector<std::string> words = command->remaining();
    std::vector<char*> pointers{program.data()};
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execv(program.c_str(), pointers.data());
    fail("serve: {}: {}", program, std::strerror(errno));
  });
}

}  // namespace tenon::tool
