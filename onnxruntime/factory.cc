// What ONNX Runtime finds in the library: functions that make and release the factory of providers.
#include <algorithm>

#include "provider.h"

namespace tenon::ort {
namespace {

constexpr const char* kPrecisions[] = {"fp32", "tf32", "bf16", "fp16"};

/// OrtEpFactory comes first.
class Factory : public OrtEpFactory {
 public:
  explicit Factory(const OrtApi& api) : OrtEpFactory{}, api_(api) {
    ort_version_supported = kApiVersion;
    GetName = [](const OrtEpFactory*) { return kProviderName; };
    GetVendor = [](const OrtEpFactory*) { return "Tenon"; };
    GetVersion = [](const OrtEpFactory*) { return TENON_VERSION; };
    GetVendorId = [](const OrtEpFactory*) { return uint32_t{0}; };
    GetSupportedDevices = supported_devices;
    CreateEp = create;
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Provider*>(ep); };
    // Tensors lie in ONNX Runtime's own memory of the host.
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** made) -> OrtStatus* {
      *made = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** made) -> OrtStatus* {
      *made = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
    CreateSyncStreamForDevice = [](OrtEpFactory*, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                   OrtSyncStreamImpl** made) -> OrtStatus* {
      *made = nullptr;
      return nullptr;
    };
  }

 private:
  // The CPU: whose memory tensors are in, wherever the engine runs.
  static OrtStatus* supported_devices(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                      size_t count, OrtEpDevice** made, size_t max,
                                      size_t* made_count) noexcept {
    const Api& api = static_cast<Factory*>(self)->api_;
    *made_count = 0;
    return guarded(api, [&] {
      for (size_t i = 0; i < count && *made_count < max; ++i)
        if (api->HardwareDevice_Type(devices[i]) == kDeviceCpu) {
          api.check(api->GetEpApi()->CreateEpDevice(self, devices[i], nullptr, nullptr,
                                                    &made[*made_count]));
          ++*made_count;
        }
    });
  }

  // An option of the session; empty where it is not set.
  static std::string option(const Api& api, const OrtSessionOptions* options, const char* name) {
    const std::string key = std::string("ep.tenonexecutionprovider.") + name;
    int is_set = 0;
    api.check(api->HasSessionConfigEntry(options, key.c_str(), &is_set));
    if (is_set == 0) return {};
    size_t size = 0;
    api.check(api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
    std::string value(size, '\0');
    api.check(api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
    while (!value.empty() && value.back() == '\0') value.pop_back();
    return value;
  }

  static OrtStatus* create(OrtEpFactory* self, const OrtHardwareDevice* const*,
                           const OrtKeyValuePairs* const*, size_t, const OrtSessionOptions* options,
                           const OrtLogger*, OrtEp** made) noexcept {
    const Api& api = static_cast<Factory*>(self)->api_;
    return guarded(api, [&] {
      CompileOptions of_provider;
      const std::string precision = option(api, options, "precision");
      if (!precision.empty()) {
        if (std::ranges::find(kPrecisions, precision) == std::end(kPrecisions))
          throw Error{"precision: expected fp32, tf32, bf16 or fp16, found '" + precision + "'"};
        of_provider.precision = precision;
      }
      *made = new Provider(api, of_provider);
    });
  }

  const Api api_;
};

}  // namespace
}  // namespace tenon::ort

extern "C" {

/// The one factory. A status where ONNX Runtime is older than 1.23.
[[gnu::visibility("default")]] tenon::ort::OrtStatus* CreateEpFactories(
    const char*, const tenon::ort::OrtApiBase* base, const void*,
    tenon::ort::OrtEpFactory** factories, size_t max, size_t* count) {
  using namespace tenon::ort;
  *count = 0;
  const OrtApi* const api = base->GetApi(kApiVersion);
  if (api == nullptr)  // the first functions are the same in all versions
    return base->GetApi(1)->CreateStatus(
        kFail, "Tenon's execution provider needs ONNX Runtime 1.23 or newer");
  if (max == 0)
    return api->CreateStatus(kFail, "Tenon's execution provider: no room for a factory");
  factories[0] = new Factory(*api);
  *count = 1;
  return nullptr;
}

[[gnu::visibility("default")]] tenon::ort::OrtStatus* ReleaseEpFactory(
    tenon::ort::OrtEpFactory* factory) {
  delete static_cast<tenon::ort::Factory*>(factory);
  return nullptr;
}
}
