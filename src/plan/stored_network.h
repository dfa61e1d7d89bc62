// The network that a portable plan was built from, in the structure of its file.
#pragma once

#include <memory>
#include <span>

#include "plan/plan_generated.h"
#include "plan/structure.h"

namespace tenon {

/// Constants are added to the section of weights; those that kernels use as they are lie there
/// once.
flatbuffers::Offset<schema::Source> write_source(flatbuffers::FlatBufferBuilder& b,
                                                 const PlanSource& source, WeightSection& section);

/// Throws when anything in it is not valid. Shapes are not inferred. Constants are views into
/// `weights`, which `owner` keeps alive.
/// @param is_stripped the plan's refittable weights have no data.
std::shared_ptr<const PlanSource> read_source(const schema::Source& in,
                                              std::span<const std::byte> weights,
                                              const std::shared_ptr<const void>& owner,
                                              bool is_stripped);

}  // namespace tenon
