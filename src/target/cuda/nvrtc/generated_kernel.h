// A kernel whose code is made for it while a plan is built, and kept in the plan.
#pragma once

#include "base/error.h"
#include "target/cuda/nvrtc/cubin_cache.h"
#include "target/cuda/nvrtc/module.h"
#include "target/target.h"

namespace tenon::cuda {

/// Packed constant 0 is the machine code. Loading a plan compiles nothing.
class GeneratedKernel : public Kernel {
 protected:
  /// `source` is called while building. Whatever is offered, chosen or not, is kept in the
  /// request's code cache.
  template <class Source> GeneratedKernel(const KernelRequest& request, const Source& source) {
    if (request.stored != nullptr) {
      require(request.stored->packed.size() == 1,
              "expected machine code as the one packed constant");
      packed = request.stored->packed;
      state = request.stored->state;
    } else {
      packed = {cubin_cache().cubin(source(), device_architecture(), request.code_cache)};
    }
    module_ = Module::load(packed[0]);
  }
  const Module& module() const { return *module_; }

 private:
  std::shared_ptr<const Module> module_;
};

/// What `make` returns, or the text of the Error with which it says that something is not
/// supported; other errors pass.
template <class Make> Offer offer_generated(const Make& make) {
  try {
    return make();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kINVALID_ARGUMENT && e.code() != ErrorCode::kUNSUPPORTED_STATE)
      throw;
    return e.what();
  }
}

}  // namespace tenon::cuda
