// The vector instructions that kernels may use: what the processor has, or less of it by TENON_ISA.
#pragma once

#include <optional>
#include <string_view>

namespace tenon::cpu {

/// Each level has what those before it have.
enum class InstructionSet { kBaseline, kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16, kAmx };

/// "avx2": as TENON_ISA names it.
std::string_view instruction_set_name(InstructionSet set);
std::optional<InstructionSet> instruction_set_named(std::string_view name);

/// The highest level that the processor has, and the system allows: AMX's tiles of bfloat16 are
/// asked for, once for all threads of the process.
InstructionSet processor_instruction_set();

/// The lower one of the processor's level and of that which the environment variable TENON_ISA
/// names, for tests and for comparisons. Read once. Throws when the variable names no level.
InstructionSet instruction_set_limit();

}  // namespace tenon::cpu
