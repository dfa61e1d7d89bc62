"""What HTTP and handles of Ray Serve see of models: routes of the Open Inference Protocol, and streams of answers."""
import asyncio
import contextlib
import json
import typing
import urllib.parse

from tenon._native import _tenon_version
from tenon.ray.protocol import RequestError, error_body, parse_request, write_response

_JSON = {"Content-Type": "application/json"}
_STREAM_REQUESTS = 16  # of one stream that are at work


class Response(typing.NamedTuple):
    """`body` is bytes, or an asynchronous generator of them."""
    status: int
    headers: dict
    body: typing.Any


class Front:
    """Subclasses answer by `answer`, `run`, `describe` and `index`, which raise RequestError."""

    def __init__(self, max_body=64 << 20):
        """`max_body` is the most bytes of a request."""
        self._max_body = max_body

    async def infer(self, inputs, *, model=None, **options):
        """Arrays by name that the engine makes of `inputs`, arrays by name; axis 0 is the batch.

        Options: `outputs`, the names of those that are wanted, all by default; `timeout` in seconds; a higher `priority` goes
        first; `version` of the model, `correlation_id`."""
        return (await self.answer(inputs, model=model, **options))[1]

    async def answer(self, inputs, *, model=None, version=None, **options):
        """The version of the model that answers, and what infer() gives."""
        raise NotImplementedError

    async def run(self, input, **job):
        """What the stages make of an input; `job` as tenon.serve.Pipeline.submit has it."""
        raise NotImplementedError

    async def describe(self, model=None):
        """The model's metadata, as the protocol has it; None where stages take what they like."""
        raise NotImplementedError

    async def index(self):
        """{model: whether it is loaded}."""
        raise NotImplementedError

    async def stream(self, inputs, **options):
        """Yields (index, answer) of each of `inputs` as it is done; `options` as infer() has them. An answer may be a
        RequestError. Where the stream is closed, what is not answered is cancelled."""
        async def answer(numbered):
            index, input = numbered
            try:
                return index, await self._answer(input, options)
            except RequestError as error:
                return index, error

        async with contextlib.aclosing(_as_done(answer, enumerate(inputs))) as answers:
            async for one in answers:
                yield one

    async def _answer(self, input, options):
        return await (self.run(input, **options) if await self.describe() is None else self.infer(input, **options))

    async def __call__(self, request):
        """Of a handle: what infer() or run() make of an input. Of HTTP: the response to a Starlette request."""
        if not (hasattr(request, "scope") and hasattr(request, "stream")):
            return await self._answer(request, {})
        from starlette.responses import Response as Plain
        from starlette.responses import StreamingResponse

        made = await self.respond(request.method, request.url.path, request.headers, request.stream())
        kind = Plain if isinstance(made.body, bytes) else StreamingResponse
        return kind(made.body, made.status, made.headers)

    async def respond(self, method, path, headers, chunks):
        """The Response to a request whose body comes in `chunks`, an asynchronous iterator of bytes. `headers` has small
        letters, or does not mind."""
        try:
            if headers.get("content-encoding", "identity") != "identity":
                raise RequestError(415, "compressed requests are not supported yet")
            return await self._route(method, path, headers, await self._body(chunks))
        except RequestError as error:
            again = {"Retry-After": "1"} if error.status in (429, 503) else {}
            return Response(error.status, {**_JSON, **again}, error_body(error))

    async def _body(self, chunks):
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > self._max_body:
                raise RequestError(413, f"the request is longer than {self._max_body} bytes")
        return bytes(body)

    async def _route(self, method, path, headers, body):
        words = [urllib.parse.unquote(word) for word in path.strip("/").split("/")]
        if words[:2] == ["v2", "health"] and words[2:] in (["live"], ["ready"]):
            return _json({words[2]: True})
        if words == ["v2"]:
            return _json({"name": "tenon", "version": _tenon_version, "extensions": ["binary_tensor_data"]})
        if words == ["v2", "repository", "index"]:
            return _json([{"name": name, "version": "", "state": "READY" if loaded else "UNLOADED"}
                          for name, loaded in (await self.index()).items()])
        if words[:2] == ["v2", "models"] and len(words) > 2:
            name, *rest = words[2:]
            version = rest[1] if rest[:1] == ["versions"] and len(rest) > 1 else None
            return await self._of_model(method, name, version, rest[2 if version else 0:], headers, body, path)
        if method == "POST" and await self.describe() is None:
            return _response_of(await self.run(body, correlation_id=headers.get("traceparent", "")))
        raise RequestError(404, f"there is nothing at '{path[:100]}'")

    async def _of_model(self, method, name, version, verb, headers, body, path):
        if verb in (["infer"], ["infer_stream"]):
            if method != "POST":
                raise RequestError(405, f"{verb[0]}: expected POST, found {method}")
            call = self._infer if verb == ["infer"] else self._infer_stream
            return await call(name, version, headers, body)
        metadata = await self.describe(name)
        if metadata is None or (version is not None and version not in metadata["versions"]):
            raise RequestError(404, f"there is no model '{name[:100]}' with tensors" if version is None
                               else f"{name[:100]}: there is no version {version[:100]}")
        if verb == ["ready"]:
            return _json({"name": name, "ready": True})
        if verb:
            raise RequestError(404, f"there is nothing at '{path[:100]}'")
        return _json(metadata)

    async def _answer_of(self, name, version, headers, request):
        """The body of a response, and its headers."""
        found, made = await self.answer(request.inputs, model=name, version=version, outputs=request.outputs,
                                        timeout=request.timeout, priority=request.priority,
                                        correlation_id=headers.get("traceparent") or request.id)
        return write_response(name, found, request, made)

    async def _infer(self, name, version, headers, body):
        request = parse_request(body, headers.get("inference-header-content-length"))
        made, of_response = await self._answer_of(name, version, headers, request)
        return Response(200, of_response, made)

    async def _infer_stream(self, name, version, headers, body):
        """Each line of the body is a request in JSON, and each line of the response an answer, as it is done; its id says
        whose."""
        lines = [line for line in body.splitlines() if line.strip()]

        async def answer(line):
            try:
                request = parse_request(line)
                if any(request.binary(name) for name in ("", *request.outputs)):
                    raise RequestError(400, "a stream over HTTP has no binary data")
                return (await self._answer_of(name, version, headers, request))[0] + b"\n"
            except RequestError as error:
                return json.dumps({"id": _id_of(line), "status": error.status, "error": str(error)}).encode() + b"\n"

        return Response(200, {"Content-Type": "application/x-ndjson"}, _as_done(answer, lines))


async def _as_done(answer, items):
    """Yields answer(item) of each item as it is done. Where the generator is closed, the others are cancelled."""
    room = asyncio.Semaphore(_STREAM_REQUESTS)

    async def bounded(item):
        async with room:
            return await answer(item)

    tasks = [asyncio.ensure_future(bounded(item)) for item in items]
    try:
        for task in asyncio.as_completed(tasks):
            yield await task
    finally:
        for task in tasks:
            task.cancel()


def _json(value):
    return Response(200, _JSON, json.dumps(value).encode())


def _response_of(output):
    """Of what stages of the application made."""
    if isinstance(output, (bytes, bytearray, memoryview)):
        return Response(200, {"Content-Type": "application/octet-stream"}, bytes(output))
    if isinstance(output, str):
        return Response(200, {"Content-Type": "text/plain; charset=utf-8"}, output.encode())
    try:
        return _json(output)
    except (TypeError, ValueError):
        raise RequestError(500, f"the post-processing gave {type(output).__name__}; expected bytes, a string, or what JSON "
                                "has") from None


def _id_of(line):
    try:
        return str(json.loads(line)["id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return ""
