/// Names and explanations of the runtime's errors, and the error that each thread keeps.
#include <algorithm>
#include <iterator>
#include <utility>

#include "cudart/thread_context.h"

namespace tenon::cudart {
namespace {

struct Row {
  cudaError_t error;
  const char* name;
  const char* text;
};

/// In the order of the numbers.
#define ROW(error, text) {cudaError##error, "cudaError" #error, text}
constexpr Row kRows[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    ROW(InvalidValue, "an argument is null, out of range, or names memory the call cannot use"),
    ROW(MemoryAllocation, "not enough memory"),
    ROW(InitializationError, "the runtime cannot be used in a forked child: start a new process"),
    ROW(CudartUnloading, "the process is exiting and the runtime has stopped its workers"),
    ROW(ProfilerDisabled, "profiling is switched off"),
    ROW(ProfilerNotInitialized, "the profiler was not initialised"),
    ROW(ProfilerAlreadyStarted, "the profiler is running already"),
    ROW(ProfilerAlreadyStopped, "the profiler is stopped already"),
    ROW(InvalidConfiguration, "the grid or block does not fit the device"),
    ROW(InvalidPitchValue, "a pitch is smaller than the width of a row, or too large"),
    ROW(InvalidSymbol, "not a symbol of this program"),
    ROW(InvalidHostPointer, "not a host pointer"),
    ROW(InvalidDevicePointer, "not a device pointer"),
    ROW(InvalidTexture, "not a texture"),
    ROW(InvalidTextureBinding, "the texture is not bound"),
    ROW(InvalidChannelDescriptor, "the channel format is not one that exists"),
    ROW(InvalidMemcpyDirection, "not a direction of copying"),
    ROW(AddressOfConstant, "the address of a constant was taken"),
    ROW(TextureFetchFailed, "a texture could not be read"),
    ROW(TextureNotBound, "a texture was read that is not bound"),
    ROW(SynchronizationError, "synchronisation failed"),
    ROW(InvalidFilterSetting, "this texture filter does not fit the format"),
    ROW(InvalidNormSetting, "this texture cannot be normalised"),
    ROW(MixedDeviceExecution, "host and device execution were mixed"),
    ROW(NotYetImplemented, "not implemented yet"),
    ROW(MemoryValueTooLarge, "a memory size is too large"),
    ROW(StubLibrary, "the library that was loaded is a stub"),
    ROW(InsufficientDriver, "the driver is older than the runtime needs"),
    ROW(CallRequiresNewerDriver, "this call needs a newer driver"),
    ROW(InvalidSurface, "not a surface"),
    ROW(DuplicateVariableName, "two variables have the same name"),
    ROW(DuplicateTextureName, "two textures have the same name"),
    ROW(DuplicateSurfaceName, "two surfaces have the same name"),
    ROW(DevicesUnavailable, "every device is busy or may not be used"),
    ROW(IncompatibleDriverContext, "the current driver context does not fit the runtime"),
    ROW(MissingConfiguration, "a kernel was launched without a launch configuration"),
    ROW(PriorLaunchFailure, "an earlier launch failed"),
    ROW(LaunchMaxDepthExceeded, "launches from device code are nested too deep"),
    ROW(LaunchFileScopedTex, "a kernel launched by a kernel uses a file-scope texture"),
    ROW(LaunchFileScopedSurf, "a kernel launched by a kernel uses a file-scope surface"),
    ROW(SyncDepthExceeded, "synchronisation in device code is nested too deep"),
    ROW(LaunchPendingCountExceeded, "too many launches from device code are pending"),
    ROW(InvalidDeviceFunction, "not a kernel of this program"),
    ROW(NoDevice, "there is no device"),
    ROW(InvalidDevice, "no device has this number"),
    ROW(DeviceNotLicensed, "the device has no licence"),
    ROW(SoftwareValidityNotEstablished, "the validity of the software could not be established"),
    ROW(StartupFailure, "the runtime could not start"),
    ROW(InvalidKernelImage, "the device code is damaged"),
    ROW(DeviceUninitialized, "there is no valid context"),
    ROW(MapBufferObjectFailed, "a buffer could not be mapped"),
    ROW(UnmapBufferObjectFailed, "a buffer could not be unmapped"),
    ROW(ArrayIsMapped, "the array is mapped and cannot be destroyed"),
    ROW(AlreadyMapped, "the resource is mapped already"),
    ROW(NoKernelImageForDevice, "this device has no code of the kernel: the host runs no kernels"),
    ROW(AlreadyAcquired, "the resource is taken already"),
    ROW(NotMapped, "the resource is not mapped"),
    ROW(NotMappedAsArray, "the resource is not mapped as an array"),
    ROW(NotMappedAsPointer, "the resource is not mapped as a pointer"),
    ROW(ECCUncorrectable, "a memory error could not be corrected"),
    ROW(UnsupportedLimit, "the device has no such limit"),
    ROW(DeviceAlreadyInUse, "another thread uses the device"),
    ROW(PeerAccessUnsupported, "these devices cannot access each other"),
    ROW(InvalidPtx, "the PTX could not be compiled"),
    ROW(InvalidGraphicsContext, "not a graphics context"),
    ROW(NvlinkUncorrectable, "an NVLink error could not be corrected"),
    ROW(JitCompilerNotFound, "the PTX compiler library was not found"),
    ROW(UnsupportedPtxVersion, "the PTX is newer than this compiler knows"),
    ROW(JitCompilationDisabled, "compilation of PTX is switched off"),
    ROW(UnsupportedExecAffinity, "the device does not support this affinity"),
    ROW(UnsupportedDevSideSync, "the code synchronises on the device, which is not supported"),
    ROW(Contained, "an error was contained to this process"),
    ROW(InvalidSource, "the source of device code is not valid"),
    ROW(FileNotFound, "a file was not found"),
    ROW(SharedObjectSymbolNotFound, "a shared library lacks a symbol"),
    ROW(SharedObjectInitFailed, "a shared library could not be initialised"),
    ROW(OperatingSystem, "a call to the operating system failed, such as starting a thread"),
    ROW(InvalidResourceHandle, "not a live stream or event, or one that cannot be used for this"),
    ROW(IllegalState, "the resource is not in a state that allows this"),
    ROW(LossyQuery, "the answer would lose information"),
    ROW(SymbolNotFound, "a named symbol was not found"),
    ROW(NotReady, "work is still pending"),
    ROW(IllegalAddress, "device code touched memory that is not its own"),
    ROW(LaunchOutOfResources, "a launch needs more registers or threads than there are"),
    ROW(LaunchTimeout, "a kernel ran for too long"),
    ROW(LaunchIncompatibleTexturing, "a launch has an incompatible texturing mode"),
    ROW(PeerAccessAlreadyEnabled, "access to this device is enabled already"),
    ROW(PeerAccessNotEnabled, "access to this device is not enabled"),
    ROW(SetOnActiveProcess, "this must be set before the device is first used"),
    ROW(ContextIsDestroyed, "the context is destroyed"),
    ROW(Assert, "an assertion failed in device code"),
    ROW(TooManyPeers, "too many devices may access each other"),
    ROW(HostMemoryAlreadyRegistered, "this host memory, or a part of it, is registered already"),
    ROW(HostMemoryNotRegistered, "this host memory is not registered"),
    ROW(HardwareStackError, "the call stack of device code is damaged"),
    ROW(IllegalInstruction, "device code met an illegal instruction"),
    ROW(MisalignedAddress, "device code used a misaligned address"),
    ROW(InvalidAddressSpace, "device code used an address of the wrong space"),
    ROW(InvalidPc, "device code jumped to an invalid address"),
    ROW(LaunchFailure, "work in a stream failed while it ran"),
    ROW(CooperativeLaunchTooLarge, "a cooperative launch has more blocks than can be resident"),
    ROW(TensorMemoryLeak, "a kernel ended without freeing its tensor memory"),
    ROW(NotPermitted, "not allowed here: host functions in streams must not call the runtime"),
    ROW(NotSupported, "not supported by the host runtime; standard error may name the call"),
    ROW(SystemNotReady, "the system is not ready yet"),
    ROW(SystemDriverMismatch, "driver versions of the system do not match"),
    ROW(CompatNotSupportedOnDevice, "the device does not support compatibility mode"),
    ROW(MpsConnectionFailed, "no connection to the MPS server"),
    ROW(MpsRpcFailure, "a call to the MPS server failed"),
    ROW(MpsServerNotReady, "the MPS server takes no new clients now"),
    ROW(MpsMaxClientsReached, "the MPS server has too many clients"),
    ROW(MpsMaxConnectionsReached, "the MPS server has too many connections"),
    ROW(MpsClientTerminated, "the MPS server ended this client"),
    ROW(CdpNotSupported, "the device cannot launch kernels from kernels"),
    ROW(CdpVersionMismatch, "kernels that launch kernels were built for another version"),
    ROW(StreamCaptureUnsupported, "not allowed while a stream is being captured"),
    ROW(StreamCaptureInvalidated, "the capture was spoiled by an earlier error"),
    ROW(StreamCaptureMerge, "two captures would be joined into one"),
    ROW(StreamCaptureUnmatched, "the capture began in another stream"),
    ROW(StreamCaptureUnjoined, "the captured stream never waited for another that took part"),
    ROW(StreamCaptureIsolation, "captured work would wait for work outside the capture"),
    ROW(StreamCaptureImplicit, "the legacy default stream would have to wait for a capture"),
    ROW(CapturedEvent, "the event was recorded in a capture and never happens by itself"),
    ROW(StreamCaptureWrongThread, "the capture began in another thread"),
    ROW(Timeout, "waiting took too long"),
    ROW(GraphExecUpdateFailure, "the graph differs too much to replace the executable one"),
    ROW(ExternalDevice, "a device outside this process failed"),
    ROW(InvalidClusterSize, "the cluster size does not fit"),
    ROW(FunctionNotLoaded, "the function is not loaded"),
    ROW(InvalidResourceType, "the resource is of the wrong type"),
    ROW(InvalidResourceConfiguration, "the resource configuration is not valid"),
    ROW(Unknown, "an unknown error"),
    ROW(ApiFailureBase, "an error of the driver that has no name here"),
};
#undef ROW

constexpr Row kUnknown = {cudaErrorUnknown, "unrecognized error code", "unrecognized error code"};

const Row& row_of(cudaError_t error) {
  const Row* found = std::lower_bound(std::begin(kRows), std::end(kRows), error,
                                      [](const Row& row, cudaError_t e) { return row.error < e; });
  return found != std::end(kRows) && found->error == error ? *found : kUnknown;
}

}  // namespace
}  // namespace tenon::cudart

using namespace tenon::cudart;

const char* cudaGetErrorName(cudaError_t error) {
  return row_of(error).name;
}

const char* cudaGetErrorString(cudaError_t error) {
  return row_of(error).text;
}

cudaError_t cudaGetLastError() {
  return std::exchange(thread_context().last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return thread_context().last_error;
}
