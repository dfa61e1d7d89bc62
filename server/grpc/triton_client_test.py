"""Every call of tritonclient over gRPC, against made-up models: triton_client_test.py FAKE_SERVER.

Exits with 77 where tritonclient is not installed (pip install tritonclient[grpc]).
"""
import asyncio
import queue
import subprocess
import sys
import unittest

try:
    import ml_dtypes
    import numpy as np
    import tritonclient.grpc as triton
    import tritonclient.grpc.aio as triton_aio
    from tritonclient.utils import InferenceServerException
except ImportError as error:
    print(f"skipped: {error}; pip install tritonclient[grpc]")
    sys.exit(77)

FAKE_SERVER = sys.argv.pop() if len(sys.argv) > 1 else ""


def input_of(array, datatype="FP32"):
    made = triton.InferInput("x", list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


class TritonClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([FAKE_SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
        cls.address = f"127.0.0.1:{int(cls.server.stdout.readline())}"
        cls.client = triton.InferenceServerClient(cls.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.communicate()
        assert cls.server.returncode == 0

    def expect_error(self, status, text, call, *arguments, **options):
        with self.assertRaises(InferenceServerException) as caught:
            call(*arguments, **options)
        self.assertEqual(caught.exception.status(), f"StatusCode.{status}")
        self.assertEqual(caught.exception.message(), text)

    def test_health_and_metadata(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("double", "1"))
        self.assertFalse(self.client.is_model_ready("triple"))
        self.assertEqual(self.client.get_server_metadata().name, "tenon")
        metadata = self.client.get_model_metadata("double")
        self.assertEqual(list(metadata.versions), ["1", "2"])
        self.assertEqual(list(metadata.inputs[0].shape), [-1, 4])
        config = self.client.get_model_config("double", as_json=True)["config"]
        self.assertEqual(config["max_batch_size"], 8)
        self.assertEqual(config["input"][0]["data_type"], "TYPE_FP32")
        self.assertTrue(self.client.get_inference_statistics("double").model_stats)

    def test_repository(self):
        index = self.client.get_model_repository_index(as_json=True)["models"]
        self.assertIn({"name": "broken", "version": "1", "state": "UNAVAILABLE",
                       "reason": "its plan is damaged"}, index)
        self.client.unload_model("echo_INT8")
        self.assertFalse(self.client.is_model_ready("echo_INT8"))
        self.client.load_model("echo_INT8")
        self.assertTrue(self.client.is_model_ready("echo_INT8"))
        self.client.load_model("double", config='{"max_batch_size": 8}')
        with self.assertRaisesRegex(InferenceServerException, "a model's files are those of its folder"):
            self.client.load_model("double", config="{}", files={"file:1/model.onnx": b"x"})

    def test_infer(self):
        x = np.arange(8, dtype=np.float32).reshape(2, 4)
        answer = self.client.infer("double", [input_of(x)], request_id="5", model_version="1",
                                   priority=2, timeout=10_000_000, client_timeout=60)
        np.testing.assert_array_equal(answer.as_numpy("y"), x * 2)
        np.testing.assert_array_equal(answer.as_numpy("sum"), x.sum(axis=1))
        self.assertEqual(answer.get_response().id, "5")
        self.assertEqual(answer.get_response().model_version, "1")
        answer = self.client.infer("double", [input_of(x)],
                                   outputs=[triton.InferRequestedOutput("sum")])
        self.assertIsNone(answer.as_numpy("y"))

    def test_types(self):
        for datatype, dtype in {"FP32": np.float32, "FP16": np.float16, "BF16": ml_dtypes.bfloat16,
                                "INT8": np.int8, "UINT8": np.uint8, "INT32": np.int32,
                                "INT64": np.int64, "BOOL": np.bool_}.items():
            x = np.array([0, 1, 1, 0, 1]).astype(dtype)
            answer = self.client.infer(f"echo_{datatype}", [input_of(x, datatype)]).as_numpy("y")
            self.assertEqual(answer.dtype, x.dtype)
            np.testing.assert_array_equal(answer, x)

    def test_large_tensors(self):
        x = np.arange(50_000_000 // 16 * 4, dtype=np.float32).reshape(-1)
        np.testing.assert_array_equal(
            self.client.infer("echo_FP32", [input_of(x)]).as_numpy("y"), x)

    def test_errors(self):
        x = np.zeros((1, 4), np.float32)
        self.expect_error("NOT_FOUND", "there is no model 'triple'", self.client.infer, "triple",
                          [input_of(x)])
        words = triton.InferInput("x", [1], "BYTES")
        words.set_data_from_numpy(np.array([b"word"], dtype=np.object_))
        self.expect_error(
            "INVALID_ARGUMENT", "input 'x': datatype 'BYTES' is not supported; expected FP32, "
            "FP16, BF16, INT8, UINT8, INT32, INT64 or BOOL", self.client.infer, "double", [words])

    def test_settings(self):
        self.assertEqual(self.client.get_log_settings(as_json=True)["settings"]["log_info"],
                         {"bool_param": True})
        self.client.update_log_settings({"log_info": False})
        self.assertEqual(self.client.get_log_settings(as_json=True)["settings"]["log_info"],
                         {"bool_param": False})
        self.client.update_log_settings({"log_info": True})
        self.assertEqual(self.client.get_trace_settings(as_json=True)["settings"]["trace_level"],
                         {"value": ["OFF"]})
        with self.assertRaisesRegex(InferenceServerException, "setting 'log_file'"):
            self.client.update_log_settings({"log_file": "/tmp/log"})
        changed = self.client.update_trace_settings(settings={"trace_rate": "5"}, as_json=True)
        self.assertEqual(changed["settings"]["trace_rate"], {"value": ["5"]})
        cleared = self.client.update_trace_settings(settings={"trace_rate": None}, as_json=True)
        self.assertEqual(cleared["settings"]["trace_rate"], {"value": ["1000"]})
        with self.assertRaisesRegex(InferenceServerException, "there is no file"):
            self.client.update_trace_settings(settings={"trace_level": "TIMESTAMPS"})

    def test_classes(self):
        x = np.float32([[1, 5, 3, 4], [8, 6, 7, 9]])
        answer = self.client.infer("double", [input_of(x)],
                                   outputs=[triton.InferRequestedOutput("y", class_count=2)])
        np.testing.assert_array_equal(answer.as_numpy("y"),
                                      np.array([[b"10:1", b"8:3"], [b"18:3", b"16:0"]], np.object_))

    def test_asynchronous(self):
        answers = queue.Queue()
        for i in range(100):
            x = np.full((1, 4), i, np.float32)
            self.client.async_infer("double", [input_of(x)],
                                    lambda result, error: answers.put((result, error)),
                                    request_id=str(i))
        for _ in range(100):
            result, error = answers.get(timeout=60)
            self.assertIsNone(error)
            self.assertEqual(result.as_numpy("y")[0, 0], 2 * int(result.get_response().id))

    def test_stream(self):
        answers = queue.Queue()
        self.client.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(1000):
            self.client.async_stream_infer("double", [input_of(np.full((1, 4), i, np.float32))],
                                           request_id=str(i))
        self.client.async_stream_infer("triple", [input_of(np.zeros((1, 4), np.float32))])
        seen, errors = set(), []
        for _ in range(1001):
            result, error = answers.get(timeout=60)
            if error is not None:
                errors.append(error.message())
                continue
            self.assertEqual(result.as_numpy("y")[0, 0], 2 * int(result.get_response().id))
            seen.add(result.get_response().id)
        self.client.stop_stream()
        self.assertEqual(len(seen), 1000)
        self.assertEqual(errors, ["there is no model 'triple'"])

    def test_asyncio(self):
        async def run():
            async with triton_aio.InferenceServerClient(self.address) as client:
                x = np.ones((1, 4), np.float32)
                answers = await asyncio.gather(
                    *(client.infer("double", [input_of(x * i)]) for i in range(50)))
                return [float(answer.as_numpy("sum")[0]) for answer in answers]

        self.assertEqual(asyncio.run(run()), [4.0 * i for i in range(50)])


if __name__ == "__main__":
    unittest.main()
