// Reference kernels that work in memory which is given to them.
#pragma once

#include <cstddef>
#include <span>

#include "network/op.h"

namespace tenon {

/// What an op whose reference kernel needs memory of its own is besides an Op: who runs it often
/// gives it the same memory each time.
class ScratchKernel {
 public:
  virtual ~ScratchKernel() = default;
  /// Bytes wanted for tensors of these types and shapes; they have no data yet.
  virtual size_t scratch_bytes(const ReferenceCall& call) const = 0;
  /// @param scratch  of scratch_bytes(), 64-byte aligned
  virtual void run(const ReferenceCall& call, std::byte* scratch) const = 0;

 protected:
  /// Op::reference: takes the memory, and runs.
  void run_with_own_scratch(const ReferenceCall& call) const {
    run(call, allocate_aligned(scratch_bytes(call)).get());
  }
};

}  // namespace tenon
