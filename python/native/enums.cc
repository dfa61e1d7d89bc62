// The enumerations of the builder, the runtime and plugins; enums_layers.cc has those of layers.
#include "enums.h"

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <impl/NvInferPythonPlugin.h>

#include <string>

#include "bind.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

nb::object value_of(nb::handle member) {
  return member.attr("value");
}

bool same_kind(nb::handle a, nb::handle b) {
  return a.type().is(b.type());
}

/// A method that compares two members by their values; those of different kinds do not compare.
template <class Compare>
void add_comparison(nb::handle enumeration, const char* name, Compare compare) {
  const std::string signature = std::string("def ") + name + "(self, other: object, /) -> bool";
  enumeration.attr(name) = nb::cpp_function(
      [compare](nb::handle a, nb::handle b) -> nb::object {
        if (!same_kind(a, b)) return nb::borrow(Py_NotImplemented);
        return nb::bool_(compare(value_of(a), value_of(b)));
      },
      nb::is_method(), nb::sig(signature.c_str()), nb::arg("other").none());
}

}  // namespace

void give_manners(nb::handle enumeration) {
  enumeration.attr("__int__") =
      nb::cpp_function(value_of, nb::is_method(), nb::sig("def __int__(self) -> int"));
  enumeration.attr("__index__") =
      nb::cpp_function(value_of, nb::is_method(), nb::sig("def __index__(self) -> int"));
  enumeration.attr("__hash__") =
      nb::cpp_function([](nb::handle member) { return PyObject_Hash(value_of(member).ptr()); },
                       nb::is_method(), nb::sig("def __hash__(self) -> int"));
  using O = const nb::object&;
  add_comparison(enumeration, "__eq__", [](O a, O b) { return a.equal(b); });
  add_comparison(enumeration, "__ne__", [](O a, O b) { return !a.equal(b); });
  add_comparison(enumeration, "__lt__", [](O a, O b) { return a < b; });
  add_comparison(enumeration, "__le__", [](O a, O b) { return a <= b; });
  add_comparison(enumeration, "__gt__", [](O a, O b) { return a > b; });
  add_comparison(enumeration, "__ge__", [](O a, O b) { return a >= b; });
  enumeration.attr("__repr__") = nb::module_::import_("enum").attr("Enum").attr("__repr__");
  // Programs look members up in here: a name's member, and a text, which pybind11 may leave out.
  nb::dict entries;
  for (nb::handle name : enumeration.attr("__members__"))
    entries[name] = nb::make_tuple(enumeration.attr("__members__")[name], nb::none());
  enumeration.attr("__entries") = entries;
}

