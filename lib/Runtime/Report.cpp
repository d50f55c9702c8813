//===- Report.cpp - progress and metrics of a run -------------------------===//

#include "Report.h"
#include "Error.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <unistd.h>

using namespace galv;

namespace {

/// 17 significant digits give a double back exactly. Non-finite values are
/// spelled as Python's json module reads them.
std::string exact(double value) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value < 0 ? "-Infinity" : "Infinity";
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string duration(double seconds) {
  char text[40];
  auto whole = static_cast<long long>(seconds + 0.5);
  if (whole < 60)
    std::snprintf(text, sizeof text, "%llds", whole);
  else if (whole < 3600)
    std::snprintf(text, sizeof text, "%lldm %02llds", whole / 60, whole % 60);
  else
    std::snprintf(text, sizeof text, "%lldh %02lldm", whole / 3600,
                  whole / 60 % 60);
  return text;
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Between two lines where standard output is no terminal, and between two
/// updates where it is one.
constexpr double lineEvery = 10, updateEvery = 0.1;

} // namespace

Report::Report(const std::string &metrics, int64_t steps, int64_t tokensPerStep,
               int64_t peakBytes)
    : path(metrics), steps(steps), tokensPerStep(tokensPerStep),
      peakBytes(peakBytes), terminal(isatty(STDOUT_FILENO)),
      start(Clock::now()), last(start), shown(start) {
  if (metrics.empty())
    return;
  file = std::fopen(metrics.c_str(), "w");
  if (!file)
    fail("cannot write '", metrics, "': ", std::strerror(errno));
}

Report::~Report() {
  if (file)
    std::fclose(file);
}

void Report::add(const StepResult &result) {
  Clock::time_point now = Clock::now();
  double speed = tokensPerStep / std::max(seconds(now - last), 1e-9);
  last = now;
  if (file) {
    std::fprintf(file,
                 "{\"step\": %lld, \"loss\": %s, \"grad_norm\": %s, "
                 "\"learning_rate\": %s, \"tokens\": %lld, "
                 "\"tokens_per_second\": %s, \"peak_bytes\": %lld}\n",
                 static_cast<long long>(result.step),
                 exact(result.loss).c_str(), exact(result.gradientNorm).c_str(),
                 exact(result.learningRate).c_str(),
                 static_cast<long long>(result.step * tokensPerStep),
                 exact(speed).c_str(), static_cast<long long>(peakBytes));
    if (std::fflush(file))
      fail("cannot write '", path, "': ", std::strerror(errno));
  }
  double each = seconds(now - start) / result.step;
  bool edge = result.step == 1 || result.step == steps;
  if (edge || seconds(now - shown) >= (terminal ? updateEvery : lineEvery)) {
    shown = now;
    show(result, tokensPerStep / std::max(each, 1e-9),
         each * (steps - result.step));
  }
}

void Report::show(const StepResult &result, double tokensPerSecond,
                  double left) {
  // On a terminal one line is written over and over, and cleared to its end.
  std::printf("%sstep %lld/%lld  loss %.4f  grad norm %.4g  %.0f tokens/s  "
              "%s%s%s",
              terminal ? "\r" : "", static_cast<long long>(result.step),
              static_cast<long long>(steps), result.loss, result.gradientNorm,
              tokensPerSecond,
              result.step == steps ? "done" : duration(left).c_str(),
              result.step == steps ? "" : " left", terminal ? "\x1b[K" : "\n");
  if (terminal && result.step == steps)
    std::printf("\n");
  std::fflush(stdout);
}
