"""How an application of tenon.ray scales over replicas, and what its callers see when one dies.

    python bench/scale_out.py [--replicas 1 2 4 8 16] [--nodes 4] [--json FILE]

Ray runs on this machine as several nodes. The engine is synthetic: a batch takes a fixed time, in which it sleeps, so that what is
measured is what lies between callers and engines. The interpreter needs `ray[serve]` and the package `tenon`.
"""
import argparse
import asyncio
import collections
import json
import os
import pathlib
import random
import signal
import time

import ray
from ray import serve
from ray.cluster_utils import Cluster

import tenon.ray

CALLERS = 3  # of a batch, for each replica: one runs, one waits in the replica, and one with the caller


def sleeper(seconds):
    """A function that gives an engine whose batches take `seconds`; its answers are the process that answered."""
    def make():
        import os
        import time

        def engine(batch):
            time.sleep(seconds)
            return [os.getpid()] * len(batch)
        return engine
    return make


def start_nodes(nodes, replicas):
    """A Ray cluster of a head and some nodes with room for all replicas."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(nodes):
        cluster.add_node(num_cpus=-(-replicas // nodes))
    ray.init(address=cluster.address, logging_level="ERROR", log_to_driver=False)
    serve.start(proxy_location="Disabled")
    return cluster


def deploy(options, replicas, routers=0):
    """The handle of an application; answers are process ids."""
    app = tenon.ray.app(sleeper(options.batch_seconds), postprocess=lambda _, pid: pid, max_batch=options.batch,
                        min_replicas=replicas, max_replicas=replicas, max_requests=2 * options.batch, adaptive=False,
                        max_wait=options.batch_seconds / 20, routers=routers, max_queued_requests=-1,
                        deployment={"health_check_period_s": 1, "health_check_timeout_s": 5})
    return serve.run(app, route_prefix=None)


class Calls:
    """What became of requests: (begin, seconds, answer or the error's name), each once."""

    def __init__(self, handle):
        self._handle, self.made = handle, []

    async def one(self):
        begin = time.monotonic()
        try:
            answer = await self._handle.run.remote(b"")
        except Exception as error:
            answer = type(error).__name__
        self.made.append((begin, time.monotonic() - begin, answer))

    async def closed_loop(self, callers, seconds):
        """Each caller sends its next request when it has the answer. Returns answers in a second."""
        begin = time.monotonic()

        async def call():
            while time.monotonic() < begin + seconds:
                await self.one()

        await asyncio.gather(*(call() for _ in range(callers)))
        # The last round ends one by one: it is not counted.
        ends = [at + took for at, took, answer in self.made if isinstance(answer, int)]
        return sum(begin + 1 <= end < begin + seconds for end in ends) / (seconds - 1)

    async def open_loop(self, rate, seconds):
        """Requests come by Poisson's law, whatever became of those before."""
        begin, tasks, at = time.monotonic(), [], 0.0
        law = random.Random(1)
        while at < seconds:
            at += law.expovariate(rate)
            await asyncio.sleep(max(begin + at - time.monotonic(), 0))
            tasks.append(asyncio.ensure_future(self.one()))
        await asyncio.gather(*tasks)
        return len(tasks)


def quantile(values, share):
    values = sorted(values)
    return round(values[min(int(len(values) * share), len(values) - 1)], 3) if values else None


def measure_scaling(options):
    rows = []
    for replicas in options.replicas:
        handle = deploy(options, replicas)
        callers = CALLERS * options.batch * replicas
        asyncio.run(Calls(handle).closed_loop(callers, 3))
        calls, cpu = Calls(handle), time.process_time()
        rate = asyncio.run(calls.closed_loop(callers, options.seconds))
        times = [took for _, took, _ in calls.made]
        row = {"replicas": replicas, "callers": callers, "answers_per_second": round(rate, 1),
               "of_ideal": round(rate * options.batch_seconds / options.batch / replicas, 3),
               "of_one_times_replicas": round(rate / replicas / (rows[0]["answers_per_second"] / rows[0]["replicas"] if rows else rate / replicas), 3),
               "p50": quantile(times, 0.5), "p99": quantile(times, 0.99),
               "errors": sum(not isinstance(answer, int) for *_, answer in calls.made),
               "caller_cpu_ms_per_request": round(1e3 * (time.process_time() - cpu) / len(calls.made), 2)}
        print(row, flush=True)
        rows.append(row)
    return rows


def measure_death(options, routers):
    """Half of the largest number of replicas under 70 % load; one of them is killed in the middle."""
    replicas = max(options.replicas[-1] // 2, 2)
    handle = deploy(options, replicas, routers)
    rate = 0.7 * replicas * options.batch / options.batch_seconds
    third = max(options.seconds, 10)
    asyncio.run(Calls(handle).closed_loop(replicas * options.batch, 3))
    calls = Calls(handle)

    async def run():
        load = asyncio.ensure_future(calls.open_loop(rate, 3 * third))
        await asyncio.sleep(third)
        victim = next(answer for _, _, answer in reversed(calls.made) if isinstance(answer, int))
        os.kill(victim, signal.SIGKILL)
        return time.monotonic(), victim, await load

    at, victim, sent = asyncio.run(run())
    before = {answer for begin, took, answer in calls.made if begin + took < at}
    news = [begin + took for begin, took, answer in calls.made if begin + took > at and isinstance(answer, int) and answer not in before]
    phases = {"before": (0, at - options.batch_seconds * 4), "ten_seconds_around": (at - options.batch_seconds * 4, at + 10),
              "after": (at + 10, float("inf"))}
    row = {"replicas": replicas, "routers": routers, "requests_per_second": round(rate, 1), "sent": sent, "ended": len(calls.made),
           "answered": sum(isinstance(answer, int) for *_, answer in calls.made),
           "refused": dict(collections.Counter(answer for *_, answer in calls.made if not isinstance(answer, int))),
           "seconds_until_a_new_replica_answers": round(min(news) - at, 1) if news else None,
           "answers_of_the_dead_replica_after": sum(answer == victim and begin > at for begin, _, answer in calls.made),
           **{f"p99_{name}": quantile([took for begin, took, _ in calls.made if low <= begin < high], 0.99)
              for name, (low, high) in phases.items()},
           "longest": quantile([took for _, took, _ in calls.made], 1)}
    print(row, flush=True)
    assert row["sent"] == row["ended"], "each request ends once"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--batch-seconds", type=float, default=1)
    parser.add_argument("--seconds", type=float, default=15, help="of each measurement")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    cluster = start_nodes(options.nodes, options.replicas[-1])
    try:
        made = {"cpus": os.cpu_count(), "load_before": os.getloadavg()[0], "ray": ray.__version__,
                "nodes": options.nodes, "batch": options.batch, "batch_seconds": options.batch_seconds,
                "scaling": measure_scaling(options), "death": [measure_death(options, routers) for routers in (0, 1)]}
        made["load_after"] = os.getloadavg()[0]
    finally:
        serve.shutdown()
        ray.shutdown()
        cluster.shutdown()
    if options.json:
        options.json.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
