"""Every option of NVIDIA's trtexec 10.16, what to call it with, and what has to come of it.

The outcome is TensorRT's on a machine with one GPU and without a DLA: it follows from the sources of trtexec and from the
documentation of the API. Arguments name files of models.py, which lie in the folder of the run. A row is also run by Tenon's own
trtexec, which has to come to the same outcome; where it does not, by intention, `own` is its outcome and says why.
"""
import collections

PASSES, REFUSED = "passes", "refused"
RUN = "--warmUp=0 --duration=0 --iterations=2"
ON = "--onnx=convolution.onnx"
DYNAMIC = "--onnx=dynamic.onnx"
PROFILE = "--minShapes=x:1x3x16x16 --optShapes=x:2x3x16x16 --maxShapes=x:4x3x16x16"
SAVE = f"{ON} --skipInference --saveEngine=engine.plan"
LOAD = "--loadEngine=engine.plan"
PLUGIN = "--onnx=vignette.onnx --shapes=input:1x3x8x8"
LIBRARY = "./libvignette.so"

# Why Tenon's own trtexec comes to another outcome than NVIDIA's over Tenon's libraries.
NO_DLA = "an option for a DLA is an error that names it; NVIDIA's reads it and goes on"
# What is missing on a machine with one GPU, too.
DLA, SAFETY, WINDOWS = "a DLA", "NVIDIA's libraries for safety", "TensorRT for Windows"


class Row(collections.namedtuple("Row", "option arguments outcome text files before own needs gap tries")):
    """One call.

    text: a regular expression that the output of both programs holds.
    files: patterns of files that it leaves, not empty; one that ends in .json holds JSON.
    before: arguments of calls that have to pass first, in the same folder.
    own: the outcome of Tenon's own trtexec and the reason, where it is another one.
    needs: what is not there, so that a refusal is right, and the row counts as not applicable.
    gap: what Tenon does not support yet, so that the row is known to fail.
    tries: how often it may be tried, where a time decides.
    """

    def __new__(cls, option, arguments, outcome=PASSES, text="", files=(), before=(), own=None, needs="", gap="", tries=1):
        return super().__new__(cls, option, arguments, outcome, text, files, before, own, needs, gap, tries)


def _runs(option, rest="", model=ON, **fields):
    """A row that builds a model and runs its engine; `rest` begins with the option's value, or with another option."""
    argument = f"{option}={rest}" if rest and not rest.startswith("--") else f"{option} {rest}"
    return Row(option, " ".join(f"{model} {argument} {RUN}".split()), **fields)


MODEL = [
    Row("--onnx", f"{ON} {RUN}", text="Throughput: "),
    Row("--onnx", f"--onnx=absent.onnx {RUN}", REFUSED, text="absent.onnx"),
]

SHAPES = [
    Row("--minShapes", f"{DYNAMIC} {PROFILE} {RUN}"),
    Row("--optShapes", f"{DYNAMIC} --optShapes=x:2x3x16x16 {RUN}"),
    Row("--maxShapes", f"{DYNAMIC} --minShapes=x:4x3x16x16 --optShapes=x:4x3x16x16 --maxShapes=x:2x3x16x16 {RUN}", REFUSED),
    Row("--profile", f"{DYNAMIC} --profile=0 {PROFILE} --profile=1 --minShapes=x:5x3x16x16 --optShapes=x:6x3x16x16 "
        f"--maxShapes=x:8x3x16x16 --useProfile=1 {RUN}"),
    Row("--calib", f"{ON} --int8 --calib=calibration.cache {RUN}"),
    *(Row(f"--{kind}ShapesCalib", f"{DYNAMIC} {PROFILE} --int8 --calib=calibration.cache --minShapesCalib=x:1x3x16x16 "
          f"--optShapesCalib=x:2x3x16x16 --maxShapesCalib=x:4x3x16x16 {RUN}") for kind in ("min", "opt", "max")),
    Row("--calibProfile", f"{DYNAMIC} {PROFILE} --int8 --calib=calibration.cache --calibProfile=0 {RUN}"),
    Row("--calibProfile", f"{DYNAMIC} {PROFILE} --int8 --calib=calibration.cache --calibProfile=3 {RUN}", REFUSED),
    Row("--shapes", f"{DYNAMIC} --shapes=x:3x3x16x16 {RUN}", text=r"[Ii]nput (?:x: |binding for x with dimensions )3x3x16x16"),
    Row("--shapes", f"{LOAD} {RUN}", before=[f"{DYNAMIC} --shapes=x:2x3x16x16 --skipInference --saveEngine=engine.plan"]),
    Row("--shapes", f"{LOAD} --shapes=x:5x3x16x16 {RUN}", REFUSED,
        before=[f"{DYNAMIC} {PROFILE} --skipInference --saveEngine=engine.plan"]),
]

