#include "status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics.h"
#include "model/fake_models.h"
#include "status_page.h"

namespace tenon::server {
namespace {

using ::testing::HasSubstr;

TEST(Status, ATableOfTheMetrics) {
  EXPECT_EQ(status_table(R"(# HELP tenon_model_state What it is
tenon_model_state{model="yolo",version="2",state="READY"} 1
tenon_model_state{model="a \"}\\",version="",state="UNAVAILABLE"} 1
nv_inference_request_success{model="yolo",version="2"} 40
nv_inference_request_failure{model="yolo",version="2"} 3
nv_inference_count{model="yolo",version="2"} 60
nv_inference_exec_count{model="yolo",version="2"} 40
nv_inference_pending_request_count{model="yolo",version="2"} 7
tenon_job_seconds_bucket{model="yolo",version="2",le="0.001"} 10
tenon_job_seconds_bucket{model="yolo",version="2",le="0.002"} 39
tenon_job_seconds_bucket{model="yolo",version="2",le="0.004"} 40
tenon_job_seconds_bucket{model="yolo",version="2",le="+Inf"} 40
other 5
)"),
            "model  version  state        answered  failed  waiting  batch  median ms  99 % ms\n"
            "a \"}\\           UNAVAILABLE         0       0        0      -          -        -\n"
            "yolo   2        READY              40       3        7    1.5       2.00     4.00\n");
}

TEST(Status, MetricsHaveEachModelsState) {
  FakeModels models;
  RestRequest request;
  request.method = "GET";
  request.target = "/metrics";
  const std::string table = status_table(metrics_response(models, request).text);
  EXPECT_THAT(table, HasSubstr("\nbroken      1        UNAVAILABLE"));
  EXPECT_THAT(table, HasSubstr("\ndouble      2        READY"));
}

TEST(Status, NobodyThereIsAnError) {
  EXPECT_THAT(fetch_metrics("127.0.0.1", 1).error(), HasSubstr("127.0.0.1:1: "));
}

TEST(StatusPage, IsAtTheRoot) {
  FakeModels models;
  RestRequest request;
  request.method = "GET";
  request.target = "/";
  const auto page = status_page_response(models, request);
  ASSERT_TRUE(page);
  EXPECT_THAT(page->content_type, HasSubstr("text/html"));
  EXPECT_THAT(page->text, HasSubstr("<!DOCTYPE html>"));
  request.target = "/v2";
  EXPECT_FALSE(status_page_response(models, request));
  request.target = "/metrics";
  EXPECT_THAT(status_page_response(models, request)->text, HasSubstr("tenon_model_state"));
  request.method = "POST";
  EXPECT_FALSE(status_page_response(models, request));
}

}  // namespace
}  // namespace tenon::server
