// What ONNX Runtime's C interface has of functions and structures that an execution provider in a
// library of its own uses: interface version 23, of ONNX Runtime 1.23 and newer.
//
// Both tables only grow, so that a function's number says what it is in every version. Numbers and
// types are facts of onnxruntime_c_api.h and onnxruntime_ep_c_api.h; the names are theirs, too.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::ort {

constexpr uint32_t kApiVersion = 23;

struct OrtStatus;
struct OrtValue;
struct OrtValueInfo;
struct OrtTypeInfo;
struct OrtTensorTypeAndShapeInfo;
struct OrtGraph;
struct OrtNode;
struct OrtOpAttr;
struct OrtKernelContext;
struct OrtSessionOptions;
struct OrtLogger;
struct OrtHardwareDevice;
struct OrtKeyValuePairs;
struct OrtEpDevice;
struct OrtEpGraphSupportInfo;
struct OrtNodeComputeContext;
struct OrtMemoryInfo;
struct OrtMemoryDevice;
struct OrtAllocator;
struct OrtRunOptions;
struct OrtDataTransferImpl;
struct OrtSyncStreamImpl;
struct OrtEpFactory;
struct OrtEp;

enum OrtErrorCode : int { kFail = 1 };
enum OrtHardwareDeviceType : int { kDeviceCpu = 0, kDeviceGpu = 1 };
enum OrtOpAttrType : int {
  kAttributeUndefined,
  kAttributeInt,
  kAttributeInts,
  kAttributeFloat,
  kAttributeFloats,
  kAttributeString,
  kAttributeStrings,
  kAttributeGraph,
  kAttributeTensor
};

struct OrtNodeFusionOptions {
  uint32_t ort_version_supported;
  bool drop_constant_initializers;
};

struct OrtNodeComputeInfo {
  uint32_t ort_version_supported;
  OrtStatus* (*CreateState)(OrtNodeComputeInfo*, OrtNodeComputeContext*, void** state);
  OrtStatus* (*Compute)(OrtNodeComputeInfo*, void* state, OrtKernelContext*);
  void (*ReleaseState)(OrtNodeComputeInfo*, void* state);
};

struct OrtEpApi {
  OrtStatus* (*CreateEpDevice)(OrtEpFactory*, const OrtHardwareDevice*, const OrtKeyValuePairs*,
                               const OrtKeyValuePairs*, OrtEpDevice**);
  void* slots_1[1];
  OrtStatus* (*EpGraphSupportInfo_AddNodesToFuse)(OrtEpGraphSupportInfo*,
                                                  const OrtNode* const* nodes, size_t count,
                                                  const OrtNodeFusionOptions*);
};