FORMATS = [
    *(_runs(option, f"{form} {flags}") for option in ("--inputIOFormats", "--outputIOFormats")
      for form, flags in (("fp32:chw", ""), ("fp16:chw", "--fp16"))),
    *(_runs("--inputIOFormats", form) for form in ("fp32:hwc", "fp32:chw32")),
    *(_runs("--inputIOFormats", f"{form} --fp16") for form in ("fp16:chw2", "fp16:hwc8", "fp16:chw16")),
    *(_runs("--inputIOFormats", f"{form} --int8") for form in ("int8:chw", "int8:chw4", "int8:chw32")),
    _runs("--inputIOFormats", "bf16:chw --bf16"),
    _runs("--inputIOFormats", "fp16:dla_linear --fp16", outcome=REFUSED, needs=DLA),
    _runs("--inputIOFormats", "fp17:chw", outcome=REFUSED),
    _runs("--directIO"),
]

PRECISION = [
    *(_runs(option) for option in ("--noTF32", "--fp16", "--bf16", "--int8", "--fp8", "--int4", "--best", "--stronglyTyped")),
    *(_runs(option, model="--onnx=quantized.onnx") for option in ("--int8", "--stronglyTyped")),
    _runs("--fp8", "--int8", outcome=REFUSED),
    _runs("--best", "--stronglyTyped", outcome=REFUSED),
    *(_runs("--precisionConstraints", f"{how} --fp16 --layerPrecisions=conv1:fp16") for how in ("none", "prefer", "obey")),
    _runs("--precisionConstraints", "perhaps", outcome=REFUSED),
    _runs("--layerPrecisions", "*:fp16,conv1:fp32 --fp16 --precisionConstraints=prefer"),
    _runs("--layerOutputTypes", "conv1:fp16 --fp16 --precisionConstraints=prefer"),
    _runs("--layerDeviceTypes", "conv1:GPU"),
    _runs("--layerDeviceTypes", "conv1:DLA", outcome=REFUSED, needs=DLA),
    _runs("--decomposableAttentions", "attention", model="--onnx=attention.onnx"),
    _runs("--sparsity", "disable"),
    _runs("--sparsity", "enable"),
    _runs("--sparsity", "force", own=(REFUSED, "other weights than the model's give other results; NVIDIA's deprecates it")),
]

BUILD = [
    *(_runs("--memPoolSize", pool) for pool in ("workspace:64M", "tacticSharedMem:48K")),
    *(_runs("--memPoolSize", pool, own=(REFUSED, NO_DLA)) for pool in ("dlaSRAM:1M", "dlaLocalDRAM:64M", "dlaGlobalDRAM:64M")),
    _runs("--memPoolSize", "nothing:1M", outcome=REFUSED),
    *(_runs("--profilingVerbosity", f"{how} --dumpLayerInfo") for how in ("layer_names_only", "none", "detailed")),
    _runs("--profilingVerbosity", "some", outcome=REFUSED),
    _runs("--avgTiming", "2"),
    *(_runs("--builderOptimizationLevel", level) for level in "0359"),
    _runs("--maxTactics", "2"),
    _runs("--maxAuxStreams", "1"),
    *(_runs("--hardwareCompatibilityLevel", how) for how in ("none", "ampere+", "sameComputeCapability")),
    _runs("--hardwareCompatibilityLevel", "pascal+", outcome=REFUSED),
    _runs("--runtimePlatform", "SameAsBuild"),
    _runs("--runtimePlatform", "WindowsAMD64", outcome=REFUSED, needs=WINDOWS),
    _runs("--tacticSources", "-CUDNN,+CUBLAS"),
    _runs("--tacticSources", "CUDNN", outcome=REFUSED),
    *(_runs("--preview", feature) for feature in ("+aliasedPluginIO1003", "-runtimeActivationResize", "+profileSharing0806")),
    _runs("--preview", "+nothing0000", outcome=REFUSED),
    _runs("--tilingOptimizationLevel", "1"),
    _runs("--l2LimitForTiling", "4096 --tilingOptimizationLevel=1"),
    _runs("--tempdir", "."),
    _runs("--tempfileControls", "in_memory:allow,temporary:deny"),
    _runs("--tempfileControls", "in_memory:perhaps", outcome=REFUSED),
    *(_runs(option, model="--onnx=instance_norm.onnx") for option in ("--pluginInstanceNorm", "--pi")),
    _runs("--pi", "--vc", outcome=REFUSED, own=(PASSES, "InstanceNormalization needs no plugin, and neither excludes the other")),
    _runs("--enablePluginOverride"),
    _runs("--distributiveIndependence", gap="BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE is not supported yet"),
    _runs("--timingCacheFile", "timing.cache", files=["timing.cache"]),
    _runs("--timingCacheFile", "timing.cache --errorOnTimingCacheMiss",
          before=[f"{ON} --skipInference --timingCacheFile=timing.cache"]),
    _runs("--errorOnTimingCacheMiss", "--timingCacheFile=new.cache", outcome=REFUSED),
    _runs("--noBuilderCache"),
    _runs("--noCompilationCache"),
]

