// INetworkDefinition's functions that add layers that gather, scatter and fill.
#include "api/add_layer.h"
#include "api/layers/indexing.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes
using Shape = tenon::Shape;

ITopKLayer* NetworkDefinition::addTopK(ITensor& input, TopKOperation operation, int32_t k,
                                       uint32_t reduceAxes) noexcept {
  return addTopKV2(input, operation, k, reduceAxes, DataType::kINT32);
}

ITopKLayer* NetworkDefinition::addTopKV2(ITensor& input, TopKOperation operation, int32_t k,
                                         uint32_t reduceAxes, DataType indicesType) noexcept {
  return reporter_.guard<ITopKLayer*>(nullptr, [&] {
    TopK op;
    op.operation = checked(operation);
    require(k >= 0, "{} elements are not possible", k);
    op.k = k;
    op.axes = reduceAxes;
    op.index_type = index_type(indicesType);
    return add<ITopKLayer>(op, {&value_of(input)});
  });
}

INonZeroLayer* NetworkDefinition::addNonZero(ITensor& input) noexcept {
  return addNonZeroV2(input, DataType::kINT32);
}

INonZeroLayer* NetworkDefinition::addNonZeroV2(ITensor& input, DataType indicesType) noexcept {
  return reporter_.guard<INonZeroLayer*>(nullptr, [&] {
    NonZero op;
    op.index_type = index_type(indicesType);
    return add<INonZeroLayer>(op, {&value_of(input)});
  });
}

IScatterLayer* NetworkDefinition::addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                                             ScatterMode mode) noexcept {
  return reporter_.guard<IScatterLayer*>(nullptr, [&] {
    Scatter op;
    op.mode = checked(mode);
    return add<IScatterLayer>(op, {&value_of(data), &value_of(indices), &value_of(updates)});
  });
}

IOneHotLayer* NetworkDefinition::addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                                           int32_t axis) noexcept {
  return reporter_.guard<IOneHotLayer*>(nullptr, [&] {
    OneHot op;
    op.axis = axis;
    return add<IOneHotLayer>(op, {&value_of(indices), &value_of(values), &value_of(depth)});
  });
}

ICumulativeLayer* NetworkDefinition::addCumulative(ITensor& input, ITensor& axis,
                                                   CumulativeOperation operation, bool exclusive,
                                                   bool reverse) noexcept {
  return reporter_.guard<ICumulativeLayer*>(nullptr, [&] {
    Cumulative op;
    op.operation = static_cast<CumulativeKind>(checked(operation));
    op.exclusive = exclusive;
    op.reverse = reverse;
    return add<ICumulativeLayer>(op, {&value_of(input), &value_of(axis)});
  });
}

IReverseSequenceLayer* NetworkDefinition::addReverseSequence(ITensor& input,
                                                             ITensor& sequenceLengths) noexcept {
  return reporter_.guard<IReverseSequenceLayer*>(nullptr, [&] {
    return add<IReverseSequenceLayer>(ReverseSequence(),
                                      {&value_of(input), &value_of(sequenceLengths)});
  });
}

ISqueezeLayer* NetworkDefinition::addSqueeze(ITensor& input, ITensor& axes) noexcept {
  return reporter_.guard<ISqueezeLayer*>(
      nullptr, [&] { return add<ISqueezeLayer>(Squeeze(), {&value_of(input), &value_of(axes)}); });
}

IUnsqueezeLayer* NetworkDefinition::addUnsqueeze(ITensor& input, ITensor& axes) noexcept {
  return reporter_.guard<IUnsqueezeLayer*>(nullptr, [&] {
    return add<IUnsqueezeLayer>(Unsqueeze(), {&value_of(input), &value_of(axes)});
  });
}

IPaddingLayer* NetworkDefinition::addPaddingNd(ITensor& input, const PublicDims& prePadding,
                                               const PublicDims& postPadding) noexcept {
  return reporter_.guard<IPaddingLayer*>(nullptr, [&] {
    Padding op;
    op.pre = two_paddings(prePadding);
    op.post = two_paddings(postPadding);
    return add<IPaddingLayer>(op, {&value_of(input)});
  });
}

IAssertionLayer* NetworkDefinition::addAssertion(ITensor& condition, const char* message) noexcept {
  return reporter_.guard<IAssertionLayer*>(nullptr, [&] {
    require(message != nullptr, "the message is null");
    Assertion op;
    op.message = message;
    return add<IAssertionLayer>(op, {&value_of(condition)});
  });
}

IFillLayer* NetworkDefinition::addFill(const PublicDims& dimensions,
                                       FillOperation operation) noexcept {
  return addFillV2(dimensions, operation, DataType::kFLOAT);
}

IFillLayer* NetworkDefinition::addFillV2(const PublicDims& dimensions, FillOperation operation,
                                         DataType outputType) noexcept {
  return reporter_.guard<IFillLayer*>(nullptr, [&] {
    Fill op;
    op.dimensions = Shape(dimensions);
    op.operation = checked(operation);
    op.type = checked(outputType);
    op.seed = static_cast<int64_t>(network_->nodes().size());  // another for each layer
    return add<IFillLayer>(op, {});
  });
}

}  // namespace tenon