struct OrtApi {
  OrtStatus* (*CreateStatus)(OrtErrorCode, const char* message);
  void* slots_1[1];
  const char* (*GetErrorMessage)(const OrtStatus*);
  void* slots_3[48];
  OrtStatus* (*GetTensorMutableData)(OrtValue*, void**);
  void* slots_52[3];
  OrtStatus* (*CastTypeInfoToTensorInfo)(const OrtTypeInfo*, const OrtTensorTypeAndShapeInfo**);
  void* slots_56[4];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo*, int*);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo*, size_t*);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo*, int64_t*, size_t);
  OrtStatus* (*GetSymbolicDimensions)(const OrtTensorTypeAndShapeInfo*, const char**, size_t);
  void* slots_64[1];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue*, OrtTensorTypeAndShapeInfo**);
  void* slots_66[22];
  OrtStatus* (*KernelContext_GetInputCount)(const OrtKernelContext*, size_t*);
  OrtStatus* (*KernelContext_GetOutputCount)(const OrtKernelContext*, size_t*);
  OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext*, size_t, const OrtValue**);
  OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext*, size_t, const int64_t* extents,
                                        size_t rank, OrtValue**);
  void* slots_92[1];
  void (*ReleaseStatus)(OrtStatus*);
  void* slots_94[2];
  void (*ReleaseValue)(OrtValue*);
  void* slots_97[2];
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo*);
  void* slots_100[137];
  OrtStatus* (*HasSessionConfigEntry)(const OrtSessionOptions*, const char* key, int*);
  OrtStatus* (*GetSessionConfigEntry)(const OrtSessionOptions*, const char* key, char*, size_t*);
  void* slots_239[33];
  OrtStatus* (*ReadOpAttr)(const OrtOpAttr*, OrtOpAttrType, void*, size_t bytes, size_t* needed);
  void* slots_273[16];
  OrtStatus* (*GetValueInfoName)(const OrtValueInfo*, const char**);
  OrtStatus* (*GetValueInfoTypeInfo)(const OrtValueInfo*, const OrtTypeInfo**);
  void* slots_291[16];
  OrtHardwareDeviceType (*HardwareDevice_Type)(const OrtHardwareDevice*);
  void* slots_308[9];
  const OrtEpApi* (*GetEpApi)();
  OrtStatus* (*GetTensorSizeInBytes)(const OrtValue*, size_t*);
  void* slots_319[7];
  OrtStatus* (*ValueInfo_GetInitializerValue)(const OrtValueInfo*, const OrtValue**);
  void* slots_327[4];
  OrtStatus* (*ValueInfo_IsConstantInitializer)(const OrtValueInfo*, bool*);
  void* slots_332[3];
  OrtStatus* (*Graph_GetOnnxIRVersion)(const OrtGraph*, int64_t*);
  OrtStatus* (*Graph_GetNumOperatorSets)(const OrtGraph*, size_t*);
  OrtStatus* (*Graph_GetOperatorSets)(const OrtGraph*, const char** domains, int64_t* versions,
                                      size_t);
  OrtStatus* (*Graph_GetNumInputs)(const OrtGraph*, size_t*);
  OrtStatus* (*Graph_GetInputs)(const OrtGraph*, const OrtValueInfo**, size_t);
  OrtStatus* (*Graph_GetNumOutputs)(const OrtGraph*, size_t*);
  OrtStatus* (*Graph_GetOutputs)(const OrtGraph*, const OrtValueInfo**, size_t);
  OrtStatus* (*Graph_GetNumInitializers)(const OrtGraph*, size_t*);
  OrtStatus* (*Graph_GetInitializers)(const OrtGraph*, const OrtValueInfo**, size_t);
  OrtStatus* (*Graph_GetNumNodes)(const OrtGraph*, size_t*);
  OrtStatus* (*Graph_GetNodes)(const OrtGraph*, const OrtNode**, size_t);
  OrtStatus* (*Graph_GetParentNode)(const OrtGraph*, const OrtNode**);
  void* slots_347[3];
  OrtStatus* (*Node_GetOperatorType)(const OrtNode*, const char**);
  OrtStatus* (*Node_GetDomain)(const OrtNode*, const char**);
  void* slots_352[1];
  OrtStatus* (*Node_GetNumInputs)(const OrtNode*, size_t*);
  OrtStatus* (*Node_GetInputs)(const OrtNode*, const OrtValueInfo**, size_t);
  OrtStatus* (*Node_GetNumOutputs)(const OrtNode*, size_t*);
  OrtStatus* (*Node_GetOutputs)(const OrtNode*, const OrtValueInfo**, size_t);
  void* slots_357[2];
  OrtStatus* (*Node_GetNumAttributes)(const OrtNode*, size_t*);
  OrtStatus* (*Node_GetAttributes)(const OrtNode*, const OrtOpAttr**, size_t);
  void* slots_361[1];
  OrtStatus* (*OpAttr_GetTensorAttributeAsOrtValue)(const OrtOpAttr*, OrtValue**);
  OrtStatus* (*OpAttr_GetType)(const OrtOpAttr*, OrtOpAttrType*);
  OrtStatus* (*OpAttr_GetName)(const OrtOpAttr*, const char**);
  OrtStatus* (*Node_GetNumSubgraphs)(const OrtNode*, size_t*);
};