PLANS = [
    Row("--saveEngine", SAVE, files=["engine.plan"]),
    Row("--saveEngine", f"--onnx=absent.onnx --saveEngine=engine.plan {RUN}", REFUSED),
    Row("--loadEngine", f"{LOAD} {RUN}", before=[SAVE], text="Throughput: "),
    Row("--loadEngine", f"--loadEngine=convolution.onnx {RUN}", REFUSED,
        own=(PASSES, "a file is what it holds: of a model, an engine is built")),
    Row("--loadEngine", f"--loadEngine=x.raw {RUN}", REFUSED),
    Row("--loadEngine", f"{LOAD} --saveEngine=other.plan {RUN}", REFUSED, before=[SAVE]),
    Row("--asyncFileReader", f"{LOAD} --asyncFileReader {RUN}", before=[SAVE]),
    Row("--getPlanVersionOnly", f"{LOAD} --getPlanVersionOnly", before=[SAVE],
        text=r"Plan was created with TensorRT version 10\.16\."),
    Row("--skipInference", f"{ON} --skipInference"),
    *(_runs(option) for option in ("--versionCompatible", "--vc")),
    Row("--excludeLeanRuntime", f"{ON} --vc --excludeLeanRuntime --skipInference"),
    *(Row("--useRuntime", f"{LOAD} --useRuntime={runtime} {RUN}", before=[f"{SAVE} --vc"])
      for runtime in ("full", "lean", "dispatch")),
    _runs("--useRuntime", "lean", outcome=REFUSED,
          own=(PASSES, "there is one runtime, and it builds, too; NVIDIA's lean one does not")),
    Row("--leanDLLPath", f"{LOAD} --vc --leanDLLPath=libnvinfer_lean.so {RUN}", before=[f"{SAVE} --vc --excludeLeanRuntime"],
        own=(REFUSED, "plans need no other runtime than this one, and the message says so")),
]

WEIGHTS = [
    Row("--refit", f"{ON} --refit --dumpRefit {RUN}", text="conv1 Kernel"),
    Row("--dumpRefit", f"{LOAD} --refit --dumpRefit {RUN}", before=[f"{SAVE} --refit"], text="conv1 Kernel"),
    _runs("--timeRefit", "--refit", text=r"Engine refitted in [\d.]+ ms"),
    *(Row(option, f"{SAVE} {option}", files=["engine.plan"])
      for option in ("--stripWeights", "--stripAllWeights", "--weightless")),
    Row("--refitFromOnnx", f"{LOAD} --refit --refitFromOnnx=convolution.onnx {RUN}", before=[f"{SAVE} --stripAllWeights"]),
    Row("--refitFromOnnx", f"{LOAD} --refit --refitFromOnnx=attention.onnx {RUN}", REFUSED, before=[f"{SAVE} --stripAllWeights"]),
    _runs("--allowWeightStreaming", "--stronglyTyped"),
    # Where there are no weights to stream, as on a CPU, NVIDIA's program only repeats what it was asked for.
    *(_runs("--weightStreamingBudget", f"{budget} --allowWeightStreaming --stronglyTyped",
            text=f"Weight (Streaming Budget: {asked}|streaming is )")
      for budget, asked in (("50%", "50"), ("-1", "Automatic"), ("0", "0 bytes"))),
    _runs("--weightStreamingBudget", "50%", outcome=REFUSED),
]

DEBUG = [
    _runs("--markDebug", "c --saveDebugTensors=c:c.raw", files=["c.raw"]),
    _runs("--saveDebugTensors", "c:c.raw --markDebug=c", files=["c.raw"]),
    _runs("--markUnfusedTensorsAsDebugTensors"),
    *(_runs("--saveAllDebugTensors", f"{form} --markUnfusedTensorsAsDebugTensors", files=[pattern])
      for form, pattern in (("summary", "tensor_summary.json"), ("numpy", "0*.npy"), ("string", "0*.str"), ("raw", "0*.raw"))),
]

