"""Tests tenon.ray with Ray: applications on a cluster of several nodes on this machine, and `tenon serve --ray`.

    PYTHONPATH=build/release/python python -B test/ray/run_ray.py

The interpreter needs what requirements.txt of this folder lists. TENON is the command line, build/release/tools/tenon/tenon
without it.
"""
import asyncio
import io
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import numpy as np
import ray
import tritonclient.http as triton
from onnx import TensorProto, helper
from ray import serve
from ray.cluster_utils import Cluster

import tenon
import tenon.ray

ROOT = pathlib.Path(__file__).resolve().parents[2]
TENON = os.environ.get("TENON", str(ROOT / "build/release/tools/tenon/tenon"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def scale_plan(factor):
    """The plan of y = factor * x for one to four rows of three."""
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xy"]
    constant = helper.make_tensor("c", TensorProto.FLOAT, [], [factor])
    model = helper.make_model(helper.make_graph([helper.make_node("Mul", ["x", "c"], ["y"])], "g", tensors[:1], tensors[1:], [constant]),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return tenon.compile(model, shapes={"x": ((1, 3), (2, 3), (4, 3))}).serialize()


def ask(port, path, body=None):
    """Status, headers and body."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def infer(port, model, x):
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        tensor = triton.InferInput("x", x.shape, "FP32").set_data_from_numpy(x)
        return client.infer(model, [tensor]).as_numpy("y")


def slow_engine():
    """A batch of any number of jobs takes a quarter of a second; the answer is the process."""
    def engine(batch):
        time.sleep(0.25)
        return [os.getpid()] * len(batch)
    return engine


class Applications(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        for factor in range(1, 6):
            (cls.folder / f"times{factor}.plan").write_bytes(scale_plan(factor))
        cls.port = free_port()
        cls.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
        cls.cluster.add_node(num_cpus=4)
        ray.init(address=cls.cluster.address, logging_level="ERROR", log_to_driver=False)
        serve.start(http_options={"host": "127.0.0.1", "port": cls.port})

    @classmethod
    def tearDownClass(cls):
        serve.shutdown()
        ray.shutdown()
        cls.cluster.shutdown()
        shutil.rmtree(cls.folder)

    def test_a_model_answers_clients_and_handles(self):
        handle = serve.run(tenon.ray.app(self.folder / "times3.plan", min_replicas=2, max_replicas=2))
        x = np.random.default_rng(1).normal(size=(2, 3)).astype(np.float32)
        np.testing.assert_allclose(infer(self.port, "times3", x), 3 * x, rtol=1e-6)
        np.testing.assert_allclose(handle.infer.remote({"x": x}, timeout=30).result()["y"], 3 * x, rtol=1e-6)
        self.assertEqual(ask(self.port, "/v2/health/ready")[0], 200)
        for path, body, status in (("/v2/models/other/infer", b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":[1]}]}', 404),
                                   ("/v2/models/times3/infer", b"{", 400), ("/nothing", None, 404)):
            found, _, answer = ask(self.port, path, body)
            self.assertEqual(found, status, answer)
            self.assertIn("error", json.loads(answer))
        with self.assertRaisesRegex(tenon.ray.RequestError, "there is no input 'z'"):
            handle.infer.remote({"z": x}).result()

    def test_streams(self):
        handle = serve.run(tenon.ray.app(self.folder / "times2.plan"))
        rows = [{"x": np.full((1, 3), i, np.float32)} for i in range(20)]
        made = dict(handle.options(stream=True).stream.remote(rows))
        self.assertEqual(sorted(made), list(range(20)))
        for i in range(20):
            np.testing.assert_array_equal(made[i]["y"], 2 * rows[i]["x"])
        lines = [json.dumps({"id": str(i), "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [i] * 3}]}) for i in range(9)]
        status, headers, body = ask(self.port, "/v2/models/times2/infer_stream", "\n".join(lines).encode())
        self.assertEqual((status, headers["Content-Type"]), (200, "application/x-ndjson"))
        answers = {answer["id"]: answer["outputs"][0]["data"] for answer in map(json.loads, body.splitlines())}
        self.assertEqual(answers, {str(i): [2 * i] * 3 for i in range(9)})

    def test_more_models_than_a_replica_holds(self):
        handle = serve.run(tenon.ray.app(self.folder, max_models=2, min_replicas=2, max_replicas=2))
        x = np.ones((1, 3), np.float32)
        for _ in range(2):
            for factor in range(1, 6):
                np.testing.assert_array_equal(infer(self.port, f"times{factor}", x), factor * x)
        np.testing.assert_array_equal(handle.infer.remote({"x": x}, model="times4").result()["y"], 4 * x)
        self.assertEqual(ask(self.port, "/v2/models/times9")[0], 404)
        index = json.loads(ask(self.port, "/v2/repository/index", b"")[2])
        self.assertEqual([entry["name"] for entry in index], [f"times{factor}" for factor in range(1, 6)])
        self.assertLessEqual(sum(entry["state"] == "READY" for entry in index), 2)

    def test_stages_and_more_requests_than_there_is_room_for(self):
        serve.run(tenon.ray.app(slow_engine, preprocess=lambda body: body.decode(), postprocess=lambda body, pid: {"pid": pid},
                                max_batch=1, max_requests=2, max_queued_requests=1))

        async def many():
            loop = asyncio.get_running_loop()
            return await asyncio.gather(*(loop.run_in_executor(None, ask, self.port, "/", b"x") for _ in range(12)))

        answers = asyncio.run(many())
        statuses = {status for status, *_ in answers}
        self.assertEqual(statuses, {200, 429})
        for status, headers, body in answers:
            if status == 429:
                self.assertTrue(headers["Retry-After"])
        self.assertEqual(ask(self.port, "/", b"\xff")[0], 400)

    def test_a_replica_that_is_killed(self):
        """Behind a router each request is answered; in front of none, each is answered or refused once."""
        for routers in (1, 0):
            handle = serve.run(tenon.ray.app(slow_engine, postprocess=lambda _, pid: pid, max_batch=4, min_replicas=2, max_replicas=2,
                                             routers=routers))

            async def load():
                calls = [asyncio.ensure_future(self.outcome(handle)) for _ in range(24)]
                first = await calls[0]
                os.kill(first, signal.SIGKILL)
                return await asyncio.gather(*calls)

            outcomes = asyncio.run(load())
            refused = [outcome for outcome in outcomes if not isinstance(outcome, int)]
            self.assertEqual(len(outcomes), 24)
            if routers:
                self.assertEqual(refused, [])
            else:
                self.assertLess(len(refused), 24)
                self.assertLessEqual(set(refused), {"ActorDiedError", "ActorUnavailableError"})
            deadline = time.monotonic() + 60  # the second one comes back
            pids = set()
            while len(pids) < 2 and time.monotonic() < deadline:
                pids.update(outcome for outcome in asyncio.run(self.outcomes(handle, 8)) if isinstance(outcome, int))
            self.assertGreaterEqual(len(pids), 2)

    async def outcomes(self, handle, count):
        return await asyncio.gather(*(self.outcome(handle) for _ in range(count)))

    async def outcome(self, handle):
        try:
            return await handle.run.remote(b"")
        except Exception as error:
            return type(error).__name__

    def test_replicas_follow_the_requests(self):
        app = tenon.ray.app(slow_engine, name="follow", postprocess=lambda _, pid: pid, max_batch=1, target_requests=2, min_replicas=1,
                            max_replicas=3, deployment={"autoscaling_config": {
                                "min_replicas": 1, "max_replicas": 3, "target_ongoing_requests": 2, "upscale_delay_s": 0.5,
                                "metrics_interval_s": 0.5, "look_back_period_s": 1}})
        handle = serve.run(app)
        pids, deadline = set(), time.monotonic() + 60
        while len(pids) < 3 and time.monotonic() < deadline:
            pids.update(asyncio.run(self.outcomes(handle, 16)))
        self.assertEqual(len(pids), 3)


class CommandLine(unittest.TestCase):
    def test_an_application_is_served_until_sigterm(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "times2.plan").write_bytes(scale_plan(2))
            (folder / "served.py").write_text(f"import tenon.ray\napp = tenon.ray.app({str(folder / 'times2.plan')!r})\n")
            for target, working in (("served.py", folder), ("served:app", folder)):
                port = free_port()
                process = subprocess.Popen([TENON, "serve", "--ray", target, f"--http-port={port}", "--http-address=127.0.0.1"], cwd=working,
                                           env={**os.environ, "TENON_PYTHON": sys.executable}, stderr=subprocess.PIPE, text=True)
                try:
                    said = ""
                    for line in process.stderr:
                        said += line
                        if line.startswith("tenon serve: ready"):
                            break
                    x = np.ones((1, 3), np.float32)
                    np.testing.assert_array_equal(infer(port, "times2", x), 2 * x, said)
                    process.send_signal(signal.SIGTERM)
                    process.stderr.read()
                    self.assertEqual(process.wait(timeout=120), 0)
                finally:
                    process.kill()
                    process.stderr.close()

    def test_the_example_answers_pictures(self):
        """Its class is the brightest colour."""
        from PIL import Image

        with tempfile.TemporaryDirectory() as folder:
            plan, port = pathlib.Path(folder) / "classifier.plan", free_port()
            tensors = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 64, 64]),
                       helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])]
            nodes = [helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])]
            model = helper.make_model(helper.make_graph(nodes, "g", tensors[:1], tensors[1:]), ir_version=8,
                                      opset_imports=[helper.make_opsetid("", 17)])
            tenon.compile(model, shapes={"x": ((1, 3, 64, 64), (8, 3, 64, 64), (8, 3, 64, 64))}).save(plan)
            process = subprocess.Popen([TENON, "serve", "--ray", str(ROOT / "examples/ray/app.py"), f"--http-port={port}"],
                                       env={**os.environ, "TENON_PYTHON": sys.executable, "CLASSIFIER_PLAN": str(plan)},
                                       stderr=subprocess.PIPE, text=True)
            try:
                for line in process.stderr:
                    if line.startswith("tenon serve: ready"):
                        break
                for number, colour in enumerate(((250, 10, 20), (0, 200, 50), (30, 60, 90))):
                    picture = io.BytesIO()
                    Image.new("RGB", (30, 20), colour).save(picture, "png")
                    status, _, answer = ask(port, "/", picture.getvalue())
                    self.assertEqual((status, json.loads(answer)), (200, {"class": number, "score": round(max(colour) / 255, 4)}))
                self.assertEqual(ask(port, "/", b"no picture")[0], 400)
            finally:
                process.send_signal(signal.SIGTERM)
                process.stderr.read()
                process.wait(timeout=120)
                process.stderr.close()

    def test_what_is_no_application(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "empty.py").write_text("x = 1\n")
            for target, text in (("none.py", "there is no file 'none.py'"), ("nothing_of_that_name:app", "there is no module"),
                                 ("empty.py", "expected an application called 'app'"), ("empty:x", "expected an application called 'x'")):
                run = subprocess.run([TENON, "serve", "--ray", target], cwd=folder, env={**os.environ, "TENON_PYTHON": sys.executable},
                                     capture_output=True, text=True)
                self.assertEqual(run.returncode, 1)
                self.assertIn(text, run.stderr)


if __name__ == "__main__":
    unittest.main()
