/// What the environment says about how kernels run.
#include "hostcuda/runtime/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "hostcuda/runtime/sanitizers.h"
#include "tenon/hostcuda/report.h"

namespace tenon::hostcuda {
namespace {

template <class Number> bool read(std::string_view text, Number& number) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool read_order(std::string_view text, Environment& e) {
  const std::string_view name = text.substr(0, text.find(':'));
  if (name == "random") {
    e.order = Order::kRandom;
    return name.size() == text.size() || read(text.substr(name.size() + 1), e.seed);
  }
  e.order = name == "reverse" ? Order::kReverse : Order::kForward;
  return text == "forward" || text == "reverse";
}

// The engine reads TENON_THREADS, too (src/base/environment.h), but this library links nothing of
// it. A kernel under test may start before any code that could catch an error, so what is wrong is
// reported.
Environment from_environment() {
  Environment e;
  if (const char* order = std::getenv("TENON_CUDA_ORDER"); order && !read_order(order, e))
    report("TENON_CUDA_ORDER=%s is none of forward, reverse, random, random:SEED", order);
  e.threads = std::thread::hardware_concurrency();
  if (const char* threads = std::getenv("TENON_THREADS"); threads && !read(threads, e.threads))
    report("TENON_THREADS=%s is no number", threads);
  if (const char* timeout = std::getenv("TENON_CUDA_TIMEOUT"); timeout && !read(timeout, e.timeout))
    report("TENON_CUDA_TIMEOUT=%s is no number of seconds", timeout);
  return e;
}

Environment& mutable_environment() {
  static Environment e = from_environment();
  return e;
}

}  // namespace

unsigned Environment::workers() const {
  return threads == 0 || has_sanitizer() || order != Order::kForward ? 1 : threads;
}

const Environment& environment() {
  return mutable_environment();
}

}  // namespace tenon::hostcuda

bool tenonHostcudaSetOrder(const char* order) {
  using namespace tenon::hostcuda;
  Environment& e = mutable_environment();
  e.seed = 1;
  return read_order(order, e);
}