SAFE = [
    *(_runs(option, outcome=REFUSED, needs=SAFETY)
      for option in ("--safe", "--restricted", "--dumpKernelText", "--cpuOnly")),
    _runs("--monitorMemory", own=(REFUSED, "it is for engines for safety; NVIDIA's sets a flag that changes nothing")),
    _runs("--remoteAutoTuningConfig", "ssh://nobody@nowhere:22", outcome=REFUSED, needs=SAFETY),
    _runs("--safetyPlugins", "libsafe.so[ns::plugin]", outcome=REFUSED, needs=SAFETY),
    _runs("--consistency"),
    _runs("--useDLACore", "0", outcome=REFUSED, needs=DLA),
    _runs("--useDLACore", "0 --allowGPUFallback --fp16", outcome=REFUSED, needs=DLA),
    _runs("--allowGPUFallback", own=(REFUSED, NO_DLA)),
    _runs("--buildDLAStandalone", "--useDLACore=0 --inputIOFormats=fp16:dla_linear --outputIOFormats=fp16:dla_linear",
          outcome=REFUSED, needs=DLA),
    _runs("--adjustForDLA", own=(REFUSED, NO_DLA)),
    *(_runs(option, outcome=REFUSED, needs=DLA) for option in ("--reportCapabilityDLA", "--uint8AsymmetricQuantizationDLA")),
]

SYSTEM = [
    _runs("--device", "0"),
    *(Row(option, f"{PLUGIN} {option}={LIBRARY} {RUN}") for option in ("--plugins", "--staticPlugins", "--dynamicPlugins")),
    Row("--plugins", f"{PLUGIN} {RUN}", REFUSED, text="Vignette"),
    Row("--staticPlugins", f"{PLUGIN} --staticPlugins=libabsent.so {RUN}", REFUSED),
    Row("--setPluginsToSerialize", f"{LOAD} --vc --shapes=input:1x3x8x8 {RUN}",
        before=[f"{PLUGIN} --vc --dynamicPlugins={LIBRARY} --setPluginsToSerialize={LIBRARY} --skipInference "
                "--saveEngine=engine.plan"]),
    _runs("--ignoreParsedPluginLibs", "--vc"),
]

INFERENCE = [
    _runs("--loadInputs", "x:x.raw --dumpOutput"),
    _runs("--loadInputs", "x:absent.raw", outcome=REFUSED),
    Row("--iterations", f"{ON} --warmUp=0 --duration=0 --iterations=7 --exportTimes=times.json", files=["times.json"]),
    Row("--warmUp", f"{ON} --warmUp=20 --duration=0 --iterations=2"),
    Row("--duration", f"{ON} --warmUp=0 --duration=1 --iterations=2"),
    _runs("--sleepTime", "5"),
    _runs("--idleTime", "5"),
    *(_runs(option, "2") for option in ("--infStreams", "--streams")),
    _runs("--threads", "--infStreams=2"),
    *(_runs(option) for option in ("--exposeDMA", "--noDataTransfers", "--useManagedMemory", "--useSpinWait", "--useCudaGraph")),
    _runs("--separateProfileRun", "--dumpProfile"),
    Row("--timeDeserialize", f"{LOAD} --timeDeserialize", before=[SAVE], text=r"[Dd]eserialization", tries=5),
    _runs("--persistentCacheRatio", "0.5"),
    Row("--useProfile", f"{DYNAMIC} {PROFILE} --useProfile=0 {RUN}"),
    Row("--useProfile", f"{DYNAMIC} {PROFILE} --useProfile=3 {RUN}", REFUSED),
    *(Row("--allocationStrategy", f"{DYNAMIC} {PROFILE} --allocationStrategy={how} {RUN}")
      for how in ("static", "profile", "runtime")),
    _runs("--allocationStrategy", "perhaps", outcome=REFUSED),
]

REPORTING = [
    _runs("--verbose", text=r"\[V\]"),
    _runs("--avgRuns", "2", text="Average on 2 runs"),
    _runs("--percentile", "50,99.5", text=r"percentile\(50%\)"),
    _runs("--percentile", "101", outcome=REFUSED),
    _runs("--dumpOutput", text=r"\by: \(1x5\)"),
    _runs("--dumpRawBindingsToFile", files=["*raw"]),
    _runs("--dumpProfile", text="conv1"),
    _runs("--dumpLayerInfo", text="conv1"),
    Row("--dumpOptimizationProfile", f"{DYNAMIC} {PROFILE} --dumpOptimizationProfile {RUN}",
        text=r"Model input x \(profile 0\): min=1x3x16x16, opt=2x3x16x16, max=4x3x16x16"),
    *(_runs(f"--export{what}", f"{what.lower()}.json", files=[f"{what.lower()}.json"])
      for what in ("Times", "Output", "Profile", "LayerInfo")),
    *(Row(option, option, text="--onnx") for option in ("--help", "-h")),
    Row("--noSuchOption", f"{ON} --noSuchOption {RUN}", REFUSED, text="Unknown option: --noSuchOption"),
]

ROWS = [*MODEL, *SHAPES, *FORMATS, *PRECISION, *BUILD, *PLANS, *WEIGHTS, *DEBUG, *SAFE, *SYSTEM, *INFERENCE, *REPORTING]
