#include "cpu/instruction_set.h"

#include <fmt/format.h>
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/error.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kNames[] = {"baseline",    "avx2",        "avx512",
                                       "avx512_vnni", "avx512_bf16", "amx"};

#if defined(__x86_64__)
// Linux saves tiles, which are large, only for processes that have asked.
bool may_use_tiles() {
  constexpr long kRequestFeature = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  static const bool may = ::syscall(SYS_arch_prctl, kRequestFeature, kTileData) == 0;
  return may;
}
#endif

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
  if (!__builtin_cpu_supports("avx512vnni")) return InstructionSet::kAvx512;
  if (!__builtin_cpu_supports("avx512bf16")) return InstructionSet::kAvx512Vnni;
  return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16")
                 && __builtin_cpu_supports("amx-int8") && may_use_tiles()
             ? InstructionSet::kAmx
             : InstructionSet::kAvx512Bf16;
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
