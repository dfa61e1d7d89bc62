"""tenon.ray without Ray: what a replica answers, to clients of the Open Inference Protocol and to handles.

What tritonclient writes and reads is the reference of the protocol."""
import asyncio
import json
import pickle
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
import tritonclient.http as triton

import tenon
import tenon.ray
from networks import sum_engine
from tenon.ray.protocol import RequestError, parse_request, write_response


def ask(replica, method, path, body=b"", headers={}):
    """Status, headers and body of a request."""
    async def chunks():
        for at in range(0, len(body), 100):
            yield body[at:at + 100]

    async def answer():
        response = await replica.respond(method, path, headers, chunks())
        if not isinstance(response.body, bytes):
            response = response._replace(body=b"".join([part async for part in response.body]))
        return response

    return asyncio.run(answer())


def request(x, binary, **options):
    """An inference request as tritonclient writes it: its body and its headers."""
    tensor = triton.InferInput("x", x.shape, "FP32").set_data_from_numpy(x, binary_data=binary)
    output = triton.InferRequestedOutput("y", binary_data=binary)
    body, length = triton.InferenceServerClient.generate_request_body([tensor], outputs=[output], **options)
    return body, {} if length is None else {"inference-header-content-length": str(length)}


@pytest.fixture
def replica():
    replica = tenon.ray.Replica(sum_engine, name="sum", adaptive=False)
    yield replica
    replica.close()


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_tritons_clients_requests(replica, binary, rows):
    x = np.random.default_rng(1).normal(size=(rows, 3)).astype(np.float32)
    body, headers = request(x, binary, request_id="seven", timeout=10_000_000, priority=1)
    response = ask(replica, "POST", "/v2/models/sum/infer", body, headers)
    assert response.status == 200, response.body
    length = response.headers.get("Inference-Header-Content-Length")
    result = triton.InferenceServerClient.parse_response_body(response.body, header_length=length and int(length))
    np.testing.assert_allclose(result.as_numpy("y"), 2 * x, rtol=1e-6)
    assert (result.get_response()["model_name"], result.get_response()["id"]) == ("sum", "seven")


def test_metadata_and_health(replica):
    metadata = json.loads(ask(replica, "GET", "/v2/models/sum").body)
    assert metadata == json.loads(ask(replica, "GET", "/v2/models/sum/versions/1").body)
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
    assert metadata["versions"] == ["1"]
    for path, body in (("/v2/health/live", {"live": True}), ("/v2/health/ready", {"ready": True}),
                       ("/v2/models/sum/ready", {"name": "sum", "ready": True}),
                       ("/v2/repository/index", [{"name": "sum", "version": "", "state": "READY"}])):
        assert json.loads(ask(replica, "GET", path).body) == body
    assert json.loads(ask(replica, "GET", "/v2").body)["version"] == tenon.__version__


X = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}


@pytest.mark.parametrize("path, body, status, text", [
    ("infer", b"", 400, "not the JSON"),
    ("infer", b"[" * 100_000, 400, "nested too deep"),
    ("infer", b"[]", 400, "expected a JSON object, found a list"),
    ("infer", {}, 400, "no inputs"),
    ("infer", {"inputs": [X, X]}, 400, "'x' is given twice"),
    ("infer", {"inputs": [{**X, "name": "z"}]}, 400, "there is no input 'z'"),
    ("infer", {"inputs": [{**X, "shape": [2, 3]}]}, 400, "6 elements; its data has 3"),
    ("infer", {"inputs": [{**X, "shape": [1, -3]}]}, 400, "not negative"),
    ("infer", {"inputs": [{**X, "shape": [1, True]}]}, 400, "integers"),
    ("infer", {"inputs": [{**X, "shape": [3]}]}, 400, r"the shape \[3\]; expected \[1, 3\] to \[4, 3\]"),
    ("infer", {"inputs": [{**X, "shape": [5, 3], "data": [0] * 15}]}, 400, r"the shape \[5, 3\]"),
    ("infer", {"inputs": [{**X, "datatype": "INT32"}]}, 400, "element type int32; expected float32"),
    ("infer", {"inputs": [{**X, "datatype": "FP64"}]}, 400, "expected a datatype of"),
    ("infer", {"inputs": [{**X, "datatype": "INT8", "data": [1, 2, 300]}]}, 400, "beyond INT8"),
    ("infer", {"inputs": [{**X, "datatype": "INT32", "data": [1, 2, 1.5]}]}, 400, "not of the datatype INT32"),
    ("infer", {"inputs": [{**X, "data": [1, 2, 1e60]}]}, 400, "beyond FP32"),
    ("infer", b'{"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [NaN]}]}', 400, "NaN"),
    ("infer", {"inputs": [{**X, "data": [[1, 2], [3]]}]}, 400, "differ in shape"),
    ("infer", {"inputs": [{**X, "data": ["a", "b", "c"]}]}, 400, "not of the datatype"),
    ("infer", {"inputs": [{**X, "parameters": {"binary_data_size": 12}}]}, 400, "both"),
    ("infer", {"inputs": [X], "outputs": [{"name": "z"}]}, 400, "there is no output 'z'"),
    ("infer", {"inputs": [X], "outputs": [{"name": "y", "parameters": {"classification": 3}}]}, 400, "not supported yet"),
    ("infer", {"inputs": [X], "parameters": {"timeout": "soon"}}, 400, "timeout: expected an integer"),
    ("infer", {"inputs": [X] * 300}, 400, "at most 256"),
    ("versions/2/infer", {"inputs": [X]}, 404, "there is no version 2"),
    ("nonsense", {}, 404, "nothing at"),
])
def test_what_is_wrong_is_answered(replica, path, body, status, text):
    response = ask(replica, "POST", f"/v2/models/sum/{path}", body if isinstance(body, bytes) else json.dumps(body).encode())
    assert response.status == status
    import re
    assert re.search(text, json.loads(response.body)["error"]), response.body


