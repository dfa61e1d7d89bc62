// Constant weights in the layout that a primitive prefers, and how a plan stores them.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "backend/target.h"

namespace tenon::cpu::onednn {

struct PackedWeights {
  Tensor memory;  // one axis of floats
  dnnl::memory::desc desc;
};

/// The constant, which lies as `from` says, in layout `to`.
PackedWeights pack(const void* constant, const dnnl::memory::desc& from,
                   const dnnl::memory::desc& to);

/// Whether save() can describe the layout.
bool can_save(const dnnl::memory::desc& desc);
void save(const PackedWeights& weights, Kernel& kernel);
/// What save() wrote, used in place where it is aligned. Trusts nothing: throws Error unless the
/// layout is sound, is for weights of these extents, and fits the memory.
PackedWeights load(const StoredKernel& stored, const dnnl::memory::dims& dims);

}  // namespace tenon::cpu::onednn
