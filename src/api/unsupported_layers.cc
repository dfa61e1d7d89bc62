// INetworkDefinition's functions that wait for their layers: each says so by name.
#include "api/network_definition.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes

ITopKLayer* NetworkDefinition::addTopK(ITensor&, TopKOperation, int32_t, uint32_t) noexcept {
  return reporter_.guard<ITopKLayer*>(nullptr, []() -> ITopKLayer* { not_supported(); });
}
ILoop* NetworkDefinition::addLoop() noexcept {
  return reporter_.guard<ILoop*>(nullptr, []() -> ILoop* { not_supported(); });
}
IFillLayer* NetworkDefinition::addFill(const PublicDims&, FillOperation) noexcept {
  return reporter_.guard<IFillLayer*>(nullptr, []() -> IFillLayer* { not_supported(); });
}
IPaddingLayer* NetworkDefinition::addPaddingNd(ITensor&, const PublicDims&,
                                               const PublicDims&) noexcept {
  return reporter_.guard<IPaddingLayer*>(nullptr, []() -> IPaddingLayer* { not_supported(); });
}
IIfConditional* NetworkDefinition::addIfConditional() noexcept {
  return reporter_.guard<IIfConditional*>(nullptr, []() -> IIfConditional* { not_supported(); });
}
IScatterLayer* NetworkDefinition::addScatter(ITensor&, ITensor&, ITensor&, ScatterMode) noexcept {
  return reporter_.guard<IScatterLayer*>(nullptr, []() -> IScatterLayer* { not_supported(); });
}
IEinsumLayer* NetworkDefinition::addEinsum(ITensor* const*, int32_t, const char*) noexcept {
  return reporter_.guard<IEinsumLayer*>(nullptr, []() -> IEinsumLayer* { not_supported(); });
}
IAssertionLayer* NetworkDefinition::addAssertion(ITensor&, const char*) noexcept {
  return reporter_.guard<IAssertionLayer*>(nullptr, []() -> IAssertionLayer* { not_supported(); });
}
IOneHotLayer* NetworkDefinition::addOneHot(ITensor&, ITensor&, ITensor&, int32_t) noexcept {
  return reporter_.guard<IOneHotLayer*>(nullptr, []() -> IOneHotLayer* { not_supported(); });
}
INonZeroLayer* NetworkDefinition::addNonZero(ITensor&) noexcept {
  return reporter_.guard<INonZeroLayer*>(nullptr, []() -> INonZeroLayer* { not_supported(); });
}
IReverseSequenceLayer* NetworkDefinition::addReverseSequence(ITensor&, ITensor&) noexcept {
  return reporter_.guard<IReverseSequenceLayer*>(
      nullptr, []() -> IReverseSequenceLayer* { not_supported(); });
}
IFillLayer* NetworkDefinition::addFillV2(const PublicDims&, FillOperation, DataType) noexcept {
  return reporter_.guard<IFillLayer*>(nullptr, []() -> IFillLayer* { not_supported(); });
}
bool NetworkDefinition::markDebug(ITensor&) noexcept {
  return reporter_.run(not_supported);
}
bool NetworkDefinition::unmarkDebug(ITensor&) noexcept {
  return reporter_.run(not_supported);
}
bool NetworkDefinition::isDebugTensor(const ITensor&) const noexcept {
  return false;
}
bool NetworkDefinition::markWeightsRefittable(const char*) noexcept {
  return reporter_.run(not_supported);
}
bool NetworkDefinition::unmarkWeightsRefittable(const char*) noexcept {
  return reporter_.run(not_supported);
}
bool NetworkDefinition::areWeightsMarkedRefittable(const char*) const noexcept {
  return false;
}
ISqueezeLayer* NetworkDefinition::addSqueeze(ITensor&, ITensor&) noexcept {
  return reporter_.guard<ISqueezeLayer*>(nullptr, []() -> ISqueezeLayer* { not_supported(); });
}
IUnsqueezeLayer* NetworkDefinition::addUnsqueeze(ITensor&, ITensor&) noexcept {
  return reporter_.guard<IUnsqueezeLayer*>(nullptr, []() -> IUnsqueezeLayer* { not_supported(); });
}
IDynamicQuantizeLayer* NetworkDefinition::addDynamicQuantize(ITensor&, int32_t, int32_t, DataType,
                                                             DataType) noexcept {
  return reporter_.guard<IDynamicQuantizeLayer*>(
      nullptr, []() -> IDynamicQuantizeLayer* { not_supported(); });
}
ICumulativeLayer* NetworkDefinition::addCumulative(ITensor&, ITensor&, CumulativeOperation, bool,
                                                   bool) noexcept {
  return reporter_.guard<ICumulativeLayer*>(nullptr,
                                            []() -> ICumulativeLayer* { not_supported(); });
}
bool NetworkDefinition::markUnfusedTensorsAsDebugTensors() noexcept {
  return reporter_.run(not_supported);
}
bool NetworkDefinition::unmarkUnfusedTensorsAsDebugTensors() noexcept {
  return reporter_.run(not_supported);
}
ITopKLayer* NetworkDefinition::addTopKV2(ITensor&, TopKOperation, int32_t, uint32_t,
                                         DataType) noexcept {
  return reporter_.guard<ITopKLayer*>(nullptr, []() -> ITopKLayer* { not_supported(); });
}
INonZeroLayer* NetworkDefinition::addNonZeroV2(ITensor&, DataType) noexcept {
  return reporter_.guard<INonZeroLayer*>(nullptr, []() -> INonZeroLayer* { not_supported(); });
}
IAttention* NetworkDefinition::addAttention(ITensor&, ITensor&, ITensor&, AttentionNormalizationOp,
                                            bool) noexcept {
  return reporter_.guard<IAttention*>(nullptr, []() -> IAttention* { not_supported(); });
}
IRotaryEmbeddingLayer* NetworkDefinition::addRotaryEmbedding(ITensor&, ITensor&, ITensor&, bool,
                                                             int32_t) noexcept {
  return reporter_.guard<IRotaryEmbeddingLayer*>(
      nullptr, []() -> IRotaryEmbeddingLayer* { not_supported(); });
}
IDynamicQuantizeLayer* NetworkDefinition::addDynamicQuantizeV2(ITensor&, const PublicDims&,
                                                               DataType, DataType) noexcept {
  return reporter_.guard<IDynamicQuantizeLayer*>(
      nullptr, []() -> IDynamicQuantizeLayer* { not_supported(); });
}
IKVCacheUpdateLayer* NetworkDefinition::addKVCacheUpdate(ITensor&, ITensor&, ITensor&,
                                                         KVCacheMode) noexcept {
  return reporter_.guard<IKVCacheUpdateLayer*>(nullptr,
                                               []() -> IKVCacheUpdateLayer* { not_supported(); });
}
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
