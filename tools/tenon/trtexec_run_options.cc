// The rows for how an engine is run and what is printed of it, and those of TensorRT 8.
#include "trtexec_options.h"

namespace tenon::tool {
namespace {

using enum Effect;
using enum OptionGroup;
using enum OptionValue;

constexpr const char* kOnnxOnly = "Caffe and UFF models are not read; export the model to ONNX";
constexpr const char* kNoImplicitBatch =
    "the batch of an ONNX model is one of its dimensions; choose it with --shapes";

constexpr TrtexecOption kRunRows[] = {
    {"--shapes", kInference, kOne, kTaken,
     "Shapes: of the profile's min, opt and max, or to run with", ""},
    {"--loadInputs", kInference, kOne, kTaken, "Raw bytes for inputs, as input:file.bin,other:file",
     ""},
    {"--iterations", kInference, kOne, kTaken, "Run at least so often (default 10)", ""},
    {"--warmUp", kInference, kOne, kTaken, "Milliseconds before measuring (default 200)", ""},
    {"--duration", kInference, kOne, kTaken,
     "Seconds to measure at least (default 3); -1 goes on until the program is stopped", ""},
    {"--sleepTime", kInference, kOne, kTaken,
     "Milliseconds that the device waits before the first query (default 0)", ""},
    {"--idleTime", kInference, kOne, kTaken, "Milliseconds between two iterations (default 0)", ""},
    {"--infStreams,--streams", kInference, kOne, kTaken,
     "So many contexts side by side, each in a stream of its own (default 1)", ""},
    {"--threads", kInference, kNone, kTaken, "A thread for each stream", ""},
    {"--exposeDMA", kInference, kNone, kOnGpu,
     "Copy the inputs and outputs of a query while no other computes",
     "copies and computing take turns on the CPU in any case"},
    {"--noDataTransfers", kInference, kNone, kTaken,
     "Copy inputs once before measuring, and no outputs but those to be printed", ""},
    {"--useManagedMemory", kInference, kNone, kOnGpu,
     "Inputs and outputs in managed memory, which is not copied",
     "the CPU and the host have the same memory"},
    {"--useSpinWait", kInference, kNone, kOnGpu, "Ask the GPU without pause whether it is done",
     "the CPU is done when its threads are"},
    {"--useCudaGraph", kInference, kNone, kTaken,
     "Capture a query in a graph, and launch that; what cannot be captured is run without, after a "
     "warning",
     ""},
    {"--separateProfileRun", kInference, kNone, kTaken,
     "With --dumpProfile or --exportProfile: time layers in runs of their own, after the summary",
     ""},
    {"--timeDeserialize", kInference, kNone, kTaken,
     "Time how long loading the plan takes, and stop", ""},
    {"--useProfile", kInference, kOne, kTaken, "The optimization profile to run in (default 0)",
     ""},
    {"--allocationStrategy", kInference, kOne, kTaken,
     "What the layers' memory is large enough for: static (all profiles), profile, or runtime (the "
     "shapes of the run)",
     ""},
    {"--persistentCacheRatio", kInference, kOne, kNothing, "",
     "no part of an L2 cache is set aside"},
    {"--timeRefit", kInference, kNone, kTaken,
     "Time how long it takes to give the engine the weights of the model, or of --refitFromOnnx",
     ""},
    {"--refitFromOnnx", kInference, kOne, kTaken, "A model whose weights the engine gets", ""},
    {"--weightStreamingBudget", kInference, kOne, kTaken,
     "How much of the weights that can be streamed lies on the GPU: bytes as 64M, a share as 50%, "
     "-1 "
     "for what is free, -2 for all (default)",
     ""},
    {"--saveDebugTensors", kInference, kOne, kTaken,
     "Files for the raw bytes of debug tensors, from a run of their own: NAME:FILE with commas "
     "between them; a name with a colon stands in single quotes",
     ""},
    {"--saveAllDebugTensors", kInference, kOne, kTaken,
     "Write all debug tensors into the current folder, from a run of their own: summary, numpy, "
     "string or raw, with commas between them",
     ""},

    {"--verbose", kReporting, kNone, kTaken, "Print everything the library says", ""},
    {"--avgRuns", kReporting, kOne, kTaken, "Print averages of so many queries (default 10)", ""},
    {"--percentile", kReporting, kOne, kTaken, "Percentiles to print (default 90,95,99)", ""},
    {"--dumpOutput", kReporting, kNone, kTaken, "Print the outputs of the last query", ""},
    {"--dumpRawBindingsToFile", kReporting, kNone, kTaken,
     "Write inputs and outputs of the last query as raw bytes, a file for each", ""},
    {"--dumpProfile", kReporting, kNone, kTaken, "Print the time of each layer", ""},
    {"--dumpLayerInfo", kReporting, kNone, kTaken, "Print the engine's layers", ""},
    {"--dumpOptimizationProfile", kReporting, kNone, kTaken, "Print the optimization profiles", ""},
    {"--exportTimes", kReporting, kOne, kTaken, "Write the times of each query as JSON", ""},
    {"--exportOutput", kReporting, kOne, kTaken, "Write the outputs of the last query as JSON", ""},
    {"--exportProfile", kReporting, kOne, kTaken, "Write the time of each layer as JSON", ""},
    {"--exportLayerInfo", kReporting, kOne, kTaken, "Write the engine's layers as JSON", ""},
    {"--dumpRefit", kReporting, kNone, kTaken, "Print the refittable layers and weights", ""},
    {"--help,-h", kReporting, kNone, kTaken, "Print what options there are", ""},

    {"--workspace", kEarlier, kOne, kTaken, "MiB of workspace, as --memPoolSize=workspace", ""},
    {"--buildOnly", kEarlier, kNone, kTaken, "As --skipInference", ""},
    {"--explicitBatch", kEarlier, kNone, kNothing, "", "so is every ONNX model"},
    {"--minTiming", kEarlier, kOne, kNothing, "",
     "a kernel is timed as often as it takes for its time to be known"},
    {"--heuristic", kEarlier, kNone, kNothing, "", "--builderOptimizationLevel=0 times no kernel"},
    {"--nvtxMode", kEarlier, kOne, kNothing, "", "no NVTX ranges are made"},
    {"--explicitPrecision", kEarlier, kNone, kRefused, "", "it is --stronglyTyped today"},
    {"--batch", kEarlier, kOne, kRefused, "", kNoImplicitBatch},
    {"--maxBatch", kEarlier, kOne, kRefused, "", kNoImplicitBatch},
    {"--deploy", kEarlier, kOne, kRefused, "", kOnnxOnly},
    {"--model", kEarlier, kOne, kRefused, "", kOnnxOnly},
    {"--output", kEarlier, kOne, kRefused, "", kOnnxOnly},
    {"--uff", kEarlier, kOne, kRefused, "", kOnnxOnly},
    {"--uffInput", kEarlier, kOne, kRefused, "", kOnnxOnly},
    {"--uffNHWC", kEarlier, kNone, kRefused, "", kOnnxOnly},
};

}  // namespace

std::span<const TrtexecOption> trtexec_run_options() {
  return kRunRows;
}

}  // namespace tenon::tool
