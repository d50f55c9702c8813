//===- Report.h - progress and metrics of a run -----------------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_REPORT_H
#define GALV_LIB_RUNTIME_REPORT_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace galv {

/// What one step gave.
struct StepResult {
  int64_t step; ///< from 1
  double loss, gradientNorm, learningRate;
};

/// Shows progress on standard output and writes the metrics file. Rank 0 has
/// one.
class Report {
public:
  /// `metrics` may be empty: no file then.
  Report(const std::string &metrics, int64_t steps, int64_t tokensPerStep,
         int64_t peakBytes);
  ~Report();
  Report(const Report &) = delete;
  Report &operator=(const Report &) = delete;

  /// Called when a step has ended.
  void add(const StepResult &result);

private:
  using Clock = std::chrono::steady_clock;

  void show(const StepResult &result, double tokensPerSecond, double left);

  std::FILE *file = nullptr;
  std::string path;
  int64_t steps, tokensPerStep, peakBytes;
  bool terminal;
  Clock::time_point start, last, shown;
};

} // namespace galv

#endif // GALV_LIB_RUNTIME_REPORT_H
