"""Builds NVIDIA's samples over Tenon's libraries, in C++ and in Python, and runs them.

    .venv/bin/python test/clients/run_samples.py [TENSORRT] [--tenon out] [--work FOLDER] [--only REGULAR_EXPRESSION]
        [--python PYTHON] [--package FOLDER]

A sample that takes its data from TensorRT's package, which is not in the repository, gets a model and pictures that models.py
makes, under the same names. Each verifies its own results. One that is not run is named with the reason; one that the script does
not know is an error. --python is an interpreter with onnx and onnx_graphsurgeon for the samples in Python, --package the folder
of Tenon's package; Polygraphy is the checkout's.
"""
import ast
import json
import pathlib
import re
import sys

import clients
import models

SECONDS = 120
SAFETY = "it needs NVIDIA's libraries for safety"
DRIVER = "it imports cuda.bindings.driver of cuda-python, which opens the driver of a GPU"
# Name: the arguments of each run; {data} is the folder of its data, {sample} that of its sources.
SAMPLES = {
    "sampleCharRNN": ["--datadir={data}"],
    "sampleDynamicReshape": ["--datadir={data}"],
    "sampleEditableTimingCache": [""],
    "sampleINT8API": ["--data={data}", "--data={data} --write_tensors"],
    "sampleIOFormats": ["--datadir={data}"],
    "sampleNamedDimensions": ["--datadir={sample}"],
    "sampleNonZeroPlugin": ["--datadir={data}", "--datadir={data} --columnOrder", "--datadir={data} --fp16"],
    "sampleOnnxMNIST": ["--datadir={data}", "--datadir={data} --timingCacheFile=timing.cache"],
    "sampleOnnxMnistCoordConvAC": ["--datadir={data}"],
    "sampleProgressMonitor": ["--datadir={data}"],
}
NOT_RUN = {
    "sampleCudla": "it needs cuDLA, on AArch64",
    "sampleDistCollective": "it needs NCCL and several GPUs",
    "sampleSafeMNIST": SAFETY,
    "sampleSafePluginV3": SAFETY,
    "trtSafeExec": SAFETY,
}
# A script, its arguments and what it has to print.
PYTHON = {
    "stream_writer/build.py": ("", "Engine deserialized successfully"),
    "python_plugin/circ_pad_plugin_cpp.py": ("--plugin-lib={library}", "Inference result correct!"),
    "python_plugin/circ_pad_plugin_cpp.py --precision=fp16": ("--plugin-lib={library}", "Inference result correct!"),
    "refactored/2_construct_network_with_layer_apis/main.ipynb": ("", "Notebook executed successfully"),
}
# Packages of Python that need a GPU, and others that are no part of the repository.
GPU_PACKAGES = {"cuda": DRIVER, "cupy": "it imports cupy", "triton": "it imports triton", "pycuda": "it imports pycuda"}
PYTHON_NOT_RUN = {
    "dds_faster_rcnn": "its model is downloaded",
    "detectron2": "its model is downloaded",
    "efficientdet": "its model is downloaded",
    "engine_refit_onnx_bidaf": "its model is downloaded",
    "onnx_custom_plugin": f"its model is downloaded, and of its test: {DRIVER}",
    "onnx_packnet": "its model is downloaded",
    "refactored/1_run_onnx_with_tensorrt": "its model is downloaded",
    "strongly_type_autocast": "it imports modelopt, and its model is downloaded",
    "tensorflow_object_detection_api": "its model is downloaded",
    "yolov3_onnx": "its model is downloaded",
}


def sentences_of(text):
    """Of sampleCharRNN's source: the number of each character, and (what is read, what has to follow)."""
    table = re.search(r"charToID\{\{(.*?)\}\};", text, re.DOTALL)[1]
    characters = {ast.literal_eval(name): int(number) for name, number in re.findall(r"\{?('(?:\\.|[^\\])'), (\d+)\}?", table)}
    lists = [re.search(name + r"\{(.*?)\};", text, re.DOTALL)[1] for name in ("inS", "outS")]
    read, follows = ([json.loads(line) for line in re.findall(r'^\s*(".*"),$', lines, re.MULTILINE)] for lines in lists)
    return characters, list(zip(read, follows, strict=True))


def write_data(sample, source, folder):
    """Data under the names that the sample looks for; gives what its output has to hold."""
    folder.mkdir(parents=True, exist_ok=True)
    if sample == "sampleCharRNN":
        models.char_rnn(folder / "char-rnn.wts", *sentences_of(source.read_text()))
    elif sample == "sampleINT8API":
        return rf"\[1\]  {models.classifier(folder)}\b"
    elif sample == "sampleOnnxMnistCoordConvAC":
        models.write_digits(folder)
        models.mnist_with_coordinates(folder / "mnist_with_coordconv.onnx")
    elif sample not in ("sampleNamedDimensions", "sampleEditableTimingCache"):
        models.write_digits(folder)
        models.mnist(folder / "mnist.onnx")
    return ""


