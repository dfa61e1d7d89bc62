"""`tenon migrate`: what it finds in a program for TensorRT 8, and that what --fix writes compiles."""
import json
import os
import shutil
import subprocess
import unittest

from support import SOURCE, CliTest, run

PROGRAM = """#include <NvInfer.h>
#include <memory>

using namespace nvinfer1;

// engine->getBindingIndex("input") is only told of here
struct Runner {
  ICudaEngine* engine;
  IExecutionContext* context;
  void run(void** bindings, cudaStream_t stream) {
    const int input = engine->getBindingIndex("input");
    context->setBindingDimensions(input, Dims4(1, 3, 8, 8));
    context->enqueueV2(bindings, stream, nullptr);
  }
  void free() {
    context->destroy();
    engine->destroy();
  }
};

void build(ILogger& logger) {
  auto builder = std::unique_ptr<IBuilder>(createInferBuilder(logger));
  auto network = std::unique_ptr<INetworkDefinition>(builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH)));
  auto config = std::unique_ptr<IBuilderConfig>(builder->createBuilderConfig());
  config->setMaxWorkspaceSize(1 << 20);
  config->setFlag(BuilderFlag::kFP16);
  ITensor* x = network->addInput("x", DataType::kFLOAT, Dims4(1, 3, 8, 8));
  auto* convolution = network->addConvolution(*x, 4, DimsHW{3, 3}, Weights{}, Weights{});
  convolution->setStride(DimsHW{2, 2});
  convolution->setPadding(DimsHW{1, 1});
  network->addPooling(*convolution->getOutput(0), PoolingType::kMAX, DimsHW{2, 2})->setStride(DimsHW{2, 2});
}
"""
FOUND_10 = ["ICudaEngine::getBindingIndex", "IExecutionContext::setBindingDimensions", "IExecutionContext::enqueueV2", "IExecutionContext::destroy",
            "ICudaEngine::destroy", "IBuilderConfig::setMaxWorkspaceSize", "INetworkDefinition::addConvolution", "IConvolutionLayer::setStride",
            "IConvolutionLayer::setPadding", "INetworkDefinition::addPooling", "IPoolingLayer::setStride"]
FOUND_11 = FOUND_10[:5] + ["NetworkDefinitionCreationFlag::kEXPLICIT_BATCH", FOUND_10[5], "BuilderFlag::kFP16", *FOUND_10[6:]]
UNFIXED_10 = FOUND_10[:3]


class Migrate(CliTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "program.cc"
        self.file.write_text(PROGRAM)

    def findings(self, *options):
        result = run("migrate", self.file, "--json", *options)
        found = json.loads(result.stdout)
        self.assertEqual(result.returncode, 1 if any(f["certain"] and f["removed"] for f in found) else 0, result.stderr)
        return found

    def test_finds_what_is_gone(self):
        self.assertEqual([f["what"] for f in self.findings()], FOUND_11)
        self.assertEqual([f["what"] for f in self.findings("--to=10")], FOUND_10)
        lines = PROGRAM.splitlines()
        for f in self.findings():
            name = f["what"].rsplit("::", 1)[-1]
            self.assertEqual(lines[f["line"] - 1][f["column"] - 1:][:len(name)], name)

    def test_text_has_the_form_of_a_compiler(self):
        result = run("migrate", self.file, "--to=10")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^\S+/program\.cc:11:31: error: ICudaEngine::getBindingIndex is not in TensorRT 10: the tensor's name")
        self.assertRegex(result.stdout, r"11 uses of what TensorRT 10 has not; --fix changes 8; Tenon's headers have all of them")

    def test_fixes_what_is_safe_and_what_it_writes_compiles(self):
        result = run("migrate", self.file, "--to=10", "--fix")
        self.assertEqual(result.returncode, 1)
        self.assertEqual([f["what"] for f in self.findings("--to=10")], UNFIXED_10)
        fixed = self.file.read_text()
        self.assertEqual(run("migrate", self.file, "--to=10", "--fix").returncode, 1)
        self.assertEqual(self.file.read_text(), fixed)
        for line in ("config->setMemoryPoolLimit(nvinfer1::MemoryPoolType::kWORKSPACE, 1 << 20);", "delete context;", "delete engine;",
                     "convolution->setStrideNd(DimsHW{2, 2});", "DimsHW{2, 2})->setStrideNd(DimsHW{2, 2});"):
            self.assertIn(line, fixed)
        compiler = os.environ.get("CXX") or shutil.which("c++")
        done = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", f"-I{SOURCE}/include", f"-I{SOURCE}/cudart/include", self.file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_program_without_findings(self):
        self.file.write_text("#include <NvInfer.h>\nint main() { return 0; }\n")
        self.assertRegex(self.succeed("migrate", self.file), "^0 uses of what TensorRT 11 has not")

    def test_examples_for_10_have_none_of_10(self):
        """Programs of this project that compile with TensorRT 10's headers."""
        files = [SOURCE / f"examples/{name}" for name in ("readme/run_model.cc", "classify10/classify.cc", "plugin/vignette.cc")]
        self.succeed("migrate", "--to=10", *[path for path in files if path.exists()])

    def test_examples_for_8_have_many(self):
        found = json.loads(run("migrate", SOURCE / "examples/classify8/lenet.cpp", "--to=10", "--json").stdout)
        self.assertGreater(len(found), 3)
        self.assertTrue(all(f["certain"] for f in found), found)

    def test_refuses_files_that_are_not_there(self):
        self.refuse("migrate", self.folder / "none.cc", names=["none.cc"])
        self.refuse("migrate", self.file, "--to=9", names=["--to"])

    def test_any_bytes(self):
        for content in (b"", b"\0\xff\xfe", b"\"", b"R\"(", b"#include <", b"/*", b"auto x = ", b"ICudaEngine*" * 1000, b"(" * 10000 + b"->destroy()"):
            self.file.write_bytes(content)
            self.assertIn(run("migrate", self.file).returncode, (0, 1))


if __name__ == "__main__":
    unittest.main()
