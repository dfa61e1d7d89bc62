/// What the environment says about how kernels run.
#include "hostcuda/runtime/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "hostcuda/runtime/report.h"
#include "hostcuda/runtime/sanitizers.h"

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

Environment from_environment() {
  Environment e;
  if (const char* order = std::getenv("TENON_CUDA_ORDER"); order && !read_order(order, e))
    report("TENON_CUDA_ORDER=%s is none of forward, reverse, random, random:SEED", order);
  e.workers = std::thread::hardware_concurrency();
  if (const char* threads = std::getenv("TENON_THREADS"); threads && !read(threads, e.workers))
    report("TENON_THREADS=%s is no number", threads);
  // Reports are the same each time when blocks run one after another.
  if (e.workers == 0 || has_sanitizer() || e.order != Order::kForward) e.workers = 1;
  return e;
}

}  // namespace

const Environment& environment() {
  static const Environment e = from_environment();
  return e;
}

}  // namespace tenon::hostcuda
