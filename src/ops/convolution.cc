#include "ops/convolution.h"

#include "ops/infer.h"

namespace tenon {

TENON_REGISTER_OP(Convolution);

void Convolution::visit(FieldVisitor& v) {
  visit_attributes(v);
}

void Convolution::infer(Inference& c) const {
  infer_convolution(c, *this, false, [&](size_t, Dim in, const Window& w) {
    return convolved(c.pool(), in, w, padding_mode);
  });
}

void Convolution::reference(const ReferenceCall& call) const {
  run_convolution(call, *this, false, [&](size_t, const Window& w, int64_t in, int64_t out) {
    return resolved(w, in, out, padding_mode);
  });
}

}  // namespace tenon
