// INetworkDefinition's functions that add layers of detectors.
#include "api/add_layer.h"
#include "ops/grid_sample.h"
#include "ops/nms.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes

INMSLayer* NetworkDefinition::addNMS(ITensor& boxes, ITensor& scores,
                                     ITensor& maxOutputBoxesPerClass) noexcept {
  return addNMSV2(boxes, scores, maxOutputBoxesPerClass, DataType::kINT32);
}

INMSLayer* NetworkDefinition::addNMSV2(ITensor& boxes, ITensor& scores,
                                       ITensor& maxOutputBoxesPerClass,
                                       DataType indicesType) noexcept {
  return reporter_.guard<INMSLayer*>(nullptr, [&] {
    require(indicesType == DataType::kINT32 || indicesType == DataType::kINT64,
            "expected indices of type int32 or int64, found {}", name_of(checked(indicesType)));
    Nms op;
    op.indices_type = indicesType;
    op.top_k_box_limit = 5000;  // as in TensorRT
    return add<INMSLayer>(op,
                          {&value_of(boxes), &value_of(scores), &value_of(maxOutputBoxesPerClass)});
  });
}

IGridSampleLayer* NetworkDefinition::addGridSample(ITensor& input, ITensor& grid) noexcept {
  return reporter_.guard<IGridSampleLayer*>(nullptr, [&] {
    return add<IGridSampleLayer>(GridSample(), {&value_of(input), &value_of(grid)});
  });
}

}  // namespace tenon
