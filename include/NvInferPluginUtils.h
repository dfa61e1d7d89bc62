// Parameters of detection plugins, as old programs pass them.
#ifndef NV_INFER_PLUGIN_UTILS_H
#define NV_INFER_PLUGIN_UTILS_H

#include "NvInferRuntimeCommon.h"

namespace nvinfer1 {

namespace plugin {

/// Four numbers of a box; an 8.x name.
struct Quadruple {
  float data[4];
};

/// Parameters of a plugin that makes prior boxes from the size of an image.
struct PriorBoxParameters {
  float* minSize;
  float* maxSize;
  float* aspectRatios;
  int32_t numMinSize;
  int32_t numMaxSize;
  int32_t numAspectRatios;
  bool flip;
  bool clip;
  float variance[4];
  int32_t imgH;
  int32_t imgW;
  float stepH;
  float stepW;
  float offset;
};

/// Parameters of a plugin that proposes and pools regions.
struct RPROIParams {
  int32_t poolingH;
  int32_t poolingW;
  int32_t featureStride;
  int32_t preNmsTop;
  int32_t nmsMaxOut;
  int32_t anchorsRatioCount;
  int32_t anchorsScaleCount;
  float iouThreshold;
  float minBoxSize;
  float spatialScale;
};

/// Parameters of a plugin that makes anchors on a grid.
struct GridAnchorParameters {
  float minSize;
  float maxSize;
  float* aspectRatios;
  int32_t numAspectRatios;
  int32_t H;
  int32_t W;
  float variance[4];
};

#if TENON_TRT_OLDER_NAMES
/// How boxes are encoded relative to prior boxes.
enum class CodeTypeSSD : int32_t {
  CORNER = 0,
  CENTER_SIZE = 1,
  CORNER_SIZE = 2,
  TF_CENTER = 3,
};

/// Parameters of a plugin that decodes and selects boxes.
struct DetectionOutputParameters {
  bool shareLocation;
  bool varianceEncodedInTarget;
  int32_t backgroundLabelId;
  int32_t numClasses;
  int32_t topK;
  int32_t keepTopK;
  float confidenceThreshold;
  float nmsThreshold;
  CodeTypeSSD codeType;
  int32_t inputOrder[3];
  bool confSigmoid;
  bool isNormalized;
  bool isBatchAgnostic{true};
};
#endif

/// A tree of classes, each group of which has a softmax.
struct softmaxTree {
  int32_t* leaf;
  int32_t n;
  int32_t* parent;
  int32_t* child;
  int32_t* group;
  char** name;
  int32_t groups;
  int32_t* groupSize;
  int32_t* groupOffset;
};

/// Parameters of a plugin for the region layer of YOLO.
struct RegionParameters {
  int32_t num;
  int32_t coords;
  int32_t classes;
  softmaxTree* smTree;
};

#if TENON_TRT_OLDER_NAMES
/// Parameters of a plugin that selects boxes.
struct NMSParameters {
  bool shareLocation;
  int32_t backgroundLabelId;
  int32_t numClasses;
  int32_t topK;
  int32_t keepTopK;
  float scoreThreshold;
  float iouThreshold;
  bool isNormalized;
};
#endif

}  // namespace plugin

}  // namespace nvinfer1

#endif  // NV_INFER_PLUGIN_UTILS_H
