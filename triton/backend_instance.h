// An instance of a model: it answers Triton's requests, several in a run.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "backend_model.h"

namespace tenon::triton {

/// For one thread at a time; several of a model run side by side.
class BackendInstance {
 public:
  /// Runs with zeros first, unless the configuration says otherwise. Throws Error.
  /// @param model outlives it.
  BackendInstance(BackendModel& model, TRITONSERVER_InstanceGroupKind kind, int device);

  /// Answers each request once, with its outputs or with its own error, reports statistics to
  /// `instance`, and releases the requests. Throws std::bad_alloc before it has done anything.
  void execute(TRITONBACKEND_ModelInstance* instance,
               std::span<TRITONBACKEND_Request* const> requests);

  /// A fault of its GPU has ended it: all that it runs fails.
  bool is_dead() const { return is_dead_; }

 private:
  struct Job;
  struct Run;
  using Batch = std::vector<Job*>;

  void read(Job& job) const;
  size_t items_of(const Job& job) const;
  std::vector<Batch> batches_of(std::vector<Job>& jobs) const;
  void run(const Batch& batch, std::vector<Run>& runs);
  void respond(Job& job) const;

  BackendModel& model_;
  server::EngineInstances instances_;  // one
  std::atomic<bool> is_dead_ = false;
};

}  // namespace tenon::triton
