/// From CUDA C++ to C++.
#include "hostcuda/compiler/rewrite.h"

#include <functional>
#include <map>
#include <utility>

#include "hostcuda/compiler/edits.h"
#include "hostcuda/compiler/shared.h"
#include "hostcuda/compiler/syntax.h"

namespace tenon::nvcc {
namespace {

class Rewriter {
 public:
  Rewriter(std::string_view text, bool is_relocatable)
      : source_(read_source(text)),
        tokens_(source_.tokens),
        templates_(function_templates(source_)),
        is_relocatable_(is_relocatable) {}

  std::string run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const Token& t = tokens_[at_];
      if (t.kind == Kind::kSign) {
        follow(t);
      } else if (t.kind == Kind::kWord) {
        if (const auto found = words().find(t.text); found != words().end()) found->second(*this);
      }
    }
    return edits_.apply(source_.text);
  }

 private:
  using Handler = std::function<void(Rewriter&)>;

  static const std::map<std::string_view, Handler>& words() {
    static const auto drop = [](Rewriter& r) { r.drop(); };
    static const auto variable = [](Rewriter& r) { r.device(); };
    static const auto call = [](const char* function) {
      return [function](Rewriter& r) { r.call(function); };
    };
    static const auto assembly = [](Rewriter& r) { r.assembly(); };
    static const std::map<std::string_view, Handler> handlers = {
        {"__host__", drop},
        {"__grid_constant__", drop},
        {"__device__", variable},
        {"__constant__", variable},
        {"__managed__", variable},
        {"__global__", [](Rewriter& r) { r.kernel(); }},
        {"__launch_bounds__", [](Rewriter& r) { r.drop_with_arguments(); }},
        {"__noinline__", [](Rewriter& r) { r.noinline(); }},
        {"__shared__", [](Rewriter& r) { r.shared(); }},
        {"__cluster_dims__", [](Rewriter& r) { r.refuse("__cluster_dims__: clusters of blocks"); }},
        {"threadIdx", call("thread_index()")},
        {"blockIdx", call("block_index()")},
        {"blockDim", call("block_size()")},
        {"gridDim", call("grid_size()")},
        {"__assert_fail", call("assertion_failed")},
        {"asm", assembly},
        {"__asm__", assembly},
        {"__asm", assembly}};
    return handlers;
  }

