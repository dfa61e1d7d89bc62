// INetworkDefinition's functions that add quantisation.
#include "api/add_layer.h"
#include "api/layers/quantize.h"
#include "ops/dequantize.h"
#include "ops/dynamic_quantize.h"
#include "ops/quantize.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes

IQuantizeLayer* NetworkDefinition::addQuantize(ITensor& input, ITensor& scale) noexcept {
  return reporter_.guard<IQuantizeLayer*>(nullptr, [&] {
    return add<IQuantizeLayer>(Quantize(), {&value_of(input), &value_of(scale)});
  });
}

IQuantizeLayer* NetworkDefinition::addQuantizeV2(ITensor& input, ITensor& scale,
                                                 DataType outputType) noexcept {
  return reporter_.guard<IQuantizeLayer*>(nullptr, [&] {
    Quantize op;
    op.to = checked(outputType);
    return add<IQuantizeLayer>(op, {&value_of(input), &value_of(scale)});
  });
}

IDequantizeLayer* NetworkDefinition::addDequantize(ITensor& input, ITensor& scale) noexcept {
  return reporter_.guard<IDequantizeLayer*>(nullptr, [&] {
    return add<IDequantizeLayer>(Dequantize(), {&value_of(input), &value_of(scale)});
  });
}

IDequantizeLayer* NetworkDefinition::addDequantizeV2(ITensor& input, ITensor& scale,
                                                     DataType outputType) noexcept {
  return reporter_.guard<IDequantizeLayer*>(nullptr, [&] {
    Dequantize op;
    op.to = checked(outputType);
    return add<IDequantizeLayer>(op, {&value_of(input), &value_of(scale)});
  });
}

IDynamicQuantizeLayer* NetworkDefinition::addDynamicQuantize(ITensor& input, int32_t axis,
                                                             int32_t blockSize, DataType toType,
                                                             DataType scaleType) noexcept {
  return reporter_.guard<IDynamicQuantizeLayer*>(nullptr, [&] {
    require(blockSize > 0, "the block size is {}; it must be positive", blockSize);
    DynamicQuantize op;
    op.axis = axis;
    op.block_size = blockSize;
    op.to = checked(toType);
    op.scale_type = checked(scaleType);
    return add<IDynamicQuantizeLayer>(op, {&value_of(input)});
  });
}

IDynamicQuantizeLayer* NetworkDefinition::addDynamicQuantizeV2(ITensor& input,
                                                               const PublicDims& blockShape,
                                                               DataType toType,
                                                               DataType scaleType) noexcept {
  return reporter_.guard<IDynamicQuantizeLayer*>(nullptr, [&] {
    DynamicQuantize op;
    op.block = checked_block(blockShape);
    op.to = checked(toType);
    op.scale_type = checked(scaleType);
    return add<IDynamicQuantizeLayer>(op, {&value_of(input)});
  });
}

}  // namespace tenon
