#include "response_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cached_model.h"
#include "test_models.h"

namespace tenon::server {
namespace {

using ::testing::ElementsAre;

InferRequest request_of(const std::vector<float>& x) {
  InferRequest request;
  request.inputs.push_back({"x", tensor_with({static_cast<int64_t>(x.size())}, x)});
  return request;
}

std::vector<NamedTensor> outputs_of(const std::vector<float>& y) {
  std::vector<NamedTensor> outputs;
  outputs.push_back({"y", tensor_with({static_cast<int64_t>(y.size())}, y)});
  return outputs;
}

TEST(ResponseCache, FindsWhatWasKeptForTheSameRequest) {
  ResponseCache cache(1 << 16);
  InferRequest request = request_of({1, 2});
  CacheKey key(1, request);
  EXPECT_FALSE(cache.find(key));
  auto outputs = outputs_of({10, 20});
  cache.insert(key, outputs);
  (*outputs[0].tensor.cpu<float>())[0] = 0;  // what was kept is a copy
  InferRequest same = request_of({1, 2});
  CacheKey again(1, same);
  auto found = cache.find(again);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)[0].name, "y");
  EXPECT_THAT(values_of((*found)[0].tensor), ElementsAre(10, 20));

  InferRequest others[] = {request_of({1, 3}), request_of({1, 2}), request_of({1, 2}),
                           request_of({1, 2})};
  others[1].inputs[0].name = "z";
  others[2].outputs = {"y"};
  others[3].inputs[0].tensor = tensor_with({1, 2}, {1, 2});
  for (InferRequest& other : others) {
    CacheKey different(1, other);
    EXPECT_FALSE(cache.find(different));
  }
  CacheKey of_another_model(2, same);
  EXPECT_FALSE(cache.find(of_another_model));
  cache.erase(1);
  EXPECT_FALSE(cache.find(again));
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ResponseCache, DropsWhatWasNotAskedForLongest) {
  InferRequest requests[] = {request_of({0}), request_of({1}), request_of({2}), request_of({3})};
  ResponseCache one(1 << 16);
  auto outputs = outputs_of({5});
  CacheKey first(1, requests[0]);
  one.insert(first, outputs);
  ResponseCache cache(3 * one.bytes());
  std::vector<CacheKey> keys;
  for (InferRequest& request : requests) keys.emplace_back(1, request);
  for (size_t i = 0; i < 3; ++i) cache.insert(keys[i], outputs);
  EXPECT_TRUE(cache.find(keys[0]));
  cache.insert(keys[3], outputs);
  EXPECT_EQ(cache.bytes(), 3 * one.bytes());
  EXPECT_TRUE(cache.find(keys[0]));
  EXPECT_FALSE(cache.find(keys[1]));
  EXPECT_TRUE(cache.find(keys[2]));
  auto large = outputs_of(std::vector<float>(cache.bytes()));
  cache.insert(keys[1], large);  // larger than all
  EXPECT_FALSE(cache.find(keys[1]));
  EXPECT_TRUE(cache.find(keys[3]));
}

TEST(CachedModel, AsksTheModelOnce) {
  int asked = 0;
  std::optional<RequestError> failure;
  ModelMetadata metadata{"sum", "3", "", {{"x", DataType::kFLOAT, {-1}}}, {}};
  const auto inner =
      std::make_shared<FunctionModel>(metadata, [&](const InferRequest&, const Receive& receive) {
        ++asked;
        if (failure) return receive(*failure);
        InferResponse response;
        response.outputs = outputs_of({static_cast<float>(asked)});
        receive(std::move(response));
      });
  const auto cache = std::make_shared<ResponseCache>(1 << 16);
  const auto answered = [](Model& model, float x) {
    InferRequest request = request_of({x});
    request.id = "7";
    InferAnswer answer = answer_of(model, std::move(request));
    auto* const response = std::get_if<InferResponse>(&answer);
    return response == nullptr ? -1 : values_of(response->outputs[0].tensor)[0];
  };
  {
    const auto model = make_cached_model(inner, cache);
    failure = RequestError{Failure::kInternal, "it failed"};
    EXPECT_EQ(answered(*model, 1), -1);  // is not kept
    failure.reset();
    EXPECT_EQ(answered(*model, 1), 2);
    EXPECT_EQ(answered(*model, 1), 2);
    EXPECT_EQ(answered(*model, 5), 3);
    EXPECT_EQ(model->cache_statistics()->hits, 1u);
    EXPECT_EQ(model->cache_statistics()->misses, 3u);
    EXPECT_EQ(model->statistics().succeeded, 1u);  // besides what the model says
    InferRequest request = request_of({1});
    request.id = "8";
    const InferAnswer hit = answer_of(*model, std::move(request));
    EXPECT_EQ(std::get<InferResponse>(hit).id, "8");
    EXPECT_EQ(std::get<InferResponse>(hit).model, "sum");
    EXPECT_EQ(std::get<InferResponse>(hit).version, "3");
    EXPECT_EQ(answered(*make_cached_model(inner, cache), 1), 4);  // a version of its own
    EXPECT_GT(cache->bytes(), 0u);
  }
  EXPECT_EQ(cache->bytes(), 0u);
}

}  // namespace
}  // namespace tenon::server
