"""Models with parts that run or not: sequences, loops, branches and optional values."""
import numpy as np
from model_cases import case, floats


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


def branch_cases():
    """`If` whose branches make tensors of different ranks, as torch exports squeeze(dim); rows of the table
    are inputs, for which the condition differs."""
    squeeze = """
          zero = Constant <value = int64[1] {0}> () one = Constant <value = int64[1] {1}> ()
          s = Shape (x) n = Gather <axis = 0> (s, zero) is_one = Equal (n, one)
          a = Neg (x)
          r = If (is_one) <then_branch = t () => (float[] p) { p = Squeeze (a, zero) },
                           else_branch = e () => (float[] q) { q = Identity (a) }>"""
    def add(name, outputs, nodes, *tables, inputs="float[N, 3] x"):
        for kind, table in zip("abc", tables):
            case(f"branches_{name}_{kind}", f"g ({inputs}) => ({outputs}) {{ {squeeze} {nodes} }}", *table)
    both = [floats(1, 3)], [floats(4, 3)]
    add("meet_again", "float[M, 3] y, float[M, 3] z", """
          shape = Constant <value = int64[2] {-1, 3}> () b = Relu (r) y = Reshape (b, shape) z = Add (y, a)""",
        *both)
    add("reach_an_output", "float[] y, float[] z, float[] r", "y = Relu (r) z = Add (y, zero_f)".replace(
        "z =", "zero_f = Constant <value = float[1] {1}> () z ="), *both)
    # Only the squeezed tensor can be transposed so.
    add("of_which_one_goes_on", "float[M] y", """
          turned = Transpose <perm = [0]> (r) y = Add (turned, turned)""", [floats(1, 3)])
    # And only the other can be so; the nodes behind read other tensors and have graphs of their own.
    add("of_which_the_other_goes_on", "float[M, 3] y, float[3, M] z", """
          turned = Transpose <perm = [1, 0]> (r) z = MatMul (square, turned)
          square = Constant <value = float[3, 3] {1, 2, 3, 4, 5, 6, 7, 8, 9}> ()
          total = ReduceSum <keepdims = 0> (turned)  nothing = Constant <value = float {0}> ()
          some = Greater (total, nothing)
          y = If (some) <then_branch = t2 () => (float[M, 3] u) { u = Add (r, a) },
                         else_branch = e2 () => (float[M, 3] v) { v = Transpose <perm = [1, 0]> (turned) }>""",
        [floats(4, 3)])
    add("twice", "float[K, 3] y", """
          two = Constant <value = int64[1] {2}> () is_two = Equal (n, two)
          w = If (is_two) <then_branch = t2 () => (float[] u) { u = Unsqueeze (r, zero) },
                           else_branch = e2 () => (float[] v) { v = Relu (r) }>
          shape = Constant <value = int64[2] {-1, 3}> () y = Reshape (w, shape)""",
        [floats(1, 3)], [floats(2, 3)], [floats(4, 3)])
    for kind, shape in zip("abcd", ((1, 3, 5), (2, 3, 1), (1, 3, 1), (4, 3, 5))):
        case(f"squeeze_without_axes_of_{kind}", """
            g (float[A, 3, B] x) => (float[] y, float[N, 3] z) {
              r = Squeeze (x) y = Neg (r)
              shape = Constant <value = int64[2] {-1, 3}> () flat = Reshape (r, shape) z = Relu (flat)
            }""", floats(*shape))
    # PaddlePaddle makes [1] of a scalar here and there: the rank depends on what a branch finds.
    case("branches_of_one_element", """
        g (float[3] x, int64 trips) => (float[R, 3] y) {
          yes = Constant <value = bool {1}> () none = Constant <value = bool {0}> ()
          limit = Constant <value = float {2}> () zero = Constant <value = int64[1] {0}> ()
          last, y = Loop (trips, yes, none) <body = b (int64 i, bool go, bool stop)
              => (bool again, bool[K] stops, float[3] row) {
            step = Cast <to = 1> (i) row = Add (x, step)
            total = ReduceSum <keepdims = 0> (row) large = Greater (total, limit)
            found = If (large) <then_branch = t1 () => (bool[] p) { p = Constant <value = bool {1}> () },
                                else_branch = e1 () => (bool[] q) {
                                  number = Cast <to = 7> (stop) more = Add (number, zero) q = Cast <to = 9> (more) }>
            again = Not (found)
            flag = Cast <to = 7> (found) flags = Add (flag, zero) stops = Cast <to = 9> (flags)
          }>
        }""", np.float32([-2, -1, 1]), np.array(6))
    case("loop_counts_in_vectors", """
        g (float[1] x, int64[1] trips) => (float[1] last, float[R, 1] all) {
          yes = Constant <value = bool[1] {1}> ()
          last, all = Loop (trips, yes, x) <body = b (int64[1] i, bool[1] go, float[1] before)
              => (bool[1] again, float[1] after, float[1] row) {
            step = Cast <to = 1> (i) after = Add (before, step) row = Neg (after) again = Identity (go)
          }>
        }""", floats(1), np.array([3]))
    # It also has a scalar for what only iterations define.
    case("loop_defines_a_state", """
        g (float[2, 3] x, int64 trips) => (float[2, 3] last) {
          yes = Constant <value = bool {1}> () none = Constant <value = float {0}> ()
          last = Loop (trips, yes, none) <body = b (int64 i, bool go, float[] unread)
              => (bool again, float[2, 3] now) {
            again = Identity (go) step = Cast <to = 1> (i) now = Add (x, step)
          }>
        }""", floats(2, 3), np.array(3))
    for rows in (1, 3):
        case(f"branches_in_a_loop_{rows}", """
            g (float[N, 3] x, int64 trips) => (float[R, 3] y, float[] last) {
              yes = Constant <value = bool {1}> () zero = Constant <value = int64[1] {0}> ()
              none = Constant <value = float {0}> () limit = Constant <value = float {2}> ()
              y, last = Loop (trips, yes, x, none) <body = b (int64 i, bool go, float[M, 3] before, float t)
                  => (bool again, float[K, 3] after, float[] sum) {
                again = Identity (go)
                total = ReduceSum <keepdims = 0> (before) large = Greater (total, limit)
                step = If (large) <then_branch = t1 () => (float[] p) { p = Unsqueeze (total, zero) },
                                   else_branch = e1 () => (float[] q) { q = Identity (limit) }>
                after = Add (before, step)
                sum = ReduceSum <keepdims = 0> (step)
              }>
            }""", floats(rows, 3), np.array(4))


def optional_cases():
    """What is decided while a model is read."""
    case("optional_of_a_tensor", """
        g (float[N] x) => (float[M] y, bool has) {
          some = Optional (x)
          has = OptionalHasElement (some)
          y = If (has) <then_branch = t () => (float[K] a) { a = OptionalGetElement (some) },
                        else_branch = e () => (float[L] b) { b = Neg (x) }>
        }""", floats(3))
    case("sequence_map", """
        g (float[6, 2] x, float[2] w) => (float[6, 2] y, int64[3, 2] shapes) {
          three = Constant <value = int64 {2}> ()
          parts = SplitToSequence <axis = 0> (x, three)
          more, sizes = SequenceMap (parts, w) <body = b (float[A, 2] part, float[2] weight)
              => (float[A, 2] scaled, int64[2] size) {
            scaled = Mul (part, weight) size = Shape (part)
          }>
          y = ConcatFromSequence <axis = 0> (more)
          shapes = ConcatFromSequence <axis = 0, new_axis = 1> (sizes)
        }""", floats(6, 2), floats(2))
