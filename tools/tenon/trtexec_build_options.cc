// The rows for how a plan is built, and by which machine.
#include "trtexec_options.h"

namespace tenon::tool {
namespace {

using enum Effect;
using enum OptionGroup;
using enum OptionValue;

constexpr const char* kNoDla = "there is no DLA here; remove it";
constexpr const char* kNoSafety = "engines for safety are not supported; remove it";
constexpr const char* kNoTiling = "no build searches for tilings: each kernel has its own";
constexpr const char* kNoFiles = "nothing here makes temporary files";
constexpr const char* kNoCodeInPlans = "plans hold no code of a runtime";

constexpr TrtexecOption kBuildRows[] = {
    {"--onnx", kModel, kOne, kTaken, "The ONNX model", ""},

    {"--minShapes", kBuild, kOne, kTaken, "Smallest shapes, as input:1x3x64x64,other:1", ""},
    {"--optShapes", kBuild, kOne, kTaken, "Shapes to be fastest at", ""},
    {"--maxShapes", kBuild, kOne, kTaken, "Largest shapes", ""},
    {"--profile", kBuild, kOne, kTaken,
     "Number of the profile that the --minShapes, --optShapes and --maxShapes behind it make "
     "(default 0)",
     ""},
    {"--calib", kBuild, kOne, kTaken,
     "A calibration cache, with the ranges of tensors in int8; with --int8. --calibData writes it",
     ""},
    {"--minShapesCalib", kBuild, kOne, kTaken, "Smallest shapes to calibrate with", ""},
    {"--optShapesCalib", kBuild, kOne, kTaken, "Shapes to calibrate with", ""},
    {"--maxShapesCalib", kBuild, kOne, kTaken, "Largest shapes to calibrate with", ""},
    {"--calibProfile", kBuild, kOne, kTaken,
     "Number of the profile whose shapes are those to calibrate with (default 0)", ""},
    {"--inputIOFormats", kBuild, kOne, kTaken,
     "Type and format of the inputs: one for all or one for each, as fp16:chw", ""},
    {"--outputIOFormats", kBuild, kOne, kTaken, "The same of the outputs", ""},
    {"--memPoolSize", kBuild, kOne, kTaken,
     "Memory limits, as workspace:512M; weightGrowth:100M is how much more than in the model "
     "weights may take, layerWeightGrowth:10M of one layer",
     ""},
    {"--profilingVerbosity", kBuild, kOne, kTaken, "What the plan says of its layers", ""},
    {"--builderOptimizationLevel", kBuild, kOne, kTaken, "0 (fast build) to 5", ""},
    {"--maxAuxStreams", kBuild, kOne, kOnGpu,
     "How many streams branches of the network may run in besides the main one (default 0)",
     "a run on the CPU has one stream, and its layers have all threads"},
    {"--hardwareCompatibilityLevel", kBuild, kOne, kOnGpu,
     "none, sameComputeCapability, or ampere+ for a plan that other GPUs build again",
     "a plan for the CPU has no compute capability; --portable makes one for other machines"},

    {"--noTF32", kBuild, kNone, kTaken,
     "Forbid TF32, which is the default of `tenon`, and not that of `trtexec`", ""},
    {"--fp16", kBuild, kNone, kTaken, "Allow FP16, on targets that are fast in it", ""},
    {"--bf16", kBuild, kNone, kTaken, "Allow BF16, on targets that are fast in it", ""},
    {"--int8", kBuild, kNone, kTaken,
     "Allow INT8, between Quantize and Dequantize layers or by the ranges of --calib or "
     "--calibData",
     ""},
    {"--fp8", kBuild, kNone, kTaken, "Allow FP8, between Quantize and Dequantize layers", ""},
    {"--int4", kBuild, kNone, kTaken, "Allow INT4, between Quantize and Dequantize layers", ""},
    {"--best", kBuild, kNone, kTaken, "Allow FP16, BF16 and INT8", ""},
    {"--stronglyTyped", kBuild, kNone, kTaken, "Types are those of the network", ""},
    {"--precisionConstraints", kBuild, kOne, kTaken,
     "What becomes of --layerPrecisions and --layerOutputTypes", ""},
    {"--layerPrecisions", kBuild, kOne, kTaken,
     "Types that layers compute in, as *:fp16,conv1:fp32", ""},
    {"--layerOutputTypes", kBuild, kOne, kTaken,
     "Types of layers' outputs, as conv1:fp16 or split:fp16+fp32", ""},
    {"--layerDeviceTypes", kBuild, kOne, kTaken, "Devices of layers, as conv1:GPU; DLA is refused",
     ""},
    {"--sparsity", kBuild, kOne, kTaken,
     "disable, or enable, which the builder warns is not used yet; force is refused", ""},
    {"--enablePluginOverride", kBuild, kNone, kTaken,
     "A plugin with an operator's name goes before the parser's own layers", ""},

    {"--timingCacheFile", kBuild, kOne, kTaken, "Read and update this timing cache", ""},
    {"--noBuilderCache", kBuild, kNone, kTaken,
     "Read and write no timing cache, and time layers that are the same each", ""},
    {"--errorOnTimingCacheMiss", kBuild, kNone, kTaken,
     "Fail when a layer is not in the timing cache", ""},
    {"--noCompilationCache", kBuild, kNone, kTaken, "Keep no compiled code in the timing cache",
     ""},
    {"--saveEngine", kBuild, kOne, kTaken, "The plan to write", ""},
    {"--loadEngine", kBuild, kOne, kTaken, "A plan instead of a model", ""},
    {"--asyncFileReader", kBuild, kNone, kTaken,
     "Read the plan piece by piece, through IStreamReaderV2, instead of mapping it", ""},
    {"--getPlanVersionOnly", kBuild, kNone, kTaken,
     "Print the version that a plan was made with, and stop", ""},
    {"--skipInference", kBuild, kNone, kTaken, "Stop before anything is run", ""},
    {"--runtimePlatform", kBuild, kOne, kTaken, "SameAsBuild; WindowsAMD64 is refused", ""},
    {"--versionCompatible,--vc", kBuild, kNone, kTaken,
     "Load plugin libraries that the plan holds, which are code: for plans that you trust", ""},

    {"--avgTiming", kBuild, kOne, kNothing, "",
     "a kernel is timed as often as it takes for its time to be known"},
    {"--maxTactics", kBuild, kOne, kNothing, "",
     "all kernels that are worth it are timed; --builderOptimizationLevel=0 times none"},
    {"--tacticSources", kBuild, kOne, kNothing, "",
     "kernels are chosen by their time, whichever library they are of"},
    {"--tilingOptimizationLevel", kBuild, kOne, kNothing, "", kNoTiling},
    {"--l2LimitForTiling", kBuild, kOne, kNothing, "", kNoTiling},
    {"--preview", kBuild, kOne, kNothing, "", "what there is of these features is always on"},
    {"--directIO", kBuild, kNone, kNothing, "",
     "inputs and outputs are read and written as the caller has them: linear"},
    {"--decomposableAttentions", kBuild, kOne, kNothing, "",
     "an attention layer always finds a kernel, so that none has to be taken apart"},
    {"--pluginInstanceNorm,--pi", kBuild, kNone, kNothing, "",
     "InstanceNormalization is a layer here, which needs no plugin"},
    {"--excludeLeanRuntime", kBuild, kNone, kNothing, "", kNoCodeInPlans},
    {"--useRuntime", kBuild, kOne, kNothing, "", "there is one runtime, and it loads every plan"},
    {"--tempdir", kBuild, kOne, kNothing, "", kNoFiles},
    {"--tempfileControls", kBuild, kOne, kNothing, "", kNoFiles},
    {"--consistency", kBuild, kNone, kNothing, "",
     "only engines for safety are checked for consistency, in trtexec, too"},

    {"--refit", kBuild, kNone, kTaken, "A plan whose weights can be replaced", ""},
    {"--stripWeights,--weightless", kBuild, kNone, kTaken,
     "A plan without weights, which --refitFromOnnx gives it; they are the model's, unless --refit "
     "is given, too",
     ""},
    {"--stripAllWeights", kBuild, kNone, kTaken, "As --refit and --stripWeights", ""},
    {"--allowWeightStreaming", kBuild, kNone, kTaken,
     "Let weights be streamed from memory of the host, as --weightStreamingBudget says; engines on "
     "a "
     "GPU always can",
     ""},
    {"--markDebug", kBuild, kOne, kTaken,
     "Tensors that stay to be looked at by debug listeners: names with commas between them", ""},
    {"--markUnfusedTensorsAsDebugTensors", kBuild, kNone, kTaken,
     "The same of all tensors that no kernel fuses away", ""},
    {"--distributiveIndependence", kBuild, kNone, kRefused, "",
     "BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE is not supported yet; remove it"},
    {"--leanDLLPath", kBuild, kOne, kRefused, "",
     "plans need no other runtime than this; remove it"},
    {"--monitorMemory", kBuild, kNone, kRefused, "", kNoSafety},
    {"--safe", kBuild, kNone, kRefused, "", kNoSafety},
    {"--restricted", kBuild, kNone, kRefused, "", kNoSafety},
    {"--dumpKernelText", kBuild, kNone, kRefused, "", kNoSafety},
    {"--remoteAutoTuningConfig", kBuild, kOne, kRefused, "", kNoSafety},
    {"--cpuOnly", kBuild, kNone, kRefused, "",
     "it is for engines for safety, which are not supported; --target=cpu builds for the CPU"},
    {"--buildDLAStandalone", kBuild, kNone, kRefused, "", kNoDla},
    {"--allowGPUFallback", kBuild, kNone, kRefused, "", kNoDla},
    {"--adjustForDLA", kBuild, kNone, kRefused, "", kNoDla},
    {"--reportCapabilityDLA", kBuild, kNone, kRefused, "", kNoDla},
    {"--uint8AsymmetricQuantizationDLA", kBuild, kNone, kRefused, "", kNoDla},

    {"--device", kSystem, kOne, kOnGpu, "Number of the GPU (default 0)", "there is one CPU"},
    {"--staticPlugins,--plugins,--dynamicPlugins", kSystem, kOne, kTaken,
     "Plugin libraries to load, repeatable", ""},
    {"--ignoreParsedPluginLibs", kSystem, kNone, kNothing, "", "a model names no plugin libraries"},
    {"--useDLACore", kSystem, kOne, kRefused, "", kNoDla},
    {"--setPluginsToSerialize", kSystem, kOne, kTaken,
     "Plugin libraries that the plan holds, repeatable", ""},
    {"--safetyPlugins", kSystem, kOne, kRefused, "", kNoSafety},
};

}  // namespace

std::span<const TrtexecOption> trtexec_build_options() {
  return kBuildRows;
}

}  // namespace tenon::tool
