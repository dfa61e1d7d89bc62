"""Models of kinds of numbers: narrow integers, within and at the border, and float64."""
import numpy as np
from model_cases import case, floats


def narrow_integer_cases():
    """Integers that the engine keeps in wider types. ONNX Runtime has few kernels for these, so the
    arithmetic is that of ONNX's reference implementation, in NumPy's types."""
    x = np.array([3, 70000, -1, 2**31 + 5, -40000, 300])
    z = np.array([5, 70000, 2, 3, 40000, 7])
    numbers = {"uint16": 4, "int16": 5, "uint32": 12, "uint8": 2, "int8": 3}

    def add(name, lines, *inputs, ends, reference=True):
        """`lines` make tensors, which leave the graph as int64 (the type of TensorRT that has all)."""
        signature = ", ".join(f"int64[N] {i}" for i in ("x", "z")[:len(inputs)])
        outputs = ", ".join(f"int64[{end}_n] {end}_out" for end in ends)
        casts = " ".join(f"{end}_out = Cast <to = 7> ({end})" for end in ends)
        case(name, f"g ({signature}) => ({outputs}) {{ {lines} {casts} }}", *inputs, reference=reference)

    case("narrow_casts", """
        g (int64[N] x) => (float[N] a, int64[N] b, int64[N] c, int64[N] d, bool[N] e, int32[N] f, uint8[N] g,
            int64[N] h) {
          u16 = Cast <to = 4> (x) i16 = Cast <to = 5> (x) u32 = Cast <to = 12> (x)
          a = Cast <to = 1> (u32)
          i16_of_u16 = Cast <to = 5> (u16) b = Cast <to = 7> (i16_of_u16)
          u32_of_i16 = Cast <to = 12> (i16) c = Cast <to = 7> (u32_of_i16)
          u64_of_u32 = Cast <to = 13> (u32) d = Cast <to = 7> (u64_of_u32)
          limit = Constant <value = uint32[1] {100}> () e = Less (u32, limit)
          f = Cast <to = 6> (u32) g = Cast <to = 2> (i16)
          u16_of_i16 = CastLike (i16, u16) h = Cast <to = 7> (u16_of_i16)
        }""", x)
    case("narrow_dequantized", """
        g (int64[N] x) => (float[N] a, float[N] b) {
          u16 = Cast <to = 4> (x) i16 = Cast <to = 5> (x)
          scale = Constant <value = float {0.5}> ()
          u16_zero = Constant <value = uint16 {60000}> () i16_zero = Constant <value = int16 {-300}> ()
          a = DequantizeLinear (u16, scale, u16_zero) b = DequantizeLinear (i16, scale, i16_zero)
        }""", x)
    for kind, to in numbers.items():
        operations = {"add": "Add (a, b)", "sub": "Sub (a, b)", "mul": "Mul (a, b)", "most": "Max (a, b)",
                      "least": "Min (a, b)", "both": "BitwiseAnd (a, b)", "inverse": "BitwiseNot (a)",
                      "total": "ReduceSum <keepdims = 1> (a)", "square": "Mul (mul, a)"}
        if not kind.startswith("u"):
            operations |= {"minus": "Neg (a)", "size": "Abs (a)"}
        else:
            operations |= {"left": 'BitShift <direction = "LEFT"> (a, one)',
                           "right": 'BitShift <direction = "RIGHT"> (add, one)', "ratio": "Div (a, c)"}
        lines = (f"a = Cast <to = {to}> (x) b = Cast <to = {to}> (z) "
                 f"one = Constant <value = {kind}[1] {{1}}> () c = Max (b, one) "
                 + " ".join(f"{name} = {text}" for name, text in operations.items()))
        add(f"narrow_arithmetic_{kind}", lines, x, z, ends=list(operations))
    add("narrow_moves", """
        a = Cast <to = 4> (x) b = Cast <to = 4> (z)
        joined = Concat <axis = 0> (a, b) first, second = Split <axis = 0, num_outputs = 2> (joined)
        twice = Add (second, second) list = SequenceConstruct (a, first)
        place = Constant <value = int64 {1}> () item = SequenceAt (list, place) from_list = Sub (item, b)
        size = Constant <value = int64[1] {2}> () top, where = TopK (a, size)
        more = Add (top, top) next = Add (where, where)
        yes = Constant <value = bool {1}> ()
        chosen = If (yes) <then_branch = t () => (uint16[N] p) { p = Sub (a, b) },
                           else_branch = e () => (uint16[N] q) { q = Add (a, b) }>
        least = Constant <value = uint16[1] {60000}> ()
        shrunk = Cast <to = 6> (a) wide = Mul (shrunk, shrunk)""",
        x, z, ends=["twice", "from_list", "more", "next", "chosen", "wide"])
    case("narrow_around_a_body", """
        g (int64[N] x, int64 trips) => (int64[N] y) {
          a = Cast <to = 4> (x)
          yes = Constant <value = bool {1}> ()
          y = Loop (trips, yes, x) <body = b (int64 i, bool go, int64[N] before)
              => (bool again, int64[N] after) {
            again = Identity (go)
            sum = Add (a, a)
            whole = Cast <to = 7> (sum)
            after = Add (before, whole)
          }>
        }""", x, np.array(3), reference=True)


