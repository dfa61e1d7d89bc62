// Asks the candidates of a target's list in order. plan/choose_kernel.h times those that accept.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "backend/operands.h"
#include "backend/target.h"
#include "base/error.h"

namespace tenon {
namespace {

/// TENON_LOG is a list of topics, separated by commas.
bool logs_choices() {
  static const bool enabled = [] {
    const char* topics = std::getenv("TENON_LOG");
    return topics != nullptr
           && ("," + std::string(topics) + ",").find(",choose,") != std::string::npos;
  }();
  return enabled;
}

std::string describe(const KernelRequest& request) {
  std::string text(request.op.name());
  const char* separator = " ";
  for (const TensorSpec& input : request.inputs) {
    text += separator;
    text += input.present
                ? fmt::format("{} {} {}", name_of(input.type), input.shape, name_of(input.layout))
                : "-";
    separator = ", ";
  }
  return text;
}

void log(const KernelRequest& request, std::string_view candidate, std::string_view answer) {
  if (logs_choices())
    fmt::print(stderr, "[choose] {}: {}: {}\n", describe(request), candidate, answer);
}

std::string layouts_of(const Kernel& kernel) {
  std::string text = "accepts;";
  for (const Layout layout : kernel.input_layouts) text += fmt::format(" {}", name_of(layout));
  text += " ->";
  for (const Layout layout : kernel.output_layouts) text += fmt::format(" {}", name_of(layout));
  return text;
}

void complete(Kernel& kernel, std::string_view name, const KernelRequest& request) {
  kernel.name = name;
  complete(kernel, request);
}

}  // namespace

void complete(Kernel& kernel, const KernelRequest& request) {
  kernel.input_layouts.resize(request.inputs.size(), Layout::kLinear);
  kernel.output_layouts.resize(request.outputs.size(), Layout::kLinear);
  kernel.input_is_packed.resize(request.inputs.size(), false);
  kernel.input_on_host.resize(request.inputs.size(), false);
}

Choice choose(const Target& target, const KernelRequest& request, size_t first) {
  check_operands(request);
  Choice choice;
  const auto candidates = target.candidates(request.op);
  for (size_t i = first; i < candidates.size(); ++i) {
    Offer offer = candidates[i].offer(request);
    if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer)) {
      complete(**kernel, candidates[i].name, request);
      log(request, candidates[i].name, layouts_of(**kernel));
      choice.kernel = std::move(*kernel);
      return choice;
    }
    const std::string& reason = std::get<std::string>(offer);
    log(request, candidates[i].name, reason);
    choice.refusals.push_back(fmt::format("{}: {}", candidates[i].name, reason));
  }
  return choice;
}

std::unique_ptr<Kernel> load_kernel(const Target& target, std::string_view name,
                                    const KernelRequest& request, const StoredKernel& stored) {
  check_operands(request);
  for (const Candidate& candidate : target.candidates(request.op)) {
    if (candidate.name != name) continue;
    Offer offer = candidate.load(request, stored);
    if (const auto* reason = std::get_if<std::string>(&offer))
      fail(ErrorCode::kFAILED_INITIALIZATION,
           "kernel \"{}\" of a {} layer cannot be loaded: {}; build the plan again", name,
           request.op.name(), *reason);
    auto kernel = std::move(std::get<std::unique_ptr<Kernel>>(offer));
    complete(*kernel, candidate.name, request);
    return kernel;
  }
  fail(ErrorCode::kFAILED_INITIALIZATION,
       "the plan names kernel \"{}\" for a {} layer, which the target \"{}\" of this library does "
       "not have; build the plan again",
       name, request.op.name(), target.name());
}

}  // namespace tenon
