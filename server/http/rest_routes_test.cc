#include "rest_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics.h"
#include "model/fake_models.h"

namespace tenon::server {
namespace {

using ::testing::HasSubstr;

class Rest : public ::testing::Test {
 protected:
  RestResponse ask(const std::string& method, const std::string& target,
                   const std::string& body = "", RestOptions options = {}) {
    RestRequest request;
    request.method = method;
    request.target = target;
    request.body = std::make_shared<Body>(body.begin(), body.end());
    RestRoutes routes(models_, options);
    RestResponse response;
    response.status = -1;
    routes.handle(std::move(request), [&](RestResponse got) { response = std::move(got); });
    return response;
  }
  int status(const std::string& method, const std::string& target, const std::string& body = "") {
    return ask(method, target, body).status;
  }

  const std::string request_ =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]})";
  FakeModels models_;
};

TEST_F(Rest, HealthIsThatOfTheModels) {
  EXPECT_EQ(ask("GET", "/v2/health/live").text, R"({"live":true})");
  EXPECT_EQ(status("GET", "/v2/health/ready"), 200);
  models_.set_ready(false);
  EXPECT_EQ(status("GET", "/v2/health/ready"), 503);
  EXPECT_EQ(status("GET", "/v2/health/live"), 200);
}

TEST_F(Rest, MetadataAreThoseOfTheProtocol) {
  EXPECT_THAT(ask("GET", "/v2").text, HasSubstr(R"("name":"tenon")"));
  EXPECT_EQ(ask("GET", "/v2/models/double").text,
            R"({"name":"double","versions":["1","2"],"platform":"tenon_plan",)"
            R"("inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}],)"
            R"("outputs":[{"name":"y","datatype":"FP32","shape":[-1,4]},)"
            R"({"name":"sum","datatype":"FP32","shape":[-1]}]})");
  EXPECT_EQ(status("GET", "/v2/models/double/ready"), 200);
  EXPECT_EQ(status("GET", "/v2/models/double/versions/2/ready"), 200);
  EXPECT_EQ(status("GET", "/v2/models/double/versions/3/ready"), 503);
  EXPECT_EQ(status("GET", "/v2/models/none"), 404);
  EXPECT_EQ(status("GET", "/v2/models/%64oub%6Ce"), 200);
  EXPECT_EQ(status("GET", "/v2/models/%6"), 400);
}

TEST_F(Rest, InfersInTheVersionThatIsAskedFor) {
  EXPECT_EQ(ask("POST", "/v2/models/double/infer", request_).text,
            R"({"model_name":"double","model_version":"2","outputs":[)"
            R"({"name":"y","datatype":"FP32","shape":[1,4],"data":[2,4,6,8]},)"
            R"({"name":"sum","datatype":"FP32","shape":[1],"data":[10]}]})");
  EXPECT_THAT(ask("POST", "/v2/models/double/versions/1/infer", request_).text,
              HasSubstr(R"("model_version":"1")"));
}

TEST_F(Rest, EachFailureHasItsStatus) {
  EXPECT_EQ(status("POST", "/v2/models/none/infer", request_), 404);
  EXPECT_EQ(status("POST", "/v2/models/double/infer", "{"), 400);
  EXPECT_EQ(status("GET", "/v2/models/double/infer"), 405);
  EXPECT_EQ(status("POST", "/v2/models/double"), 405);
  EXPECT_EQ(status("GET", "/v2/unknown"), 404);
  const std::pair<Failure, int> kStatuses[] = {
      {Failure::kInvalid, 400},     {Failure::kNotFound, 404}, {Failure::kFull, 429},
      {Failure::kUnavailable, 503}, {Failure::kExpired, 504},  {Failure::kInternal, 500}};
  for (const auto& [failure, expected] : kStatuses) {
    models_.switches().fail_with(RequestError{failure, "a \"reason\""});
    const RestResponse response = ask("POST", "/v2/models/double/infer", request_);
    EXPECT_EQ(response.status, expected);
    EXPECT_EQ(response.text, R"({"error":"a \"reason\""})");
    EXPECT_EQ(response.may_retry, expected == 429 || expected == 503);
  }
}

