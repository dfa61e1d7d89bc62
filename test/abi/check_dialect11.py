#!/usr/bin/env python3
"""Compiles uses of the headers with TENON_TRT_API=11: what TensorRT 11 removed does not compile, all else does.

`tenon migrate` knows all that was removed. Enumerators come from enumerators.txt, methods and classes that were removed from the list below.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = ("NvInfer.h", "NvInferPlugin.h", "NvOnnxConfig.h", "NvOnnxParser.h", "impl/NvInferPythonPlugin.h")

# What Python calls otherwise than C++.
ENUMERATIONS = {"ErrorCode": "nvonnxparser::ErrorCode", "ErrorCodeTRT": "nvinfer1::ErrorCode",
                "OnnxParserFlag": "nvonnxparser::OnnxParserFlag"}
ENUMERATORS = {"kKV_CACHE_UPDATE": "kKVCACHE_UPDATE"}
# 11.x has them, and these headers have not.
MISSING = {"DLAWorkspaceAllocationStrategy": "there is no DLA"}

# Uses of an object `o` of a class, and of types, which 10.16 has and 11 has not.
REMOVED = {
    "IBuilder": ["o.platformHasFastFp16()", "o.platformHasFastInt8()", "o.platformHasTf32()", "o.setMaxBatchSize(1)",
                 "o.destroy()"],
    "IBuilderConfig": ["o.clearQuantizationFlag({})", "o.getAlgorithmSelector()", "o.getCalibrationProfile()",
                       "o.getInt8Calibrator()", "o.getQuantizationFlag({})", "o.getQuantizationFlags()",
                       "o.setAlgorithmSelector(nullptr)", "o.setCalibrationProfile(nullptr)",
                       "o.setInt8Calibrator(nullptr)", "o.setQuantizationFlag({})", "o.setQuantizationFlags(0)",
                       "o.setMaxWorkspaceSize(1)"],
    "ICudaEngine": ["o.createExecutionContextWithoutDeviceMemory()", "o.getDeviceMemorySize()",
                    "o.getDeviceMemorySizeForProfile(0)", "o.getMinimumWeightStreamingBudget()",
                    "o.getProfileTensorValues(\"\", 0, {})", "o.getWeightStreamingBudget()",
                    "o.hasImplicitBatchDimension()", "o.setWeightStreamingBudget(0)", "o.getNbBindings()",
                    "o.getBindingIndex(\"\")"],
    "IExecutionContext": ["o.allInputShapesSpecified()", "o.enqueueV2(nullptr, nullptr, nullptr)",
                          "o.setBindingDimensions(0, {})"],
    "ILayer": ["o.getPrecision()", "o.outputTypeIsSet(0)", "o.precisionIsSet()", "o.resetOutputType(0)",
               "o.resetPrecision()", "o.setOutputType(0, {})", "o.setPrecision({})"],
    "INetworkDefinition": ["o.addDequantize(tensor(), tensor())", "o.addFill({}, {})",
                           "o.addQuantize(tensor(), tensor())", "o.addFullyConnected(tensor(), 1, {}, {})",
                           "o.addConvolution(tensor(), 1, {}, {}, {})"],
    "INormalizationLayer": ["o.getComputePrecision()", "o.setComputePrecision({})"],
    "IOptimizationProfile": ["o.getShapeValues(\"\", {})", "o.setShapeValues(\"\", {}, nullptr, 0)"],
    "IPluginRegistry": ["o.getPluginCreator(\"\", \"\")", "o.getPluginCreatorList(nullptr)"],
    "IRefitter": ["o.getDynamicRangeMax(\"\")", "o.getDynamicRangeMin(\"\")",
                  "o.getTensorsWithDynamicRange(0, nullptr)", "o.setDynamicRange(\"\", 0, 1)"],
    "IRuntime": ["o.deserializeCudaEngine(reader())"],
    "ITensor": ["o.dynamicRangeIsSet()", "o.getDynamicRangeMax()", "o.getDynamicRangeMin()", "o.resetDynamicRange()",
                "o.setDynamicRange(0, 1)", "o.setType({})"],
    "nvonnxparser::IParser": ["o.parseWithWeightDescriptors(nullptr, 0)", "o.supportsModel(nullptr, 0, subgraphs())"],
}
REMOVED_TYPES = ["IAlgorithm", "IAlgorithmContext", "IAlgorithmIOInfo", "IAlgorithmSelector", "IAlgorithmVariant",
                 "IInt8Calibrator", "IInt8EntropyCalibrator", "IInt8EntropyCalibrator2", "IInt8LegacyCalibrator",
                 "IInt8MinMaxCalibrator", "plugin::DetectionOutputParameters", "plugin::NMSParameters",
                 "plugin::CodeTypeSSD", "Dims32", "IFullyConnectedLayer"]
# Types of which not even a pointer can be declared.
REMOVED_NAMES = [name for name in REMOVED_TYPES if name.startswith("IAlgorithm")]
# What 11 has and 10.16 has not, or has in another way.
KEPT = {
    "IAttention": ["o.setCausalKind(CausalMaskKind::kUPPER_LEFT)", "o.getCausalKind()", "o.setQueryForm({})",
                   "o.getQueryForm()", "o.setQueryLengths(tensor())", "o.getQueryLengths()", "o.setKeyValueForm({})",
                   "o.getKeyValueForm()", "o.setKeyValueLengths(tensor())", "o.getKeyValueLengths()"],
    "IKVCacheUpdateLayer": ["o.setUpdateForm({})", "o.getUpdateForm()", "o.setUpdateLengths(tensor())",
                            "o.getUpdateLengths()"],
    "INetworkDefinition": ["o.addAttentionV2(tensor(), tensor(), tensor(), {}, CausalMaskKind::kNONE)",
                           "o.addQuantize(tensor(), tensor(), {})", "o.addFill({}, {}, {})",
                           "o.hasImplicitBatchDimension()"],
    "IBuilderConfig": ["static_cast<bool>(o.setMaxAuxStreams(1))"],
    "IPluginRegistry": ["o.registerCreator(creator(), \"\")", "o.getCreator(\"\", \"\")"],
    "IRuntime": ["o.deserializeCudaEngine(reader2())"],
}


def uses_of_enumerators():
    """(C++ expression, versions that have it)."""
    for line in (HERE / "enumerators.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        enumeration, enumerator, *versions = line.split()
        if enumeration in MISSING:
            continue
        scope = ENUMERATIONS.get(enumeration, f"nvinfer1::{enumeration}")
        name = ENUMERATORS.get(f"k{enumerator}", f"k{enumerator}")
        yield f"{scope}::{name}", versions


def program():
    """The source, and for each of its lines with a use that use and whether 11 has it."""
    lines = [f'#include "{header}"' for header in HEADERS]
    lines += ["using namespace nvinfer1;", "ITensor& tensor();", "IStreamReader& reader();",
              "IStreamReaderV2& reader2();", "IPluginCreator& creator();", "SubGraphCollection_t& subgraphs();"]
    expected = {}

    def add(use, text, is_in_11):
        lines.append(f"auto use{len(lines)}{text}")
        expected[len(lines)] = (use, is_in_11)

    for use, versions in uses_of_enumerators():
        add(use, f"() {{ return {use}; }}", "11.4" in versions)
    for table, is_in_11 in (REMOVED, False), (KEPT, True):
        for of, uses in table.items():
            for use in uses:
                add(f"{of}: {use}", f"({of}& o) {{ return {use}; }}", is_in_11)
    for name in REMOVED_TYPES:
        add(name, f"() {{ return sizeof({name}); }}", False)
    for name in REMOVED_NAMES:
        add(f"{name}*", f"({name}* o) {{ return o; }}", False)
    return "\n".join(lines) + "\n", expected


def lines_with_errors(compiler, includes, source, path, defines):
    path.write_text(source)
    command = [compiler, "-std=c++17", "-fsyntax-only", "-fmax-errors=0", *(f"-D{define}" for define in defines)]
    if "clang" in pathlib.Path(compiler).name:
        command[3] = "-ferror-limit=0"
    command += [f"-I{include}" for include in includes] + [str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    return {int(line) for line in re.findall(rf"^{re.escape(str(path))}:(\d+):\d+: error", result.stderr, re.M)}, result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--include", required=True, help="folder of the public headers")
    parser.add_argument("--cuda-include", required=True, help="folder of cuda_runtime_api.h")
    parser.add_argument("--rules", required=True, type=pathlib.Path, help="rules.json of `tenon migrate`")
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()
    source, expected = program()
    known = {name for rule in json.loads(options.rules.read_text())["rules"] for name in rule["names"]}
    known.add("deserializeCudaEngine")  # by IStreamReader, which its argument is
    problems = [f"{use}: `tenon migrate` does not know it" for use, is_in_11 in expected.values()
                if not is_in_11 and not known & set(re.findall(r"\w+", use))]
    with tempfile.TemporaryDirectory() as folder:
        def errors(*defines):
            return lines_with_errors(options.compiler, [options.include, options.cuda_include], source,
                                     pathlib.Path(folder) / "uses.cc", defines)
        refused, result = errors("TENON_TRT_API=11")
        if not refused:
            sys.exit(f"nothing is refused with TENON_TRT_API=11:\n{result.stderr[-2000:]}")
        for line, (use, is_in_11) in expected.items():
            if is_in_11 and line in refused:
                problems.append(f"{use}: TensorRT 11 has it, and it does not compile with TENON_TRT_API=11")
            if not is_in_11 and line not in refused:
                problems.append(f"{use}: TensorRT 11 has not got it, and it compiles with TENON_TRT_API=11")
        for dialect in "TENON_TRT_API=10", "TENON_TRT_API=11 TENON_TRT_OLDER_NAMES=1":
            refused, result = errors(*dialect.split())
            problems += [f"{expected[line][0]}: does not compile with {dialect}" for line in sorted(refused)
                         if not (dialect.endswith("10") and "setMaxAuxStreams" in expected[line][0])]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{sum(is_in_11 for _, is_in_11 in expected.values())} names of TensorRT 11 compile, "
          f"{sum(not is_in_11 for _, is_in_11 in expected.values())} that it removed do not")


if __name__ == "__main__":
    main()
