// A kernel whose code is made for it while a plan is built, and kept in the plan.
#pragma once

#include "backend/target.h"
#include "base/error.h"
#include "cuda/nvrtc/cubin_cache.h"
#include "cuda/nvrtc/module.h"

namespace tenon::cuda {

/// Packed constant 0 is the machine code. Loading a plan compiles nothing.
class GeneratedKernel : public Kernel {
 protected:
  /// Of generated_code(), or of what a plan stored.
  explicit GeneratedKernel(StoredKernel code) {
    require(code.packed.size() == 1, "expected machine code as the one packed constant");
    packed = std::move(code.packed);
    state = std::move(code.state);
    module_ = Module::load(packed[0]);
  }
  const Module& module() const { return *module_; }

 private:
  std::shared_ptr<const Module> module_;
};

/// While building: the machine code of that source. Whatever is offered, chosen or not, is kept in
/// the request's code cache.
inline StoredKernel generated_code(const KernelRequest& request, const std::string& source,
                                   FieldList state = {}) {
  return {std::move(state),
          {cubin_cache().cubin(source, device_architecture(), request.code_cache)}};
}

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
