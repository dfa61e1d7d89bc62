"""Writes resize.json: every mode and rule of coordinates, as ONNX Runtime computes them.

Run: python src/ops/testdata/make_resize_cases.py   (needs numpy, onnx, onnxruntime)
"""
import numpy as np

from cases import case, constant, floats, integers, onnx_run, shape_input, write


COORDINATES = {"align_corners": 0, "asymmetric": 1, "half_pixel": 2, "pytorch_half_pixel": 10001,
               "tf_half_pixel_for_nn": 10002, "tf_crop_and_resize": 10003,
               "half_pixel_symmetric": 10004}
ROUNDINGS = {"round_prefer_ceil": 0, "round_prefer_floor": 1, "floor": 2, "ceil": 3}


def resize_cases():
    x = floats(1, 2, 4, 5)
    def add(name, array, attributes, sizes=None, scales=None, roi=None, **given):
        scale_array = None if scales is None else np.array(scales, np.float32)
        size_array = None if sizes is None else np.array(sizes, np.int64)
        roi_array = None if roi is None else np.array(roi, np.float32)
        y = onnx_run("Resize", [array, roi_array, scale_array, size_array], **given)
        inputs = [array, shape_input(sizes) if scales is None else constant(scale_array)]
        if roi is not None:
            inputs.append(constant(roi_array))
        case("resize", "Resize", name, attributes | {"input_is_scales": scales is not None},
             inputs, y)
        if roi is None and scales is None:
            case("resize", "Resize", name + " (attribute)", attributes | {"output_size": sizes},
                 [array], y)
        if roi is None and scales is not None:
            case("resize", "Resize", name + " (attribute)", attributes | {"scales": scales},
                 [array], y)
    sizes = [[1, 2, 8, 10], [1, 2, 3, 7], [1, 2, 1, 1]]
    for rule, code in COORDINATES.items():
        if rule == "tf_crop_and_resize":
            continue
        for target in sizes:
            for rounding, number in ROUNDINGS.items():
                add(f"nearest {rule} {rounding} {target}", x,
                    {"mode": 0, "coordinates": code, "rounding": number}, sizes=target,
                    mode="nearest", nearest_mode=rounding, coordinate_transformation_mode=rule)
            if rule == "tf_half_pixel_for_nn":
                continue
            add(f"linear {rule} {target}", x, {"mode": 1, "coordinates": code}, sizes=target,
                mode="linear", coordinate_transformation_mode=rule)
            for outside in (0, 1):
                add(f"cubic {rule} {target} {outside}", x,
                    {"mode": 2, "coordinates": code, "exclude_outside": bool(outside),
                     "cubic_coefficient": -0.5}, sizes=target, mode="cubic", cubic_coeff_a=-0.5,
                    exclude_outside=outside, coordinate_transformation_mode=rule)
        for scales in ([1, 1, 2, 2], [1, 1, 0.6, 1.7], [1, 1, 1.3, 0.5]):
            if rule == "tf_half_pixel_for_nn":
                continue
            add(f"linear {rule} {scales}", x, {"mode": 1, "coordinates": code}, scales=scales,
                mode="linear", coordinate_transformation_mode=rule)
            add(f"cubic {rule} {scales}", x, {"mode": 2, "coordinates": code}, scales=scales,
                mode="cubic", coordinate_transformation_mode=rule)
    for mode, number in (("nearest", 0), ("linear", 1), ("cubic", 2)):
        add(f"crop {mode}", x, {"mode": number, "coordinates": 10003, "extrapolation_value": 9},
            sizes=[1, 2, 3, 4], roi=[0, 0, 0.25, -0.2, 1, 1, 0.9, 1.3], mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0,
            **({"nearest_mode": "floor"} if number == 0 else {}))
    for outside in (0, 1):
        for mode, number in (("linear", 1), ("cubic", 2)):
            for target in ([1, 2, 2, 3], [1, 2, 3, 2], [1, 2, 8, 2]):
                add(f"antialias {mode} {target} {outside}", x,
                    {"mode": number, "coordinates": 2, "antialias": True,
                     "exclude_outside": bool(outside)}, sizes=target, mode=mode, antialias=1,
                    exclude_outside=outside)
    volume = floats(1, 1, 3, 4, 3)
    add("trilinear", volume, {"mode": 1, "coordinates": 2}, sizes=[1, 1, 5, 3, 7], mode="linear")
    bytes_ = integers(1, 1, 3, 3, low=0, high=255, dtype=np.uint8)
    add("nearest uint8", bytes_, {"mode": 0, "coordinates": 1}, sizes=[1, 1, 6, 5], mode="nearest",
        coordinate_transformation_mode="asymmetric", nearest_mode="floor")


resize_cases()
write()
