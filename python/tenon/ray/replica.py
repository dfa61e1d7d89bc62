"""One process that answers: it loads a model, or models of a folder when they are asked for. It needs no Ray."""
import asyncio
import os
import pathlib
import weakref

from tenon._compile import compile
from tenon._engine import load
from tenon.ray.front import Front
from tenon.ray.model import EngineModel, FunctionModel
from tenon.ray.protocol import RequestError


class Replica(Front):
    """`model` says what is loaded, in the process that answers:

    - the path of a plan or ONNX file: one model, with the file's name;
    - a folder of NAME.plan, NAME.onnx or NAME/VERSION/model.plan (the newest version): each model when it is first asked for;
    - a function without parameters that gives a tenon.Engine, or, with stages, also a function of a list or a list of both.

    With `preprocess` or `postprocess`, jobs are what these take and give, as tenon.serve.Pipeline has it; over HTTP the body
    goes in as bytes, and bytes, a string or what JSON has come out. Without them a request has arrays by name.

    `options` are those of tenon.serve.Pipeline: max_batch, max_jobs, max_wait and so on.
    """

    def __init__(self, model, *, name=None, preprocess=None, postprocess=None, max_body=64 << 20, **options):
        super().__init__(max_body)
        self._options, self._stages = options, (preprocess, postprocess)
        self._folder, self._models = None, {}
        self._living = weakref.WeakValueDictionary()  # of a folder: models go when others keep them no more
        self._lock = asyncio.Lock()
        if is_folder(model):
            if name is not None or self._has_stages:
                raise ValueError("a folder has models with names of their own, and no preprocess or postprocess")
            self._folder = ModelFolder(model)
        else:
            name = name or (os.path.splitext(os.path.basename(model))[0] if isinstance(model, (str, os.PathLike)) else "model")
            self._models[name] = self._make(name, model)

    @property
    def _has_stages(self):
        return self._stages != (None, None)

    async def answer(self, inputs, *, model=None, version=None, **options):
        found = await self._engine_model(model)
        if version not in (None, found.version):
            raise RequestError(404, f"{found.name}: there is no version {version[:100]}; it has {found.version}")
        return found.version, await found.infer(inputs, **options)

    async def run(self, input, **job):
        found = await self._model(None)
        if not self._has_stages:
            raise RequestError(400, f"{found.name}: expected arrays by name")
        return await found.run(input, **job)

    async def describe(self, model=None):
        if self._has_stages:
            return None
        return (await self._engine_model(model)).metadata()

    async def index(self):
        names = self._folder.names() if self._folder else self._models
        return {name: name in self._models or name in self._living for name in names}

    async def statistics(self, model=None):
        """Counts and times of the model's pipeline, as tenon.serve.Pipeline.statistics() has them."""
        return (await self._model(model)).statistics()

    def close(self):
        """Answers what came, and refuses what comes."""
        for model in [*self._models.values(), *self._living.values()]:
            model.close()

    async def _engine_model(self, name):
        if self._has_stages:
            raise RequestError(404, "the application has stages of its own, and takes no tensors: send its input to /")
        return await self._model(name)

    async def _model(self, name):
        if self._folder is not None:
            if name is None:
                raise RequestError(400, f"expected the name of a model: {self._folder.text()}")
            self._folder.find(name)  # so that no loaded model goes for one that is not there
            return await self._loaded(name)
        if name is not None and name not in self._models:
            raise RequestError(404, f"there is no model '{name[:100]}'; there is {', '.join(self._models)}")
        return next(iter(self._models.values()))

    async def _loaded(self, name):
        """The model of the folder, which a deployment of several bounds in number."""
        async with self._lock:
            if name not in self._models:
                self._models[name] = await self._load(name)
        return self._models[name]

    async def _load(self, name):
        path, version = self._folder.find(name)
        try:
            made = await asyncio.get_running_loop().run_in_executor(None, lambda: self._make(name, path, version=version))
        except Exception as error:
            raise RequestError(503, f"{name}: it cannot be loaded: {error}") from error
        self._living[name] = made
        return made

    def _make(self, name, model, **of_engine):
        engine = open_model(model)
        if self._has_stages:
            return FunctionModel(name, engine, *self._stages, **self._options)
        return EngineModel(name, engine, **of_engine, **self._options)


def is_folder(model):
    return isinstance(model, (str, os.PathLike)) and os.path.isdir(model)


def open_model(model):
    """The engine of a plan's or ONNX model's path, or what a function gives."""
    if callable(model):
        return model()
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"model: expected a path, or a function that gives a tenon.Engine, found {type(model).__name__}")
    return compile(model) if os.fspath(model).endswith(".onnx") else load(model)


class ModelFolder:
    """Models of a folder by name, as tenon-server finds them."""

    def __init__(self, folder):
        self._folder = pathlib.Path(folder)

    def names(self):
        return sorted({path.stem if path.is_file() else path.name for path in self._folder.iterdir() if self._file_of(path)})

    def find(self, name):
        """The path of a model's file, and its version. Raises RequestError (404)."""
        for entry in (name, f"{name}.plan", f"{name}.onnx"):
            # A name with a slash or of dots is none.
            path = self._folder / entry
            found = self._file_of(path) if path.name == entry and name.strip(".") else None
            if found and (path.is_dir() or entry != name):
                return found
        raise RequestError(404, f"there is no model '{name[:100]}'; {self.text()}")

    def text(self):
        return f"there are {', '.join(self.names()[:20]) or 'none'}"

    @staticmethod
    def _file_of(path):
        if path.is_file():
            return (path, "1") if path.suffix in (".plan", ".onnx") else None
        versions = [entry for entry in path.glob("*") if entry.name.isdigit()] if path.is_dir() else []
        for version in sorted(versions, key=lambda entry: -int(entry.name)):
            for file in (version / "model.plan", version / "model.onnx"):
                if file.is_file():
                    return file, version.name
        return None
