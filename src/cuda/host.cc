// The last candidates of lists: the layer runs on the host.
#include "common/host_kernel.h"
#include "common/plugin_kernel.h"
#include "common/reference.h"
#include "cuda/cuda_target.h"
#include "cuda/kernels.h"

namespace tenon::cuda {

Offer offer_host(const KernelRequest& request) {
  Offer offer = offer_reference(request);
  if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
  return beside_device(std::move(std::get<std::unique_ptr<Kernel>>(offer)), cuda_device(),
                       request.inputs.size());
}

Offer offer_host_plugin(const KernelRequest& request) {
  return offer_plugin_beside(cuda_device(), request);
}

Offer load_host_plugin(const KernelRequest& request, const StoredKernel& stored) {
  return load_plugin_beside(cuda_device(), request, stored);
}

}  // namespace tenon::cuda
