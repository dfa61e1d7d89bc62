// The 11.x layers of INetworkDefinition that need more than one call.
#ifndef TENON_COMPAT11_NETWORK_H
#define TENON_COMPAT11_NETWORK_H

#include "tenon/api/builder.h"

namespace nvinfer1 {

inline IAttention* INetworkDefinition::addAttentionV2(ITensor& query, ITensor& key, ITensor& value,
                                                      AttentionNormalizationOp normalization,
                                                      CausalMaskKind causalKind) noexcept {
  if (causalKind != CausalMaskKind::kLOWER_RIGHT || impl::areEquallyMany(query, key)) {
    return addAttention(query, key, value, normalization, causalKind != CausalMaskKind::kNONE);
  }
  if (ILogger* logger = getBuilder().getLogger()) {
    logger->log(ILogger::Severity::kERROR,
                "addAttentionV2: CausalMaskKind::kLOWER_RIGHT is not supported yet where query and "
                "keys are not known to be equally many: give the attention a mask");
  }
  return nullptr;
}

}  // namespace nvinfer1

#endif  // TENON_COMPAT11_NETWORK_H
