"""Writes the pages that say what works: operators.md, layers.md, plugins.md, trtexec.md, and errors.md.

Operators, plugins and options are what the built `tenon` says of itself; layers come from the sources, the
types of operators from ONNX's schemas, and the numbers of ONNX's node tests from onnx_node_tests.json,
which src/import/onnx_cases_test.cc checks. With --check nothing is written, and a page that differs is
an error. Needs the onnx wheel: run it with .venv/bin/python.
"""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys

import onnx
from onnx import defs

# Types of TensorRT, in groups that are named where all of a group are there.
TYPES = {"floats": ["float", "float16", "bfloat16"],
         "small floats": ["float8e4m3fn", "float4e2m1", "float8e8m0"],
         "integers": ["int8", "uint8", "int32", "int64"],
         "": ["int4", "bool"]}

# Why operators of the newest ONNX are not there: those of a domain, and single ones.
TEXT = "strings, which no tensor of TensorRT holds: tokenise before the engine"
MISSING_DOMAINS = {
    "ai.onnx.ml": "trees, support vectors, encoders and maps of scikit-learn's models, which TensorRT has no layers for:"
                  " run them in front of the engine or behind it",
    "ai.onnx.preview.training": "training: an engine's weights change by refit alone"}
MISSING = {
    "ImageDecoder": "a file's bytes as pixels, whose extents are within the bytes: decode before the engine, as"
                    " [serve](guide/serve.md) does",
    "RegexFullMatch": TEXT, "StringConcat": TEXT, "StringNormalizer": TEXT, "StringSplit": TEXT}

# Where the names of plugins come from, and those of several: the first that has them.
PLUGIN_ORIGINS = {
    "TensorRT": """
        BatchTilePlugin_TRT BatchedNMSDynamic_TRT BatchedNMS_TRT Clip_TRT CoordConvAC CropAndResize CropAndResizeDynamic
        CustomEmbLayerNormPluginDynamic CustomFCPluginDynamic CustomGeluPluginDynamic CustomQKVToContextPluginDynamic
        CustomSkipLayerNormPluginDynamic DecodeBbox3DPlugin DetectionLayer_TRT DisentangledAttention_TRT
        EfficientNMS_Explicit_TF_TRT EfficientNMS_Implicit_TF_TRT EfficientNMS_ONNX_TRT EfficientNMS_TRT FlattenConcat_TRT
        GenerateDetection_TRT GridAnchorRect_TRT GridAnchor_TRT GroupNorm GroupNormalizationPlugin
        InstanceNormalization_TRT LReLU_TRT LayerNorm ModulatedDeformConv2d MultilevelCropAndResize_TRT
        MultilevelProposeROI_TRT MultiscaleDeformableAttnPlugin_TRT NMSDynamic_TRT NMS_TRT Normalize_TRT
        PillarScatterPlugin PriorBox_TRT Proposal ProposalDynamic ProposalLayer_TRT PyramidROIAlign_TRT ROIAlign_TRT
        RPROI_TRT Region_TRT Reorg_TRT ResizeNearest_TRT ScatterElements ScatterND SeqLen2Spatial SpecialSlice_TRT
        SplitGeLU TopkLastDim VoxelGeneratorPlugin fMHA_V2 fMHCA""",
    "TensorRT-Edge-LLM": "AttentionPlugin Int4GroupwiseGemmPlugin",
    "MMCV": """
        MMCVActiveRotatedFilter MMCVBallQuery MMCVBorderAlign MMCVCARAFE MMCVCARAFENaive MMCVCornerPool
        MMCVDeformConv2d MMCVDeformRoIPool MMCVFurthestPointSample MMCVGatherPoints MMCVGroupPoints
        MMCVInstanceNormalization MMCVKNN MMCVMaskedConv2d MMCVModulatedDeformConv2d MMCVPSAMask MMCVPointsInBoxesAll
        MMCVPointsInBoxesPart MMCVRoIAlign MMCVRoIAlignRotated MMCVRoiAlign MMCVRotatedFeatureAlign
        MMCVSigmoidFocalLoss MMCVThreeInterpolate MMCVThreeNN NMSRotated NonMaxSuppression PrRoIPool
        SoftNonMaxSuppression cummax cummaxmin cummin grid_sampler""",
    "MMDeploy": """
        DynamicTRTResize GatherTopk GridPriorsTRT MMCVMultiLevelRoiAlign MMCVMultiLevelRotatedRoiAlign
        MMCVMultiScaleDeformableAttention ScaledDotProductAttentionTRT TRTBatchedNMS TRTBatchedRotatedNMS
        TRTBicubicInterpolate TRTInstanceNormalization""",
    "amirstan_plugin": """
        AdaptivePoolPluginDynamic BatchedNMS_TRT_CUSTOM CarafeFeatureReassemblePluginDynamic DeformableConvPluginDynamic
        DeformablePoolPluginDynamic Delta2BBoxPluginDynamic GridAnchorDynamicPluginDynamic GroupNormPluginDynamic
        ModulatedDeformableConvPluginDynamic RoiExtractorPluginDynamic RoiPoolPluginDynamic TorchBmmPluginDynamic
        TorchCumMaxMinPluginDynamic TorchCumPluginDynamic TorchNMS TorchNMSPluginDynamic TorchUnfoldPluginDynamic""",
    "BEVFormer_tensorrt": """
        BEVPoolV2TRT BEVPoolV2TRT2 GridSampler2DTRT GridSampler2DTRT2 GridSampler3DTRT GridSampler3DTRT2 InverseTRT
        ModulatedDeformableConv2dTRT ModulatedDeformableConv2dTRT2 MultiScaleDeformableAttnTRT
        MultiScaleDeformableAttnTRT2 QKVTRT QKVTRT2 RotateTRT RotateTRT2""",
    "Autoware": "Argsort CustomUnique GetIndicePairs GetIndicePairsImplicitGemm ImplicitGemm IndiceConv QuickCumsumCuda SegmentCSR",
    "tensorRT_Pro": "DCNv2 HSigmoid HSwish MyScatterND",
    "tiny-tensorrt": "CuteSampleDynamicExtPlugin CuteSamplePlugin Prelu UpSamplePlugin_TRT",
    "LitLeo": "DebugDynamicPlugin DebugPlugin InstanceNorm LeakyReluPlugin ReflectPad SkipLayerNormV1 SkipLayerNormV2"
              " UpsamplePlugin",
    "a tutorial": "MYSELU",
    "Tenon": "DecodeYolo PreprocessImages PreprocessImagesHalf"}

