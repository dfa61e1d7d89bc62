"""Compares the manifests of deploy/ with the schemas of Kubernetes and the classes of KServe.

    pip install -r test/deploy/requirements.txt
    pip download --no-deps --dest FOLDER kserve==0.21.0
    python test/deploy/run_schemas.py FOLDER/kserve-*.whl
"""
import ast
import re
import sys
import zipfile

import kubernetes_validate
from manifests import documents

VERSIONS = ("1.29", "1.33", "1.37")


def classes_of(wheel):
    """{class: {field: type}} of KServe's models, which its wheel has as generated Python: no need to import it."""
    found = {}
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if not re.fullmatch(r"kserve/models/v1\w+\.py", name):
                continue
            for node in ast.parse(files.read(name)).body:
                if isinstance(node, ast.ClassDef):
                    tables = {item.targets[0].id: ast.literal_eval(item.value) for item in node.body
                              if isinstance(item, ast.Assign) and item.targets[0].id in ("openapi_types", "attribute_map")}
                    found[node.name] = {tables["attribute_map"][key]: kind for key, kind in tables["openapi_types"].items()}
    return found


def check(value, kind, classes, where):
    """Problems of a value that is to be of a type of KServe, as text."""
    if kind.startswith("list[") and isinstance(value, list):
        return [problem for i, item in enumerate(value) for problem in check(item, kind[5:-1], classes, f"{where}[{i}]")]
    if kind in classes and isinstance(value, dict):
        fields = classes[kind]
        return [problem for name, item in value.items() for problem in
                (check(item, fields[name], classes, f"{where}.{name}") if name in fields else [f"{where}: {kind} has no {name}"])]
    plain = {"str": str, "bool": bool, "int": int, "float": (int, float)}.get(kind)
    if kind.startswith("list[") or kind in classes or (plain and not isinstance(value, plain)):
        return [f"{where}: expected {kind}, found {value!r}"]
    return []  # of Kubernetes, or a dictionary


def check_kubernetes(document):
    """Problems by the schemas of several versions, as text."""
    problems = []
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            problems.append(f"{document['kind']}, Kubernetes {version}: {error}")
    return problems


def check_kserve(document, classes):
    """The same of KServe's documents, whose containers are Kubernetes' own."""
    kind = document["apiVersion"].rpartition("/")[2].capitalize() + document["kind"]
    problems = check(document, kind, classes, document["kind"])
    for container in document["spec"].get("containers", []):
        problems += check_kubernetes({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {"containers": [container]}})
    return problems


def main(wheel):
    classes, problems, checked = classes_of(wheel), [], 0
    for path, document in documents():
        if "kind" not in document:
            continue  # values of a chart
        is_kserve = document["apiVersion"].startswith("serving.kserve.io/")
        found = check_kserve(document, classes) if is_kserve else check_kubernetes(document)
        problems += [f"{path.name}: {problem}" for problem in found]
        checked += 1
    for problem in problems:
        print(problem)
    print(f"{checked} documents, {len(problems)} problems")
    return 1 if problems or not checked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
