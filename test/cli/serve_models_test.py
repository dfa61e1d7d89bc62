"""What a server makes of models: ensembles with stages, sequences, and a cache of responses; by tritonclient."""
import io
import json
import queue
import subprocess

import numpy as np
import serve_test
import tritonclient.grpc
import tritonclient.http
from onnx import TensorProto, helper, save
from PIL import Image

from support import TENON, CliTest


def steps(*all_steps):
    """ensemble_scheduling of (model, input_map, output_map)."""
    return {"step": [{"model_name": model, "model_version": -1, "input_map": inputs, "output_map": outputs}
                     for model, inputs, outputs in all_steps]}


class ServeModels(CliTest):
    start, ask = serve_test.Serve.start, serve_test.Serve.ask

    def write(self, name, config, nodes=(), inputs=(), outputs=(), constants=()):
        """A model of an ONNX graph, or one that only has a configuration."""
        folder = self.folder / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(config))
        if not nodes:
            return
        (folder / "1").mkdir()
        graph = helper.make_graph(
            list(nodes), "g", *[[helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in side] for side in (inputs, outputs)],
            [helper.make_tensor(n, TensorProto.FLOAT if isinstance(np.ravel(a)[0], np.floating) else TensorProto.INT64, np.shape(a), np.ravel(a))
             for n, a in constants])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "1/model.onnx")

    def clients(self):
        for client, port in ((tritonclient.http, self.port), (tritonclient.grpc, self.grpc_port)):
            with client.InferenceServerClient(f"127.0.0.1:{port}") as server:
                yield client, server

    @staticmethod
    def tensor(client, name, array, datatype):
        made = client.InferInput(name, array.shape, datatype)
        made.set_data_from_numpy(array)
        return made

    def write_detector(self):
        """One box around the middle of the network's input, whose score is the red of a pixel."""
        self.write("decode", {"backend": "tenon_picture", "parameters": {"width": {"string_value": "4"}, "height": {"string_value": "4"}}})
        self.write("boxes", {"backend": "tenon_boxes", "parameters": {"score_threshold": {"string_value": "0.1"}}})
        self.write("network", {"max_batch_size": 0}, [
            helper.make_node("Slice", ["images", "begin", "end", "axes"], ["score"]),
            helper.make_node("Reshape", ["score", "shape"], ["row"]),
            helper.make_node("Concat", ["box", "row"], ["head"], axis=1)],
            [("images", [1, 3, 4, 4])], [("head", [1, 5, 1])],
            [("begin", np.array([0, 1, 1])), ("end", np.array([1, 2, 2])), ("axes", np.array([1, 2, 3])), ("shape", np.array([1, 1, 1])),
             ("box", np.full((1, 4, 1), 2, np.float32))])
        outputs = [{"name": f"detection_{what}"} for what in ("boxes", "scores", "classes")]
        self.write("detect", {"platform": "ensemble", "input": [{"name": "picture", "data_type": "TYPE_UINT8", "dims": [-1]}], "output": outputs,
                              "ensemble_scheduling": steps(
                                  ("decode", {"picture": "picture"}, {"images": "images", "placement": "placement"}),
                                  ("network", {"images": "images"}, {"head": "head"}),
                                  ("boxes", {"head": "head", "placement": "placement"}, {o["name"]: o["name"] for o in outputs}))})

    def test_an_ensemble_takes_a_jpeg_and_gives_boxes(self):
        self.write_detector()
        self.start()
        file = io.BytesIO()
        Image.new("RGB", (8, 4), (204, 204, 204)).save(file, "JPEG", quality=100)
        picture = np.frombuffer(file.getvalue(), np.uint8)
        for client, server in self.clients():
            answer = server.infer("detect", [self.tensor(client, "picture", picture, "UINT8")])
            # The middle of 4x4 pixels, twice as large, less the border above.
            np.testing.assert_array_equal(answer.as_numpy("detection_boxes"), [[2, 0, 6, 4]])
            np.testing.assert_allclose(answer.as_numpy("detection_scores"), [0.8], atol=0.01)
            np.testing.assert_array_equal(answer.as_numpy("detection_classes"), [0])
            with self.assertRaisesRegex(Exception, r"detect, step 1 \(model 'decode'\).*neither a JPEG nor a PNG"):
                server.infer("detect", [self.tensor(client, "picture", np.zeros(9, np.uint8), "UINT8")])
        counts = {model["name"]: model["inference_stats"]["success"]["count"] for model in json.loads(self.ask("/v2/models/stats")[1])["model_stats"]}
        self.assertEqual(counts, {"decode": 2, "network": 2, "boxes": 2, "detect": 2})
        self.assertEqual(json.loads(self.ask("/v2/models/detect")[1])["platform"], "ensemble")
        over_http = json.loads(self.ask("/v2/models/detect/config")[1])
        with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.grpc_port}") as server:
            over_grpc = server.get_model_config("detect", as_json=True)["config"]
        for config in (over_http, over_grpc):
            self.assertEqual(config["platform"], "ensemble")
            self.assertNotIn("dynamic_batching", config)
            decode, network, boxes = config["ensemble_scheduling"]["step"]
            self.assertEqual((decode["model_name"], int(decode["model_version"])), ("decode", -1))
            self.assertEqual(network["input_map"], {"images": "images"})
            self.assertEqual(boxes["output_map"], {f"detection_{what}": f"detection_{what}" for what in ("boxes", "scores", "classes")})

    def test_members_are_unloaded_and_loaded_with_their_ensemble(self):
        self.write_detector()
        self.start("--model-control-mode=explicit")
        for client, server in self.clients():
            server.unload_model("detect", unload_dependents=True)
            self.assertFalse(server.is_model_ready("decode"))
            server.load_model("detect")
            self.assertTrue(server.is_model_ready("decode"))
            server.unload_model("network")
            with self.assertRaisesRegex(Exception, r"detect, step 2 \(model 'network'\): model 'network' is not ready"):
                server.infer("detect", [self.tensor(client, "picture", np.zeros(9, np.uint8), "UINT8")])
            server.load_model("network")

    def test_a_broken_ensemble_says_why(self):
        self.write("detect", {"platform": "ensemble", "input": [{"name": "x"}], "output": [{"name": "y"}],
                              "ensemble_scheduling": steps(("nothing", {"x": "x"}, {"y": "y"}))})
        self.start()
        self.assertIn("detect: step 1 (model 'nothing'): there is no model 'nothing'", self.said)
        self.assertEqual(self.ask("/v2/health/ready")[0], 503)

    def write_sums(self):
        """y: the sum of what came in a sequence."""
        self.write("sums", {"max_batch_size": 4, "sequence_batching": {
            "max_sequence_idle_microseconds": 30_000_000,
            "control_input": [{"name": "start", "control": [{"kind": "CONTROL_SEQUENCE_START", "fp32_false_true": [0, 1]}]}],
            "state": [{"input_name": "sum", "output_name": "next", "data_type": "TYPE_FP32", "dims": [1]}]}}, [
                helper.make_node("Add", ["x", "sum"], ["next"]),
                helper.make_node("Add", ["next", "start"], ["y"])],
            [("x", ["n", 1]), ("sum", ["n", 1]), ("start", ["n", 1])], [("y", ["n", 1]), ("next", ["n", 1])])

    def test_sequences_keep_their_states(self):
        self.write_sums()
        self.start()
        self.assertEqual([i["name"] for i in json.loads(self.ask("/v2/models/sums")[1])["inputs"]], ["x"])
        for client, server in self.clients():
            def add(x, name, **options):
                answer = server.infer("sums", [self.tensor(client, "x", np.full((1, 1), x, np.float32), "FP32")], sequence_id=name, **options)
                return answer.as_numpy("y").item()
            self.assertEqual(add(1, 5, sequence_start=True), 2)
            self.assertEqual(add(10, "camera", sequence_start=True), 11)
            self.assertEqual(add(2, 5), 3)
            self.assertEqual(add(20, "camera"), 30)
            self.assertEqual(add(3, 5, sequence_end=True), 6)
            self.assertEqual(add(1, "camera", sequence_end=True), 31)
            for name in 5, "camera":
                with self.assertRaisesRegex(Exception, "there is no sequence"):
                    add(1, name)
            with self.assertRaisesRegex(Exception, "sequence_id"):
                add(1, 0, sequence_start=True)

    def test_streams_have_sequences(self):
        self.write_sums()
        self.start()
        answers = queue.Queue()
        with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.grpc_port}") as server:
            server.start_stream(lambda result, error: answers.put((result, error)))
            for i in range(1, 51):
                for name in 1, 2, 3:
                    server.async_stream_infer("sums", [self.tensor(tritonclient.grpc, "x", np.full((1, 1), i * name, np.float32), "FP32")],
                                              sequence_id=name, sequence_start=i == 1, sequence_end=i == 50, request_id=f"{name} {i}")
            seen = {1: [], 2: [], 3: []}
            for _ in range(150):
                result, error = answers.get(timeout=60)
                self.assertIsNone(error)
                seen[int(result.get_response().id.split()[0])].append(result.as_numpy("y").item())
        for name, sums in seen.items():
            self.assertEqual(sums, [name * i * (i + 1) / 2 + (i == 1) for i in range(1, 51)])

    def test_responses_are_cached(self):
        self.write("twice", {"max_batch_size": 4, "response_cache": {"enable": True}}, [helper.make_node("Add", ["x", "x"], ["y"])],
                   [("x", ["n", 2])], [("y", ["n", 2])])
        self.start("--cache-config=local,size=1048576")
        for client, server in self.clients():
            for x in (1, 1, 2, 1):
                array = np.full((1, 2), x, np.float32)
                answer = server.infer("twice", [self.tensor(client, "x", array, "FP32")], request_id="9")
                np.testing.assert_array_equal(answer.as_numpy("y"), 2 * array)
        model, = json.loads(self.ask("/v2/models/twice/stats")[1])["model_stats"]
        self.assertEqual(model["inference_count"], 2)
        stats = model["inference_stats"]
        self.assertEqual([stats[name]["count"] for name in ("success", "cache_hit", "cache_miss")], [8, 6, 2])
        with tritonclient.grpc.InferenceServerClient(f"127.0.0.1:{self.grpc_port}") as server:
            self.assertEqual(server.get_inference_statistics("twice").model_stats[0].inference_stats.cache_hit.count, 6)
        metrics = self.ask("/metrics", port=self.metrics_port)[1].decode()
        self.assertIn('nv_cache_num_hits_per_model{model="twice",version="1"} 6', metrics)
        self.assertIn('nv_cache_num_misses_per_model{model="twice",version="1"} 2', metrics)

    def test_status_is_printed(self):
        self.write_sums()
        (self.folder / "models/broken.onnx").write_bytes(b"no model")
        self.start()
        status = ["serve", "--status", f"--metrics-port={self.metrics_port}", "--metrics-address=127.0.0.1"]
        lines = [line.split() for line in self.succeed(*status).splitlines()]
        self.assertEqual(lines[0][:5], ["model", "version", "state", "answered", "failed"])
        self.assertEqual(lines[1][:3], ["broken", "1", "UNAVAILABLE"])
        self.assertEqual(lines[2][:5], ["sums", "1", "READY", "0", "0"])
        self.server.kill()
        self.server.wait()
        self.refuse(*status, names=[f"127.0.0.1:{self.metrics_port}: "])

    def test_the_page_can_be_turned_off(self):
        self.write_sums()
        self.start()
        status, page = self.ask("/")
        self.assertEqual(status, 200)
        self.assertIn(b"<!DOCTYPE html>", page)
        self.assertIn(b"tenon_model_state", self.ask("/metrics")[1])
        self.server.kill()
        self.start("--allow-status-page=false")
        self.assertEqual(self.ask("/")[0], 404)
        self.assertEqual(self.ask("/metrics")[0], 404)

    def test_a_cache_needs_a_size(self):
        for text in ("redis,host=x", "local,size=", "local,size=-5", "local,size=9MB"):
            result = subprocess.run([TENON, "serve", self.folder, f"--cache-config={text}"], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn("--cache-config: expected local,size=BYTES", result.stderr)
