#include "check/orders.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "check/error.h"

namespace tenon::check {
namespace {

std::vector<std::string> all;

// A function of the kernels' runtime, which comes with libraries that need it.
template <class Function> Function runtime_function(const char* name) {
  void* const runtime = dlopen("libtenon_hostcuda.so", RTLD_NOW | RTLD_NOLOAD);
  return runtime == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(runtime, name));
}

bool set_order(const char* order) {
  const auto set = runtime_function<bool (*)(const char*)>("tenonHostcudaSetOrder");
  return set != nullptr && set(order);
}

}  // namespace

void use_orders(int seeds, const std::string& library) {
  if (!set_order("forward"))
    fail(ErrorClass::kOptions,
         "--mode=order: {} has no kernels that run on the CPU: build it with the nvcc of Tenon's "
         "folder hostcuda, as `hostcuda/bin/nvcc -g -shared -Xcompiler -fPIC ... -o {}`",
         library, library);
  all = {"reverse"};
  for (int seed = 1; seed <= seeds; ++seed) all.push_back(fmt::format("random:{}", seed));
}

const std::vector<std::string>& orders() {
  return all;
}

InOrder::InOrder(const std::string& order) {
  set_order(order.c_str());
}

InOrder::~InOrder() {
  set_order("forward");
}

std::string kernel_log() {
  const auto take_log = runtime_function<const char* (*)()>("tenonHostcudaSaid");
  std::string text = take_log == nullptr ? "" : take_log();
  if (text.empty()) return text;
  std::ranges::replace(text, '\n', ';');
  return ": " + text;
}

}  // namespace tenon::check
