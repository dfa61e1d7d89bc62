"""MMDeploy's calibration files."""
import os

import numpy as np

from tenon import tensorrt as trt


class HDF5Calibrator(trt.IInt8Calibrator):
    """Gives the samples of MMDeploy's calibration file, calib_data/<model_type>/<input>/<number>.

    Each sample is tiled and cropped to the input's opt_shape, as float32. Several inputs give one
    batch each. get_batch() returns addresses of host memory, which is the CPU's device memory.
    ImportError without h5py.
    """

    def __init__(self, calib_file, input_shapes, model_type="end2end", device_id=0,
                 algorithm=trt.CalibrationAlgoType.ENTROPY_CALIBRATION_2, **kwargs):
        super().__init__()
        if isinstance(calib_file, (str, os.PathLike)):
            try:
                import h5py
            except ImportError:
                raise ImportError("HDF5Calibrator reads HDF5: pip install h5py") from None
            calib_file = h5py.File(calib_file, mode="r")
        self.calib_file = calib_file
        try:
            self.calib_data = calib_file["calib_data"][model_type]
        except KeyError:
            raise ValueError(f"the calibration file has no calib_data/{model_type}") from None
        self.input_shapes = input_shapes
        self.algorithm = algorithm
        self.count = 0
        self.dataset_length = len(self.calib_data[next(iter(self.calib_data))])
        self.arrays = {}  # of the batch that was given last

    def get_batch(self, names, **kwargs):
        """Addresses of the inputs' next samples; None when there are no more."""
        if self.count >= self.dataset_length:
            return None
        for name in names:
            sample = np.asarray(self.calib_data[name][str(self.count)], dtype=np.float32)
            shape = tuple(self.input_shapes[name]["opt_shape"])
            if len(shape) != sample.ndim:
                raise ValueError(f"calibration sample of '{name}': expected shape {shape}, found "
                                 f"{sample.shape}")
            times = [-(-want // have) for want, have in zip(shape, sample.shape)]
            tiled = np.tile(sample, times)[tuple(slice(extent) for extent in shape)]
            self.arrays[name] = np.ascontiguousarray(tiled)
        self.count += 1
        return [self.arrays[name].ctypes.data for name in names]

    def get_batch_size(self):
        """1: a sample is a batch."""
        return 1

    def get_algorithm(self):
        """The algorithm that was asked for."""
        return self.algorithm

    def read_calibration_cache(self, *args, **kwargs):
        """None: there is no cache."""
        return None

    def write_calibration_cache(self, cache, *args, **kwargs):
        """Does nothing: there is no cache."""
