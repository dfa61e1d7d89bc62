#include "migrate/migrate.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace tenon::migrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> whats_of(std::string_view source, int to = 11) {
  std::vector<std::string> whats;
  for (const Finding& f : findings_of(source, to))
    whats.push_back((f.is_certain ? "" : "perhaps ") + f.what);
  return whats;
}

TEST(Migrate, FindsMethodsByWhatTheirReceiverIs) {
  EXPECT_THAT(whats_of("void f(nvinfer1::ICudaEngine* engine) { engine->getNbBindings(); }"),
              ElementsAre("ICudaEngine::getNbBindings"));
  EXPECT_THAT(whats_of("std::shared_ptr<nvinfer1::IExecutionContext> context; int g() { "
                       "context->enqueueV2(b, s, nullptr); }"),
              ElementsAre("IExecutionContext::enqueueV2"));
  EXPECT_THAT(whats_of("auto config = "
                       "SampleUniquePtr<nvinfer1::IBuilderConfig>(builder->createBuilderConfig()); "
                       "config->setMaxWorkspaceSize(1 << 20);"),
              ElementsAre("IBuilderConfig::setMaxWorkspaceSize"));
  EXPECT_THAT(whats_of("auto* conv = network->addConvolutionNd(*x, 8, Dims2{3, 3}, w, b); "
                       "conv->setStride(DimsHW{2, 2});"),
              ElementsAre("IConvolutionLayer::setStride"));
  EXPECT_THAT(whats_of("void f(ICudaEngine& engine) { engine.getBindingIndex(\"x\"); }"),
              ElementsAre("ICudaEngine::getBindingIndex"));
  EXPECT_THAT(
      whats_of("network->getLayer(0)->setPrecision(DataType::kHALF); using namespace nvinfer1;"),
      ElementsAre("ILayer::setPrecision"));
  EXPECT_THAT(
      whats_of("void f(nvinfer1::IPoolingLayer* p) { p->setOutputType(0, DataType::kINT8); }"),
      ElementsAre("IPoolingLayer::setOutputType"));
}

TEST(Migrate, TellsCallsByTheNumberOfTheirArguments) {
  EXPECT_THAT(whats_of("void f(nvinfer1::INetworkDefinition& n) { n.addQuantize(x, g(1, 2)); "
                       "n.addQuantize(x, s, DataType::kINT8); n.addFill(Dims{1, {2}}, op); "
                       "n.addFill(Dims{1, {2}}, op, {}); n.addDequantize(); }"),
              ElementsAre("INetworkDefinition::addQuantize", "INetworkDefinition::addFill"));
}

TEST(Migrate, LeavesOtherTypesAlone) {
  // A cache's enqueue, a matrix' getStride, another library's destroy.
  EXPECT_THAT(whats_of("Queue queue; queue.enqueue(1); m.getStride(); window->destroy();"),
              ElementsAre());
  EXPECT_THAT(whats_of("nvinfer1::IPluginV3* p; void f(nvinfer1::IRuntime* r) { "
                       "r->deserializeCudaEngine(a, b); }"),
              ElementsAre());
  // A plugin has a destroy of its own, which stays.
  EXPECT_THAT(whats_of("struct P : nvinfer1::IPluginV3 { void destroy(); };"), ElementsAre());
  EXPECT_THAT(whats_of("// engine->getNbBindings()\nconst char* t = \"engine->getNbBindings()\"; "
                       "/* enqueueV2( */"),
              ElementsAre());
  EXPECT_THAT(whats_of("int getNbBindings(); Other::getNbBindings();"), ElementsAre());
  EXPECT_THAT(whats_of("struct Mine { int getNbBindings(); }; void f(Mine* m, Mine& n) { "
                       "m->getNbBindings(); n.getNbBindings(); }"),
              ElementsAre());
  EXPECT_THAT(whats_of("mine::IAlgorithm a; x.IPluginV2; enum class Way { kFP16 }; Way::kFP16;"),
              ElementsAre());
}

