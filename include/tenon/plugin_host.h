// What Tenon's engine offers to plugins that know it. The functions are weak: under another engine
// with TensorRT's API they are null, so test a function before calling it.
#ifndef TENON_PLUGIN_HOST_H
#define TENON_PLUGIN_HOST_H

#include <NvInferRuntime.h>

extern "C" {

/// Runs one plugin object on the CPU. Pointers are host pointers, formats and types those that
/// supportsFormatCombination() accepted, `workspace` is as large as getWorkspaceSize() asked.
/// @return 0 on success; otherwise the reason was given to tenonReportPluginError().
typedef int32_t (*TenonCpuKernel)(void* plugin, const nvinfer1::PluginTensorDesc* inputDescs,
                                  const nvinfer1::PluginTensorDesc* outputDescs,
                                  const void* const* inputs, void* const* outputs, void* workspace);

/// Says how the CPU target runs this object: by `kernel` instead of enqueue(). Call it with the
/// object's IPluginV2* or IPluginV3* from every constructor, and with a null kernel from the
/// destructor. Objects without a CPU kernel have enqueue() called with host pointers.
TENSORRTAPI __attribute__((weak)) void tenonSetCpuKernel(void* plugin,
                                                         TenonCpuKernel kernel) noexcept;

/// Says that the object's CPU kernel is its only one, until that is taken back: where others have
/// enqueue() called with a GPU's memory, the engine copies this one's tensors to the host and back.
TENSORRTAPI __attribute__((weak)) void tenonSetCpuOnly(void* plugin) noexcept;

/// Calls body(state, begin, end) over disjoint ranges that cover [0, count), on the engine's
/// threads; ranges are not shorter than `grain` except the last. Returns when all are done.
/// `body` must not throw.
TENSORRTAPI __attribute__((weak)) void tenonParallelFor(int64_t count, int64_t grain,
                                                        void (*body)(void* state, int64_t begin,
                                                                     int64_t end),
                                                        void* state) noexcept;

/// c = a b, or c + a b with `add`: a is m x k, b k x n, c m x n, floats in rows, `...Stride`
/// elements from row to row. A transposed matrix is stored as its transpose.
typedef struct TenonMatrixProduct {
  int64_t m, n, k;
  const float* a;
  int64_t aStride;
  const float* b;
  int64_t bStride;
  float* c;
  int64_t cStride;
  bool aTransposed, bTransposed, add;
} TenonMatrixProduct;

/// Multiplies on the engine's threads.
/// @return 0 on success; otherwise c is as it was, and the caller multiplies itself.
TENSORRTAPI __attribute__((weak)) int32_t tenonMultiply(const TenonMatrixProduct* product) noexcept;

/// What a creator's plugin is, for lists and documentation.
typedef struct TenonPluginText {
  const char* text;           // what it computes
  const char* differs;        // in what it is not as the plugin of that name elsewhere; often ""
  const char* ports;          // inputs, outputs and their types
  const char* const* fields;  // one text for each field that the creator declares
} TenonPluginText;

/// Says what the plugin of a creator (an IPluginCreatorInterface*) is. `text` must stay as it is
/// until it is taken back with a null.
TENSORRTAPI __attribute__((weak)) void tenonDescribePlugin(const void* creator,
                                                           const TenonPluginText* text) noexcept;
/// What was said; null when nothing was.
TENSORRTAPI __attribute__((weak)) const TenonPluginText* tenonPluginText(
    const void* creator) noexcept;

/// Keeps a message for the engine, which adds it to the error it reports when the plugin callback
/// that runs on this thread fails. Outside of callbacks, the message goes to the logger.
TENSORRTAPI __attribute__((weak)) void tenonReportPluginError(const char* message) noexcept;
}

#endif  // TENON_PLUGIN_HOST_H
