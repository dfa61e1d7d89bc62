// A small convolutional network, built by hand, and what it should give.
#pragma once

#include <gmock/gmock.h>

#include "api/testing.h"

namespace tenon::testing {

inline float at(const Floats& v, size_t i) {
  return v[i];
}

inline Floats numbers(size_t count, float step) {
  Floats v(count);
  for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>(static_cast<int>(i % 11) - 5) * step;
  return v;
}

// A small CNN: a 3x3 convolution (2 to 3 channels) with padding, ReLU, 2x2 maximum.
struct Cnn {
  static constexpr int kIn = 2, kOut = 3;
  Floats kernel = numbers(kOut * kIn * 9, 0.25f), bias = {0.5f, -0.5f, 1};

  void add_to(Session& s, bool dynamic) const {
    nvinfer1::ITensor& x =
        dynamic ? s.input("image", {-1, kIn, -1, -1}) : s.input("image", {1, kIn, 6, 4});
    nvinfer1::IConvolutionLayer* conv =
        s.network->addConvolutionNd(x, kOut, dims({3, 3}), weights(kernel), weights(bias));
    conv->setName("conv");
    conv->setPaddingNd(dims({1, 1}));
    nvinfer1::ITensor* relu =
        s.network->addActivation(*conv->getOutput(0), nvinfer1::ActivationType::kRELU)
            ->getOutput(0);
    nvinfer1::IPoolingLayer* pool =
        s.network->addPoolingNd(*relu, nvinfer1::PoolingType::kMAX, dims({2, 2}));
    pool->setStrideNd(dims({2, 2}));
    pool->getOutput(0)->setName("features");
    s.network->markOutput(*pool->getOutput(0));
  }

  // The same in plain loops.
  Floats expected(const Floats& x, int n, int h, int w) const {
    Floats out;
    const auto pixel = [&](int b, int c, int i, int j) {
      const bool inside = i >= 0 && i < h && j >= 0 && j < w;
      return inside ? at(x, static_cast<size_t>(((b * kIn + c) * h + i) * w + j)) : 0.f;
    };
    const auto convolved = [&](int b, int k, int i, int j) {
      float sum = bias[static_cast<size_t>(k)];
      for (int c = 0; c < kIn; ++c)
        for (int r = 0; r < 9; ++r)
          sum += kernel[static_cast<size_t>((k * kIn + c) * 9 + r)]
                 * pixel(b, c, i + r / 3 - 1, j + r % 3 - 1);
      return std::max(sum, 0.f);
    };
    for (int b = 0; b < n; ++b)
      for (int k = 0; k < kOut; ++k)
        for (int i = 0; i + 1 < h; i += 2)
          for (int j = 0; j + 1 < w; j += 2)
            out.push_back(std::max({convolved(b, k, i, j), convolved(b, k, i + 1, j),
                                    convolved(b, k, i, j + 1), convolved(b, k, i + 1, j + 1)}));
    return out;
  }
};

inline void add_profile(Session& s, std::initializer_list<int64_t> min,
                        std::initializer_list<int64_t> opt, std::initializer_list<int64_t> max) {
  nvinfer1::IOptimizationProfile* p = s.builder->createOptimizationProfile();
  p->setDimensions("image", nvinfer1::OptProfileSelector::kMIN, dims(min));
  p->setDimensions("image", nvinfer1::OptProfileSelector::kOPT, dims(opt));
  p->setDimensions("image", nvinfer1::OptProfileSelector::kMAX, dims(max));
  s.config->addOptimizationProfile(p);
}

using Context = std::unique_ptr<nvinfer1::IExecutionContext>;

inline void expect_right(const Cnn& cnn, nvinfer1::IExecutionContext& context, int n, int h, int w,
                         cudaStream_t stream) {
  const Floats x = numbers(static_cast<size_t>(n * Cnn::kIn * h * w), 0.5f);
  const Floats expected = cnn.expected(x, n, h, w);
  Floats y(expected.size(), -1);
  ASSERT_TRUE(context.setInputShape("image", dims({n, Cnn::kIn, h, w})));
  ASSERT_TRUE(context.setInputTensorAddress("image", x.data()));
  ASSERT_TRUE(context.setTensorAddress("features", y.data()));
  EXPECT_EQ(list(context.getTensorShape("features")), (List{n, Cnn::kOut, h / 2, w / 2}));
  ASSERT_TRUE(context.enqueueV3(stream));
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(y, ::testing::Pointwise(::testing::FloatNear(1e-4f), expected));
}

struct CudaStream {
  CudaStream() { cudaStreamCreate(&stream); }
  ~CudaStream() { cudaStreamDestroy(stream); }
  cudaStream_t stream = nullptr;
};

}  // namespace tenon::testing
