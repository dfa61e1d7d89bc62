"""Load for a server that is started here, over both protocols, and for one of Python's that misbehaves."""
import http.server
import json
import re
import shlex
import sys
import threading
import time

import numpy as np
from onnx import TensorProto, helper, save

from support import SOURCE, TENON, CliTest, run

sys.path[:0] = [str(SOURCE / "test/server"), str(SOURCE / "test/docs")]
from blocks import blocks_of  # noqa: E402
from serving import Server, write_model  # noqa: E402


class Load(CliTest):
    def setUp(self):
        super().setUp()
        write_model(self.folder / "models/same.onnx", [helper.make_node("Relu", ["x"], ["y"])], ["n", 3])

    def start(self, *options):
        self.server = Server(TENON, self.folder / "models", *options)
        self.addCleanup(self.server.end)

    def load(self, *options, model="same"):
        """The levels."""
        return json.loads(self.succeed("load", "-m", model, "--json", "-p", "100", "--warmUp=50", "-r", "3", *options))["levels"]

    def test_each_protocol_and_both_loops(self):
        self.start()
        for protocol, port in (("http", self.server.http), ("grpc", self.server.grpc)):
            target = ["-i", protocol, "-u", f"127.0.0.1:{port}"]
            levels = self.load(*target, "--concurrency-range=1:5:4", "-b", "2")
            self.assertEqual([level["concurrency"] for level in levels], [1, 5])
            for level in levels:
                self.assertGreater(level["answered"], 0)
                self.assertAlmostEqual(level["itemsPerSecond"], 2 * level["answersPerSecond"])
                self.assertEqual((level["refused"], level["expired"], level["failed"]), (0, 0, 0))
            level, = self.load(*target, "--request-rate-range=200", "--request-distribution=poisson", "--request-count=100")
            self.assertEqual(level["answered"], 100)
            latency = level["latencyMs"]
            self.assertTrue(0 < latency["min"] <= latency["p50"] <= latency["p99"] <= latency["max"], latency)

    def test_the_server_counts_the_same(self):
        self.start()
        self.load("-u", f"127.0.0.1:{self.server.http}", "--request-count=70", "--concurrency-range=7")
        self.load("-u", f"127.0.0.1:{self.server.http}", "--request-count=30", "--input-tensor-format=json", "--output-tensor-format=json")
        _, metrics = self.server.ask("/metrics", port=self.server.metrics)
        self.assertIn(b'nv_inference_request_success{model="same",version="1"} 100\n', metrics)

    def test_over_unix_sockets(self):
        for protocol in ("http", "grpc"):
            path = self.folder / protocol
            server = Server(TENON, self.folder / "models", **{protocol: f"unix:{path}"})
            self.addCleanup(server.end)
            level, = self.load("-i", protocol, "-u", f"unix:{path}", "--request-count=50", "--concurrency-range=3")
            self.assertEqual(level["answered"], 50)

    def test_refusals_deadlines_and_failures_are_apart(self):
        answers = iter([200, 429, 504, 500, 200])
        lock = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.answer(200, {"name": "m", "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2]}]})

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                with lock:
                    status = next(answers)
                self.answer(status, {"error": "as told"})

            def answer(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever).start()
            times = self.folder / "times.json"
            done = run("load", "-m", "m", "-u", f"127.0.0.1:{server.server_port}", "--json", "--request-count=5", f"--exportTimes={times}")
            server.shutdown()
        level, = json.loads(done.stdout)["levels"]
        self.assertEqual([level[name] for name in ("answered", "refused", "expired", "failed")], [2, 1, 1, 1])
        self.assertEqual(done.returncode, 1)
        self.assertIn('500: {"error": "as told"}', done.stderr)
        recorded, = json.loads(times.read_text())
        self.assertEqual([request["outcome"] for request in recorded], ["answered", "refused", "expired", "failed", "answered"])

    def test_a_stalled_server_is_seen_in_the_open_loop(self):
        """It answers nobody for half a second: who came meanwhile waited for it, also in the generator."""
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            count = 0

            def do_GET(self):
                self.answer(b'{"name": "m", "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2]}]}')

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                Handler.count += 1
                if Handler.count == 20:
                    time.sleep(0.5)
                self.answer(b"{}")

            def answer(self, text):
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:  # one connection at a time
            threading.Thread(target=server.serve_forever).start()
            level, = self.load("-u", f"127.0.0.1:{server.server_port}", "--request-rate-range=100", "--request-count=100", "--connections=1", model="m")
            server.shutdown()
        # Of 100 requests in a second, 50 come in that half of one, and wait for a quarter on average.
        self.assertGreater(level["latencyMs"]["p90"], 250)
        self.assertGreater(level["sendDelayP99Ms"], 250)

    def test_the_table_has_a_line_for_each_level(self):
        self.start()
        lines = self.succeed("load", "-m", "same", "-u", f"127.0.0.1:{self.server.http}", "--concurrency-range=1,3", "-p", "50", "-r", "1", "--warmUp=0").splitlines()
        self.assertRegex(lines[0], "concurrency +answers/s +items/s +mean ms +p50 +p90 +p95 +p99 +answered +refused +expired +failed")
        self.assertEqual([line.split()[0] for line in lines[1:]], ["1", "3"])

    def test_the_guide(self):
        """Its commands, for servers that are here and for a short time, and the head of its table."""
        for name in "resnet50", "bert":
            values = [helper.make_tensor_value_info(tensor, TensorProto.INT64, ["n", 128]) for tensor in ("input_ids", "y")]
            save(helper.make_model(helper.make_graph([helper.make_node("Abs", ["input_ids"], ["y"])], "g", values[:1], values[1:]),
                                   ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), self.folder / f"models/{name}.onnx")
        self.start()
        socket = self.folder / "http"
        other = Server(TENON, self.folder / "models", http=f"unix:{socket}")
        self.addCleanup(other.end)
        commands, table = [block.text for block in blocks_of(SOURCE / "docs/guide/load.md")]
        for line in commands.splitlines():
            tenon, load, *options = shlex.split(line.replace("/run/tenon/http", str(socket)), comments=True)
            self.assertEqual((tenon, load), ("tenon", "load"))
            port = self.server.grpc if "grpc" in options else self.server.http
            url = [] if "-u" in options else ["-u", f"127.0.0.1:{port}"]
            said = self.succeed("load", *options, *url, "-p", "50", "--warmUp=0", "-r", "1")
        self.assertEqual(said.splitlines()[0].split(), table.splitlines()[0].split())

    def test_inputs_of_a_file(self):
        write_model(self.folder / "models/image.onnx", [helper.make_node("Relu", ["x"], ["y"])], [1, 2, 2])
        self.start()
        good, other = self.folder / "good.npz", self.folder / "other.npz"
        np.savez(good, x=np.ones((1, 2, 2), np.float32))
        np.savez(other, x=np.ones((1, 2, 3), np.float32))
        url = f"127.0.0.1:{self.server.http}"
        level, = self.load("-u", url, f"--input-data={good}", "--request-count=5", model="image")
        self.assertEqual(level["answered"], 5)
        self.refuse("load", "-m", "image", "-u", url, f"--input-data={other}", names=["input 'x' has the shape 1x2x2, found 1x2x3"])

    def test_what_is_wrong_is_said(self):
        self.start()
        url = f"127.0.0.1:{self.server.http}"
        for options, text, code in ((["-m", "other", "-u", url], "there is no model 'other'", 8002), (["-m", "same", "-u", "127.0.0.1:1"], "127.0.0.1:1", 8002),
                                    (["-m", "same", "-u", "127.0.0.1:1", "-i", "grpc"], "127.0.0.1:1", 8002), (["-m", "same", "-u", "here"], "HOST:PORT", 8002),
                                    (["-m", "same", "-u", url, "--shape", "y:1"], "no input 'y'", 8002),
                                    (["-m", "same", "--concurrency-range=0"], "--concurrency-range", 8001),
                                    (["-m", "same", "--request-parameter=a"], "--request-parameter", 8001),
                                    (["-m", "same", "-u", url, "-x", "7"], "no version '7'", 8002)):
            self.refuse("load", *options, names=[re.escape(text) + rf".* \[TN{code}\]\n"])
        self.assertIn("--request-rate-range", self.succeed("load", "--help"))
        self.assertNotEqual(run("load").returncode, 0)