def narrow_border_cases():
    """The same types as inputs and outputs."""
    numbers = {"uint16": [0, 7, 40000, 65535], "int16": [0, -7, 20000, -32768], "uint32": [0, 7, 2**31, 2**32 - 1]}
    for kind, values in numbers.items():
        case(f"narrow_border_{kind}", f"""
            g ({kind}[N] x, {kind}[N] z) => ({kind}[N] sum, {kind}[N] product, {kind}[N] same, float[N] real) {{
              sum = Add (x, z) product = Mul (x, z) same = Identity (x) real = Cast <to = 1> (x)
            }}""", np.array(values, kind), np.array(values[::-1], kind), reference=True)


def float64_cases():
    """Float64 inside, from float32 and int64 to float32 and integers. Each result leaves as the nearest float32
    and what is left of it, which float32 arithmetic would not have."""

    def add(name, lines, *inputs, ends, whole=(), reference=False, opset=21):
        types = {"float32": "float", "int64": "int64"}
        extents = [", ".join(f"{n}{k}" for k in range(a.ndim)) for n, a in zip("XZ", inputs)]
        signature = ", ".join(f"{types[str(a.dtype)]}{f'[{e}]' if e else ''} {n}"
                              for n, e, a in zip("xz", extents, inputs))
        results, casts = [], []
        for end in ends:
            results += [f"float[] {end}_high", f"float[] {end}_low"]
            casts.append(f"{end}_high = Cast <to = 1> ({end}) {end}_back = Cast <to = 11> ({end}_high) "
                         f"{end}_rest = Sub ({end}, {end}_back) {end}_low = Cast <to = 1> ({end}_rest)")
        for end in whole:
            results.append(f"int64[] {end}_out")
            casts.append(f"{end}_out = Cast <to = 7> ({end})")
        case(name, f"g ({signature}) => ({', '.join(results)}) {{ {lines} {' '.join(casts)} }}", *inputs,
             opset=opset, reference=reference, tolerance=(1e-6, 1e-13))

    def of_each(inputs, lines, operators):
        return f"{lines} " + " ".join(f"{name.lower()} = {name} ({inputs})" for name in operators)

    x, z = 1 + np.abs(floats(3, 5)), 1 + np.abs(floats(3, 5))
    third = "third = Constant <value = double {0.3333333333333333}> () a64 = Cast <to = 11> (x) a = Mul (a64, third)"
    larger = "one = Constant <value = double {1.1}> () b = Add (a, one)"
    smaller = "tenth = Constant <value = double {0.1}> () b = Mul (a, tenth)"
    for name, lines, operators, reference in (
            ("unary", larger, ["Abs", "Ceil", "Cos", "Exp", "Floor", "Identity", "Log", "Neg", "Reciprocal", "Relu",
                               "Round", "Sigmoid", "Sign", "Sin", "Sqrt", "Tanh", "Softmax", "LogSoftmax"], False),
            # ONNX Runtime computes these in float32 only.
            ("unary_of_larger", larger, ["Acosh", "Asinh", "Atan", "Cosh", "Erf", "LeakyRelu", "Sinh", "Softplus",
                                         "Tan"], True),
            ("unary_of_smaller", smaller, ["Acos", "Asin", "Atanh"], True)):
        add(f"float64_{name}", of_each("b", f"{third} {lines}", operators), x,
            ends=[name.lower() for name in operators], reference=reference)
    binary = ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum"]
    compared = ["Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"]
    both = f"{third} b64 = Cast <to = 11> (z) b = Mul (b64, third)"
    add("float64_binary", of_each("a, b", both, binary + compared) + " mod = Mod <fmod = 1> (a, b)"
        " top = Constant <value = double {1.1111111111}> () clipped = Clip (a, third, top) chosen = Where (less, a, b)", x, z,
        ends=[name.lower() for name in binary] + ["mod", "clipped", "chosen"],
        whole=[name.lower() for name in compared])
    add("float64_mean", f"{both} mean = Mean (a, b)", x, z, ends=["mean"], reference=True)
    # The second differs from the first by less than float32 sees.
    close = "tiny = Constant <value = double {0.000000001}> () b = Add (a, tiny)"
    add("float64_comparisons", of_each("a, b", f"{third} {close}", compared) + """
        far = Div (a, zero) zero = Constant <value = double {0}> () none = Div (zero, zero)
        infinite = IsInf (far) nan = IsNaN (none) below = IsInf <detect_positive = 0> (far)""", x,
        ends=[], whole=[name.lower() for name in compared] + ["infinite", "nan", "below"])
    reductions = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                  "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]
    axes = "axes = Constant <value = int64[1] {1}> ()"
    add("float64_reductions", of_each("a, axes", f"{third} {axes}", reductions)
        + " all = ReduceSum <keepdims = 0> (a) rows = ReduceMean <keepdims = 0> (a, axes)", x,
        ends=[name.lower() for name in reductions] + ["all", "rows"])
    add("float64_moves", third + """
        ninth = Constant <value = double {0.1111111111111111}> () shape = Constant <value = int64[2] {5, 3}> ()
        reshaped = Reshape (a, shape) transposed = Transpose <perm = [1, 0]> (reshaped)
        joined = Concat <axis = 0> (a, transposed) first, second = Split <axis = 1, num_outputs = 2> (joined)
        at = Constant <value = int64[2] {1, -1}> () gathered = Gather <axis = 1> (a, at)
        pads = Constant <value = int64[4] {1, 0, 0, 2}> () padded = Pad (a, pads, ninth) zeros = Pad (a, pads)
        one = Constant <value = int64[1] {1}> () three = Constant <value = int64[1] {3}> ()
        sliced = Slice (a, one, three, one) wide = Unsqueeze (a, one) narrow = Squeeze (wide, one)
        two = Constant <value = int64[2] {2, 1}> () tiled = Tile (a, two)
        three_d = Constant <value = int64[3] {2, 3, 5}> () expanded = Expand (a, three_d)
        upper = Trilu (a) flat = Flatten (expanded)
        places = Constant <value = int64[1, 5] {0, 2, 1, 0, 2}> () scattered = ScatterElements <axis = 0> (a, places, gathered_row)
        gathered_row = GatherElements <axis = 0> (a, places)
        point = Constant <value = int64[1, 2] {1, 2}> () update = Constant <value = double[1] {0.7}> ()
        put = ScatterND (a, point, update) got = GatherND (a, point)
        lengths = Constant <value = int64[3] {1, 5, 3}> () reversed = ReverseSequence <batch_axis = 0, time_axis = 1> (a, lengths)
        keep = Constant <value = bool[3] {1, 0, 1}> () compressed = Compress <axis = 0> (a, keep)
        image = Constant <value = int64[4] {1, 4, 7, 1}> () picture = Reshape (padded, image)
        spread = DepthToSpace <blocksize = 2> (picture) packed = SpaceToDepth <blocksize = 2> (spread)
        extents = Shape (a) count = Size (a)""", x, whole=["extents", "count"],
        ends=["spread", "packed", "reshaped", "transposed", "first", "second", "gathered", "padded", "zeros", "sliced", "narrow", "tiled", "flat",
              "upper", "scattered", "put", "got", "reversed", "compressed"])
    add("float64_order", f"""{third} {close}
        pair = Concat <axis = 1> (a, b) negative = Neg (pair) both = Concat <axis = 1> (pair, negative)
        most = ArgMax <axis = 1> (both) least = ArgMin <axis = 1, keepdims = 0> (both)
        last = ArgMax <axis = 1, select_last_index = 1> (pair)
        k = Constant <value = int64[1] {{7}}> () top, where = TopK <axis = 1> (both, k)
        bottom, where_least = TopK <axis = 1, largest = 0> (both, k)""", x, ends=["top", "bottom"],
        whole=["most", "least", "last", "where", "where_least"])
    add("float64_running_products", f"{third} axis = Constant <value = int64 {{1}}> () y = CumProd (a, axis)", x,
        ends=["y"], reference=True, opset=26)
    # A phase of thousands of turns, and an index that falls between whole numbers.
    add("float64_phases", """
        turn = Constant <value = double {6.283185307179586}> () rate = Constant <value = double {0.00002267573696145125}> ()
        f = Cast <to = 11> (x) step = Mul (f, rate) axis = Constant <value = int64 {1}> () turns = CumSum (step, axis)
        before = CumSum <exclusive = 1, reverse = 1> (step, axis)
        phase = Mul (turns, turn) wave = Sin (phase) other = Cos (phase)
        whole = Floor (turns) part = Sub (turns, whole)""", (1000 + 400 * floats(2, 700)).astype(np.float32),
        ends=["wave", "other", "part", "before"], whole=["whole"])
    # ONNX Runtime adds up the steps of a range; by ONNX each is a multiple.
    add("float64_indices", """
        start = Constant <value = double {0}> () step = Constant <value = double {0.1}> () n = Cast <to = 11> (z)
        steps = Range (start, n, step)
        ten = Constant <value = double {10}> () tens = Mul (steps, ten) down = Floor (tens) at = Cast <to = 7> (down)
        taken32 = Gather <axis = 1> (x, at) taken = Cast <to = 11> (taken32)""",
        floats(2, 60), np.array(5, np.int64), ends=["steps", "taken"], whole=["at"], reference=True)
    # A pitch as the mean of logarithms.
    add("float64_expectation", """
        a = Cast <to = 11> (x) share = Softmax <axis = 1> (a) axes = Constant <value = int64[1] {1}> ()
        table = Constant <value = double[6] {4.1, 4.2, 4.3, 5.4, 5.5, 7.6}> ()
        at = Constant <value = int64[5] {0, 1, 3, 4, 5}> () logarithms = Gather (table, at)
        weighted = Mul (share, logarithms) mean = ReduceSum <keepdims = 0> (weighted, axes) pitch = Exp (mean)""",
        floats(3, 5), ends=["pitch"])
    case("float64_border", """
        g (double[N] x, double scale) => (double[N] y, double[N] same) {
          rate = Constant <value = double {100000.1}> () fast = Mul (x, rate) scaled = Div (fast, scale) y = Sin (scaled)
          same = Identity (x)
        }""", floats(4).astype(np.float64), np.array(0.75), tolerance=(1e-6, 1e-7))
    # Sizes: 100 * 0.29 is a little less than 29 in float64, and 29 in float32.
    for rows in (10, 100):
        case(f"float64_sizes_{rows}", """
            g (float[N, 2] x) => (float[M, 2] y, int64[1] m, float[K, 2] z) {
              shape = Shape <end = 1> (x) real = Cast <to = 11> (shape) share = Constant <value = double {0.29}> ()
              product = Mul (real, share) down = Floor (product) m = Cast <to = 7> (down)
              zero = Constant <value = int64[1] {0}> () y = Slice (x, zero, m)
              three = Constant <value = double {3}> () third = Div (real, three) up = Ceil (third) k = Cast <to = 7> (up)
              two = Constant <value = int64[1] {2}> () extents = Concat <axis = 0> (k, two)
              value = ConstantOfShape <value = double[1] {0.1}> (extents) z = Cast <to = 1> (value)
            }""", floats(rows, 2))
    # Beside operators that compute in float32, in graphs inside nodes, in functions of constants.
    case("float64_around_a_body", """
        g (float[N, 3] x, int64 trips, bool c) => (float[N, 3] y, float[N, 3] chosen, float[N, 3] product) {
          third = Constant <value = double {0.3333333333333333}> () a64 = Cast <to = 11> (x) a = Mul (a64, third)
          yes = Constant <value = bool {1}> ()
          y = Loop (trips, yes, x) <body = b (int64 i, bool go, float[N, 3] before)
              => (bool again, float[N, 3] after) {
            again = Identity (go)
            i64 = Cast <to = 11> (i) scaled = Mul (a, i64) more = Add (scaled, third) back = Cast <to = 1> (more)
            after = Add (before, back)
          }>
          chosen64 = If (c) <then_branch = t () => (double[N, 3] p) { p = Sin (a) },
                             else_branch = e () => (double[N, 3] q) { q = Identity (a) }>
          chosen = Cast <to = 1> (chosen64)
          square = Constant <value = double[3, 3] {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}> ()
          product64 = MatMul (a, square) sum = Add (product64, a) product = Cast <to = 1> (sum)
        }""", floats(2, 3), np.array(3), np.array(True))
