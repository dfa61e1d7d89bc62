// What the process that checks a plugin tells the one that started it: a line of JSON when a check
// begins and one when it ends, so that a crash has a name.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "check/check.h"
#include "check/subject.h"

namespace tenon::check {

class Report {
 public:
  /// Writes to `descriptor`. Checks of `left_out`, by key(), are not made: they ended the process
  /// before. kAll stands for every input.
  Report(int descriptor, std::set<std::string> left_out)
      : descriptor_(descriptor), left_out_(std::move(left_out)) {}

  static std::string key(const std::string& check, const std::string& input) {
    return check + " | " + input;
  }

  /// Runs `body`, which throws Broken, NotHere or Lost; true if it returned. Lost ends the process.
  bool check(const std::string& name, const std::string& input, const std::function<void()>& body);
  /// The same for what may fail: only a crash or a hang in it is told, and that is no finding.
  bool attempt(const std::string& input, const std::function<bool()>& body);
  /// Why attempts failed: the first reasons, each once.
  const std::vector<std::string>& refusals() const { return refusals_; }
  /// The class of the plugin that is checked.
  void family(const std::string& name);
  /// A creator of the library.
  void creator(const Identity& identity);
  void done();
  /// What the user must hear: nothing can be checked.
  void failure(const std::string& text);

  static constexpr const char* kAttempt = "attempt";
  static constexpr const char* kAll = "*";

 private:
  bool begin(const std::string& name, const std::string& input);
  void end(const Result& result);
  [[noreturn]] void give_up(const Lost& lost) const;
  void line(const std::string& text) const;
  void add_refusal(const std::string& reason);

  int descriptor_;
  std::set<std::string> left_out_;
  std::vector<std::string> refusals_;
};

}  // namespace tenon::check
