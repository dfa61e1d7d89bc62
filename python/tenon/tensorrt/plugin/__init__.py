"""Plugins made of decorated Python functions: tensorrt.plugin.

    @plugin.register("my::pad")
    def describe(x: plugin.TensorDesc, size: int) -> plugin.TensorDesc: ...

    @plugin.impl("my::pad")
    def run(x, size, outputs, stream): ...

    layer = network.add_plugin(plugin.op.my.pad(tensor, size=2))
"""
from tenon.tensorrt.plugin.autotuning import AutoTuneCombination
from tenon.tensorrt.plugin.registering import aot_impl, autotune, impl, op, register
from tenon.tensorrt.plugin.shapes import (Shape, ShapeExpr, ShapeExprs, SizeTensorShapeExpr,
                                          SymExprs, SymInt32, cdiv, max, min)
from tenon.tensorrt.plugin.tensors import (SizeTensorDesc, Tensor, TensorDesc, from_shape_expr,
                                           size_tensor)
from tenon.tensorrt.plugin_classes import _unsupported as unsupported

_AOT = "it is for kernels compiled ahead of time (aot_impl)"
SymInt8 = unsupported("SymInt8", _AOT)
SymInt16 = unsupported("SymInt16", _AOT)
SymIntExprs = unsupported("SymIntExprs", _AOT)
KernelLaunchParams = unsupported("KernelLaunchParams", _AOT)

__all__ = ["AutoTuneCombination", "KernelLaunchParams", "Shape", "ShapeExpr", "ShapeExprs",
           "SizeTensorDesc", "SizeTensorShapeExpr", "SymExprs", "SymInt16", "SymInt32", "SymInt8",
           "SymIntExprs", "Tensor", "TensorDesc", "aot_impl", "autotune", "cdiv",
           "from_shape_expr", "impl", "max", "min", "op", "register", "size_tensor"]
