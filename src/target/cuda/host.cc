// The last candidates of lists: the layer runs on the host.
#include "target/cpu/kernels.h"
#include "target/cuda/cuda_target.h"
#include "target/cuda/kernels.h"
#include "target/shared/host_kernel.h"
#include "target/shared/plugin_kernel.h"

namespace tenon::cuda {

Offer offer_host(const KernelRequest& request) {
  Offer offer = cpu::offer_reference(request);
  if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
  return beside_device(std::move(std::get<std::unique_ptr<Kernel>>(offer)), cuda_device(),
                       request.inputs.size());
}

Offer offer_host_plugin(const KernelRequest& request) {
  return offer_plugin_beside(cuda_device(), request);
}

}  // namespace tenon::cuda
