"""A model with an operator of MMCV, by MMCV's functions.

    python mmcv_roi_align.py

Needs PyTorch.
"""
import pathlib
import tempfile

import torch

from tenon.mmcv import (TRTWrapper, is_tensorrt_plugin_loaded, load_trt_engine, onnx2trt,
                        save_trt_engine)


class RoIAlign(torch.autograd.Function):
    """Averages 2x2 bins of each region; here for regions that cover whole pixels."""

    @staticmethod
    def forward(ctx, features, regions):
        bins = []
        for index, *corners in regions.tolist():
            left, top, right, bottom = map(int, corners)
            region = features[int(index):int(index) + 1, :, top:bottom, left:right]
            bins.append(torch.nn.functional.adaptive_avg_pool2d(region, 2))
        return torch.cat(bins)

    @staticmethod
    def symbolic(g, features, regions):
        return g.op("mmcv::MMCVRoiAlign", features, regions, output_height_i=2, output_width_i=2,
                    spatial_scale_f=1.0, sampling_ratio_i=2, mode_s="avg", aligned_i=1)


class Model(torch.nn.Module):
    def forward(self, features, regions):
        return RoIAlign.apply(features * 2, regions)


def main(folder):
    assert is_tensorrt_plugin_loaded(), "MMCV's plugins come with Tenon"
    torch.manual_seed(0)
    features = torch.rand(1, 8, 32, 32)
    regions = torch.tensor([[0.0, 4, 4, 8, 8], [0, 10, 20, 14, 24]])
    torch.onnx.export(
        Model(), (features, regions), str(folder / "model.onnx"), opset_version=11,
        input_names=["features", "regions"], output_names=["bins"],
        dynamic_axes={"regions": {0: "count"}},
        **({"dynamo": False} if torch.__version__ >= "2.5" else {}))

    engine = onnx2trt(str(folder / "model.onnx"),
                      {"features": [list(features.shape)] * 3,
                       "regions": [[1, 5], [2, 5], [100, 5]]},
                      max_workspace_size=1 << 30)
    save_trt_engine(engine, str(folder / "model.trt"))

    wrapper = TRTWrapper(load_trt_engine(str(folder / "model.trt")), ["features", "regions"],
                         ["bins"])
    bins = wrapper({"features": features, "regions": regions})["bins"]
    torch.testing.assert_close(bins, Model()(features, regions), rtol=1e-3, atol=1e-5)
    print(f"bins of shape {tuple(bins.shape)}, as PyTorch's")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        main(pathlib.Path(temporary))