TEST_F(Rest, ModelsAreOnlyControlledWhereThatIsAllowed) {
  EXPECT_THAT(
      ask("POST", "/v2/repository/index").text,
      HasSubstr(
          R"({"name":"broken","version":"1","state":"UNAVAILABLE","reason":"its plan is damaged"})"));
  EXPECT_EQ(status("POST", "/v2/repository/models/double/unload"), 403);
  const RestOptions allowed{.allows_model_control = true, .limits = {}};
  EXPECT_EQ(ask("POST", "/v2/repository/models/double/unload", "", allowed).status, 200);
  EXPECT_EQ(status("POST", "/v2/models/double/infer", request_), 404);
  EXPECT_EQ(ask("POST", "/v2/repository/models/double/load", "", allowed).status, 200);
  EXPECT_EQ(status("POST", "/v2/models/double/infer", request_), 200);
  EXPECT_EQ(ask("POST", "/v2/repository/models/broken/load", "", allowed).status, 400);
  const auto load = [&](const std::string& body) {
    return ask("POST", "/v2/repository/models/double/load", body, allowed);
  };
  EXPECT_EQ(load(R"({"parameters":{"config":"{\"max_batch_size\": 4}"}})").status, 200);
  EXPECT_EQ(models_.last_config(), R"({"max_batch_size": 4})");
  EXPECT_THAT(load(R"({"parameters":{"config":{}}})").text, HasSubstr("expected a string"));
  EXPECT_THAT(load(R"({"parameters":{"file:1/model.onnx":"AA=="}})").text,
              HasSubstr("not supported yet"));
  EXPECT_EQ(load("[").status, 400);
}

TEST_F(Rest, TheConfigurationIsWithoutTheBatch) {
  EXPECT_EQ(ask("GET", "/v2/models/double/config").text,
            R"({"name":"double","platform":"tenon_plan","version_policy":{"latest":)"
            R"({"num_versions":1}},"max_batch_size":8,)"
            R"("input":[{"name":"x","data_type":"TYPE_FP32","dims":[4]}],)"
            R"("output":[{"name":"y","data_type":"TYPE_FP32","dims":[4]},)"
            R"({"name":"sum","data_type":"TYPE_FP32","dims":[]}],)"
            R"("instance_group":[{"name":"double","count":1}],"dynamic_batching":{},)"
            R"("backend":"tenon"})");
}

TEST_F(Rest, ClassesAreAnsweredWhereAsked) {
  const std::string request =
      R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,4],"data":[1,4,2,3]}],)"
      R"("outputs":[{"name":"y","parameters":{"classification":2}}]})";
  EXPECT_THAT(ask("POST", "/v2/models/double/infer", request).text,
              HasSubstr(R"("datatype":"BYTES","shape":[1,2],"data":["8:1","6:3"])"));
}

