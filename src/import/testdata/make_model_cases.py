"""Writes models/: small models of several nodes in the layout of ONNX's test suites (model.onnx,
test_data_set_0/input_0.pb, …), with the results of ONNX Runtime.

Run: python src/import/testdata/make_model_cases.py   (needs numpy, onnx, onnxruntime)
"""
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper, parser

FOLDER = pathlib.Path(__file__).parent / "models"
random = np.random.default_rng(1)


def floats(*shape):
    return (random.integers(-32, 32, shape, endpoint=True) / 16).astype(np.float32)


def case(name, text, *inputs, opset=21):
    """A graph in ONNX's text form; what it makes of the inputs is computed by ONNX Runtime."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    folder = FOLDER / name
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    fed = {i.name: np.asarray(a) for i, a in zip(session.get_inputs(), inputs, strict=True)}
    for kind, arrays in (("input", fed.values()), ("output", session.run(None, fed))):
        for i, array in enumerate(arrays):
            tensor = numpy_helper.from_array(np.asarray(array))
            (folder / "test_data_set_0" / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def sequence_cases():
    """Sequences whose length only running tells, as torch exports lists to which a loop appends."""
    append = """
        g (float[N, 3] x, int64 trips) => ({outputs}) {{
          yes = Constant <value = bool {{1}}> ()
          empty = SequenceEmpty <dtype = 1> ()
          {start}
          list = Loop (trips, yes, {first}) <body = b (int64 i, bool go, seq(float) before)
              => (bool again, seq(float) after) {{
            again = Identity (go)
            row = Gather <axis = 0> (x, i)
            {more}
          }}>
          {end}
        }}"""
    plain = "after = SequenceInsert (before, row)"
    def add(name, outputs, end, start="", first="empty", more=plain, trips=4):
        case(name, append.format(outputs=outputs, end=end, start=start, first=first, more=more),
             floats(5, 3), np.array(trips))
    add("loop_appends_stacked", "float[R, 3] y", "y = ConcatFromSequence <axis = 0, new_axis = 1> (list)")
    add("loop_appends_stacked_last", "float[3, R] y",
        "y = ConcatFromSequence <axis = -1, new_axis = 1> (list)")
    add("loop_appends_joined", "float[R] y, int64 n",
        "y = ConcatFromSequence <axis = 0> (list) n = SequenceLength (list)")
    add("loop_appends_to_some", "float[R, 3] y, int64 n, float[3] last",
        """y = ConcatFromSequence <axis = 0, new_axis = 1> (list) n = SequenceLength (list)
           back = Constant <value = int64 {-1}> () last = SequenceAt (list, back)""",
        start="""two = Constant <value = int64 {2}> () other = Gather <axis = 0> (x, two)
                 some = SequenceConstruct (other, other)""", first="some")
    add("loop_appends_two", "float[R, 3] y", "y = ConcatFromSequence <axis = 0, new_axis = 1> (list)",
        more="""twice = Add (row, row) one = SequenceInsert (before, row)
                after = SequenceInsert (one, twice)""")
    add("loop_appends_in_a_loop", "float[R, 3] y",
        "y = ConcatFromSequence <axis = 0, new_axis = 1> (list)",
        more="""after = Loop (trips, go, before) <body = inner (int64 j, bool on, seq(float) old)
                    => (bool still, seq(float) new) {
                  still = Identity (on)
                  other = Gather <axis = 0> (x, j)
                  sum = Add (row, other)
                  new = SequenceInsert (old, sum)
                }>""")
    add("loop_leaves_a_sequence", "float[3] y",
        "zero = Constant <value = int64 {0}> () y = SequenceAt (list, zero)",
        start="""two = Constant <value = int64 {2}> () other = Gather <axis = 0> (x, two)
                 some = SequenceConstruct (other, other)""", first="some",
        more="unused = SequenceAt (before, i) after = Identity (before)", trips=2)
    add("loop_reads_another_sequence", "float[R, 3] y",
        "y = ConcatFromSequence <axis = 0, new_axis = 1> (list)",
        start="rows = SplitToSequence <axis = 0, keepdims = 0> (x)",
        more="""other = SequenceAt (rows, i) sum = Add (row, other)
                after = SequenceInsert (before, sum)""")
    for keep in (0, 1):
        case(f"split_by_runtime_extent_{keep}", f"""
            g (float[2, N, 3] x, int64 at) => (float[] one, int64 n, float[] all, float[] stacked) {{
              parts = SplitToSequence <axis = 1, keepdims = {keep}> (x)
              one = SequenceAt (parts, at)
              n = SequenceLength (parts)
              all = ConcatFromSequence <axis = 1> (parts)
              stacked = ConcatFromSequence <axis = 0, new_axis = 1> (parts)
            }}""", floats(2, 5, 3), np.array(-2))
    case("known_sequence_at_runtime_position", """
        g (float[2, 6] x, int32 at) => (float[2, 2] y) {
          parts = SplitToSequence <axis = 1> (x, sizes)
          y = SequenceAt (parts, at)
        }""".replace("{\n", "{\n          sizes = Constant <value = int64 {2}> ()\n", 1),
         floats(2, 6), np.array(1, np.int32))


def control_flow_cases():
    case("loop_state_grows", """
        g (float[1, 3] x, int64 trips) => (float[R, 3] y) {
          yes = Constant <value = bool {1}> ()
          y = Loop (trips, yes, x) <body = b (int64 i, bool go, float[R, 3] before)
              => (bool again, float[S, 3] after) {
            again = Identity (go)
            sum = ReduceSum <keepdims = 1> (before, axes)
            after = Concat <axis = 0> (before, sum)
          }>
        }""".replace("yes =", "axes = Constant <value = int64[1] {0}> ()\n          yes =", 1),
         floats(1, 3), np.array(3))
    case("if_of_differing_extents", """
        g (float[N, 3] x, bool c) => (float[M, K] y) {
          y = If (c) <then_branch = t () => (float[] a) { a = Concat <axis = 0> (x, x) },
                      else_branch = e () => (float[] b) { b = Concat <axis = 1> (x, x, x) }>
        }""", floats(2, 3), np.array(False))


for old in FOLDER.glob("*"):
    shutil.rmtree(old)
sequence_cases()
control_flow_cases()