TEST(Migrate, SaysPerhapsWhereTheTypeIsNotToBeSeen) {
  EXPECT_THAT(whats_of("#include <NvInfer.h>\nvoid free(Holder& h) { h.engine->destroy(); }"),
              ElementsAre("perhaps IBuilder::destroy"));
  // Such a name nobody else has.
  EXPECT_THAT(whats_of("void f(Holder& h) { h.engine->getBindingIndex(\"x\"); }"),
              ElementsAre("ICudaEngine::getBindingIndex"));
  // It may be a method of the class around it.
  EXPECT_THAT(
      whats_of("struct A : B { int getNbBindings(); int f() { return this->getNbBindings(); } };"),
      ElementsAre("perhaps ICudaEngine::getNbBindings"));
}

TEST(Migrate, TellsItsNamesFromThoseOfOthers) {
  EXPECT_THAT(whats_of("#include <NvInfer.h>\nvoid f(ResizeMode a, nvinfer1::ResizeMode b);"),
              ElementsAre("perhaps ResizeMode", "ResizeMode"));
  EXPECT_THAT(whats_of("using namespace nvinfer1; class A : public IAlgorithmSelector {};"),
              ElementsAre("IAlgorithmSelector"));
  EXPECT_THAT(whats_of("class IAlgorithm { int x; }; IAlgorithm* a; void f(ResizeMode mode);"),
              ElementsAre());
}

