// The plan file: a header, which begins as those of TensorRT's plans do, a section table with
// checksums, the structure as FlatBuffers, and the weights, aligned so that a mapped file can be
// used in place.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/function_ref.h"
#include "plan/plan.h"

namespace tenon {

/// Version of the file format; another one is refused.
inline constexpr uint32_t kPlanFormat = 14;

/// The file's bytes.
std::vector<std::byte> write_plan(const Plan& plan);

/// A file with right bounds and checksums around any structure and weights; `fill_weights` writes
/// `weight_bytes` bytes.
std::vector<std::byte> assemble_plan(std::span<const std::byte> structure, size_t weight_bytes,
                                     FunctionRef<void(std::byte*)> fill_weights);

/// Reads and verifies everything before use: magic, version, section bounds, checksums, the
/// structure and every index in it. Throws on the first thing that is wrong.
/// @param owner keeps `bytes` alive; weights then point into them. Null: weights are copied.
/// @param name what the bytes are, for messages: a path, or "plan".
Plan read_plan(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
               const std::string& name);

/// What must be read to know how long a plan is.
inline constexpr size_t kPlanHeaderBytes = 48;

/// The length in bytes of the plan that begins with these kPlanHeaderBytes. Throws when it is none.
uint64_t plan_file_bytes(std::span<const std::byte> beginning);

/// Maps the file at `path` and reads it.
Plan open_plan_file(const std::string& path);

}  // namespace tenon
