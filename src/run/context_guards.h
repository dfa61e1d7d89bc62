// What a context holds while a thread works with it.
#pragma once

#include "base/error.h"
#include "run/context.h"

namespace tenon {

/// The engine's device is the current one of the thread while it lives.
class OnDevice {
 public:
  explicit OnDevice(const Engine& engine) : device_(engine.device()), before_(device_.current()) {
    changed_ = before_ != engine.device_index();
    if (changed_) device_.make_current(engine.device_index());
  }
  ~OnDevice() {
    if (!changed_) return;
    try {
      device_.make_current(before_);
    } catch (const Error&) {  // it is broken, as its next call says
    }
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  const Device& device_;
  int before_;
  bool changed_;
};

/// Catches two threads that enter one context at the same time.
class Context::InUse {
 public:
  explicit InUse(Context& context) : context_(context) {
    if (context_.in_use_.exchange(true))
      fail(ErrorCode::kINVALID_STATE,
           "two threads use one execution context at the same time: give each thread its own");
  }
  ~InUse() { context_.in_use_ = false; }

 private:
  Context& context_;
};

}  // namespace tenon
