#include "check/report.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tenon::check {
namespace {

using nlohmann::json;

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

bool Report::check(const std::string& name, const std::string& input,
                   const std::function<void()>& body) {
  if (!begin(name, input)) return false;
  Result result{name, input, Outcome::kPassed, "", ""};
  try {
    body();
  } catch (const Broken& e) {
    result.outcome = Outcome::kFailed;
    result.expected = e.expected;
    result.found = e.found;
  } catch (const Lost& e) {
    give_up(e);
  } catch (const NotRun& e) {
    result.outcome = Outcome::kNotRun;
    result.found = e.why;
  } catch (const std::exception& e) {
    result.outcome = Outcome::kNotRun;
    result.found = e.what();
  }
  end(result);
  return result.outcome == Outcome::kPassed;
}

bool Report::attempt(const std::string& input, const std::function<bool()>& body) {
  if (!begin(kAttempt, input)) return false;
  bool is_good = false;
  try {
    is_good = body();
  } catch (const Lost& e) {
    give_up(e);
  } catch (const Broken& e) {
    add_refusal(e.found);
  } catch (const NotRun& e) {
    add_refusal(e.why);
  } catch (const std::exception& e) {
    add_refusal(e.what());
  }
  line(dumped({{"end", kAttempt}}));
  return is_good;
}

void Report::add_refusal(const std::string& reason) {
  constexpr size_t kKept = 3;
  if (refusals_.size() < kKept && std::ranges::find(refusals_, reason) == refusals_.end())
    refusals_.push_back(reason);
}

void Report::family(const std::string& name) {
  line(dumped({{"family", name}}));
}

void Report::creator(const Identity& identity) {
  line(dumped({{"creator", {identity.name, identity.version, identity.name_space}}}));
}

void Report::failure(const std::string& text) {
  line(dumped({{"failure", text}}));
}

void Report::done() {
  line(dumped({{"done", true}}));
}

bool Report::begin(const std::string& name, const std::string& input) {
  if (left_out_.contains(key(name, input)) || left_out_.contains(key(name, kAll))) return false;
  line(dumped({{"begin", name}, {"input", input}}));
  return true;
}

void Report::end(const Result& result) {
  line(dumped({{"end", result.check},
               {"input", result.input},
               {"outcome", static_cast<int>(result.outcome)},
               {"expected", result.expected},
               {"found", result.found}}));
}

void Report::give_up(const Lost& lost) const {
  line(
      dumped({{"lost", true}, {"expected", lost.finding.expected}, {"found", lost.finding.found}}));
  _exit(0);
}

void Report::line(const std::string& text) const {
  const std::string whole = text + "\n";
  for (size_t at = 0; at < whole.size();) {
    const ssize_t n = ::write(descriptor_, whole.data() + at, whole.size() - at);
    if (n <= 0) return;
    at += static_cast<size_t>(n);
  }
}

}  // namespace tenon::check
