/// Programs that this one runs.
#include "hostcuda/compiler/process.h"

#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "hostcuda/compiler/lexer.h"

extern char** environ;

namespace tenon::nvcc {

int run(const std::vector<std::string>& command, bool shows, bool is_dry) {
  if (shows || is_dry) {
    std::string line = "#$";
    for (const std::string& word : command) {
      const bool needs_quotes = word.find_first_of(" \t\"'$") != std::string::npos;
      line += needs_quotes ? " \"" + word + "\"" : " " + word;
    }
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (is_dry) return 0;
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environ))
    throw Failure{"nvcc fatal   : cannot run " + command[0] + ": " + std::strerror(error)};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read_file(const std::string& name) {
  std::ifstream in(name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Failure{"nvcc fatal   : cannot read " + name};
  return std::move(text).str();
}

void write_file(const std::string& name, const std::string& text) {
  std::ofstream out(name, std::ios::binary);
  out << text;
  if (!out.flush()) throw Failure{"nvcc fatal   : cannot write " + name};
}

std::string toolkit_folder() {
  return std::filesystem::canonical("/proc/self/exe").parent_path().parent_path().string();
}

}  // namespace tenon::nvcc