TEST_F(Rest, SettingsAreChangedAndAnswered) {
  EXPECT_THAT(ask("GET", "/v2/logging").text, HasSubstr(R"("log_info":true)"));
  EXPECT_EQ(status("POST", "/v2/logging", R"({"log_info":true,"log_verbose_level":0})"), 200);
  EXPECT_THAT(ask("POST", "/v2/logging", R"({"log_info":false})").text,
              HasSubstr(R"("log_info":false)"));
  EXPECT_THAT(ask("POST", "/v2/logging", R"({"log_file":"/tmp/log"})").text,
              HasSubstr("setting 'log_file'"));
  EXPECT_EQ(status("POST", "/v2/logging", "[]"), 400);
  EXPECT_EQ(ask("GET", "/v2/trace/setting").text,
            R"({"log_frequency":"0","trace_count":"-1","trace_file":"","trace_level":["OFF"],)"
            R"("trace_mode":"triton","trace_rate":"1000"})");
  EXPECT_THAT(ask("POST", "/v2/trace/setting", R"({"trace_level":["TIMESTAMPS"]})").text,
              HasSubstr("--trace-config triton,file=PATH"));
  EXPECT_THAT(ask("POST", "/v2/models/double/trace/setting", R"({"trace_rate":"7"})").text,
              HasSubstr(R"("trace_rate":"7")"));
  EXPECT_EQ(status("POST", "/v2/trace/setting", R"({"trace_level":"OFF","trace_rate":null})"), 200);
  EXPECT_EQ(status("POST", "/v2/trace/setting", R"({"trace_file":"/tmp/trace"})"), 400);
  EXPECT_EQ(status("GET", "/v2/models/double/trace/setting"), 200);
  EXPECT_EQ(status("GET", "/v2/models/none/trace/setting"), 404);
}

TEST_F(Rest, SharedMemoryIsRegisteredWhereThatIsAllowed) {
  const std::string root = "/v2/systemsharedmemory";
  EXPECT_THAT(ask("GET", root + "/status").text, HasSubstr("--allow-shared-memory"));
  EXPECT_EQ(status("GET", "/v2/cudasharedmemory/status"), 501);
  SharedMemory memory({});
  RestOptions options;
  options.memory = &memory;
  EXPECT_EQ(ask("GET", root + "/status", "", options).text, "[]");
  const auto add = [&](const std::string& body) {
    return ask("POST", root + "/region/r/register", body, options).text;
  };
  EXPECT_THAT(add(R"({"key":"/tenon_none","byte_size":4})"), HasSubstr("cannot open"));
  EXPECT_THAT(add(R"({"key":"/tenon_none","offset":-1,"byte_size":4})"), HasSubstr("expected {"));
  EXPECT_THAT(add(R"({"key":"/tenon_none"})"), HasSubstr("expected {"));
  EXPECT_THAT(add(""), HasSubstr("expected {"));
  EXPECT_EQ(ask("GET", root + "/region/r/status", "", options).status, 404);
  EXPECT_EQ(ask("POST", root + "/region/r/unregister", "", options).status, 200);
  EXPECT_EQ(ask("POST", root + "/unregister", "", options).status, 200);
  EXPECT_EQ(ask("GET", root + "/unregister", "", options).status, 405);
  EXPECT_EQ(ask("POST", root + "/register", "", options).status, 404);
  EXPECT_THAT(ask("GET", "/v2", "", options).text, HasSubstr("system_shared_memory"));
  EXPECT_THAT(ask("GET", "/v2").text, Not(HasSubstr("system_shared_memory")));
}

TEST_F(Rest, StatisticsAndMetricsCountRequests) {
  ask("POST", "/v2/models/double/infer", request_);
  EXPECT_THAT(ask("GET", "/v2/models/double/stats").text,
              HasSubstr(R"("version":"2","inference_count":1,"execution_count":1)"));
  EXPECT_THAT(ask("GET", "/v2/models/stats").text, HasSubstr(R"("name":"echo_FP32")"));
  EXPECT_EQ(status("GET", "/v2/models/none/stats"), 404);
  RestRequest request;
  request.method = "GET";
  request.target = "/metrics";
  const RestResponse metrics = metrics_response(models_, request);
  EXPECT_THAT(metrics.text,
              HasSubstr("nv_inference_request_success{model=\"double\",version=\"2\"} 1"));
  // A family has its line of help once, however many models there are.
  const std::string help = "# HELP tenon_jobs_committed_total";
  EXPECT_NE(metrics.text.find(help), std::string::npos);
  EXPECT_EQ(metrics.text.find(help), metrics.text.rfind(help));
}

}  // namespace
}  // namespace tenon::server
