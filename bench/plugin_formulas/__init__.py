"""PyTorch's formula of each plugin that has a short one, as operators that operators.py measures.

One measurement stands for all names of one kernel: the plugins that @formula lists, as "name", or "name/version" where
it is not 1. A plugin that is not listed has no formula of a few lines: what prints, makes constants, or reads images,
and chains of gathers and suppressions.
"""
import operators
from plugin_formulas import (activations, attention, detection, elements, feature_maps, normalization,  # noqa: F401
                             point_clouds)
from plugin_formulas.registry import FORMULAS, PLUGINS, formula

__all__ = ["FORMULAS", "PLUGINS"]

# Those of operators.py that are plugins of several names.
formula("MMCVRoiAlign", "MMCVRoIAlign", "ROIAlign_TRT", "ROIAlign_TRT/2")(operators.roi_align)
formula("MMCVDeformConv2d", "DeformableConvPluginDynamic")(operators.deform_conv)
formula("MMCVModulatedDeformConv2d", "ModulatedDeformableConv2dTRT", "ModulatedDeformableConv2dTRT2", "ModulatedDeformConv2d",
        "ModulatedDeformConv2d/2", "ModulatedDeformableConvPluginDynamic", "DCNv2")(operators.mod_deform_conv)
formula("grid_sampler", "GridSampler2DTRT", "GridSampler2DTRT2")(operators.grid_sample)
formula("NonMaxSuppression", "EfficientNMS_ONNX_TRT", "TorchNMS", "TorchNMSPluginDynamic")(operators.nms_5000)
formula("cummax", "cummaxmin", "TorchCumMaxMinPluginDynamic")(operators.cummax)
formula("cummin")(operators.cummin)
formula("TRTInstanceNormalization", "MMCVInstanceNormalization", "InstanceNormalization_TRT", "InstanceNormalization_TRT/2",
        "InstanceNormalization_TRT/3", "InstanceNorm")(operators.instance_norm)
formula("ReflectPad")(operators.reflect_pad)
formula("ScatterND", "MyScatterND")(operators.scatter_nd)
formula("TRTBicubicInterpolate")(operators.bicubic_hp)
