"""The documents of deploy/, and the containers in them."""
import pathlib
import re

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGE = "tenon:latest"


def documents():
    """(path, document) of all manifests."""
    return [(path, document) for path in sorted((ROOT / "deploy").rglob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]


def of_kind(kind):
    found = [document for _, document in documents() if document.get("kind") == kind]
    assert found, f"there is no {kind} in deploy/"
    return found


def containers():
    """(pod, container) of each container that runs the server."""
    pods = [document["spec"]["template"]["spec"] for document in of_kind("Deployment")]
    return [(pod, container) for pod in [*pods, *(document["spec"] for document in of_kind("ServingRuntime"))]
            for container in pod["containers"] if container["image"] == IMAGE]


def options(container):
    """{option: value} of the arguments, by the names of Triton."""
    pairs = dict(re.fullmatch("--([a-z_-]+)=(.*)", word).groups() for word in container["args"])
    return {{"model_dir": "model-repository"}.get(name, name.replace("_", "-")): value for name, value in pairs.items()}
