// Reports as text, as JSON and as a page.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/printable.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "compare/compare.h"
#include "compare/page_text.h"
#include "page/page.h"

namespace tenon::compare {
namespace {

using Json = nlohmann::ordered_json;

std::string part(const TensorError& error) {
  return error.not_finite > 0 ? "not finite" : fmt::format("{:.2e}", error.of_range());
}

// "1.234 for 1.2338 at [0, 3, 2]"
std::string worst_text(const TensorReport& t) {
  if (t.total.worst < 0) return "equal";
  std::vector<int64_t> index(t.shape.size());
  int64_t rest = t.total.worst;
  for (size_t axis = t.shape.size(); axis-- > 0; rest /= t.shape[axis])
    index[axis] = rest % t.shape[axis];
  return fmt::format("{:.6g} for {:.6g} at [{}]", t.total.found, t.total.expected,
                     fmt::join(index, ", "));
}

// JSON has no infinities and NaNs: these are texts.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(fmt::format("{}", value));
}

Json json(const TensorError& e) {
  return {{"of_range", number(e.of_range())},
          {"max", number(e.largest)},
          {"rms", number(e.rms)},
          {"cosine", number(e.cosine)},
          {"range", number(e.range)},
          {"not_finite", e.not_finite},
          {"worst", e.worst},
          {"found", number(e.found)},
          {"expected", number(e.expected)}};
}

Json json(const TensorReport& t) {
  Json row = {{"tensor", t.tensor}, {"layers", t.layers},
              {"inputs", t.inputs}, {"type", session::type_name(t.type)},
              {"shape", t.shape},   {"total", json(t.total)}};
  if (t.own) row["own"] = json(*t.own);
  if (t.inherited) row["inherited"] = json(*t.inherited);
  if (!t.cause.empty()) row["cause"] = t.cause;
  return row;
}

Json json(const std::vector<TensorReport>& reports) {
  Json rows = Json::array();
  for (const TensorReport& t : reports) rows.push_back(json(t));
  return rows;
}

std::string dump(const Report& report, int indent) {
  const Json all = {{"outputs", json(report.outputs)},
                    {"tensors", json(report.tensors)},
                    {"left_out", report.left_out}};
  return all.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string text_of(const Report& report, bool has_tensors) {
  std::string text;
  for (const TensorReport& t : report.outputs)
    text +=
        fmt::format("  {}  {} {}  largest error {} of the range, rms {:.2e}, cosine {:.8f}; {}\n",
                    printable(t.tensor), session::type_name(t.type), session::shape_text(t.shape),
                    part(t.total), t.total.rms, t.total.cosine, worst_text(t));
  const std::span<const TensorReport> tensors =
      has_tensors ? std::span(report.tensors) : std::span<const TensorReport>();
  if (!tensors.empty())
    text += fmt::format("\n{:>10} {:>10} {:>10} {:>10} {:>11}  {:<9} tensor\n", "error", "own",
                        "inherited", "rms", "cosine", "type");
  for (const TensorReport& t : tensors)
    text += fmt::format("{:>10} {:>10} {:>10} {:>10.2e} {:>11.8f}  {:<9} {}{}\n", part(t.total),
                        t.own ? part(*t.own) : "", t.inherited ? part(*t.inherited) : "",
                        t.total.rms, t.total.cosine, session::type_name(t.type),
                        printable(t.tensor), t.cause.empty() ? "" : "; " + printable(t.cause));
  for (const std::string& reason : report.left_out)
    text += "  not compared: " + printable(reason) + "\n";
  return text;
}

std::string json_of(const Report& report) {
  return dump(report, 2) + "\n";
}

std::string page_of(const Report& report, const std::string& title) {
  return filled_page(kPage, title, dump(report, -1));
}

}  // namespace tenon::compare
