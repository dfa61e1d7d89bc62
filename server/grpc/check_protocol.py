"""Compares inference.proto and model_config.proto with the messages of tritonclient, field by field.

    check_protocol.py            names, numbers and types of all that they have
    check_protocol.py --self-test   each of some changes of it is noticed

Exits with 77 where tritonclient is not installed (pip install tritonclient[grpc]).
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

PROTO = pathlib.Path(__file__).with_name("inference.proto")
CONFIG = PROTO.parents[1] / "model/model_config.proto"
SKIPPED = 77

def parse(text):
    """The descriptor of a proto file's text, which may import the other one."""
    from google.protobuf import descriptor_pb2
    with tempfile.TemporaryDirectory() as folder:
        proto = pathlib.Path(folder, "parsed.proto")
        proto.write_text(text)
        output = pathlib.Path(folder, "set")
        subprocess.run(["protoc", f"-I{folder}", f"-I{CONFIG.parent}", f"--descriptor_set_out={output}", str(proto)],
                       check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes())
    return files.file[0]


def field_text(field, oneofs):
    """All that matters on the wire and in generated code: "4 repeated .inference.X name in choice"."""
    in_group = field.HasField("oneof_index") and not field.proto3_optional  # which makes one of its own
    group = f" in {oneofs[field.oneof_index].name}" if in_group else ""
    kind = field.type_name or field.type
    return f"{field.number} label {field.label} {kind} {field.name}{group}"


def messages_of(messages, prefix=""):
    """Full name -> the texts of its fields, nested ones too."""
    found = {}
    for message in messages:
        name = prefix + message.name
        found[name] = {field_text(field, message.oneof_decl) for field in message.field}
        found.update(messages_of(message.nested_type, name + "."))
    return found


def facts(file):
    """Fields of messages, enumerators and calls, as sets of texts by name."""
    found = messages_of(file.message_type)
    for enum in file.enum_type:
        found[enum.name] = {f"{value.number} {value.name}" for value in enum.value}
    for service in file.service:
        found[service.name] = {
            f"{call.name}({call.input_type} stream {call.client_streaming})"
            f" -> {call.output_type} stream {call.server_streaming}" for call in service.method}
    return found


def differences(text, service, config):
    """What is not as the facts of tritonclient's service, or else of its models' configuration, say.

    Of the configuration there may be less.
    """
    ours = facts(parse(text))
    expected = service or config
    problems = [f"{name} is missing" for name in service if name not in ours]
    for name, found in ours.items():
        if name not in expected:
            problems.append(f"{name}: tritonclient does not have it")
            continue
        problems += [f"{name}: tritonclient does not have '{fact}'" for fact in found - expected[name]]
        problems += [f"{name}: '{fact}' is missing" for fact in expected[name] - found
                     if name in service]
    return problems


# What stands in inference.proto, and what it becomes.
MISTAKES = [("string model_version = 2;", "string model_version = 8;"),
            ("repeated float fp32_contents", "repeated double fp32_contents"),
            ("repeated bytes raw_output_contents", "bytes raw_output_contents"),
            ("(stream ModelInferRequest)", "(ModelInferRequest)"),
            ("    double double_param = 4;\n", ""),
            ("message ServerLiveRequest {}", "message ServerLiveRequest { bool now = 1; }")]
CONFIG_MISTAKES = [("TYPE_BF16 = 14", "TYPE_BF16 = 15"),
                   ("repeated int64 dims = 4;\n}", "repeated int64 dims = 3;\n}"),
                   ("bool preserve_ordering", "int32 preserve_ordering")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    try:
        from google.protobuf import descriptor_pb2
        from tritonclient.grpc import model_config_pb2, service_pb2
    except ImportError as error:
        print(f"skipped: {error}; pip install tritonclient[grpc]")
        return SKIPPED

    def facts_of(module):
        return facts(descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb))

    files = [(PROTO.read_text(), (facts_of(service_pb2), {}), MISTAKES), (CONFIG.read_text(), ({}, facts_of(model_config_pb2)), CONFIG_MISTAKES)]
    problems, count = [], 0
    for text, expected, mistakes in files:
        if arguments.self_test:
            problems += [f"not noticed: {old} became {new}" for old, new in mistakes
                         if old not in text or not differences(text.replace(old, new), *expected)]
            count += len(mistakes)
        else:
            problems += differences(text, *expected)
            count += sum(map(len, facts(parse(text)).values()))
    print("\n".join(problems + [f"{count} facts, {len(problems)} differences"]))
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