def test_what_is_wrong_with_binary_data():
    for parameter, length, data, text in ((12, None, b"", "12 bytes"), (8, None, bytes(8), "12 bytes; binary_data_size says 8"),
                                          (12, None, bytes(20), "20 came"), (12, "x", bytes(12), "Content-Length"),
                                          (12, "9" * 5000, bytes(12), "Content-Length")):
        tensor = {"name": "x", "datatype": "FP32", "shape": [1, 3], "parameters": {"binary_data_size": parameter}}
        head = json.dumps({"inputs": [tensor]}).encode()
        with pytest.raises(RequestError, match=text):
            parse_request(head + data, length or str(len(head)))


def test_numbers_that_json_does_not_have():
    x = np.array([[np.nan, np.inf, 1]], np.float32)
    plain = parse_request(json.dumps({"inputs": [X]}).encode())
    with pytest.raises(RequestError, match="NaN or an infinity"):
        write_response("m", "1", plain, {"y": x})
    with pytest.raises(RequestError, match="FP16, which JSON does not have"):
        write_response("m", "1", plain, {"y": x.astype(np.float16)})
    binary = parse_request(json.dumps({"inputs": [X], "parameters": {"binary_data_output": True}}).encode())
    body, headers = write_response("m", "1", binary, {"y": x.astype(np.float16)})
    result = triton.InferenceServerClient.parse_response_body(body, header_length=int(headers["Inference-Header-Content-Length"]))
    np.testing.assert_array_equal(result.as_numpy("y"), x.astype(np.float16))


def test_statuses(replica):
    body, headers = request(np.ones((1, 3), np.float32), False)
    assert ask(replica, "POST", "/v2/models/other/infer", body).status == 404
    assert ask(replica, "GET", "/v2/models/sum/infer").status == 405
    assert ask(replica, "POST", "/", b"picture").status == 404
    assert ask(replica, "POST", "/v2/models/sum/infer", body, {"content-encoding": "gzip"}).status == 415
    small = tenon.ray.Replica(sum_engine, max_body=100)
    assert ask(small, "POST", "/v2/models/model/infer", bytes(101)).status == 413
    small.close()
    replica.close()
    stopped = ask(replica, "POST", "/v2/models/sum/infer", body)
    assert (stopped.status, stopped.headers["Retry-After"]) == (503, "1")


def test_requests_become_batches(replica):
    """Rows of several requests run together, and each request gets its own."""
    async def all_of():
        return await asyncio.gather(*(replica.infer({"x": np.full((1 + i % 2, 3), i, np.float32)}) for i in range(40)))

    for i, made in enumerate(asyncio.run(all_of())):
        np.testing.assert_array_equal(made["y"], np.full((1 + i % 2, 3), 2 * i))
    assert asyncio.run(replica.statistics())["batch"]["mean"] > 1.5


def test_streams(replica):
    async def indices():
        made = {}
        async for index, answer in replica.stream([{"x": np.full((1, 3), i, np.float32)} for i in range(30)] + [{}]):
            made[index] = answer
        return made

    made = asyncio.run(indices())
    assert sorted(made) == list(range(31))
    for i in range(30):
        np.testing.assert_array_equal(made[i]["y"], np.full((1, 3), 2 * i))
    assert made[30].status == 400
    lines = b"\n".join(json.dumps({"id": str(i), "inputs": [{**X, "data": [i] * 3}]}).encode() for i in range(20)) + b'\n{"id":"bad"}\n'
    response = ask(replica, "POST", "/v2/models/sum/infer_stream", lines)
    answers = {answer["id"]: answer for answer in map(json.loads, response.body.splitlines())}
    assert len(answers) == 21 and answers["bad"]["status"] == 400
    assert answers["7"]["outputs"][0]["data"] == [14] * 3