// Lines are not counted again for each finding.
TEST(Migrate, LargeSourcesAreReadOnce) {
  std::string source = "#include <NvInfer.h>\n";
  for (int i = 0; i < 200'000; ++i) source += "  window->destroy();\n";
  const auto findings = findings_of(source, 11);
  ASSERT_EQ(findings.size(), 200'000u);
  EXPECT_EQ(findings.back().line, 200'001u);
  EXPECT_EQ(findings.back().column, 11u);
}

TEST(Migrate, FindsNamesEnumeratorsAndHeaders) {
  EXPECT_THAT(whats_of("#include <NvCaffeParser.h>\n#include \"trt/NvUffParser.h\"\nclass C : "
                       "public nvinfer1::IInt8EntropyCalibrator2 {};\n"
                       "config->setFlag(BuilderFlag::kFP16); "
                       "config->setFlag(nvinfer1::BuilderFlag::kSTRICT_TYPES);"),
              ElementsAre("NvCaffeParser.h", "trt/NvUffParser.h", "IInt8EntropyCalibrator2",
                          "BuilderFlag::kFP16", "BuilderFlag::kSTRICT_TYPES"));
}

TEST(Migrate, ListsWhatTheWantedVersionHasNot) {
  const char* const source =
      "config->setFlag(BuilderFlag::kFP16); void f(ICudaEngine* e) { e->getNbBindings(); } "
      "IPluginV2DynamicExt* p;";
  EXPECT_THAT(whats_of(source, 10), ElementsAre("ICudaEngine::getNbBindings"));
  EXPECT_THAT(whats_of(source, 11), ElementsAre("BuilderFlag::kFP16", "ICudaEngine::getNbBindings",
                                                "IPluginV2DynamicExt"));
}

TEST(Migrate, SaysWhereAndWhatInstead) {
  const auto findings = findings_of("\n\n  void f(ICudaEngine* e) {\n\te->getNbBindings(); }", 11);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].line, 4u);
  EXPECT_EQ(findings[0].column, 5u);
  EXPECT_EQ(findings[0].removed, 10);
  EXPECT_THAT(findings[0].instead, HasSubstr("getNbIOTensors"));
}

TEST(Migrate, FixesWhatIsSafe) {
  EXPECT_EQ(fixed("void f(IBuilderConfig* c) { c->setMaxWorkspaceSize(1 << 20); }", 11),
            "void f(IBuilderConfig* c) { "
            "c->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, 1 << 20); }");
  EXPECT_EQ(fixed("size_t f(IBuilderConfig* c) { return c->getMaxWorkspaceSize(); }", 11),
            "size_t f(IBuilderConfig* c) { return "
            "c->getMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE); }");
  EXPECT_EQ(fixed("void f(ICudaEngine* e) { e->destroy(); }", 11),
            "void f(ICudaEngine* e) { delete e; }");
  EXPECT_EQ(fixed("void f(ICudaEngine* e) { if (e) e->destroy(); }", 11),
            "void f(ICudaEngine* e) { if (e) delete e; }");
  EXPECT_EQ(fixed("ProfilingVerbosity::kVERBOSE; nvinfer1::SliceMode::kDEFAULT;", 11),
            "ProfilingVerbosity::kDETAILED; nvinfer1::SampleMode::kSTRICT_BOUNDS;");
  EXPECT_EQ(fixed("using namespace nvinfer1; SliceMode::kDEFAULT;", 11),
            "using namespace nvinfer1; SampleMode::kSTRICT_BOUNDS;");
  EXPECT_EQ(fixed("INetworkDefinition* network; auto* c = network->addConvolution(*x, 8, DimsHW{3, "
                  "3}, w, b); "
                  "c->setPadding(DimsHW{1, 1});",
                  11),
            "INetworkDefinition* network; auto* c = network->addConvolutionNd(*x, 8, DimsHW{3, 3}, "
            "w, b); "
            "c->setPaddingNd(DimsHW{1, 1});");
}

TEST(Migrate, LeavesWhatIsNotSafe) {
  for (const char* source : {
           "void f(Holder& h) { h.engine->destroy(); }",  // of a type that is not to be seen
           "std::unique_ptr<ICudaEngine, D> e; void f() { e->destroy(); }",  // a smart pointer
           "auto e = std::unique_ptr<ICudaEngine>(r->deserializeCudaEngine(a, b)); void f() { "
           "e->destroy(); }",
           "void f(ICudaEngine* e) { return e->destroy(); }",    // a part of a statement
           "void f(ICudaEngine* e) { g(e->getNbBindings()); }",  // counts profiles, too
           // Dims of three extents, and of one
           "void f(IConvolutionLayer* c) { c->setStride({3, 3}); c->setPadding({}); }",
           "INetworkDefinition* n; n->addPooling(*x, PoolingType::kMAX, {2, 2});",
           // a type of the file's own, and perhaps one of a header
           "#include <NvInfer.h>\nenum class ResizeMode : int { kFIT }; ResizeMode::kFIT;",
           "#include <NvInfer.h>\nvoid f(ResizeMode mode);",
           "void f(ResizeMode mode, SliceMode other = SliceMode::kDEFAULT);",
           "// e->destroy();\nvoid f(IBuilderConfig* c) { puts(\"c->setMaxWorkspaceSize(1)\"); }",
       })
    EXPECT_EQ(fixed(source, 11), source);
}

TEST(Migrate, FixesOnlyOnce) {
  const std::string once = fixed(
      "void f(IBuilderConfig* c, ICudaEngine* e) { c->setMaxWorkspaceSize(1); e->destroy(); }", 11);
  EXPECT_EQ(fixed(once, 11), once);
  EXPECT_THAT(whats_of(once), ElementsAre());
}

TEST(Migrate, SurvivesAnySource) {
  const std::string source =
      "#include <NvInfer.h>\nvoid f(nvinfer1::ICudaEngine* e, "
      "std::unique_ptr<nvinfer1::IBuilderConfig, D<int>> c) {\n"
      "  e->destroy(); c->setMaxWorkspaceSize(R\"(x)\", 'y'); auto x = n->addPooling(a, b, c); }";
  for (size_t begin = 0; begin < source.size(); begin += 3)
    for (size_t length = 0; begin + length <= source.size(); length += 5) {
      const std::string part = source.substr(begin, length);
      findings_of(part, 11);
      fixed(part, 10);
    }
  findings_of(std::string(100, ')') + "->destroy()", 11);
  findings_of("(->x.", 11);
}

// What rules say of Tenon's own headers.
TEST(Migrate, KnowsWhatTenonsHeadersHave) {
  std::string headers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TENON_HEADERS)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    headers.append(std::istreambuf_iterator<char>(file), {});
  }
  for (const auto& [name, is_in_tenon] : rule_names()) {
    if (!is_in_tenon) continue;
    EXPECT_NE(headers.find(name), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace tenon::migrate
