"""A server: started, asked with curl's and Python's own HTTP, and ended."""
import json
import re
import signal
import subprocess

import numpy as np
import tritonclient.grpc
import tritonclient.http

from server_support import ServerTest
from support import SOURCE, TENON


class Serve(ServerTest):
    def test_a_model_is_served_until_sigterm(self):
        self.write_model()
        self.start()
        self.assertEqual(self.ask("/v2/health/ready")[0], 200)
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 3], "data": x.tolist()}]}
        status, answer = self.ask("/v2/models/linear/infer", json.dumps(body).encode())
        self.assertEqual(status, 200, answer)
        output, = json.loads(answer)["outputs"]
        np.testing.assert_allclose(np.array(output["data"]).reshape(output["shape"]), x @ self.w + self.b, rtol=1e-5)
        status, metrics = self.ask("/metrics", port=self.metrics_port)
        self.assertIn(b'nv_inference_request_success{model="linear",version="1"} 1', metrics)
        self.server.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.wait(timeout=30), 0)
        self.assertIn("SIGTERM", self.server.stderr.read())

    def test_tritons_clients_get_their_answers(self):
        """Of each protocol, with tensors in JSON and in binary, one by one and all at once."""
        self.write_model()
        self.start("--model-control-mode=explicit")
        random = np.random.default_rng(7)
        for client, port in ((tritonclient.http, self.port), (tritonclient.grpc, self.grpc_port)):
            with client.InferenceServerClient(f"127.0.0.1:{port}") as server:
                self.assertTrue(server.is_server_ready())

                def input_of(x, **binary):
                    tensor = client.InferInput("x", x.shape, "FP32")
                    tensor.set_data_from_numpy(x, **binary)
                    return tensor

                for rows in (1, 2, 4):
                    x = random.normal(size=(rows, 3)).astype(np.float32)
                    for binary in ({"binary_data": True}, {"binary_data": False}) if client is tritonclient.http else ({},):
                        output = client.InferRequestedOutput("y", **binary)
                        y = server.infer("linear", [input_of(x, **binary)], outputs=[output], request_id="7").as_numpy("y")
                        np.testing.assert_allclose(y, x @ self.w + self.b, rtol=1e-5, atol=1e-6)
                with self.assertRaisesRegex(Exception, "has the shape 5x3"):
                    server.infer("linear", [input_of(np.zeros((5, 3), np.float32))])
                server.unload_model("linear")
                self.assertFalse(server.is_model_ready("linear"))
                server.load_model("linear")
                self.assertTrue(server.is_model_ready("linear"))

    def test_what_is_wrong_is_answered(self):
        self.write_model()
        (self.folder / "models/broken.onnx").write_bytes(b"no model")
        self.start()
        self.assertIn("broken", self.said)
        self.assertEqual(self.ask("/v2/health/ready")[0], 503)
        self.assertEqual(self.ask("/v2/models/linear/ready")[0], 200)
        for body, text in ((b"", "not the JSON"), (b"{}", "'x' is missing"), (b'{"inputs":[{"name":"x","datatype":"FP32","shape":[9,3]'
                           b',"binary_data_size":1}]}', "has no data")):
            status, answer = self.ask("/v2/models/linear/infer", body)
            self.assertEqual(status, 400)
            self.assertIn(text, json.loads(answer)["error"])
        self.assertEqual(self.ask("/v2/models/broken/infer", b"{}")[0], 404)
        self.assertEqual(self.ask("/v2/repository/models/linear/unload", b"")[0], 403)

    def test_a_token_is_asked_for(self):
        self.write_model()
        (self.folder / "token").write_text("secret\n")
        self.start("--token-file", str(self.folder / "token"))
        self.assertEqual(self.ask("/v2/health/live")[0], 401)
        self.assertEqual(self.ask("/v2/health/live", headers={"Authorization": "Bearer secret"})[0], 200)

    def test_options_are_the_servers(self):
        self.assertIn("--model-repository", self.succeed("serve", "--help"))
        for arguments, text, code in ((["/no/such/folder"], "/no/such/folder", 8002), ([], "--model-repository", 8001),
                                      ([str(self.folder), "--nonsense"], "--nonsense", 8001),
                                      ([str(self.folder), "--http-port=99999"], "99999", 8001)):
            result = subprocess.run([TENON, "serve", *arguments, *["--metrics-port=0"]], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stdout + result.stderr, rf"{re.escape(text)}.* \[TN{code}\]\n")