def test_stages_of_the_application():
    """The body goes to preprocess, and what postprocess gives comes out; errors have statuses."""
    gate, began = threading.Event(), threading.Event()

    def engine(batch):
        if batch[0] < 0:
            raise RuntimeError("negative")
        began.set()
        gate.wait(30)
        return [2 * value for value in batch]

    replica = tenon.ray.Replica(lambda: engine, name="twice", preprocess=int, postprocess=lambda body, y: {"twice": y}, max_jobs=1)

    async def overloaded():
        first = asyncio.ensure_future(replica.run(b"3"))
        await asyncio.get_running_loop().run_in_executor(None, began.wait)
        with pytest.raises(RequestError) as full:
            await replica.run(b"3")
        gate.set()
        return full.value.status, await first

    assert asyncio.run(overloaded()) == (429, {"twice": 6})
    assert json.loads(ask(replica, "POST", "/", b"4").body) == {"twice": 8}
    assert ask(replica, "POST", "/", b"-1").status == 500
    assert ask(replica, "POST", "/", b"no number").status == 400
    assert ask(replica, "GET", "/v2/health/ready").status == 200
    assert ask(replica, "POST", "/v2/models/twice/infer", json.dumps({"inputs": [X]}).encode()).status == 404
    gate.clear()

    async def late():
        with pytest.raises(RequestError) as expired:
            await replica.run(b"5", timeout=0.05)
        return expired.value.status

    assert asyncio.run(late()) == 504
    gate.set()
    replica.close()


def test_models_of_a_folder(tmp_path):
    folder, plan = tmp_path / "models", sum_engine().serialize()
    for path in ("one.plan", *(f"two/{version}/model.plan" for version in ("1", "10", "9")), "empty/1/other.plan",
                 "../outside.plan", "../outside/1/model.plan", "../5/model.plan"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(plan)
    (folder / "broken.plan").write_bytes(b"no plan")
    replica = tenon.ray.Replica(folder)
    body, headers = request(np.ones((1, 3), np.float32), True)
    assert json.loads(ask(replica, "GET", "/v2/models/two").body)["versions"] == ["10"]
    states = {entry["name"]: entry["state"] for entry in json.loads(ask(replica, "GET", "/v2/repository/index").body)}
    assert states == {"broken": "UNLOADED", "one": "UNLOADED", "two": "READY"}
    for name, status in (("one", 200), ("two", 200), ("broken", 503), ("..%2Foutside", 404), ("%2E%2E", 404), ("one.plan", 404), ("empty", 404),
                         ("three", 404), ("..", 404), (".", 404), ("", 404), ("%00", 404)):
        response = ask(replica, "POST", f"/v2/models/{name}/infer", body, headers)
        assert response.status == status, (name, response.body)
    replica.close()


def test_what_cannot_be_served(tmp_path):
    for make, error, text in ((lambda: tenon.ray.Replica(3), TypeError, "expected a path"),
                              (lambda: tenon.ray.Replica(tmp_path / "no.plan"), FileNotFoundError, "no.plan"),
                              (lambda: tenon.ray.Replica(tmp_path, name="x"), ValueError, "names of their own"),
                              (lambda: tenon.ray.Replica(lambda: abs), TypeError, "expected a tenon.Engine"),
                              (lambda: tenon.ray.Replica(sum_engine, max_batch=9), ValueError, "at most 4")):
        with pytest.raises(error, match=text):
            make()


def test_errors_travel():
    error = pickle.loads(pickle.dumps(RequestError(429, "full")))
    assert (error.status, str(error)) == (429, "full")


def test_ray_is_asked_for_by_name(tmp_path):
    """Where it is not installed."""
    hidden = "import sys; sys.modules['ray'] = None\n"
    run = subprocess.run([sys.executable, "-c", hidden + "import tenon.ray; tenon.ray.app('x.plan')"], capture_output=True, text=True)
    assert "ImportError: tenon.ray needs Ray Serve: pip install 'tenon[ray]'" in run.stderr
    run = subprocess.run([sys.executable, "-c", hidden + "from tenon.ray.__main__ import main; sys.exit(main(['app.py']))"],
                         capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (1, "tenon serve: tenon.ray needs Ray Serve: pip install 'tenon[ray]'\n")