def run_sample(sample, builder, work, environment, counts):
    """One run after the other of a program in C++."""
    folder = builder.checkout / "samples" / sample
    try:
        program = builder.program(sample, [path for path in folder.iterdir() if path.suffix in (".cpp", ".cu")])
    except RuntimeError as error:
        counts.add("failed", sample, str(error))
        return
    data = work / "data" / sample
    text = write_data(sample, folder / f"{sample}.cpp", data)
    for number, arguments in enumerate(SAMPLES[sample]):
        place = work / "runs" / f"{sample}_{number}"
        place.mkdir(parents=True, exist_ok=True)
        words = arguments.format(data=data, sample=folder).split()
        done = clients.run([program, *words], SECONDS, place, environment)
        waived = "--write_tensors" in words and "&&&& WAIVED" in done.text
        if done.status != 0 or not ("&&&& PASSED" in done.text or waived):
            counts.add("failed", f"{sample} {arguments}", done.why())
        elif not waived and not re.search(text, done.text):
            counts.add("failed", f"{sample} {arguments}", f"the output does not hold '{text}'")
        else:
            counts.add("passed", f"{sample} {arguments}")


def run_cpp(options, work, counts):
    environment = clients.library_path(options.tenon)
    builder = clients.Builder(options, work / "nvidia")
    for folder in sorted((options.checkout / "samples").iterdir()):
        if folder.name in ("common", "trtexec") or not any(folder.glob("*.cpp")) or not re.search(options.only, folder.name):
            continue
        if folder.name in NOT_RUN:
            counts.add("not run", folder.name, NOT_RUN[folder.name])
        elif folder.name in SAMPLES:
            run_sample(folder.name, builder, work, environment, counts)
        else:
            counts.add("failed", folder.name, "run_samples.py does not know it")


def imported(script):
    """The packages that a script imports, and those that scripts of the samples import for it."""
    names, seen, scripts = set(), set(), [script]
    while scripts:
        path = scripts.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in re.findall(r"^\s*(?:import|from) +(\w+)", path.read_text(), re.MULTILINE):
            names.add(name)
            scripts += [other for folder in (path.parent, path.parent.parent) if (other := folder / f"{name}.py").exists()]
    return names


def script_of(path, folder):
    """A Python file; of a notebook that of its cells, without the lines that install packages."""
    if path.suffix != ".ipynb":
        return path
    cells = [cell["source"] for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = [line for cell in cells for line in [*cell, "\n"] if not line.startswith("%")]
    script = folder / f"{path.parent.name}.py"
    script.write_text("".join(lines))
    return script


def run_script(name, options, work, counts):
    """A sample in Python, whose `import tensorrt` gives Tenon's package."""
    arguments, text = PYTHON[name]
    path, *more = name.split()
    place = work / "python" / re.sub(r"\W", "_", name)
    place.mkdir(parents=True, exist_ok=True)
    source = options.checkout / "samples/python" / path
    library = place / "libcirc_pad_plugin.so"
    if "{library}" in arguments:
        kernels = source.parent / "circ_plugin_cpp/circ_pad_plugin.cu"
        flags = ["-std=c++17", "-w", "-shared", "-Xcompiler=-fPIC", f"-I{options.tenon / 'include'}"]
        link = ["-o", library, f"-L{options.tenon / 'lib'}", "-lnvinfer"]
        done = clients.run([options.tenon / "hostcuda/bin/nvcc", *flags, kernels, *link], 300)
        if done.status != 0:
            counts.add("failed", name, f"its library does not compile: {done.why()}")
            return
    words = [*more, *arguments.format(library=library).split()]
    done = clients.run([options.python, "-m", "tenon.as_tensorrt", script_of(source, place), *words], SECONDS, place,
                       {"PYTHONPATH": f"{options.package.resolve()}:{options.checkout / 'tools/Polygraphy'}",
                        "PYTHONDONTWRITEBYTECODE": "1"})
    good = done.status == 0 and text in done.text
    counts.add("passed" if good else "failed", f"python/{name}", "" if good else done.why())


def run_python(options, work, counts):
    root = options.checkout / "samples/python"
    for folder in sorted(path for path in [*root.iterdir(), *(root / "refactored").glob("*")] if path.is_dir()):
        name = str(folder.relative_to(root))
        scripts = [path for path in folder.iterdir() if path.suffix in (".py", ".ipynb")]
        if not scripts or name == "scripts" or not re.search(options.only, name):
            continue
        if name in PYTHON_NOT_RUN:
            counts.add("not run", f"python/{name}", PYTHON_NOT_RUN[name])
            continue
        for path in sorted(scripts):
            calls = [call for call in PYTHON if call.split()[0] == str(path.relative_to(root))]
            reasons = [GPU_PACKAGES[package] for package in sorted(imported(path) & GPU_PACKAGES.keys())]
            if calls:
                for call in calls:
                    run_script(call, options, work, counts)
            elif reasons:
                counts.add("not run", f"python/{path.relative_to(root)}", reasons[0])
            elif "__main__" in path.read_text():
                counts.add("failed", f"python/{path.relative_to(root)}", "run_samples.py does not know it")


def main():
    parser = clients.arguments(__doc__.split("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="a Python with onnx and onnx_graphsurgeon")
    parser.add_argument("--package", type=pathlib.Path, default=clients.PACKAGE, help="the folder of Tenon's package")
    options = clients.parse(parser, "samples/sampleOnnxMNIST")
    cpp, python = clients.Counts("passed"), clients.Counts("passed")
    with clients.work_folder(options) as work:
        run_cpp(options, work, cpp)
        run_python(options, work, python)
    print(f"{len(SAMPLES)} samples in C++, some with several options: {cpp}\nsamples in Python: {python}")
    return bool(cpp["failed"] or python["failed"])


if __name__ == "__main__":
    sys.exit(main())
