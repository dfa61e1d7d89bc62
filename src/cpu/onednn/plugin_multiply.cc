// Products of matrices for plugins.
#include <oneapi/dnnl/dnnl.h>
#include <tenon/plugin_host.h>

#include "base/parallel.h"

extern "C" int32_t tenonMultiply(const TenonMatrixProduct* p) noexcept {
  if (p->m == 0 || p->n == 0 || p->k == 0) return 1;  // oneDNN refuses some, and forgets to clear c
  dnnl_status_t status = dnnl_runtime_error;
  try {
    tenon::in_arena([&] {
      status =
          dnnl_sgemm(p->aTransposed ? 'T' : 'N', p->bTransposed ? 'T' : 'N', p->m, p->n, p->k, 1.f,
                     p->a, p->aStride, p->b, p->bStride, p->add ? 1.f : 0.f, p->c, p->cStride);
    });
  } catch (...) {  // a thread that could not be made: the caller multiplies itself
    return 1;
  }
  return status == dnnl_success ? 0 : 1;
}
