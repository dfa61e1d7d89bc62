// The version of the TensorRT API that these headers offer.
#ifndef NV_INFER_VERSION_H
#define NV_INFER_VERSION_H

// What a program asks for: 10 (the default), 8 for programs written against TensorRT 8.x, or 11.
#ifndef TENON_TRT_API
#define TENON_TRT_API 10
#endif

// Whether names that TensorRT 11 has removed can be used, and networks be typed by builder flags.
// With TENON_TRT_API=11 they cannot, unless a program on its way there asks for them with 1.
#ifndef TENON_TRT_OLDER_NAMES
#define TENON_TRT_OLDER_NAMES (TENON_TRT_API < 11)
#endif

// The interface that is compiled in whatever the dialect: classes, slots and values are 10.16's.
#define TENON_TRT_ABI_VERSION 101600

#if TENON_TRT_API == 10
#define TRT_MAJOR_ENTERPRISE 10
#define TRT_MINOR_ENTERPRISE 16
#define TRT_PATCH_ENTERPRISE 0
#elif TENON_TRT_API == 8
#define TRT_MAJOR_ENTERPRISE 8
#define TRT_MINOR_ENTERPRISE 6
#define TRT_PATCH_ENTERPRISE 1
#elif TENON_TRT_API == 11
#define TRT_MAJOR_ENTERPRISE 11
#define TRT_MINOR_ENTERPRISE 4
#define TRT_PATCH_ENTERPRISE 0
#else
#error "TENON_TRT_API must be 8, 10 or 11"
#endif
#define TRT_BUILD_ENTERPRISE 0

#define NV_TENSORRT_MAJOR TRT_MAJOR_ENTERPRISE
#define NV_TENSORRT_MINOR TRT_MINOR_ENTERPRISE
#define NV_TENSORRT_PATCH TRT_PATCH_ENTERPRISE
#define NV_TENSORRT_BUILD TRT_BUILD_ENTERPRISE

#define NV_TENSORRT_LWS_MAJOR 0
#define NV_TENSORRT_LWS_MINOR 0
#define NV_TENSORRT_LWS_PATCH 0

#define NV_TENSORRT_RELEASE_TYPE_EARLY_ACCESS 0
#define NV_TENSORRT_RELEASE_TYPE_RELEASE_CANDIDATE 1
#define NV_TENSORRT_RELEASE_TYPE_GENERAL_AVAILABILITY 2
#define NV_TENSORRT_RELEASE_TYPE NV_TENSORRT_RELEASE_TYPE_GENERAL_AVAILABILITY

#endif  // NV_INFER_VERSION_H
