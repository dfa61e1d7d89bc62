// What GCC's -fsanitize-coverage calls and its sanitizers' runtime does not define, for programs
// that are no fuzz targets: nothing is counted.
#define NOT_COUNTED extern "C" __attribute__((weak, no_sanitize_coverage))

NOT_COUNTED void __sanitizer_cov_trace_pc() {}
NOT_COUNTED void __sanitizer_cov_trace_cmpf(float, float) {}
NOT_COUNTED void __sanitizer_cov_trace_cmpd(double, double) {}
