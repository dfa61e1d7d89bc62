#include "check/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "check/error.h"

extern char** environ;

namespace tenon::check {
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

// This process's environment, with another entry and with a library to preload before those that
// it names.
std::vector<std::string> environment_of(const Start& start) {
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  const std::string_view name =
      std::string_view(start.environment).substr(0, start.environment.find('=') + 1);
  std::vector<std::string> list;
  std::string others;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view entry = *one;
    if (!start.preload.empty() && entry.starts_with(kPreload))
      others = entry.substr(kPreload.size());
    else if (name.empty() || !entry.starts_with(name))
      list.emplace_back(entry);
  }
  if (!name.empty()) list.push_back(start.environment);
  if (!start.preload.empty())
    list.push_back(fmt::format("{}{}:{}", kPreload, start.preload, others));
  return list;
}

// As posix_spawn() takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

pid_t spawn(const Start& start, int report, int errors) {
  FileActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), errors, STDERR_FILENO);
  if (start.prints)
    posix_spawn_file_actions_adddup2(actions.get(), errors, STDOUT_FILENO);
  else
    posix_spawn_file_actions_addopen(actions.get(), STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), report, kReportDescriptor);
  std::vector<std::string> command = start.command, environment = environment_of(start);
  pid_t child = 0;
  const int error = posix_spawn(&child, command[0].c_str(), actions.get(), nullptr,
                                pointers_to(command).data(), pointers_to(environment).data());
  if (error != 0) fail("cannot start {} to check plugins in: {}", command[0], std::strerror(error));
  return child;
}

struct Pipe {
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot make a pipe: {}", std::strerror(errno));
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends[0]);
    close_write_end();
  }
  int read_end() const { return ends[0]; }
  int write_end() const { return ends[1]; }
  void close_write_end() {
    if (ends[1] >= 0) close(ends[1]);
    ends[1] = -1;
  }

 private:
  int ends[2] = {-1, -1};
};

// Appends what is there to read; false at the end.
bool read_some(int from, std::string& to) {
  char buffer[4096];
  const ssize_t n = read(from, buffer, sizeof buffer);
  if (n > 0) to.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

// Reads lines until the other side is closed; false when none came for `limit`. What comes from the
// other pipe is kept, or printed.
bool read_lines(int report, int errors, std::chrono::seconds limit, bool prints, std::string& kept,
                const std::function<void(const std::string&)>& on_line) {
  constexpr size_t kMaxKept = size_t{1} << 20;
  using Clock = std::chrono::steady_clock;
  std::string pending, errors_read;
  Clock::time_point end = Clock::now() + limit;
  pollfd waiting[] = {{report, POLLIN, 0}, {errors, POLLIN, 0}};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    const int ready = poll(waiting, 2, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready == 0) return false;
    if (ready < 0) continue;
    if (waiting[1].revents != 0) {
      if (!read_some(errors, errors_read)) waiting[1].fd = -1;
      if (prints) std::fwrite(errors_read.data(), 1, errors_read.size(), stderr);
      kept.append(errors_read, 0, kMaxKept - std::min(kMaxKept, kept.size()));
      errors_read.clear();
    }
    if (waiting[0].revents != 0) {
      end = Clock::now() + limit;
      if (!read_some(report, pending)) waiting[0].fd = -1;
      for (size_t at = pending.find('\n'); at != std::string::npos; at = pending.find('\n')) {
        on_line(pending.substr(0, at));
        pending.erase(0, at + 1);
      }
    }
  }
  return true;
}

}  // namespace

Ending run_process(const Start& start, std::chrono::seconds limit,
                   const std::function<void(const std::string&)>& on_line) {
  Pipe report, errors;
  const pid_t child = spawn(start, report.write_end(), errors.write_end());
  report.close_write_end();
  errors.close_write_end();
  Ending ending;
  ending.hung = !read_lines(report.read_end(), errors.read_end(), limit, start.prints,
                            ending.errors, on_line);
  if (ending.hung) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  ending.succeeded = !ending.hung && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (ending.hung) {
    ending.text = fmt::format("it did not come back within {} s", limit.count());
  } else if (!WIFSIGNALED(status)) {
    ending.text = fmt::format("it ended the process with exit code {}", WEXITSTATUS(status));
  } else {
    const char* name = sigabbrev_np(WTERMSIG(status));
    ending.text = fmt::format("it was ended by signal SIG{} ({})", name == nullptr ? "?" : name,
                              strsignal(WTERMSIG(status)));
  }
  return ending;
}

}  // namespace tenon::check
