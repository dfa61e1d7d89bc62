"""Writes operator_schemas.txt beside src/edit: what ONNX's operators take in each opset from 7 on, from the package onnx.

    .venv/bin/python src/edit/testdata/make_operator_schemas.py

A line is an operator: name, first opset, least and most inputs, most outputs (-1: any number), element types that each input takes (a
hexadecimal number, bit n for ONNX's type n; the last one holds for all that follow), those of the first output, attributes with their
defaults.
"""
from pathlib import Path

import onnx

OLDEST = 7
MANY = 2**31 - 1


def mask(schema, parameter):
    types = next((t.allowed_type_strs for t in schema.type_constraints if t.type_param_str == parameter.type_str), [parameter.type_str])
    numbers = {onnx.TensorProto.DataType.Value(t[7:-1].upper())
               for t in types if t.startswith("tensor(")}
    return sum(1 << number for number in numbers)


def attribute(name, schema):
    default = schema.default_value
    if not default.name:
        return name
    value = onnx.helper.get_attribute_value(default)
    if isinstance(value, bytes):
        value = value.decode()
    return f"{name}={value}" if isinstance(value, (int, float, str)) else name


def lines():
    histories = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "":
            histories.setdefault(schema.name, []).append(schema)
    for name, history in sorted(histories.items()):
        history.sort(key=lambda schema: schema.since_version)
        while len(history) > 1 and history[1].since_version <= OLDEST:
            history.pop(0)
        for s in history:
            if s.deprecated:
                yield f"{name} {s.since_version} 0 0 0 - - -"
                continue
            most, outputs = (-1 if n >= MANY else n for n in (s.max_input, s.max_output))
            masks = ",".join(f"{mask(s, each):x}" for each in s.inputs) or "-"
            given = f"{mask(s, s.outputs[0]):x}" if s.outputs else "-"
            attributes = ",".join(sorted(attribute(n, a) for n, a in s.attributes.items())) or "-"
            yield f"{name} {s.since_version} {s.min_input} {most} {outputs} {masks} {given} {attributes}"


if __name__ == "__main__":
    Path(__file__).resolve().parents[1].joinpath("operator_schemas.txt").write_text("\n".join(lines()) + "\n")
