"""A peer of tenon-server: ONNX Runtime behind Ray Serve's HTTP proxy, speaking the Open Inference Protocol with binary tensors.

    python bench/ray_server.py MODEL.onnx PORT WORKERS THREADS      # requests at a time, and threads of each
"""
import asyncio
import concurrent.futures
import json
import pathlib
import signal
import sys

import numpy as np
import onnxruntime
import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

TYPES = {"tensor(float)": ("FP32", np.float32), "tensor(int64)": ("INT64", np.int64)}


@serve.deployment(num_replicas=1, max_ongoing_requests=1024, ray_actor_options={"num_cpus": 0})
class Model:
    def __init__(self, path, workers, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options)
        self.inputs, self.outputs = self.session.get_inputs(), self.session.get_outputs()
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)

    def metadata(self):
        inputs = [{"name": x.name, "datatype": TYPES[x.type][0], "shape": [n if isinstance(n, int) else -1 for n in x.shape]} for x in self.inputs]
        return {"name": "model", "versions": ["1"], "platform": "onnxruntime", "inputs": inputs, "outputs": []}

    def run(self, body, length):
        feeds, at = {}, length
        types = {x.name: TYPES[x.type][1] for x in self.inputs}
        for x in json.loads(body[:length])["inputs"]:
            size = x["parameters"]["binary_data_size"]
            feeds[x["name"]] = np.frombuffer(body, types[x["name"]], size // np.dtype(types[x["name"]]).itemsize, at).reshape(x["shape"])
            at += size
        made = self.session.run(None, feeds)
        head = json.dumps({"model_name": "model", "outputs": [
            {"name": x.name, "datatype": TYPES[x.type][0], "shape": array.shape, "parameters": {"binary_data_size": array.nbytes}}
            for x, array in zip(self.outputs, made)]}).encode()
        return head, b"".join([head, *(array.tobytes() for array in made)])

    async def __call__(self, request: Request):
        if request.method == "GET":
            return JSONResponse(self.metadata())
        body = await request.body()
        length = int(request.headers["inference-header-content-length"])
        head, made = await asyncio.get_running_loop().run_in_executor(self.pool, self.run, body, length)
        return Response(made, media_type="application/octet-stream", headers={"Inference-Header-Content-Length": str(len(head))})


def main(path, port, workers, threads):
    ray.init(log_to_driver=False, include_dashboard=False)
    serve.start(http_options={"host": "127.0.0.1", "port": int(port)})
    serve.run(Model.bind(str(pathlib.Path(path).resolve()), int(workers), int(threads)))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # and Ray's own processes end
    print("ready", flush=True)
    signal.pause()


main(*sys.argv[1:])
