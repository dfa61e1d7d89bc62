"""Writes models/: small models of several nodes in the layout of ONNX's test suites (model.onnx,
test_data_set_0/input_0.pb, …), with the results of ONNX Runtime (of ONNX's reference
implementation for 4-bit integers, which ONNX Runtime does not move).

Run: python src/import/testdata/make_model_cases.py   (needs numpy, onnx, onnxruntime)
"""
import pathlib
import shutil

import numpy as np
import onnxruntime
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

FOLDER = pathlib.Path(__file__).parent / "models"
random = np.random.default_rng(1)


def floats(*shape):
    return (random.integers(-32, 32, shape, endpoint=True) / 16).astype(np.float32)


def results_of(model, fed, reference):
    if reference:
        return ReferenceEvaluator(model).run(None, fed)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(None, fed)


def case(name, text, *inputs, opset=21, reference=False):
    """A graph in ONNX's text form; what it makes of the inputs is computed by ONNX Runtime, or by
    ONNX's reference implementation."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    folder = FOLDER / name
    (folder / "test_data_set_0").mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    fed = {i.name: np.asarray(a) for i, a in zip(model.graph.input, inputs, strict=True)}
    for kind, arrays in (("input", fed.values()), ("output", results_of(model, fed, reference))):
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
    case("scan_of_opset_8", """
        g (float[2, 3] state, float[2, N, 3] x) => (float[2, 3] last, float[2, N, 3] sums) {
          last, sums = Scan <num_scan_inputs = 1, directions = [1], body = b (float[3] before, float[3] row)
              => (float[3] after, float[3] sum) {
            after = Add (before, row)
            sum = Mul (after, after)
          }> ("", state, x)
        }""", floats(2, 3), floats(2, 4, 3), opset=8)


def shape_cases():
    case("squeeze_without_axes", "g (float[1, N, 1, 3] x) => (float[N, 3] y) { y = Squeeze (x) }",
         floats(1, 2, 1, 3))
    case("int4_moves", """
        g (float[2, 6] x) => (float[3, 4] a, float[6, 2] b, float[1, 12] c, float[1, 2, 6] d) {
          q = Cast <to = 22> (x)
          shape = Constant <value = int64[2] {3, 4}> ()
          r = Reshape (q, shape) a = Cast <to = 1> (r)
          t = Transpose <perm = [1, 0]> (q) b = Cast <to = 1> (t)
          f = Flatten <axis = 0> (q) c = Cast <to = 1> (f)
          zero = Constant <value = int64[1] {0}> ()
          u = Unsqueeze (q, zero) v = Identity (u) d = Cast <to = 1> (v)
        }""", random.integers(-8, 7, (2, 6)).astype(np.float32), reference=True)


for old in FOLDER.glob("*"):
    shutil.rmtree(old)
sequence_cases()
control_flow_cases()
shape_cases()
