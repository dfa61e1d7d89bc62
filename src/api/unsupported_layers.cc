// INetworkDefinition's functions that wait for their layers: each says so by name.
#include "api/network_definition.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes

IMoELayer* NetworkDefinition::addMoE(ITensor&, ITensor&, ITensor&) noexcept {
  return reporter_.guard<IMoELayer*>(nullptr, []() -> IMoELayer* { not_supported(); });
}
IDistCollectiveLayer* NetworkDefinition::addDistCollective(ITensor&, CollectiveOperation,
                                                           ReduceOperation, int64_t, int64_t*,
                                                           int64_t) noexcept {
  return reporter_.guard<IDistCollectiveLayer*>(nullptr,
                                                []() -> IDistCollectiveLayer* { not_supported(); });
}

}  // namespace tenon
