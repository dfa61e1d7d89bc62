"""Clients that a server must survive, each a coroutine that does one bad thing with one connection and says what is wrong with
the response, if anything is."""
import asyncio
import json
import os
import random
import socket
import struct

INFER = b"POST /v2/models/work/infer HTTP/1.1\r\nHost: h\r\n"


class Wrong(AssertionError):
    """The server's response is not what it should be."""


async def connect(port, rcvbuf=None):
    raw = socket.socket()
    if rcvbuf:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, ("127.0.0.1", port))
    return await asyncio.open_connection(sock=raw)


async def status_of(reader):
    """Of the next response; None where the connection ends without one."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
    await asyncio.wait_for(reader.readexactly(length), 60)
    return int(head.split(b" ")[1])


async def expect(port, message, *statuses):
    """Sends it and compares the response's status; None is a connection that is closed."""
    reader, writer = await connect(port)
    try:
        try:
            writer.write(message)
            await writer.drain()
        except ConnectionError:
            pass
        status = await status_of(reader)
    finally:
        writer.transport.abort()
    if status not in statuses:
        raise Wrong(f"{message[:80]!r}: expected {statuses}, found {status}")


def request(body, **headers):
    headers = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in {"Content-Length": len(body), **headers}.items())
    return INFER + headers.encode() + b"\r\n" + body


def good_body(size, rows=1):
    return json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, size], "data": [0.5] * (rows * size)}]}).encode()


# Busy and overloaded is no fault of the response: 429 and 503 may be the answer to all that would reach the model.
async def deep_json(port, size):
    await expect(port, request(b'{"inputs":' + b"[" * 100_000), 400)


async def oversized_body(port, size):
    await expect(port, INFER + b"Content-Length: 1000000000000\r\n\r\n", 413)


async def oversized_chunks(port, size):
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"
    await expect(port, INFER + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 40, 413, 429, None)


async def oversized_header(port, size):
    await expect(port, INFER + b"".join(b"X-%d: y\r\n" % i for i in range(10_000)) + b"\r\n", 431, None)


async def wrong_json_length(port, size):
    await expect(port, request(good_body(size), Inference_Header_Content_Length=10**9), 400)


async def wrong_binary_size(port, size):
    header = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, size], "parameters": {"binary_data_size": 2**40}}]}).encode()
    await expect(port, request(header + b"1234", Inference_Header_Content_Length=len(header)), 400)


async def wrong_shape(port, size):
    await expect(port, request(json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [2**62, 2**62], "data": [1]}]}).encode()), 400)


async def no_such_model(port, size):
    await expect(port, b"POST /v2/models/..%2f..%2fetc%2fpasswd/infer HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 404)


async def garbage(port, size):
    await expect(port, os.urandom(300) + b"\r\n\r\n", 400, None)


async def reset(port, size):
    """Goes away, with a reset, before it is answered."""
    reader, writer = await connect(port)
    writer.write(request(good_body(size)))
    await asyncio.sleep(random.uniform(0, 0.005))
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def half_a_request(port, size):
    """Announces a body, sends a part of it, and goes."""
    reader, writer = await connect(port)
    body = good_body(size)
    writer.write(request(body)[:-len(body) // 2])
    await asyncio.sleep(random.uniform(0, 0.2))
    writer.close()


async def half_open(port, size):
    """Says nothing for a while."""
    reader, writer = await connect(port)
    writer.write(random.choice([b"", b"POST /v2/mod"]))
    await asyncio.sleep(random.uniform(0, 2))
    writer.transport.abort()


async def slow_reader(port, size):
    """Sends many requests at once, and reads the responses a little at a time, or not to the end."""
    reader, writer = await connect(port, rcvbuf=4096)
    writer.write(request(good_body(size, 4)) * 20)
    for _ in range(random.randrange(40)):
        await asyncio.sleep(0.02)
        if not await reader.read(512):
            break
    writer.transport.abort()


async def grpc_garbage(port, size):
    reader, writer = await connect(port)
    writer.write(random.choice([os.urandom(100), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + os.urandom(200), b"PRI * HTTP/2.0\r\n"]))
    await asyncio.sleep(random.uniform(0, 0.2))
    writer.transport.abort()


OVER_HTTP = [deep_json, oversized_body, oversized_chunks, oversized_header, wrong_json_length, wrong_binary_size, wrong_shape, no_such_model,
             garbage, reset, half_a_request, half_open, slow_reader]
OVER_GRPC = [grpc_garbage]


async def attack(http_port, grpc_port, size, stop, at_once=24):
    """Until `stop` is set; how often each was done, and what was wrong."""
    done, wrong = {}, []

    async def client():
        while not stop.is_set():
            what = random.choice(OVER_HTTP + OVER_GRPC)
            try:
                await what(grpc_port if what in OVER_GRPC else http_port, size)
            except Wrong as problem:
                wrong.append(f"{what.__name__}: {problem}")
            except (ConnectionError, asyncio.IncompleteReadError):
                pass  # it was refused, which is as good
            done[what.__name__] = done.get(what.__name__, 0) + 1
            await asyncio.sleep(0.01)

    await asyncio.gather(*(client() for _ in range(at_once)))
    return done, wrong
