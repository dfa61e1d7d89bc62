"""What the manifests of deploy/ say of the server: its arguments, ports, probes, metrics and the time that it takes to end."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

import yaml
from manifests import ROOT, containers, of_kind, options
from onnx import TensorProto, helper, save

SERVER = os.environ["TENON_SERVER"]


def write_model(path):
    """y = -x."""
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xy"]
    save(helper.make_model(helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", tensors[:1], tensors[1:]),
                           opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Server:
    """The server of a container's arguments, at other folders and ports."""

    def __init__(self, container, folder):
        # Each word as it stands, but for what no test may take.
        words = [re.sub(r"^(--[a-z_-]*port)=.*", r"\1=0", word) for word in container["args"]]
        words = [re.sub(r"^(--model[a-z_-]*)=.*", rf"\1={folder}", word) for word in words]
        self.process = subprocess.Popen([SERVER, *words], stderr=subprocess.PIPE, text=True)
        self.said, self.ports = "", {}
        for line in self.process.stderr:
            self.said += line
            if line == "tenon-server: ready\n":
                break
        for name, text in (("http", "HTTP"), ("grpc", "gRPC"), ("metrics", "metrics")):
            self.ports[name] = int(re.search(rf"{text} at 0.0.0.0:(\d+)", self.said)[1])

    def ask(self, port, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[port]}{path}", timeout=30) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def port_of(container, named):
    """The name of the server's port that a manifest means: "http", or the number of one."""
    numbers = {port.get("name"): port["containerPort"] for port in container["ports"]}
    number = numbers.get(named, named)
    return next(name for name in ("http", "grpc", "metrics") if int(options(container)[f"{name}-port"]) == number)


class Deploy(unittest.TestCase):
    def test_the_server_runs_with_the_arguments_of_each_container(self):
        """Probes are answered, and SIGTERM ends it with 0."""
        self.assertEqual(len(containers()), 2)
        for _, container in containers():
            with self.subTest(container["name"]), tempfile.TemporaryDirectory() as folder:
                write_model(pathlib.Path(folder) / "negative.onnx")
                with Server(container, folder) as server:
                    for probe in ("livenessProbe", "readinessProbe"):
                        get = container[probe]["httpGet"]
                        self.assertEqual(server.ask(port_of(container, get["port"]), get["path"])[0], 200, probe)
                    server.process.send_signal(signal.SIGTERM)
                    self.assertEqual(server.process.wait(timeout=60), 0)

    def test_a_pod_with_a_model_that_cannot_be_loaded_lives_and_is_not_ready(self):
        _, container = containers()[0]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "broken.onnx").write_bytes(b"no model")
            with Server(container, folder) as server:
                for probe, status in (("livenessProbe", 200), ("readinessProbe", 503)):
                    self.assertEqual(server.ask("http", container[probe]["httpGet"]["path"])[0], status)

    def test_ports_are_those_of_the_arguments(self):
        for _, container in containers():
            ports = [int(value) for name, value in options(container).items() if name.endswith("-port")]
            for port in container["ports"]:
                self.assertIn(port["containerPort"], ports)
                if "name" in port:
                    self.assertEqual(port_of(container, port["name"]), port["name"])
        _, container = containers()[0]
        names = {port["name"]: port["containerPort"] for port in container["ports"]}
        service, = of_kind("Service")
        self.assertEqual({port["targetPort"]: port["port"] for port in service["spec"]["ports"]}, names)
        annotations = of_kind("Deployment")[0]["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(int(annotations["prometheus.io/port"]), names["metrics"])
        runtime, = of_kind("ServingRuntime")
        self.assertEqual(runtime["spec"]["annotations"]["prometheus.kserve.io/port"],
                         options(runtime["spec"]["containers"][0])["metrics-port"])

    def test_a_pod_has_the_time_to_answer_what_came(self):
        for pod, container in containers():
            command = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command", ["sleep", "0"])
            grace = pod.get("terminationGracePeriodSeconds", 300)  # KServe's, of Knative
            self.assertLess(int(command[1]) + int(options(container)["exit-timeout-secs"]), grace)

    def test_labels_select_the_pods(self):
        deployment, = of_kind("Deployment")
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selectors = [deployment["spec"]["selector"]["matchLabels"], of_kind("Service")[0]["spec"]["selector"],
                     of_kind("PodDisruptionBudget")[0]["spec"]["selector"]["matchLabels"]]
        self.assertEqual(selectors, [labels] * 3)
        self.assertEqual(of_kind("HorizontalPodAutoscaler")[0]["spec"]["scaleTargetRef"]["name"], deployment["metadata"]["name"])

    def test_the_autoscaler_reads_a_metric_that_the_server_has(self):
        rule, = yaml.safe_load((ROOT / "deploy/kubernetes/prometheus_adapter.yaml").read_text())["rules"]["custom"]
        metric, = of_kind("HorizontalPodAutoscaler")[0]["spec"]["metrics"]
        self.assertEqual(metric["pods"]["metric"]["name"], rule["name"]["as"])
        series = rule["seriesQuery"].partition("{")[0]
        _, container = containers()[0]
        with tempfile.TemporaryDirectory() as folder:
            write_model(pathlib.Path(folder) / "negative.onnx")
            with Server(container, folder) as server:
                status, text = server.ask("metrics", "/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(text, rf'(?m)^{series}{{model="negative",version="1"}} 0')

    def test_the_image_has_the_program_and_ports_of_the_manifests(self):
        text = (ROOT / "deploy/Containerfile").read_text()
        self.assertIn('ENTRYPOINT ["tenon-server"]', text)
        exposed = set(re.search(r"^EXPOSE (.*)$", text, re.M)[1].split())
        self.assertEqual(exposed, {str(port["containerPort"]) for port in containers()[0][1]["ports"]})
        user = re.search(r"--uid (\d+)", text)[1]
        self.assertEqual(int(user), of_kind("Deployment")[0]["spec"]["template"]["spec"]["securityContext"]["runAsUser"])
