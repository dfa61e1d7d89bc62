// Workspaces of threads: whoever runs a task takes one for it, whatever the layer, so that a
// thread finds its own in its caches. In the memory of a plan a thread would write what another one
// wrote for the layer before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

/// Floats of a workspace: as many as the L2 cache holds.
int64_t workspace_floats();

/// Makes workspaces until the process has as many for its threads to take, which then allocate
/// nothing. Throws std::bad_alloc. ThreadWorkspaces stay until the process ends.
void reserve_thread_workspaces(int64_t count);

/// A workspace for as long as this object lives: the one that the thread had last, else any that is
/// free, else a new one.
class ThreadWorkspace {
 public:
  ThreadWorkspace();
  ~ThreadWorkspace();
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;

  /// workspace_floats() floats, 64-byte aligned, of any content.
  float* floats() const { return reinterpret_cast<float*>(memory_); }

 private:
  std::byte* memory_;
  size_t index_;
};

}  // namespace tenon::cpu
