"""A peer of tenon-server: ONNX Runtime behind gRPC's asyncio API, as a service in Python has it.

    python bench/onnxruntime_server.py MODEL.onnx PORT WORKERS THREADS      # requests at a time, and threads of each
"""
import asyncio
import concurrent.futures
import sys

import grpc
import numpy as np
import onnxruntime
from tritonclient.grpc import service_pb2, service_pb2_grpc

TYPES = {"tensor(float)": ("FP32", np.float32), "tensor(int64)": ("INT64", np.int64)}


class Service(service_pb2_grpc.GRPCInferenceServiceServicer):
    def __init__(self, path, workers, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options)
        self.inputs, self.outputs = self.session.get_inputs(), self.session.get_outputs()
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)

    async def ModelMetadata(self, request, context):
        tensors = [service_pb2.ModelMetadataResponse.TensorMetadata(name=x.name, datatype=TYPES[x.type][0],
                                                                    shape=[n if isinstance(n, int) else -1 for n in x.shape]) for x in self.inputs]
        return service_pb2.ModelMetadataResponse(name=request.name, inputs=tensors)

    def run(self, request):
        types = {x.name: TYPES[x.type][1] for x in self.inputs}
        feeds = {x.name: np.frombuffer(raw, types[x.name]).reshape(x.shape) for x, raw in zip(request.inputs, request.raw_input_contents)}
        response = service_pb2.ModelInferResponse(model_name=request.model_name)
        for x, array in zip(self.outputs, self.session.run(None, feeds)):
            response.outputs.add(name=x.name, datatype=TYPES[x.type][0], shape=array.shape)
            response.raw_output_contents.append(array.tobytes())
        return response

    async def ModelInfer(self, request, context):
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.run, request)


async def main(path, port, workers, threads):
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Service(path, int(workers), int(threads)), server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


asyncio.run(main(*sys.argv[1:]))