# They give their input as it is, and are not written with the kit, which runs cases.
WITHOUT_CASES = ("CuteSampleDynamicExtPlugin", "CuteSamplePlugin")

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTE = "<!-- Written by docs/generate.py. -->\n"


def ask(tenon, command):
    answer = subprocess.run([tenon, command, "--json"], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def operators_page(tenon):
    answer = ask(tenon, "operators")
    tests = json.loads((ROOT / "docs/onnx_node_tests.json").read_text())
    oldest, latest = answer["opsets"]
    parts = []
    for domain in sorted({row["domain"] for row in answer["operators"]}):
        if domain:
            parts.append(f"\n## Domain {domain}\n\n")
        rows = [r for r in answer["operators"] if r["domain"] == domain]
        parts.append(operators_table(rows, tests["operators"] if not domain else None))
    return (NOTE + "# ONNX operators\n\n"
            f"Models of opsets {oldest} to {latest} are read. Operators of the standard domain that the"
            " parser knows, and\nhow many of ONNX's node tests of each pass. Types are those of TensorRT"
            " that ONNX allows for the\nfirst input whose type it leaves open (where there is none, for"
            " such an output); floats are float,\nfloat16 and bfloat16, integers int8, uint8, int32 and"
            " int64. int16 and uint16 of a model are int32\nhere, uint32 and uint64 are int64, also at"
            " inputs and outputs: what leaves their range wraps as it\ndoes there, or the node is refused."
            " float64 is computed as such by elementwise operators, reductions, running sums, TopK and what\nmoves"
            " elements ([0051](decisions/0051-float64.md)); where it is float32, also at the border, a warning\nnames the"
            " nodes.\n\nAn input that is also an output is"
            " called `__x` in the network, and the output `x`, as with TensorRT's\nparser. A sequence of"
            " known length leaves as an output for each element, `y_0`, `y_1` and so on; an\noptional input"
            " holds something.\n\n"
            + "".join(parts) + missing_operators(answer["operators"]) + node_tests(tests)
            + "\nAn operator that is not here may be a plugin: see [plugins.md](plugins.md). Local"
            " functions of a\nmodel are expanded. Everything else is an error that names the node.\n")


def missing_operators(supported):
    """The section on operators of the newest ONNX that have no row. Each needs a reason."""
    known = {(row["domain"], row["name"]) for row in supported}
    absent = sorted({(s.domain, s.name) for s in defs.get_all_schemas() if not s.deprecated} - known)
    by_reason = collections.defaultdict(list)
    for domain, name in absent:
        reason = MISSING_DOMAINS.get(domain) or (MISSING.get(name) if not domain else None)
        if reason is None:
            sys.exit(f"operator {domain}::{name} of ONNX has neither a row nor a reason in docs/generate.py")
        by_reason[domain, reason].append(name)
    stale = set(MISSING) - {name for domain, name in absent if not domain}
    if stale:
        sys.exit(f"docs/generate.py says why these are not supported, and they are: {', '.join(sorted(stale))}")
    rows = [[", ".join(names), domain or "ai.onnx", reason] for (domain, reason), names in by_reason.items()]
    return ("\n## What is not there\n\n"
            f"Operators of ONNX {onnx.__version__}, the newest that this page was written with. Tensors of strings and of complex"
            " numbers, maps, sparse\ntensors, and sequences as inputs are not there either: TensorRT has no such"
            " tensors.\n\n"
            + table(["operators", "domain", "why"], rows))


def node_tests(tests):
    """The section on what passes beside single nodes, and why the others do not."""
    passed, of = (sum(counts[i] for counts in tests["operators"].values()) for i in (0, 1))
    bodies = tests["operators"][""]
    rows = [[reason, str(len(names))] for reason, names in tests["not_passed"].items()]
    return ("\n## ONNX node tests\n\n"
            f"Of {of} node tests {passed} pass, {len(tests['only_with_constants'])} of them when inputs"
            " that TensorRT wants to be\nconstant (axes, for example) are. Among them are bodies of"
            f" functions, several operators each: {bodies[0]}\nof {bodies[1]}. Why the others do not"
            " pass (types are those that TensorRT does not have):\n\n" + table(["reason", "tests"], rows))


def operators_table(operators, tests):
    """`tests` has the numbers of passed and of all node tests by operator. None is for a domain that ONNX
    does not define: there are no tests, and no schemas that tell types."""
    standard = tests is not None
    rows = []
    for i, row in enumerate(operators):
        following = operators[i + 1] if i + 1 < len(operators) else {"name": ""}
        last = following["name"] != row["name"]  # the tests are those of the latest opset
        upto = "" if last else f" to {following['since'] - 1}"
        rows.append([row["name"], f"{row['since']}{upto}"])
        if standard:
            counts = tests.get(row["name"]) if last else None
            newest = defs.onnx_opset_version() if last else following["since"] - 1
            rows[-1] += [types(row["name"], newest), f"{counts[0]} of {counts[1]}" if counts else ""]
        rows[-1].append(row["restriction"])
    columns = ["types", "ONNX node tests passed"] if standard else []
    return table(["operator", "opsets", *columns, "restriction"], rows)


def types(operator, opset):
    """What ONNX's schema allows, as TYPES calls it; "" where ONNX has none in that opset."""
    versions = [s for s in defs.get_all_schemas_with_history()
                if (s.domain, s.name) == ("", operator) and s.since_version <= opset and not s.deprecated]
    if not versions:
        return ""
    schema = max(versions, key=lambda s: s.since_version)
    allowed = [{re.search(r"(\w+)\)+$", text)[1] for text in parameter.types}
               for parameter in [*schema.inputs, *schema.outputs]]
    chosen = next((a for a in allowed if len(a) > 1), allowed[0])
    names = []
    for group, members in TYPES.items():
        found = [m for m in members if m in chosen]
        names += [group] if group and found == members else found
    return ", ".join(names)


def plugins_page(tenon):
    plugins = ask(tenon, "plugins")
    origin = origins({p["name"] for p in plugins})
    error, time = plugin_errors(), plugin_times()
    keys = {plugin_key(p) for p in plugins}
    error |= {f"{name}/1/": "no cases" for name in WITHOUT_CASES}
    if set(error) != keys or not set(time) <= keys:
        sys.exit(f"bench/results tells of other plugins than there are, measure again as bench/plugins.py says:"
                 f" {', '.join(sorted((set(error) ^ keys) | (set(time) - keys)))}")
    rows = [[f"[{p['name']}](#{anchor})", p["version"], p["namespace"], origin[p["name"]], element_types(p["ports"]),
             p["interface"], error[plugin_key(p)], time.get(plugin_key(p), "no formula")]
            for p, anchor in zip(plugins, anchors([title(p) for p in plugins]))]
    return (NOTE + "# Plugins\n\n"
            f"Plugins that `libtenon` brings: {len(origin)} names, {len(plugins)} with their versions. `tenon plugins"
            " --plugins=LIBRARY` lists\nthose of a library, too. Each runs on the CPU, and in builds with CUDA on a GPU,"
            " from one source. A section for each says what it computes, what its\nfields mean, and behind its ports what"
            " is better than in the plugin of that name elsewhere, or other.\n\n"
            + "Errors are the largest over all cases of float32 and of float16, relative to 1 + |expected|, on a CPU, from what PyTorch,"
            " torchvision, NumPy\nor ONNX Runtime computes, as each `make_cases.py` of [plugins/](../plugins) says; outputs of integers are"
            " exact. Times are of one call in float32 on two\ncores, in brackets of [PyTorch's formula](../bench/plugin_formulas) in"
            " the same run; plugins of one kernel share one. Where there is no formula of a few\nlines there is no time. "
            + ratios() + " [Raw data](../bench/results), with other types and a GPU in [plugins.md](../bench/results/plugins.md).\n\n"
            + table(["name", "version", "namespace", "from", "types", "interface", "error", "ms (PyTorch)"], rows)
            + "\nAn ONNX node becomes a plugin when a creator has the node's `op_type` as its name."
            " The attributes\n`plugin_version` (default \"1\") and `plugin_namespace` (default \"\")"
            " choose among several; the\nnode's domain does not matter.\n"
            + "".join(plugin_section(p) for p in plugins))


def plugin_key(plugin):
    """As cases and measurements have it."""
    return f"{plugin['name']}/{plugin['version']}/{plugin['namespace']}"


def plugin_errors():
    """{key: errors of float32 and float16 on the CPU}, by all cases."""
    found = {}
    for line in (ROOT / "bench/results/plugin_errors_cpu.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row["failures"]:
            sys.exit(f"bench/results/plugin_errors_cpu.jsonl: {row['plugin']} has failures")
        found.setdefault(row["plugin"], {})[row["type"]] = row["cpu from expected"][1]
    shown = lambda errors: [f"{errors[t]:.0e}" if errors[t] else "0" for t in ("float32", "float16") if t in errors]
    return {key: " / ".join(shown(errors)) or "exact" for key, errors in found.items()}


def plugin_times():
    """{key: its milliseconds, and in brackets PyTorch's}."""
    found = {}
    for row in json.loads((ROOT / "bench/results/plugin_times.json").read_text()):
        own, peer = (row["peers"][name]["median_ms"] for name in ("tenon", "torch"))
        for key in row["plugins"]:
            found[key] = f"{own:.3g} ({peer:.3g})"
    return found


def ratios():
    """A sentence on the times."""
    found = [row["peers"]["torch"]["median_ms"] / row["peers"]["tenon"]["median_ms"]
             for row in json.loads((ROOT / "bench/results/plugin_times.json").read_text())]
    return (f"Over {len(found)} formulas the geometric mean of PyTorch's time by Tenon's is {statistics.geometric_mean(found):.2f};"
            f" PyTorch is quicker in {sum(ratio < 1 for ratio in found)}.")


def origins(names):
    """{name: where it comes from}. Every name needs one, and none may be told that is not there."""
    found = {name: origin for origin, text in PLUGIN_ORIGINS.items() for name in text.split()}
    if names - set(found):
        sys.exit(f"docs/generate.py does not say where these plugins come from: {', '.join(sorted(names - set(found)))}")
    if set(found) - names:
        sys.exit(f"docs/generate.py says where these plugins come from, and they are not there:"
                 f" {', '.join(sorted(set(found) - names))}")
    return found


def element_types(ports):
    """The types of T, or where there is none those of the ports."""
    variable = re.search(r" T is one of ([^.]*)\.", ports)
    if variable:
        return variable[1]
    return ", ".join(sorted(set(re.findall(r"` (\w+\d+|bool)", ports)))) or "any"


def title(plugin):
    place = f" in {plugin['namespace']}" if plugin["namespace"] else ""
    return f"{plugin['name']} {plugin['version']}{place}"


def anchors(titles):
    """Those that a page with these headings has: names that differ only in case are numbered."""
    found, times = [], collections.Counter()
    for text in titles:
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.append(f"{name}-{times[name]}" if times[name] else name)
        times[name] += 1
    return found


def plugin_section(plugin):
    parts = [f"\n## {title(plugin)}\n"]
    parts += [f"\n{plugin[key]}\n" for key in ("text", "ports", "differs") if plugin[key]]
    if plugin["fields"]:
        parts += ["\n", table(["field", "type", "what"],
                              [[f"`{f['name']}`", f["type"], f["text"]] for f in plugin["fields"]])]
    return "".join(parts)


def add_functions():
    """(public name, slot, layer class) of what adds a layer, in the header's order."""
    header = (ROOT / "include/tenon/api/network.h").read_text()
    pattern = re.compile(r"\b(I\w+)\* (add\w+)\([^;{]*\{\s*return mImpl->(\w+)\(")
    return [(name, slot, kind) for kind, name, slot in pattern.findall(header)
            if kind != "ITensor"]


def flags(name):
    source = (ROOT / "src/api/build.cc").read_text()
    block = re.search(name + r"\[\] = \{(.*?)\};", source, re.S)[1]
    return ", ".join(f"`{flag}`" for flag in re.findall(r'"(\w+)"', block))


def cuda_kernels():
    """{layer class: what runs it on a GPU, in the order in which it is asked}, and what runs others."""
    kinds = dict(re.findall(r"(k\w+) = \d+,\s*///< (I\w+)\b",
                            (ROOT / "include/tenon/api/tensor.h").read_text()))
    source = (ROOT / "src/cuda/cuda_target.cc").read_text().split("\n  };")[0]
    found = {}
    for text in re.split(r"^ {6}\{\{", source, flags=re.M)[1:]:
        names = re.findall(r'\{"(\w+)"', text) + ["host"] * ("or_host(" in text)
        for kind in re.findall(r"LayerType::(k\w+)", text.split("}")[0]):
            if kind in kinds:
                found[kinds[kind]] = names
    # An attention is one layer, and in the API several.
    found["IAttention"] = found.get("IAttentionOutputLayer", ["host"])
    return found, ["host"]


def on_cuda(candidates):
    """"cuDNN, own, host": each once, in order."""
    libraries = {"cudnn": "cuDNN", "cublas": "cuBLASLt", "host": "host", "plugin": "the plugin"}
    names = [libraries.get(name.split("_")[0], "own") for name in candidates]
    return ", ".join(dict.fromkeys(names))


def layers_page():
    kernels, others = cuda_kernels()
    waiting = set(re.findall(r"NetworkDefinition::(add\w+)\(",
                             (ROOT / "src/api/unsupported_layers.cc").read_text()))
    rows = []
    for name, slot, kind in add_functions():
        shown = f"`{name}`" if name == slot else f"`{name}` (slot `{slot}`)"
        refused = slot in waiting
        rows.append([shown, f"`{kind}`", "not supported yet" if refused else "yes",
                     "" if refused else on_cuda(kernels.get(kind, others))])
    working = sum(row[2] == "yes" for row in rows)
    return (NOTE + "# Layers\n\n"
            f"Of the {len(rows)} functions of `INetworkDefinition` that add a layer, {working} work."
            " The others log\n\"not supported yet\" and return null.\n\n"
            + table(["function", "layer", "works", "on a GPU"], rows)
            + "\nOn a GPU, kernels are asked in the order that the last column has: those of a library,"
            " of our own,\nand last the host, to which tensors are copied and which runs the layer as the"
            " CPU target's\nreference does. [Targets](guide/targets-and-precision.md) says what that means."
            "\n"
            + "\nThe 8.x names (`addConvolution`, `addPooling`, `addFullyConnected`, ...) work where the"
            " layer does.\n\n## Builder flags\n\n"
            f"Refused when a network is built: {flags('kRefused')}.\n\n"
            f"Types that layers have only between Quantize and Dequantize layers, `kINT8` also [by calibration](guide/int8.md);"
            f" without these a warning says so: {flags('kQuantized')}.\n\n"
            f"Accepted with a warning, and not used yet: {flags('kUnused')}.\n")


def trtexec_page(tenon):
    options = ask(tenon, "options")

    def rows(*effects):
        return [[", ".join(f"`{name}`" for name in option["names"]), option["text"], option["reason"]]
                for option in options if option["effect"] in effects and option["group"] != "earlier"]

    earlier = [[f"`{option['names'][0]}`", {"taken": "works", "nothing": "changes nothing"}.get(option["effect"], "refused"),
                option["text"] or option["reason"]]
               for option in options if option["group"] == "earlier"]
    count = sum(len(option["names"]) for option in options if option["group"] != "earlier")
    return (NOTE + "# Coming from trtexec\n\n"
            "A script that calls trtexec goes on with Tenon when it finds this program under that name:\n\n"
            "<!-- run -->\n```sh\nln -s \"$PWD/out/bin/tenon\" ~/bin/trtexec\n"
            "trtexec --onnx=model.onnx --saveEngine=model.plan --useCudaGraph\n```\n\n"
            "A program that is called `trtexec` takes trtexec's options without a command before them, prints the lines"
            " `&&&& RUNNING`,\n`&&&& PASSED` and `&&&& FAILED`, and ends with 0 or 1. As with TensorRT, a GPU may use TF32"
            " unless `--noTF32` forbids it,\nand extents that no option gives are 1, with a warning. `tenon bench`"
            " takes the same options and a file's name without an\noption, allows TF32 with `--tf32` only, and asks"
            " for extents that are missing; `tenon build` takes those of them that say\nhow to build.\n\n"
            "The summary, the averages of the trace and the files of `--exportTimes`, `--exportProfile` and"
            " `--exportOutput` have\ntrtexec's form. On the CPU \"GPU Compute Time\" is the time that the layers take.\n\n"
            f"Of trtexec 10.16's {count} options none is taken without effect: what cannot change anything is said in a line"
            " on standard\nerror, and what cannot be honoured is an error that names the option. `tenon options` prints"
            " this list, `--json` for programs.\n\n"
            "## What works\n\n" + table(["option", "what", "on the CPU it changes nothing, since"], rows("taken", "on a GPU"))
            + "\n## What changes nothing, and says so\n\nThe result is the same without these.\n\n"
            + table(["option", "why"], [[name, reason] for name, _, reason in rows("nothing")])
            + "\n## What is refused\n\n"
            + table(["option", "the error says"], [[name, reason] for name, _, reason in rows("refused")])
            + "\n## Options of TensorRT 8\n\n" + table(["option", "", "what"], earlier)
            + "\n## Where it differs\n\n"
            "- `--loadEngine` reads Tenon's plans; those of NVIDIA's TensorRT are built again from the ONNX model.\n"
            "- `--timeDeserialize` prints its times and passes, also when the first loading was slow.\n"
            "- `--dumpProfile` with `--json`, `--exportJson` or `--roofline` times layers in queries of their own, as"
            " with\n  `--separateProfileRun`; these are at most 50.\n"
            "- Inputs without data are noise from 0 to 1 for float32, and zeros for other types.\n")


AREAS = {1: "Everywhere", 2: "Models", 3: "Building", 4: "Plans", 5: "Running", 6: "Plugins", 7: "GPUs", 8: "The command line"}


def errors_page(tenon):
    text = (NOTE + "# Errors\n\n"
            "A message ends with the code of its kind, as in `[TN2002]`. Codes stay; the texts before them may change.\n"
            "`tenon explain TN2002` prints what is here, and `tenon.Error.code` has it in Python.\n")
    area = None
    for row in ask(tenon, "explain"):
        if row["code"][2] != area:
            area = row["code"][2]
            text += f"\n## {AREAS[int(area)]}\n"
        text += f"\n### {row['code']}\n\n{row['what'][0].upper()}{row['what'][1:]}. {row['why']}\n\n**What to do.** {row['remedy']}\n"
    text = "".join(part if i % 2 else re.sub(r"(--\w+(?:=[\w.:]*\w)?|\w+=\w+)", r"`\1`", part) for i, part in enumerate(re.split("(`[^`]*`)", text)))
    return re.sub(r"docs/(\w+\.md)", r"[docs/\1](\1)", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", default=str(ROOT / "out/bin/tenon"), help="the built program")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page differs")
    arguments = parser.parse_args()
    stale = []
    for name, text in [("operators.md", operators_page(arguments.tenon)),
                       ("plugins.md", plugins_page(arguments.tenon)),
                       ("layers.md", layers_page()),
                       ("trtexec.md", trtexec_page(arguments.tenon)),
                       ("errors.md", errors_page(arguments.tenon))]:
        page = ROOT / "docs" / name
        if arguments.check:
            if not page.is_file() or page.read_text() != text:
                stale.append(name)
        else:
            page.write_text(text)
    for name in stale:
        print(f"docs/{name} is not what docs/generate.py writes: run it and commit the page")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
