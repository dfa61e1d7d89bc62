#include "cpu/instruction_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/error.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512", "avx512_vnni"};

}  // namespace

std::string_view instruction_set_name(InstructionSet set) {
  return kNames[static_cast<size_t>(set)];
}

std::optional<InstructionSet> instruction_set_named(std::string_view name) {
  const auto at = std::find(std::begin(kNames), std::end(kNames), name);
  if (at == std::end(kNames)) return std::nullopt;
  return static_cast<InstructionSet>(at - std::begin(kNames));
}

InstructionSet processor_instruction_set() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")
      || !__builtin_cpu_supports("f16c"))
    return InstructionSet::kBaseline;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl")
      || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq"))
    return InstructionSet::kAvx2;
  return __builtin_cpu_supports("avx512vnni") ? InstructionSet::kAvx512Vnni
                                              : InstructionSet::kAvx512;
#else
  return InstructionSet::kBaseline;
#endif
}

InstructionSet instruction_set_limit() {
  static const InstructionSet limit = [] {
    const InstructionSet processor = processor_instruction_set();
    const char* text = std::getenv("TENON_ISA");
    if (text == nullptr || *text == '\0') return processor;
    const auto named = instruction_set_named(text);
    require(named.has_value(), "the environment variable TENON_ISA is \"{}\"; expected one of {}",
            text, fmt::join(kNames, ", "));
    return std::min(*named, processor);
  }();
  return limit;
}

}  // namespace tenon::cpu
