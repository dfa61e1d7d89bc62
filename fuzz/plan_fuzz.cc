// Feeds plans with right checksums around arbitrary contents to the reader; what it accepts is
// printed and run. It may refuse them with an Error, and nothing else.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "plan/inspect.h"
#include "plan/plan_file.h"
#include "run/context.h"
#include "run/engine.h"
#include "target/target.h"

namespace {

using namespace tenon;

// Runs the engine at the optimum of its first profile, unless that takes much memory.
void run(std::shared_ptr<const Engine> engine) {
  constexpr int64_t kMost = 1 << 20;
  Context context(engine, true);
  const Plan& plan = engine->plan();
  std::vector<std::vector<std::byte>> memory;
  for (int i = 0; i < static_cast<int>(plan.bindings.size()); ++i) {
    if (plan.bindings[i].is_input) context.set_input_shape(i, plan.profiles[0].inputs[i].opt);
    const int64_t count = context.tensor_shape(i).volume();
    if (count < 0 || count > kMost) return;
    memory.emplace_back(bytes_of(engine->binding_tensor(i).type, count) + 1);
    context.set_address(i, memory.back().data());
  }
  if (context.device_memory_needed() <= 16 * kMost) context.execute();
}

void read(std::span<const std::byte> bytes) {
  try {
    Plan plan = read_plan(bytes, nullptr, "plan");
    plan_text(plan);
    plan_json(plan);
    engine_json(plan);
    run(std::make_shared<const Engine>(std::move(plan), cpu_target(), Log()));
  } catch (const Error&) {  // the only answer to a bad plan
  }
}

}  // namespace

// An input is the length of the structure (4 bytes), the structure, and the weights.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input(reinterpret_cast<const std::byte*>(data), size);
  read(input);
  uint32_t length = 0;
  if (size < sizeof length) return 0;
  std::memcpy(&length, data, sizeof length);
  const auto contents = input.subspan(sizeof length);
  const auto structure = contents.first(std::min<size_t>(length, contents.size()));
  const auto weights = contents.subspan(structure.size());
  read(assemble_plan(structure, weights.size(),
                     [&](std::byte* to) { std::copy(weights.begin(), weights.end(), to); }));
  return 0;
}
