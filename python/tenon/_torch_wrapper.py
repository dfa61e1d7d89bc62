"""Engines as torch.nn.Module: the wrappers of MMCV and MMDeploy."""
import torch

from tenon import _wrapper


class _Module(torch.nn.Module):
    """An engine on dictionaries of tensors; state_dict() holds the plan."""

    def __init__(self, engine, input_names, output_names, device_id=None):
        super().__init__()
        self._set(_wrapper.as_engine(engine, device_id), input_names, output_names)
        self._register_state_dict_hook(_Module._save)

    def _set(self, engine, input_names, output_names):
        known = {"input": [t.name for t in engine.inputs], "output": [t.name for t in engine.outputs]}
        for kind, names in (("input", input_names), ("output", output_names)):
            for name in names or []:
                if name not in known[kind]:
                    raise ValueError(f"there is no {kind} '{name}'; there are {known[kind]}")
        self._engine = engine
        self.input_names = list(input_names or known["input"])
        self.output_names = list(output_names or known["output"])

    @property
    def engine(self):
        """The tensorrt.ICudaEngine."""
        return self._engine.cuda_engine

    def forward(self, inputs):
        """{output: tensor} of {input: tensor}."""
        if not isinstance(inputs, dict):
            raise TypeError(f"expected {{input: tensor}}, found {type(inputs).__name__}")
        return _wrapper.run_on_tensors(self._engine, inputs, self.output_names)

    def _save(self, state_dict, prefix, local_metadata):
        state_dict[prefix + "engine"] = bytearray(self._engine.serialize())
        state_dict[prefix + "input_names"] = self.input_names
        state_dict[prefix + "output_names"] = self.output_names

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys,
                              unexpected_keys, error_msgs):
        keys = [prefix + name for name in ("engine", "input_names", "output_names")]
        missing = [key for key in keys if key not in state_dict]
        missing_keys += missing
        if not missing:
            plan, *names = (state_dict[key] for key in keys)
            self._set(_wrapper.as_engine(_wrapper.deserialize(plan)), *names)


class MmcvWrapper(_Module):
    """MMCV's TRTWrapper: runs an engine on {input: tensor}.

    engine: the path of a plan, or a tensorrt.ICudaEngine. Names are the engine's if None.
    """

    def __init__(self, engine, input_names=None, output_names=None):
        super().__init__(engine, input_names, output_names)


class MmdeployWrapper(_Module):
    """MMDeploy's TRTWrapper: runs an engine on {input: tensor}, in its first profile.

    engine: the path of a plan, or a tensorrt.ICudaEngine. Outputs are all if None. AssertionError
    for shapes outside the profile.
    """

    def __init__(self, engine, output_names=None, device_id=0):
        super().__init__(engine, None, output_names, device_id)

    def forward(self, inputs):
        try:
            return super().forward(inputs)
        except ValueError as error:
            raise AssertionError(str(error)) from None