#define TENON_ORT_SLOT(name, number) \
  static_assert(offsetof(OrtApi, name) == (number) * sizeof(void*))
TENON_ORT_SLOT(GetTensorMutableData, 51);
TENON_ORT_SLOT(CastTypeInfoToTensorInfo, 55);
TENON_ORT_SLOT(GetTensorElementType, 60);
TENON_ORT_SLOT(GetTensorTypeAndShape, 65);
TENON_ORT_SLOT(KernelContext_GetInputCount, 88);
TENON_ORT_SLOT(ReleaseStatus, 93);
TENON_ORT_SLOT(ReleaseValue, 96);
TENON_ORT_SLOT(ReleaseTensorTypeAndShapeInfo, 99);
TENON_ORT_SLOT(HasSessionConfigEntry, 237);
TENON_ORT_SLOT(ReadOpAttr, 272);
TENON_ORT_SLOT(GetValueInfoName, 289);
TENON_ORT_SLOT(HardwareDevice_Type, 307);
TENON_ORT_SLOT(GetEpApi, 317);
TENON_ORT_SLOT(ValueInfo_GetInitializerValue, 326);
TENON_ORT_SLOT(ValueInfo_IsConstantInitializer, 331);
TENON_ORT_SLOT(Graph_GetOnnxIRVersion, 335);
TENON_ORT_SLOT(Graph_GetParentNode, 346);
TENON_ORT_SLOT(Node_GetOperatorType, 350);
TENON_ORT_SLOT(Node_GetNumInputs, 353);
TENON_ORT_SLOT(Node_GetNumAttributes, 359);
TENON_ORT_SLOT(OpAttr_GetTensorAttributeAsOrtValue, 362);
TENON_ORT_SLOT(Node_GetNumSubgraphs, 365);
#undef TENON_ORT_SLOT

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);  ///< null for a version that it does not have
  const char* (*GetVersionString)();
};

/// What a provider implements. Null is allowed where the comment says so.
struct OrtEp {
  uint32_t ort_version_supported;
  const char* (*GetName)(const OrtEp*);
  OrtStatus* (*GetCapability)(OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*);
  OrtStatus* (*Compile)(OrtEp*, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                        OrtNodeComputeInfo** made, OrtNode** context_nodes);
  void (*ReleaseNodeComputeInfos)(OrtEp*, OrtNodeComputeInfo**, size_t);
  void* optional[8];  ///< layouts, options, begin and end of runs, allocators, streams: null
};

struct OrtEpFactory {
  uint32_t ort_version_supported;
  const char* (*GetName)(const OrtEpFactory*);
  const char* (*GetVendor)(const OrtEpFactory*);
  OrtStatus* (*GetSupportedDevices)(OrtEpFactory*, const OrtHardwareDevice* const* devices,
                                    size_t count, OrtEpDevice** made, size_t max,
                                    size_t* made_count);
  OrtStatus* (*CreateEp)(OrtEpFactory*, const OrtHardwareDevice* const* devices,
                         const OrtKeyValuePairs* const* metadata, size_t count,
                         const OrtSessionOptions*, const OrtLogger*, OrtEp**);
  void (*ReleaseEp)(OrtEpFactory*, OrtEp*);
  uint32_t (*GetVendorId)(const OrtEpFactory*);
  const char* (*GetVersion)(const OrtEpFactory*);
  void* ValidateCompiledModelCompatibilityInfo;  ///< may be null
  OrtStatus* (*CreateAllocator)(OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                                OrtAllocator**);
  void (*ReleaseAllocator)(OrtEpFactory*, OrtAllocator*);
  OrtStatus* (*CreateDataTransfer)(OrtEpFactory*, OrtDataTransferImpl**);
  bool (*IsStreamAware)(const OrtEpFactory*);
  OrtStatus* (*CreateSyncStreamForDevice)(OrtEpFactory*, const OrtMemoryDevice*,
                                          const OrtKeyValuePairs*, OrtSyncStreamImpl**);
};

}  // namespace tenon::ort
