// The pure interfaces behind the public handle classes; slot order is the binary contract.
#ifndef NV_INFER_IMPL_H
#define NV_INFER_IMPL_H

#include "tenon/api/impl_builder.h"
#include "tenon/api/impl_control.h"
#include "tenon/api/impl_layers.h"
#include "tenon/api/impl_network.h"
#include "tenon/api/impl_runtime.h"

#endif  // NV_INFER_IMPL_H
