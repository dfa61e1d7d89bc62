"""Applications of Ray Serve: a replica's deployment, and a router's in front where models are many."""
import importlib
import importlib.util
import os
import sys

from tenon.ray.front import Front
from tenon.ray.protocol import RequestError
from tenon.ray.replica import Replica, is_folder

_RETRIES = 1  # of a request whose replica died


def import_serve():
    """The module ray.serve."""
    try:
        from ray import serve
    except ImportError as error:
        raise ImportError("tenon.ray needs Ray Serve: pip install 'tenon[ray]'") from error
    return serve


def app(model, *, name="tenon", num_gpus=0, num_cpus=1, min_replicas=1, max_replicas=1, target_requests=None,
        max_requests=64, max_queued_requests=1024, max_models=3, routers=None, deployment=None, **options):
    """An application of Ray Serve, for serve.run(), or as `app` of a file for `tenon serve --ray` and `serve run`.

    `model` and `options` are those of Replica. Nothing is loaded here: each replica loads in its own process, with the GPU
    that Ray gives it, and is ready when it has run once.

      num_gpus, num_cpus               of each replica
      min_replicas, max_replicas       how many there are follows the number of requests under way
      target_requests                  that a replica has under way on average: twice max_batch, or 8
      max_requests                     that a replica has at most; Tenon makes batches of them
      max_queued_requests              that a caller holds beyond these; others are refused with 429
      max_models                       of a folder, that a replica has loaded at once
      routers                          processes that find replicas by the model's name, and ask another one where a replica
                                       dies: 1 for a folder, else 0, so that replicas take HTTP themselves
      deployment                       more options of serve.deployment, of the replicas
    """
    serve = import_serve()
    many = is_folder(model)
    target = target_requests or 2 * (options.get("max_batch") or 4)

    class TenonReplica(Replica):
        if many:
            @serve.multiplexed(max_num_models_per_replica=max_models)
            async def _loaded(self, name):
                return await self._load(name)

    counts = ({"num_replicas": max_replicas} if min_replicas == max_replicas else
              {"autoscaling_config": {"min_replicas": min_replicas, "max_replicas": max_replicas, "target_ongoing_requests": target}})
    refuse = {"max_queued_requests": max_queued_requests, "backpressure_config": {"status_code": 429, "retry_after_s": 1}}
    replicas = serve.deployment(TenonReplica).options(**{
        "name": name, "max_ongoing_requests": max_requests,
        "ray_actor_options": {"num_gpus": num_gpus, "num_cpus": num_cpus}, **counts, **refuse, **(deployment or {})})
    bound = replicas.bind(model, **options)
    routers = int(many) if routers is None else routers
    if routers == 0:
        return bound
    return serve.deployment(Router).options(
        name=f"{name}-router", num_replicas=routers, max_ongoing_requests=max_requests * max(max_replicas, 1),
        ray_actor_options={"num_cpus": 0}, **refuse).bind(bound, options.get("max_body", 64 << 20))


class Router(Front):
    """Passes requests on to the replicas of a handle. It knows the model by the path, and Ray finds a replica that has it.

    Where the replica of a request dies, another one is asked, once: inference changes nothing, so that it may be repeated."""

    def __init__(self, replicas, max_body=64 << 20):
        super().__init__(max_body)
        self._replicas = replicas

    async def answer(self, inputs, *, model=None, **options):
        return await self._call("answer", model, inputs, model=model, **options)

    async def run(self, input, **job):
        return await self._call("run", None, input, **job)

    async def describe(self, model=None):
        return await self._call("describe", model, model)

    async def index(self):
        return await self._call("index", None)

    async def statistics(self, model=None):
        return await self._call("statistics", model, model)

    async def _call(self, method, model_id, *arguments, **options):
        """The answer of a replica, one that has the model if there is such a one."""
        from ray.exceptions import RayActorError, RayTaskError
        from ray.serve.exceptions import BackPressureError

        handle = self._replicas.options(multiplexed_model_id=model_id or "")
        for attempt in range(_RETRIES + 1):
            try:
                return await getattr(handle, method).remote(*arguments, **options)
            except RayTaskError as error:
                if isinstance(error.cause, RequestError):
                    raise error.cause from None
                raise
            except BackPressureError as error:
                raise RequestError(429, str(error)) from None
            except RayActorError:
                if attempt == _RETRIES:
                    raise RequestError(503, "the replicas that had the request died: send it again") from None


def load_app(target):
    """The application of "module:name", or of a file: its `app`, or the only application in it."""
    serve = import_serve()
    if target.endswith(".py"):
        path, _, wanted = target, "", None
    else:
        path, _, wanted = target.partition(":")
    module = _import_file(path) if path.endswith(".py") else _import_module(path)
    applications = {name: value for name, value in vars(module).items() if isinstance(value, serve.Application)}
    wanted = wanted or ("app" if "app" in applications or len(applications) != 1 else next(iter(applications)))
    if wanted not in applications:
        raise ImportError(f"{target}: expected an application called '{wanted}', as tenon.ray.app() or bind() makes, found "
                          + (", ".join(applications) or "none"))
    return applications[wanted]


def _import_file(path):
    if not os.path.isfile(path):
        raise ImportError(f"there is no file '{path}'")
    folder, name = os.path.split(os.path.abspath(path))
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name[:-len(".py")], path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    # What the file defines travels to the replicas by value: they may lie where the file does not.
    from ray import cloudpickle
    cloudpickle.register_pickle_by_value(module)
    return module


def _import_module(name):
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(f"there is no module '{error.name}'") from error
