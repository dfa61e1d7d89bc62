// What the tests of loops and conditionals share: networks in few words, and runs of them.
#pragma once

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <span>

#include "api/testing.h"

namespace tenon::testing {

using nvinfer1::DataType;
using nvinfer1::ITensor;
using Op = nvinfer1::ElementWiseOperation;

struct Result final : nvinfer1::IOutputAllocator {
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    memory.resize(size);
    return memory.data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& d) noexcept override { shape = list(d); }
  template <class T> std::vector<T> as() const {
    std::vector<T> elements(static_cast<size_t>(
        std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>())));
    if (!elements.empty()) std::memcpy(elements.data(), memory.data(), elements.size() * sizeof(T));
    return elements;
  }
  std::vector<std::byte> memory;
  List shape;
};

// An input's elements: a vector's, or those of an array or number. The test keeps them.
struct Feed {
  template <class T>
  Feed(const char* input, const T& value, List extents = {})
      : name(input), data(std::as_bytes(std::span(&value, 1))), shape(std::move(extents)) {}
  template <class T>
  Feed(const char* input, const std::vector<T>& values, List extents = {})
      : name(input), data(std::as_bytes(std::span(values))), shape(std::move(extents)) {}

  const char* name;
  std::span<const std::byte> data;
  List shape;
};

// A network with one output, in few words.
struct Model : Session {
  template <class T> ITensor& constant(DataType type, const List& shape, std::vector<T> values) {
    nvinfer1::Dims d{static_cast<int32_t>(shape.size()), {}};
    std::copy(shape.begin(), shape.end(), d.d);
    const nvinfer1::Weights w{type, values.data(), static_cast<int64_t>(values.size())};
    return *network->addConstant(d, w)->getOutput(0);
  }
  ITensor& number(int32_t v) { return constant<int32_t>(DataType::kINT32, {}, {v}); }
  ITensor& real(float v) { return constant<float>(DataType::kFLOAT, {}, {v}); }
  ITensor& apply(Op op, ITensor& a, ITensor& b) {
    return *network->addElementWise(a, b, op)->getOutput(0);
  }
  ITensor& sum(ITensor& a, ITensor& b) { return apply(Op::kSUM, a, b); }
  ITensor& product(ITensor& a, ITensor& b) { return apply(Op::kPROD, a, b); }
  nvinfer1::ILoop& counted(ITensor& count) {
    nvinfer1::ILoop& loop = *network->addLoop();
    loop.addTripLimit(count, nvinfer1::TripLimit::kCOUNT);
    return loop;
  }
  // A counter from `first` in steps of one.
  ITensor& counter(nvinfer1::ILoop& loop, int32_t first) {
    nvinfer1::IRecurrenceLayer& i = *loop.addRecurrence(number(first));
    i.setInput(1, sum(*i.getOutput(0), number(1)));
    return *i.getOutput(0);
  }
  ITensor& last(nvinfer1::ILoop& loop, ITensor& tensor) {
    return *loop.addLoopOutput(tensor, nvinfer1::LoopOutput::kLAST_VALUE)->getOutput(0);
  }
  ITensor& loop_output(nvinfer1::ILoop& loop, ITensor& tensor, nvinfer1::LoopOutput kind,
                       int32_t axis, ITensor& length) {
    nvinfer1::ILoopOutputLayer& layer = *loop.addLoopOutput(tensor, kind, axis);
    layer.setInput(1, length);
    return *layer.getOutput(0);
  }
  bool compile(ITensor& result) {
    network->markOutput(result);
    result.setName("result");
    network_engine = engine();
    if (network_engine == nullptr) return false;
    context.reset(network_engine->createExecutionContext());
    EXPECT_TRUE(context->setOutputAllocator("result", &output));
    return true;
  }
  bool enqueue(const std::vector<Feed>& feeds) {
    for (const Feed& f : feeds) {
      if (!f.shape.empty()) {
        nvinfer1::Dims d{static_cast<int32_t>(f.shape.size()), {}};
        std::copy(f.shape.begin(), f.shape.end(), d.d);
        EXPECT_TRUE(context->setInputShape(f.name, d)) << logger.take_errors();
      }
      auto& copy = inputs[f.name];
      copy.assign(f.data.begin(), f.data.end());
      EXPECT_TRUE(context->setInputTensorAddress(f.name, copy.data())) << logger.take_errors();
    }
    return context->enqueueV3(nullptr) && cudaStreamSynchronize(nullptr) == cudaSuccess;
  }
  template <class T = float> std::vector<T> run(const std::vector<Feed>& feeds) {
    EXPECT_NE(context, nullptr) << logger.take_errors();
    if (context == nullptr) return {};
    EXPECT_TRUE(enqueue(feeds)) << logger.take_errors();
    return output.as<T>();
  }
  // Why the network cannot be built.
  std::string refusal(ITensor& result) {
    EXPECT_FALSE(compile(result));
    return logger.take_errors();
  }

  std::map<std::string, std::vector<std::byte>> inputs;  // on the heap, which a GPU sees
  Result output;
  std::unique_ptr<nvinfer1::ICudaEngine> network_engine;
  std::unique_ptr<nvinfer1::IExecutionContext> context;
};

}  // namespace tenon::testing
