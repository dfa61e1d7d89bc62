// INetworkDefinition's functions that add attention, the layers around it, and Einsum.
#include "api/add_layer.h"
#include "api/layers/attention.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes
using Attention = tenon::Attention;

IEinsumLayer* NetworkDefinition::addEinsum(ITensor* const* inputs, int32_t nbInputs,
                                           const char* equation) noexcept {
  return reporter_.guard<IEinsumLayer*>(nullptr, [&] {
    require(nbInputs > 0, "{} inputs were given", nbInputs);
    require(equation != nullptr, "the equation is null");
    Einsum op;
    op.equation = equation;
    return add<IEinsumLayer>(op, values_of(inputs, nbInputs, "inputs"));
  });
}

IAttention* NetworkDefinition::addAttention(ITensor& query, ITensor& key, ITensor& value,
                                            AttentionNormalizationOp normalization,
                                            bool isCausal) noexcept {
  return reporter_.guard<IAttention*>(nullptr, [&] {
    Attention op;
    op.normalization = checked(normalization);
    op.causal = isCausal;
    return add<IAttentionOutputLayer>(op, {&value_of(query), &value_of(key), &value_of(value)})
        ->getAttention();
  });
}

IRotaryEmbeddingLayer* NetworkDefinition::addRotaryEmbedding(ITensor& input, ITensor& cosCache,
                                                             ITensor& sinCache, bool interleaved,
                                                             int32_t rotaryEmbeddingDim) noexcept {
  return reporter_.guard<IRotaryEmbeddingLayer*>(nullptr, [&] {
    require(rotaryEmbeddingDim >= 0 && rotaryEmbeddingDim % 2 == 0,
            "{} elements cannot be rotated in pairs", rotaryEmbeddingDim);
    RotaryEmbedding op;
    op.interleaved = interleaved;
    op.dimension = rotaryEmbeddingDim;
    return add<IRotaryEmbeddingLayer>(op,
                                      {&value_of(input), &value_of(cosCache), &value_of(sinCache)});
  });
}

IKVCacheUpdateLayer* NetworkDefinition::addKVCacheUpdate(ITensor& cache, ITensor& update,
                                                         ITensor& writeIndices,
                                                         KVCacheMode cacheMode) noexcept {
  return reporter_.guard<IKVCacheUpdateLayer*>(nullptr, [&] {
    checked(cacheMode);
    return add<IKVCacheUpdateLayer>(CacheUpdate(),
                                    {&value_of(cache), &value_of(update), &value_of(writeIndices)});
  });
}

}  // namespace tenon
