// Makes a Loop of a recurrence, an iterator, a slice at a time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ops/flow_boundary.h"
#include "ops/loop.h"
#include "optimize/body_builder.h"

namespace tenon {

/// States come first, then scanned tensors, the layers of the body, limits and what leaves.
class LoopBuilder {
 public:
  explicit LoopBuilder(const std::string& name);

  void add_state(const Node& recurrence, Value& first);
  void add_scan(const Node& iterator, Value& scanned);
  BodyBuilder& body() { return body_; }
  /// Null for none. The condition comes from inside.
  void set_limits(Value* count, Value* condition);
  /// What an iteration hands to the next, inside. Throws when its type or shape is not that of the
  /// first value.
  Value& next_value(const Value& first, Value& next);
  /// A collected output: a slice from inside, the number of slices from outside.
  void add_slice(const Node& exit, Value& slice, Value& length);
  /// The bodies, once all is added that they read; `next` has the next value of each state.
  void finish(const std::vector<Value*>& next);

  std::unique_ptr<Loop> op = std::make_unique<Loop>();
  std::vector<Value*> inputs{nullptr, nullptr};  // of the layer; complete after finish()

 private:
  Value& add_input(Value& outer, const Dims& dims);
  int newest_input() const { return static_cast<int>(inputs.size()) - 1; }
  void make_bodies();

  BodyBuilder body_;
  Value* running_ = nullptr;    // the body's input that says whether the loop goes on
  Value* condition_ = nullptr;  // of kWHILE
  std::vector<Value*> slices_;
  std::map<const Value*, BodySource> sources_;
};

}  // namespace tenon