void bind_enums(nb::module_& m) {
  {
    using E = APILanguage;
    bind_enum<E>(m, "APILanguage", "The language that an interface is written in.",
                 {{"CPP", E::kCPP}, {"PYTHON", E::kPYTHON}});
  }
  {
    using E = AllocatorFlag;
    bind_enum<E>(m, "AllocatorFlag", "What an allocation must allow.",
                 {{"RESIZABLE", E::kRESIZABLE}});
  }
  {
    using E = BuilderFlag;
    bind_enum<E>(m, "BuilderFlag", "The builder's choices; config.set_flag() sets one.",
                 {{"FP16", E::kFP16},
                  {"BF16", E::kBF16},
                  {"INT8", E::kINT8},
                  {"DEBUG", E::kDEBUG},
                  {"GPU_FALLBACK", E::kGPU_FALLBACK},
                  {"REFIT", E::kREFIT},
                  {"DISABLE_TIMING_CACHE", E::kDISABLE_TIMING_CACHE},
                  {"EDITABLE_TIMING_CACHE", E::kEDITABLE_TIMING_CACHE},
                  {"TF32", E::kTF32},
                  {"SPARSE_WEIGHTS", E::kSPARSE_WEIGHTS},
                  {"SAFETY_SCOPE", E::kSAFETY_SCOPE},
                  {"OBEY_PRECISION_CONSTRAINTS", E::kOBEY_PRECISION_CONSTRAINTS},
                  {"PREFER_PRECISION_CONSTRAINTS", E::kPREFER_PRECISION_CONSTRAINTS},
                  {"DIRECT_IO", E::kDIRECT_IO},
                  {"REJECT_EMPTY_ALGORITHMS", E::kREJECT_EMPTY_ALGORITHMS},
                  {"VERSION_COMPATIBLE", E::kVERSION_COMPATIBLE},
                  {"EXCLUDE_LEAN_RUNTIME", E::kEXCLUDE_LEAN_RUNTIME},
                  {"FP8", E::kFP8},
                  {"ERROR_ON_TIMING_CACHE_MISS", E::kERROR_ON_TIMING_CACHE_MISS},
                  {"DISABLE_COMPILATION_CACHE", E::kDISABLE_COMPILATION_CACHE},
                  {"WEIGHTLESS", E::kWEIGHTLESS},
                  {"STRIP_PLAN", E::kSTRIP_PLAN},
                  {"REFIT_IDENTICAL", E::kREFIT_IDENTICAL},
                  {"WEIGHT_STREAMING", E::kWEIGHT_STREAMING},
                  {"INT4", E::kINT4},
                  {"REFIT_INDIVIDUAL", E::kREFIT_INDIVIDUAL},
                  {"STRICT_NANS", E::kSTRICT_NANS},
                  {"MONITOR_MEMORY", E::kMONITOR_MEMORY},
                  {"FP4", E::kFP4},
                  {"DISTRIBUTIVE_INDEPENDENCE", E::kDISTRIBUTIVE_INDEPENDENCE},
                  {"STRICT_TYPES", E::kSTRICT_TYPES},
                  {"ENABLE_TACTIC_HEURISTIC", E::kENABLE_TACTIC_HEURISTIC}});
  }
  {
    using E = CalibrationAlgoType;
    bind_enum<E>(m, "CalibrationAlgoType", "How INT8 ranges are found.",
                 {{"LEGACY_CALIBRATION", E::kLEGACY_CALIBRATION},
                  {"ENTROPY_CALIBRATION", E::kENTROPY_CALIBRATION},
                  {"ENTROPY_CALIBRATION_2", E::kENTROPY_CALIBRATION_2},
                  {"MINMAX_CALIBRATION", E::kMINMAX_CALIBRATION}});
  }
  {
    using E = DataType;
    bind_enum<E>(m, "DataType", "The type of a tensor's elements.",
                 {{"FLOAT", E::kFLOAT},
                  {"HALF", E::kHALF},
                  {"BF16", E::kBF16},
                  {"INT8", E::kINT8},
                  {"INT32", E::kINT32},
                  {"INT64", E::kINT64},
                  {"BOOL", E::kBOOL},
                  {"UINT8", E::kUINT8},
                  {"FP8", E::kFP8},
                  {"INT4", E::kINT4},
                  {"FP4", E::kFP4},
                  {"E8M0", E::kE8M0}});
  }
  {
    using E = DeviceType;
    bind_enum<E>(m, "DeviceType", "Where a layer runs.", {{"GPU", E::kGPU}, {"DLA", E::kDLA}});
  }
  {
    using E = DimensionOperation;
    bind_enum<E>(m, "DimensionOperation", "What is done with two dimension expressions.",
                 {{"SUM", E::kSUM},
                  {"PROD", E::kPROD},
                  {"MAX", E::kMAX},
                  {"MIN", E::kMIN},
                  {"SUB", E::kSUB},
                  {"EQUAL", E::kEQUAL},
                  {"LESS", E::kLESS},
                  {"FLOOR_DIV", E::kFLOOR_DIV},
                  {"CEIL_DIV", E::kCEIL_DIV}});
  }
  {
    using E = EngineCapability;
    bind_enum<E>(m, "EngineCapability", "What an engine is restricted to.",
                 {{"STANDARD", E::kSTANDARD},
                  {"SAFETY", E::kSAFETY},
                  {"DLA_STANDALONE", E::kDLA_STANDALONE},
                  {"DEFAULT", E::kDEFAULT},
                  {"SAFE_GPU", E::kSAFE_GPU},
                  {"SAFE_DLA", E::kSAFE_DLA}});
  }
  {
    using E = EngineStat;
    bind_enum<E>(m, "EngineStat", "A size that an engine knows of itself.",
                 {{"TOTAL_WEIGHTS_SIZE", E::kTOTAL_WEIGHTS_SIZE},
                  {"STRIPPED_WEIGHTS_SIZE", E::kSTRIPPED_WEIGHTS_SIZE}});
  }
  {
    using E = nvonnxparser::ErrorCode;
    bind_enum<E>(m, "ErrorCode", "Why an ONNX model was not imported.",
                 {{"SUCCESS", E::kSUCCESS},
                  {"INTERNAL_ERROR", E::kINTERNAL_ERROR},
                  {"MEM_ALLOC_FAILED", E::kMEM_ALLOC_FAILED},
                  {"MODEL_DESERIALIZE_FAILED", E::kMODEL_DESERIALIZE_FAILED},
                  {"INVALID_VALUE", E::kINVALID_VALUE},
                  {"INVALID_GRAPH", E::kINVALID_GRAPH},
                  {"INVALID_NODE", E::kINVALID_NODE},
                  {"UNSUPPORTED_GRAPH", E::kUNSUPPORTED_GRAPH},
                  {"UNSUPPORTED_NODE", E::kUNSUPPORTED_NODE},
                  {"UNSUPPORTED_NODE_ATTR", E::kUNSUPPORTED_NODE_ATTR},
                  {"UNSUPPORTED_NODE_INPUT", E::kUNSUPPORTED_NODE_INPUT},
                  {"UNSUPPORTED_NODE_DATATYPE", E::kUNSUPPORTED_NODE_DATATYPE},
                  {"UNSUPPORTED_NODE_DYNAMIC", E::kUNSUPPORTED_NODE_DYNAMIC},
                  {"UNSUPPORTED_NODE_SHAPE", E::kUNSUPPORTED_NODE_SHAPE},
                  {"REFIT_FAILED", E::kREFIT_FAILED}});
  }
  {
    using E = nvinfer1::ErrorCode;
    bind_enum<E>(m, "ErrorCodeTRT", "The kind of an error that an error recorder gets.",
                 {{"SUCCESS", E::kSUCCESS},
                  {"UNSPECIFIED_ERROR", E::kUNSPECIFIED_ERROR},
                  {"INTERNAL_ERROR", E::kINTERNAL_ERROR},
                  {"INVALID_ARGUMENT", E::kINVALID_ARGUMENT},
                  {"INVALID_CONFIG", E::kINVALID_CONFIG},
                  {"FAILED_ALLOCATION", E::kFAILED_ALLOCATION},
                  {"FAILED_INITIALIZATION", E::kFAILED_INITIALIZATION},
                  {"FAILED_EXECUTION", E::kFAILED_EXECUTION},
                  {"FAILED_COMPUTATION", E::kFAILED_COMPUTATION},
                  {"INVALID_STATE", E::kINVALID_STATE},
                  {"UNSUPPORTED_STATE", E::kUNSUPPORTED_STATE}});
  }
  {
    using E = ExecutionContextAllocationStrategy;
    bind_enum<E>(m, "ExecutionContextAllocationStrategy",
                 "Who gives a context's scratch memory, and when.",
                 {{"STATIC", E::kSTATIC},
                  {"ON_PROFILE_CHANGE", E::kON_PROFILE_CHANGE},
                  {"USER_MANAGED", E::kUSER_MANAGED}});
  }
  {
    using E = HardwareCompatibilityLevel;
    bind_enum<E>(m, "HardwareCompatibilityLevel", "Which GPUs an engine must run on.",
                 {{"NONE", E::kNONE},
                  {"AMPERE_PLUS", E::kAMPERE_PLUS},
                  {"SAME_COMPUTE_CAPABILITY", E::kSAME_COMPUTE_CAPABILITY}});
  }
  {
    using E = LayerInformationFormat;
    bind_enum<E>(m, "LayerInformationFormat", "The form of an engine inspector's text.",
                 {{"ONELINE", E::kONELINE}, {"JSON", E::kJSON}});
  }
  {
    using E = MemoryPoolType;
    bind_enum<E>(m, "MemoryPoolType", "A pool of memory with a limit.",
                 {{"WORKSPACE", E::kWORKSPACE},
                  {"DLA_MANAGED_SRAM", E::kDLA_MANAGED_SRAM},
                  {"DLA_LOCAL_DRAM", E::kDLA_LOCAL_DRAM},
                  {"DLA_GLOBAL_DRAM", E::kDLA_GLOBAL_DRAM},
                  {"TACTIC_DRAM", E::kTACTIC_DRAM},
                  {"TACTIC_SHARED_MEMORY", E::kTACTIC_SHARED_MEMORY}});
  }
  {
    using E = NetworkDefinitionCreationFlag;
    bind_enum<E>(m, "NetworkDefinitionCreationFlag",
                 "How a network is created; flags are `1 << int(flag)`.",
                 {{"EXPLICIT_BATCH", E::kEXPLICIT_BATCH},
                  {"STRONGLY_TYPED", E::kSTRONGLY_TYPED},
                  {"PREFER_AOT_PYTHON_PLUGINS", E::kPREFER_AOT_PYTHON_PLUGINS},
                  {"PREFER_JIT_PYTHON_PLUGINS", E::kPREFER_JIT_PYTHON_PLUGINS},
                  {"EXPLICIT_PRECISION", E::kEXPLICIT_PRECISION}});
  }
  {
    using E = nvonnxparser::OnnxParserFlag;
    bind_enum<E>(m, "OnnxParserFlag", "The ONNX parser's choices.",
                 {{"NATIVE_INSTANCENORM", E::kNATIVE_INSTANCENORM},
                  {"ENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA",
                   E::kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA},
                  {"REPORT_CAPABILITY_DLA", E::kREPORT_CAPABILITY_DLA},
                  {"ENABLE_PLUGIN_OVERRIDE", E::kENABLE_PLUGIN_OVERRIDE},
                  {"ADJUST_FOR_DLA", E::kADJUST_FOR_DLA}});
  }
  {
    using E = PluginArgDataType;
    bind_enum<E>(m, "PluginArgDataType", "The integer type of a kernel's argument.",
                 {{"INT8", E::kINT8}, {"INT16", E::kINT16}, {"INT32", E::kINT32}});
  }
  {
    using E = PluginArgType;
    bind_enum<E>(m, "PluginArgType", "The type of a kernel's argument.", {{"INT", E::kINT}});
  }
  {
    using E = PluginCapabilityType;
    bind_enum<E>(m, "PluginCapabilityType", "A part of a V3 plugin.",
                 {{"CORE", E::kCORE}, {"BUILD", E::kBUILD}, {"RUNTIME", E::kRUNTIME}});
  }
  {
    using E = PluginCreatorVersion;
    bind_enum<E>(m, "PluginCreatorVersion", "The interface of a plugin creator.",
                 {{"V1", E::kV1}, {"V1_PYTHON", E::kV1_PYTHON}});
  }
  {
    using E = PluginFieldType;
    bind_enum<E>(m, "PluginFieldType", "The type of a plugin field's elements.",
                 {{"FLOAT16", E::kFLOAT16},
                  {"FLOAT32", E::kFLOAT32},
                  {"FLOAT64", E::kFLOAT64},
                  {"INT8", E::kINT8},
                  {"INT16", E::kINT16},
                  {"INT32", E::kINT32},
                  {"CHAR", E::kCHAR},
                  {"DIMS", E::kDIMS},
                  {"UNKNOWN", E::kUNKNOWN},
                  {"BF16", E::kBF16},
                  {"INT64", E::kINT64},
                  {"FP8", E::kFP8},
                  {"INT4", E::kINT4},
                  {"FP4", E::kFP4}});
  }
  {
    using E = PreviewFeature;
    bind_enum<E>(m, "PreviewFeature", "A feature that is off by default.",
                 {{"PROFILE_SHARING_0806", E::kPROFILE_SHARING_0806},
                  {"ALIASED_PLUGIN_IO_10_03", E::kALIASED_PLUGIN_IO_10_03},
                  {"RUNTIME_ACTIVATION_RESIZE_10_10", E::kRUNTIME_ACTIVATION_RESIZE_10_10},
                  {"MULTIDEVICE_RUNTIME_10_16", E::kMULTIDEVICE_RUNTIME_10_16},
                  {"FASTER_DYNAMIC_SHAPES_0805", E::kFASTER_DYNAMIC_SHAPES_0805},
                  {"DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805",
                   E::kDISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805}});
  }
  {
    using E = ProfilingVerbosity;
    bind_enum<E>(m, "ProfilingVerbosity", "How much an engine says of its layers.",
                 {{"LAYER_NAMES_ONLY", E::kLAYER_NAMES_ONLY},
                  {"DETAILED", E::kDETAILED},
                  {"NONE", E::kNONE},
                  {"DEFAULT", E::kDEFAULT},
                  {"VERBOSE", E::kVERBOSE}});
  }
  {
    using E = QuantizationFlag;
    bind_enum<E>(m, "QuantizationFlag", "A choice of the INT8 calibration.",
                 {{"CALIBRATE_BEFORE_FUSION", E::kCALIBRATE_BEFORE_FUSION}});
  }
  {
    using E = QuickPluginCreationRequest;
    bind_enum<E>(m, "QuickPluginCreationRequest", "Which form of a decorated plugin is asked for.",
                 {{"UNKNOWN", E::kUNKNOWN},
                  {"PREFER_JIT", E::kPREFER_JIT},
                  {"PREFER_AOT", E::kPREFER_AOT},
                  {"STRICT_JIT", E::kSTRICT_JIT},
                  {"STRICT_AOT", E::kSTRICT_AOT}});
  }
  {
    using E = RuntimePlatform;
    bind_enum<E>(m, "RuntimePlatform", "The system that an engine will run on.",
                 {{"SAME_AS_BUILD", E::kSAME_AS_BUILD}, {"WINDOWS_AMD64", E::kWINDOWS_AMD64}});
  }
  {
    using E = SeekPosition;
    bind_enum<E>(m, "SeekPosition", "What a stream position is relative to.",
                 {{"SET", E::kSET}, {"CUR", E::kCUR}, {"END", E::kEND}});
  }
  {
    using E = SerializationFlag;
    bind_enum<E>(m, "SerializationFlag", "What a plan contains.",
                 {{"EXCLUDE_WEIGHTS", E::kEXCLUDE_WEIGHTS},
                  {"EXCLUDE_LEAN_RUNTIME", E::kEXCLUDE_LEAN_RUNTIME},
                  {"INCLUDE_REFIT", E::kINCLUDE_REFIT}});
  }
  {
    using E = TacticSource;
    bind_enum<E>(m, "TacticSource", "A library that tactics come from.",
                 {{"CUBLAS", E::kCUBLAS},
                  {"CUBLAS_LT", E::kCUBLAS_LT},
                  {"CUDNN", E::kCUDNN},
                  {"EDGE_MASK_CONVOLUTIONS", E::kEDGE_MASK_CONVOLUTIONS},
                  {"JIT_CONVOLUTIONS", E::kJIT_CONVOLUTIONS}});
  }
  {
    using E = TempfileControlFlag;
    bind_enum<E>(m, "TempfileControlFlag", "Which temporary files the runtime may make.",
                 {{"ALLOW_IN_MEMORY_FILES", E::kALLOW_IN_MEMORY_FILES},
                  {"ALLOW_TEMPORARY_FILES", E::kALLOW_TEMPORARY_FILES}});
  }
  {
    using E = TensorFormat;
    bind_enum<E>(m, "TensorFormat", "How a tensor's elements lie in memory.",
                 {{"LINEAR", E::kLINEAR},
                  {"CHW2", E::kCHW2},
                  {"HWC8", E::kHWC8},
                  {"CHW4", E::kCHW4},
                  {"CHW16", E::kCHW16},
                  {"CHW32", E::kCHW32},
                  {"DHWC8", E::kDHWC8},
                  {"CDHW32", E::kCDHW32},
                  {"HWC", E::kHWC},
                  {"DLA_LINEAR", E::kDLA_LINEAR},
                  {"DLA_HWC4", E::kDLA_HWC4},
                  {"HWC16", E::kHWC16},
                  {"DHWC", E::kDHWC}});
  }
  {
    using E = TensorIOMode;
    bind_enum<E>(m, "TensorIOMode", "Whether a tensor is an input or an output of an engine.",
                 {{"NONE", E::kNONE}, {"INPUT", E::kINPUT}, {"OUTPUT", E::kOUTPUT}});
  }
  {
    using E = TensorLocation;
    bind_enum<E>(m, "TensorLocation", "Where a tensor lies.",
                 {{"DEVICE", E::kDEVICE}, {"HOST", E::kHOST}});
  }
  {
    using E = TensorRTPhase;
    bind_enum<E>(m, "TensorRTPhase", "Whether a plugin is made to build or to run.",
                 {{"BUILD", E::kBUILD}, {"RUNTIME", E::kRUNTIME}});
  }
  {
    using E = TilingOptimizationLevel;
    bind_enum<E>(
        m, "TilingOptimizationLevel", "How hard the builder looks for tilings.",
        {{"NONE", E::kNONE}, {"FAST", E::kFAST}, {"MODERATE", E::kMODERATE}, {"FULL", E::kFULL}});
  }
  {
    using E = WeightsRole;
    bind_enum<E>(m, "WeightsRole", "What weights are to their layer.",
                 {{"KERNEL", E::kKERNEL},
                  {"BIAS", E::kBIAS},
                  {"SHIFT", E::kSHIFT},
                  {"SCALE", E::kSCALE},
                  {"CONSTANT", E::kCONSTANT},
                  {"ANY", E::kANY}});
  }
}

}  // namespace tenon::python
