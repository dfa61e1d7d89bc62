"""What Triton's clients use besides the protocol itself: TLS, classes, shared memory, and the server's access log."""
import json
import os
import socket
import ssl
import subprocess
import urllib.request

import numpy as np
import tritonclient.grpc
import tritonclient.http
from google.protobuf import json_format
from onnx import TensorProto, helper, save
from tritonclient.utils import shared_memory

from server_support import ServerTest
from support import PLUGIN, TENON


def save_model(path, nodes, shape):
    """From x to y, both of float32."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y"))
    save(helper.make_model(helper.make_graph(nodes, "g", [x], [y]), ir_version=8,
                           opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("tenon", 1)]), path)


class ServeExtensions(ServerTest):
    def make_certificates(self, *names):
        """Authorities NAME.pem, and what they signed for this machine: NAME_leaf.pem with its key."""
        for name in names:
            subprocess.run(f"""openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem &&
                openssl req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout {name}_leaf.key -out {name}_leaf.csr &&
                echo subjectAltName=DNS:localhost,IP:127.0.0.1 > {name}.ext &&
                openssl x509 -req -in {name}_leaf.csr -CA {name}.pem -CAkey {name}.key -CAcreateserial -days 2 -extfile {name}.ext \
                  -out {name}_leaf.pem""", shell=True, cwd=self.folder, check=True, capture_output=True)

    def curl(self, path, *options):
        """The exit code and what was printed."""
        result = subprocess.run(["curl", "-s", "--max-time", "20", *options, f"https://localhost:{self.port}{path}"],
                                capture_output=True, text=True, cwd=self.folder)
        return result.returncode, result.stdout

    def clients(self):
        """Both of tritonclient's modules, each with a client."""
        for module, port in ((tritonclient.http, self.port), (tritonclient.grpc, self.grpc_port)):
            with module.InferenceServerClient(f"127.0.0.1:{port}") as client:
                yield module, client

    @staticmethod
    def input_of(module, x):
        tensor = module.InferInput("x", x.shape, "FP32")
        tensor.set_data_from_numpy(x)
        return tensor

    def test_tls(self):
        self.write_model()
        self.make_certificates("ours", "others")
        self.start("--http-server-cert", self.folder / "ours_leaf.pem", "--http-server-key", self.folder / "ours_leaf.key",
                   "--http-root-cert", self.folder / "ours.pem")
        own = ["--cert", "ours_leaf.pem", "--key", "ours_leaf.key"]
        self.assertEqual(self.curl("/v2/health/ready", "--cacert", "ours.pem", *own), (0, '{"ready":true}'))
        self.assertEqual(self.curl("/v2/health/ready", "--cacert", "others.pem", *own)[0], 60)  # it does not trust the server
        self.assertNotEqual(self.curl("/v2/health/ready", "--cacert", "ours.pem")[0], 0)
        self.assertNotEqual(self.curl("/v2/health/ready", "--cacert", "ours.pem", "--cert", "others_leaf.pem", "--key", "others_leaf.key")[0], 0)
        status, answer = self.ask("/v2/health/ready")
        self.assertEqual((status, json.loads(answer)), (400, {"error": "this port speaks TLS: ask by https"}))
        options = {"ca_certs": str(self.folder / "ours.pem"), "certfile": str(self.folder / "ours_leaf.pem"),
                   "keyfile": str(self.folder / "ours_leaf.key")}
        with tritonclient.http.InferenceServerClient(f"localhost:{self.port}", ssl=True, ssl_options=options) as client:
            x = np.random.default_rng(3).normal(size=(4, 3)).astype(np.float32)
            y = client.infer("linear", [self.input_of(tritonclient.http, x)]).as_numpy("y")
            np.testing.assert_allclose(y, x @ self.w + self.b, rtol=1e-5, atol=1e-6)

    def test_classes(self):
        self.write_model()
        folder = self.folder / "models/classes/1"
        folder.mkdir(parents=True)
        (self.folder / "models/linear.onnx").rename(folder / "model.onnx")
        (folder.parent / "config.pbtxt").write_text('max_batch_size: 4 output { name: "y" label_filename: "labels.txt" }')
        (folder.parent / "labels.txt").write_text("cat\ndog\n")
        self.start()
        x = np.random.default_rng(4).normal(size=(3, 3)).astype(np.float32)
        expected = x @ self.w + self.b
        for module, client in self.clients():
            for binary in ({"binary_data": True}, {"binary_data": False}) if module is tritonclient.http else ({},):
                output = module.InferRequestedOutput("y", class_count=5, **binary)
                classes = client.infer("classes", [self.input_of(module, x)], outputs=[output]).as_numpy("y")
                self.assertEqual(classes.shape, (3, 2))
                for row, scores in zip(classes, expected):
                    values, indices, labels = zip(*(text.decode().split(":") if isinstance(text, bytes) else text.split(":") for text in row))
                    np.testing.assert_allclose(np.float32(values), np.sort(scores)[::-1], rtol=1e-5, atol=1e-6)
                    order = np.argsort(-scores)
                    self.assertEqual(list(map(int, indices)), order.tolist())
                    self.assertEqual(list(labels), [["cat", "dog"][i] for i in order])

    def test_shared_memory(self):
        self.write_model()
        self.start("--allow-shared-memory=true", "--shared-memory-prefix=tenon_test_")
        x = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)
        key = f"/tenon_test_{os.getpid()}"
        region = shared_memory.create_shared_memory_region("tensors", key, 256)
        self.addCleanup(shared_memory.destroy_shared_memory_region, region)
        shared_memory.set_shared_memory_region(region, [x], offset=64)
        for module, client in self.clients():
            shared_memory.set_shared_memory_region(region, [np.zeros((4, 2), np.float32)], offset=128)
            client.register_system_shared_memory("tensors", key, 256)
            self.assertIn("tensors", str(client.get_system_shared_memory_status()))
            with self.assertRaisesRegex(Exception, "registered already"):
                client.register_system_shared_memory("tensors", key, 256)
            with self.assertRaisesRegex(Exception, "the region ends at"):
                client.register_system_shared_memory("large", key, 1 << 40)
            with self.assertRaisesRegex(Exception, "expected '/tenon_test_...'"):
                client.register_system_shared_memory("other", "/other", 256)
            tensor = module.InferInput("x", x.shape, "FP32")
            tensor.set_shared_memory("tensors", x.nbytes, offset=64)
            output = module.InferRequestedOutput("y")
            output.set_shared_memory("tensors", 64, offset=128)
            answer = client.infer("linear", [tensor], outputs=[output])
            self.assertIsNotNone(answer.get_output("y"))
            y = shared_memory.get_contents_as_numpy(region, np.float32, [4, 2], offset=128)
            np.testing.assert_allclose(y, x @ self.w + self.b, rtol=1e-5, atol=1e-6)
            output.set_shared_memory("tensors", 8, offset=128)
            with self.assertRaisesRegex(Exception, "expected the 32 bytes of the output or more, found 8"):
                client.infer("linear", [tensor], outputs=[output])
            client.unregister_system_shared_memory("tensors")
            with self.assertRaisesRegex(Exception, "there is no shared memory region 'tensors'"):
                client.infer("linear", [tensor])
            with self.assertRaisesRegex(Exception, "CUDA shared memory is not supported yet"):
                client.get_cuda_shared_memory_status()

    def test_shared_memory_is_off(self):
        self.write_model()
        self.start()
        for _, client in self.clients():
            with self.assertRaisesRegex(Exception, "start the server with --allow-shared-memory"):
                client.register_system_shared_memory("tensors", "/tenon_test", 256)

    def test_access_log(self):
        self.write_model()
        log = self.folder / "access.log"
        self.start("--access-log", log)
        x = np.ones((2, 3), np.float32)
        for module, client in self.clients():
            client.infer("linear", [self.input_of(module, x)], request_id="a\nb", headers={"traceparent": "00-1-2-01"})
            with self.assertRaises(Exception):
                client.infer("none", [self.input_of(module, x)])
        self.server.terminate()
        self.server.wait(timeout=60)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(line["protocol"], line.get("model"), line["status"]) for line in lines],
                         [("http", "linear", "200"), ("http", "none", "404"), ("grpc", "linear", "OK"), ("grpc", "none", "NOT_FOUND")])
        for line in lines[::2]:
            self.assertEqual((line["version"], line["id"], line["trace"]), ("1", "a\nb", "00-1-2-01"))
            self.assertGreater(line["compute_us"], 0)
            self.assertGreaterEqual(line["duration_us"], line["queue_us"] + line["compute_us"])
            self.assertGreater(min(line["bytes_in"], line["bytes_out"]), 16)
        self.assertEqual((lines[0]["method"], lines[0]["path"]), ("POST", "/v2/models/linear/infer"))
        self.assertEqual(lines[2]["method"], "ModelInfer")

    def test_headers_that_are_none_are_in_the_access_log(self):
        self.write_model()
        log = self.folder / "access.log"
        self.start("--access-log", log)
        for header in (b"no header\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 70000 + b"\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
                connection.sendall(header)
                connection.recv(4096)
        self.server.terminate()
        self.server.wait(timeout=60)
        self.assertEqual([json.loads(line)["status"] for line in log.read_text().splitlines()], ["400", "431"])

    def test_traces(self):
        self.write_model()
        file = self.folder / "trace.json"
        self.start("--trace-config", f"triton,file={file}", "--trace-config", "rate=2")
        x = np.ones((2, 3), np.float32)
        urls = {tritonclient.http: f"127.0.0.1:{self.port}", tritonclient.grpc: f"127.0.0.1:{self.grpc_port}"}
        for module, client in self.clients():
            client.infer("linear", [self.input_of(module, x)])  # they are still off
            with module.InferenceServerClient(urls[module]) as other:  # the first one's connection stays
                other.update_trace_settings(settings={"trace_level": ["TIMESTAMPS"]})
            for number in range(4):
                client.infer("linear", [self.input_of(module, x)], request_id=str(number))
            client.update_trace_settings(settings={"trace_level": "OFF"})
        entries = json.loads(file.read_text())  # while the server runs
        self.assertEqual([(entry["model_name"], entry["request_id"]) for entry in entries[::2]], [("linear", "0"), ("linear", "2")] * 2)
        for request, trace in zip(entries[::2], entries[1::2]):
            self.assertEqual(request["id"], trace["id"])
            self.assertEqual([stamp["name"] for stamp in trace["timestamps"]],
                             ["REQUEST_START", "QUEUE_START", "COMPUTE_START", "COMPUTE_END", "REQUEST_END"])
            times = [stamp["ns"] for stamp in trace["timestamps"]]
            self.assertEqual(times, sorted(times))

    def test_a_configuration_is_given_with_a_load(self):
        self.write_model()
        self.start("--model-control-mode=explicit")
        for _, client in self.clients():
            client.load_model("linear", config=json.dumps({"max_batch_size": 3, "instance_group": [{"count": 2}]}))
            config = client.get_model_config("linear")
            config = config if isinstance(config, dict) else json_format.MessageToDict(config.config, preserving_proto_field_name=True)
            self.assertEqual((config["max_batch_size"], config["instance_group"][0]["count"]), (3, 2))
            client.load_model("linear")
            with self.assertRaisesRegex(Exception, "max_batch_size"):
                client.load_model("linear", config='{"max_batch_size": "many"}')

    def test_refused_tokens_are_in_the_access_log(self):
        self.write_model()
        log = self.folder / "access.log"
        (self.folder / "token").write_text("secret\n")
        self.start("--access-log", log, "--token-file", self.folder / "token")
        x = np.ones((2, 3), np.float32)
        for module, client in self.clients():
            with self.assertRaises(Exception):
                client.infer("linear", [self.input_of(module, x)], headers={"authorization": "Bearer guess"})
        self.server.terminate()
        self.server.wait(timeout=60)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual([(line["protocol"], line["status"]) for line in lines], [("http", "401"), ("grpc", "UNAUTHENTICATED")])

    def test_models_use_plugins_of_a_library(self):
        folder = self.folder / "models/darker"
        (folder / "1").mkdir(parents=True)
        save_model(folder / "1/model.onnx", [helper.make_node("Vignette", ["x"], ["y"], domain="tenon", strength=0.0)], [1, 1, 2, 2])
        self.start(f"--plugins={PLUGIN}")
        x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
        for module, client in self.clients():
            answer = client.infer("darker", [self.input_of(module, x)])
            np.testing.assert_array_equal(answer.as_numpy("y"), x)  # no strength: it stays as bright
        (self.folder / "text").write_text("no library")
        models, text = self.folder / "models", self.folder / "text"
        for words in ([models, "--plugins", text], ["--plugins", text, models], [f"--plugins={text}", models]):
            done = subprocess.run([TENON, "serve", *words], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1)
            self.assertIn("--plugins: cannot load", done.stderr)

    def test_metrics_have_tls(self):
        self.write_model()
        self.make_certificates("ours")
        self.start(f"--metrics-server-cert={self.folder}/ours_leaf.pem", f"--metrics-server-key={self.folder}/ours_leaf.key")
        context = ssl.create_default_context(cafile=self.folder / "ours.pem")
        with urllib.request.urlopen(f"https://localhost:{self.metrics_port}/metrics", context=context, timeout=30) as response:
            self.assertIn(b"tenon_model_state", response.read())
        status, text = self.ask("/metrics", port=self.metrics_port)
        self.assertEqual(status, 400)
        self.assertIn(b"speaks TLS", text)