  const Token& token(std::ptrdiff_t ahead = 0) const {
    static const Token none{Kind::kDirective, "", 0, 0, 0, true};
    const auto i = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at_) + ahead);
    return i < tokens_.size() ? tokens_[i] : none;
  }
  bool is_in_kernel() const { return at_ < kernel_end_; }
  bool is_at_namespace() const { return scopes_.empty() || scopes_.back().is_namespace; }
  [[noreturn]] void refuse(const std::string& what) const {
    fail(source_, token(), what + " cannot be compiled for the CPU");
  }

  // Which braces are those of namespaces.
  void follow(const Token& t) {
    if (t.is("(")) ++parentheses_;
    if (t.is(")")) --parentheses_;
    if (t.is("{")) {
      scopes_.push_back({is_at_namespace() && opens_namespace(), std::exchange(parentheses_, 0)});
    } else if (t.is("}") && !scopes_.empty()) {
      parentheses_ = scopes_.back().parentheses;
      scopes_.pop_back();
    }
    if (t.is("}") || t.is(";"))
      while (!own_.empty() && own_.back().scope > scopes_.size()) own_.pop_back();
    if (t.is("<<<")) launch();
    if (t.is("::")) member();
  }
  // nvcc knows a member template of a type that depends on parameters without being told.
  void member() {
    if (token().is_system || is_at_namespace() || !token(2).is("<")) return;
    if (!(token(-1).is(">") || token(-1).is(">>")) || templates_.count(token(1).text) == 0) return;
    const std::size_t close = closing_angle(source_, at_ + 2);
    if (close + 1 < tokens_.size() && tokens_[close + 1].is("("))
      edits_.insert(token().end(), "template ");
  }
  bool opens_namespace() const {
    std::size_t i = at_;
    while (i > 0 && !tokens_[i - 1].is(";") && !tokens_[i - 1].is("{") && !tokens_[i - 1].is("}")
           && tokens_[i - 1].kind != Kind::kDirective)
      --i;
    if (tokens_[i].is("inline")) ++i;
    return tokens_[i].is("namespace")
           || (tokens_[i].is("extern") && tokens_[i + 1].kind == Kind::kText);
  }

  void drop() { edits_.replace(token().at, token().end(), ""); }
  void drop_with_arguments() {
    if (!token(1).is("(")) return;
    const std::size_t close = closing(source_, at_ + 1);
    edits_.replace(token().at, tokens_[close].end(),
                   lines_of(source_, token().at, tokens_[close].end()));
    at_ = close;
  }
  void noinline() {
    if (!token(-1).is("(")) edits_.replace(token().at, token().end(), "__attribute__((noinline))");
  }
  void call(const char* function) {
    if (token().is_system || token(-1).is(".") || token(-1).is("->") || token(-1).is("::")) return;
    if (is_in_kernel() && !token().is("__assert_fail")) return;  // a parameter of the lambda
    // Of a parameter, the scope is the body to come.
    if (declares_own()) own_.push_back({token().text, scopes_.size() + (parentheses_ > 0)});
    for (const Own& own : own_)
      if (token().is(own.name)) return;
    edits_.replace(token().at, token().end(), kNamespace + function);
  }

  // Whether the word is a variable of the source, with the name of a built-in one.
  bool declares_own() const {
    const Token& type = token(token(-1).is("&") || token(-1).is("*") ? -2 : -1);
    for (const char* word : {"dim3", "uint3", "const", "auto", "int", "unsigned"})
      if (type.is(word)) return true;
    return false;
  }

  // A variable of the device is the file's own, as in nvcc's whole-program mode.
  void device() {
    const bool is_own =
        is_at_namespace() && !is_relocatable_ && !is_device_word(token(-1)) && declares_variable();
    edits_.replace(token().at, token().end(), is_own ? "static" : "");
  }
  // Whether the words around this one declare a variable that does not say how it is linked.
  bool declares_variable() const {
    std::size_t i = at_;
    while (i > 0 && !tokens_[i - 1].is(";") && !tokens_[i - 1].is("{") && !tokens_[i - 1].is("}")
           && tokens_[i - 1].kind != Kind::kDirective)
      if (decides_linkage(tokens_[--i])) return false;
    for (i = at_ + 1; i < tokens_.size(); ++i) {
      const Token& t = tokens_[i];
      if (t.is("__attribute__") || t.is("alignas") || t.is("decltype")) {
        i = closing(source_, i + 1);
      } else if (t.is("(") || t.is("operator") || decides_linkage(t)) {
        return false;
      } else if (t.is(";") || t.is("=") || t.is("{") || t.is("[")) {
        return true;
      }
    }
    return false;
  }
  static bool is_device_word(const Token& t) {
    return t.is("__device__") || t.is("__constant__") || t.is("__managed__");
  }
  static bool decides_linkage(const Token& t) {
    return t.is("static") || t.is("extern") || t.is("inline") || t.is("constexpr")
           || t.is("template") || t.is("using") || t.is("typedef");
  }

  void kernel() {
    drop();
    std::string bounds = "0";
    std::size_t open = 0, i = at_ + 1;
    for (; i < tokens_.size() && !tokens_[i].is("{") && !tokens_[i].is(";"); ++i) {
      if (!tokens_[i].is("(")) continue;
      const std::size_t close = closing(source_, i);
      const Token& before = tokens_[i - 1];
      if (before.is("__launch_bounds__")) {
        const auto parts = split(source_, i + 1, close);
        if (!parts.empty()) bounds = flat(source_, parts[0].begin, parts[0].end);
      } else if (open == 0 && !before.is("__attribute__") && !before.is("alignas")
                 && !before.is("decltype")) {
        open = i;
      }
      i = close;
    }
    if (open == 0) fail(source_, token(), "no parameters follow __global__");
    if (i == tokens_.size() || tokens_[i].is(";")) return;
    bool are_known = false;
    const std::string types =
        parameter_types(source_, open + 1, closing(source_, open), &are_known);
    const std::string parameters =
        kNamespace + (are_known ? "Parameters<" + types + ">" : "UnknownParameters");
    edits_.insert(tokens_[i].end(),
                  " static " + kNamespace + "Kernel tenon_kernel{__PRETTY_FUNCTION__, "
                      + site_of(source_, token()) + ", " + bounds + "}; if (" + kNamespace + "prepare<"
                      + parameters + ">(tenon_kernel)) " + kNamespace
                      + "record(tenon_kernel, [=]([[maybe_unused]] const ::uint3 threadIdx, "
                        "[[maybe_unused]] const ::uint3 blockIdx, "
                        "[[maybe_unused]] const ::dim3 blockDim, "
                        "[[maybe_unused]] const ::dim3 gridDim) mutable -> void {");
    kernel_end_ = closing(source_, i);
    edits_.insert(tokens_[kernel_end_].at, "});");
  }

  void launch() {
    if (is_in_kernel()) refuse("a launch by a kernel (dynamic parallelism)");
    std::size_t end = at_ + 1;
    for (; end < tokens_.size() && !tokens_[end].is(">>>"); ++end)
      if (tokens_[end].is("(") || tokens_[end].is("[") || tokens_[end].is("{"))
        end = closing(source_, end);
    if (end + 1 >= tokens_.size()) fail(source_, token(), "no >>> follows <<<");
    std::size_t open = end + 1;
    while (tokens_[open].kind == Kind::kDirective) ++open;
    if (!tokens_[open].is("(")) fail(source_, tokens_[end], "no arguments follow >>>");
    const std::size_t close = closing(source_, open);
    edits_.replace(token().at, tokens_[end].end(),
                   lines_of(source_, token().at, tokens_[end].end()));
    edits_.insert(tokens_[close].end(), ", " + kNamespace + "go(" + site_of(source_, token()) + ", "
                                            + flat(source_, at_ + 1, end) + ")");
    at_ = end;
  }

  void shared() {
    if (token().is_system) return;
    const SharedDeclaration d = read_shared(source_, at_, is_at_namespace(), &next_shared_);
    edits_.replace(tokens_[d.begin].at, tokens_[d.end].end(),
                   d.text + lines_of(source_, tokens_[d.begin].at, tokens_[d.end].end()));
    at_ = d.end;
  }

  // PTX is an error where it is used: functions that nobody calls do no harm.
  void assembly() {
    if (token().is_system || is_at_namespace()) return;
    std::size_t open = at_ + 1;
    while (open < tokens_.size() && tokens_[open].kind == Kind::kWord) ++open;
    if (open >= tokens_.size() || !tokens_[open].is("(")) return;
    const std::size_t close = closing(source_, open);
    std::string what;
    if (tokens_[open + 1].kind == Kind::kText)
      what = tokens_[open + 1].text.substr(1, tokens_[open + 1].text.size() - 2);
    const std::string name = "tenon_inline_ptx_" + std::to_string(next_assembly_++);
    edits_.replace(
        token().at, tokens_[close].end(),
        "{ extern void " + name
            + "() __attribute__((error(\"inline PTX cannot be compiled for the CPU: " + what
            + "\"))); " + name + "(); }" + lines_of(source_, token().at, tokens_[close].end()));
    at_ = close;
  }

  // An open brace, and how many parentheses are open around it.
  struct Scope {
    bool is_namespace;
    int parentheses;
  };
  // A variable of the source with the name of a built-in one, and how many scopes are around it.
  struct Own {
    std::string_view name;
    std::size_t scope;
  };

  const Source source_;
  const Tokens& tokens_;
  const std::set<std::string_view> templates_;
  const bool is_relocatable_;
  Edits edits_;
  std::size_t at_ = 0, kernel_end_ = 0;
  std::vector<Own> own_;
  std::vector<Scope> scopes_;
  int parentheses_ = 0;  // that are open in the innermost scope
  int next_shared_ = 0, next_assembly_ = 0;
};

}  // namespace

std::string rewrite(std::string_view preprocessed, bool is_relocatable) {
  return Rewriter(preprocessed, is_relocatable).run();
}

}  // namespace tenon::nvcc
