// Makes a plan step by step: its tensors, their sizes, and the steps so far.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/choose_kernel.h"
#include "plan/compile.h"
#include "plan/schedule.h"

namespace tenon {

class PlanBuilder {
 public:
  PlanBuilder(const Network& network, const Schedule& schedule, const Target& target,
              const BuildOptions& options);

  const Network& network;
  const Schedule& schedule;
  const Target& target;
  const BuildOptions& options;
  const bool cold_weights;  // KernelRequest::cold_weights
  Plan plan;
  std::vector<std::unique_ptr<Kernel>> kernels;  // one per step, null for layers with bodies
  /// What the weights of all kernels so far take beyond the network's own, in bytes.
  size_t growth = 0;
  /// Where in schedule.layers() the layer is whose steps are being added.
  int32_t position = 0;

  /// The slots of a value's extents, and of its elements where the host knows them, are part of the
  /// shape program from now on.
  void add_shape(const Value& v);
  bool has_shape(const Value& v) const { return extents_.contains(&v); }
  const std::map<const Value*, std::vector<int32_t>>& extents() const { return extents_; }
  const std::vector<int32_t>& contents(const Value& v) const { return contents_.at(&v); }
  /// What kernels are chosen for: slots at the first profile's optimum, with data-dependent sizes
  /// guessed.
  void set_estimates();
  Shape optimum_shape(const Value& v) const { return shape_at(extents_.at(&v), optimum_); }
  Shape optimum_shape(int32_t tensor) const { return shape_at(at(tensor).extents, optimum_); }
  /// Those at the first profile's minimum and maximum; -1 for what only running tells.
  ShapeRange range_of(const Node& node) const;
  /// The same with data-dependent sizes at what bounds them, -1 for nothing.
  Shape largest_shape(const Value& v) const { return shape_at(extents_.at(&v), largest_); }

  PlanTensor& at(int32_t tensor) { return plan.tensors[static_cast<size_t>(tensor)]; }
  const PlanTensor& at(int32_t tensor) const { return plan.tensors[static_cast<size_t>(tensor)]; }
  int32_t add_tensor(PlanTensor t);
  /// The tensor of a value, in the layout in which it is made.
  int32_t add_tensor(const Value& v, PlanTensor::Place place, Layout layout);
  /// A value that is the memory of tensor `of`, seen in that layout.
  int32_t add_view(const Value& v, int32_t of, Layout layout);
  /// A caller or a plugin makes the value, in a layout of theirs, and may leave anything in what
  /// pads its channels.
  void set_foreign(const Value& v) { foreign_.insert(&v); }
  /// -1 where there is none yet.
  int32_t tensor_of(const Value& v) const;
  /// Where the value lies; made on first need for constants and host values.
  int32_t source_of(const Value& v);
  /// Where kernels can read the value. Of a foreign one they need another view or a reorder, which
  /// is added on first need: they know no layouts of callers and plugins alone, those of a device
  /// no blocks of channels either, and they expect zeros where channels are padded.
  int32_t readable_of(const Value& v);
  /// The tensor in another layout, for which a step is added on first need.
  int32_t in_layout(int32_t tensor, Layout layout);
  /// A new tensor, and the step that makes it.
  int32_t reorder(int32_t tensor, Layout layout);
  int32_t add_weight(const Tensor& t);

  /// The storage of a tensor, and so that of what it shares it with, is needed until then.
  void keep_until(int32_t tensor, int32_t position);
  /// Whether the output of the layer at `position` may overwrite input `which`: nobody else needs
  /// what is there.
  bool may_overwrite(const std::vector<int32_t>& inputs, size_t which) const;

  void add_step(const Node* node, const Op& op, const std::string& name,
                std::unique_ptr<Kernel> kernel, std::vector<int32_t> inputs,
                std::vector<int32_t> outputs);
  /// A step that copies, converts or reorders `from` into `to`.
  void add_copy(const Op& op, int32_t from, int32_t to, const std::string& name);

 private:
  static Shape shape_at(const std::vector<int32_t>& extents, const std::vector<Number>& slots);
  int32_t view(const Value& v, int32_t of, Layout layout);

  std::map<const Value*, std::vector<int32_t>> extents_, contents_;
  std::map<const Value*, int32_t> tensors_, readable_;
  std::set<const Value*> foreign_;
  std::map<std::pair<int32_t, Layout>, int32_t> reordered_;
  std::unordered_multimap<const void*, int32_t> weights_at_;  // by where their bytes lie
  std::vector<int32_t> last_use_;  // per tensor: when its storage is last needed
  std::vector<Number> optimum_, largest_;
};

/// What a plan keeps of a layer itself.
PlanStep step_of(const Node* node, const Op& op, const std::string& name);

}  // namespace tenon
