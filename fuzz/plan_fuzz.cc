// Feeds plans with right checksums around arbitrary contents to the reader; what it accepts is
// printed and run. It may refuse them with an Error, and nothing else. Inputs are changed as bytes,
// and as plans: one field of a sound structure at a time.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "cpu/cpu_target.h"
#include "plan/engine_information.h"
#include "plan/inspect.h"
#include "plan/mutations_testing.h"
#include "plan/plan_file.h"
#include "plan/structure.h"
#include "run/context.h"
#include "run/engine.h"

namespace {

using namespace tenon;

// Runs the engine at the optimum of its first profile, unless that takes much memory.
void run(std::shared_ptr<const Engine> engine) {
  constexpr int64_t kMax = 1 << 20;
  Context context(engine, true);
  const Plan& plan = engine->plan();
  std::vector<std::vector<std::byte>> memory;
  for (int i = 0; i < static_cast<int>(plan.bindings.size()); ++i) {
    if (plan.bindings[i].is_input) context.set_input_shape(i, plan.profiles[0].inputs[i].opt);
    const int64_t count = context.tensor_shape(i).volume();
    if (count < 0 || count > kMax) return;
    const PlanTensor& t = engine->binding_tensor(i);
    memory.emplace_back(storage_bytes(t.type, context.tensor_shape(i), t.layout) + 1);
    context.set_address(i, memory.back().data());
  }
  if (context.device_memory_needed() <= 16 * kMax) context.execute();
}

void read(std::span<const std::byte> bytes) {
  try {
    Plan plan = read_plan(bytes, nullptr, "plan");
    plan_text(plan);
    plan_json(plan);
    const auto engine = std::make_shared<const Engine>(std::move(plan), cpu_target(), Log());
    engine_information(engine->plan(), {}, nvinfer1::LayerInformationFormat::kONELINE);
    run(engine);
  } catch (const Error&) {  // the only answer to a bad plan
  }
}

// An input is the length of the structure (4 bytes), the structure, and the weights.
struct Contents {
  std::span<const std::byte> structure, weights;
};
Contents contents_of(std::span<const std::byte> input) {
  uint32_t length = 0;
  if (input.size() < sizeof length) return {};
  std::memcpy(&length, input.data(), sizeof length);
  const auto rest = input.subspan(sizeof length);
  const auto structure = rest.first(std::min<size_t>(length, rest.size()));
  return {structure, rest.subspan(structure.size())};
}

std::span<const std::byte> bytes_at(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

// An input whose plan is another by a few fields. Throws where the input holds no plan.
std::vector<uint8_t> mutated(std::span<const std::byte> input, uint64_t seed) {
  const auto [structure, weights] = contents_of(input);
  const auto aligned = allocate_aligned(structure.size());
  std::copy(structure.begin(), structure.end(), aligned.get());
  Plan plan = read_structure({aligned.get(), structure.size()}, weights, nullptr);
  testing::PlanMutator mutator(seed);
  for (uint64_t i = 0; i <= seed % 3; ++i) mutator.mutate(plan);
  WeightSection section;
  const auto written = write_structure(plan, section);
  const auto length = static_cast<uint32_t>(written.size());
  std::vector<uint8_t> output(sizeof length + written.size() + section.bytes());
  std::memcpy(output.data(), &length, sizeof length);
  std::copy(written.begin(), written.end(), output.begin() + sizeof length);
  for (const auto& [offset, tensor] : section.tensors())
    if (tensor.bytes() > 0)
      std::memcpy(output.data() + sizeof length + written.size() + offset, tensor.data(),
                  tensor.bytes());
  return output;
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed % 4 != 0) {
    try {
      const auto output = mutated(bytes_at(data, size), seed);
      if (output.size() <= most) {
        std::copy(output.begin(), output.end(), data);
        return output.size();
      }
    } catch (const Error&) {  // no plan yet
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto input = bytes_at(data, size);
  read(input);
  const auto [structure, weights] = contents_of(input);
  read(assemble_plan(structure, weights.size(), [&, from = weights](std::byte* to) {
    std::copy(from.begin(), from.end(), to);
  }));
  return 0;
}
