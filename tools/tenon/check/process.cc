#include "check/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "error.h"

extern char** environ;

namespace tenon::tool::check {
namespace {

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// This process's environment, with a library to preload before those that it names.
std::vector<std::string> environment_with(const std::string& preload) {
  constexpr std::string_view kName = "LD_PRELOAD=";
  std::vector<std::string> list;
  std::string others;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view entry = *one;
    if (!preload.empty() && entry.starts_with(kName))
      others = entry.substr(kName.size());
    else
      list.emplace_back(entry);
  }
  if (!preload.empty()) list.push_back(fmt::format("{}{}:{}", kName, preload, others));
  return list;
}

// As posix_spawn() takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

pid_t start(const std::vector<std::string>& arguments, const std::string& preload, bool prints,
            int report) {
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (prints) {
    posix_spawn_file_actions_adddup2(actions.get(), STDERR_FILENO, STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(actions.get(), STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_adddup2(actions.get(), report, kReportDescriptor);
  std::vector<std::string> command = {"/proc/self/exe"}, environment = environment_with(preload);
  command.insert(command.end(), arguments.begin(), arguments.end());
  pid_t child = 0;
  const int error = posix_spawn(&child, command[0].c_str(), actions.get(), nullptr,
                                pointers_to(command).data(), pointers_to(environment).data());
  if (error != 0) fail("cannot start a process to check plugins in: {}", std::strerror(error));
  return child;
}

// Reads lines until the other side is closed; false when none came for `limit`.
bool read_lines(int from, std::chrono::seconds limit,
                const std::function<void(const std::string&)>& on_line) {
  std::string pending;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  while (true) {
    pollfd waiting{from, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(milliseconds));
    if (ready == 0) return false;
    if (ready < 0 && errno == EINTR) continue;
    char buffer[4096];
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    pending.append(buffer, static_cast<size_t>(n));
    for (size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n')) {
      on_line(pending.substr(0, end));
      pending.erase(0, end + 1);
    }
  }
}

}  // namespace

Ending run_again(const std::vector<std::string>& arguments, const std::string& preload, bool prints,
                 std::chrono::seconds limit,
                 const std::function<void(const std::string&)>& on_line) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe: {}", std::strerror(errno));
  const pid_t child = start(arguments, preload, prints, ends[1]);
  close(ends[1]);
  const bool answered = read_lines(ends[0], limit, on_line);
  close(ends[0]);
  if (!answered) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (!answered) return {true, fmt::format("it did not come back within {} s", limit.count())};
  if (!WIFSIGNALED(status))
    return {false, fmt::format("it ended the process with exit code {}", WEXITSTATUS(status))};
  const char* name = sigabbrev_np(WTERMSIG(status));
  return {false, fmt::format("it was ended by signal SIG{} ({})", name == nullptr ? "?" : name,
                             strsignal(WTERMSIG(status)))};
}

}  // namespace tenon::tool::check
