//===- Data.h - tokens and the order of samples -----------------*- C++ -*-===//
//
// A data file is one row of tokens. Sample i of sequence length S is tokens
// i*S to i*S+S, both included: S inputs, and the S labels one further on. Step
// k (from 0) of batch B takes places k*B to k*B+B-1 of the sample order, which
// is 0, 1, ... n-1 again and again, or shuffled anew each epoch. So where
// training stands in the data is a function of the step.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_DATA_H
#define GALV_LIB_RUNTIME_DATA_H

#include "Files.h"

#include <optional>
#include <string>
#include <vector>

namespace galv {

enum class TokenType { byte, uint16, uint32 };

class Dataset {
public:
  /// A `.txt` file is read as bytes, whatever `type`; a `.bin` file as `type`.
  Dataset(const std::string &path, TokenType type, int64_t sequence);

  int64_t tokens() const { return tokens_; }
  /// The number of samples, at least one.
  int64_t samples() const { return (tokens_ - 1) / sequence_; }
  int64_t token(int64_t position) const;

  /// Throws where a token is not below `vocabulary`.
  void checkVocabulary(int64_t vocabulary) const;

  /// Writes the sequence + 1 tokens of a sample.
  void copySample(int64_t sample, int64_t *to) const;

private:
  template <typename Token>
  int64_t findOutside(int64_t vocabulary) const;

  MappedFile file;
  TokenType type;
  int64_t sequence_, tokens_;
};

/// The order in which samples are taken.
class SampleOrder {
public:
  /// `seed` empty: in order.
  SampleOrder(int64_t samples, std::optional<uint64_t> seed)
      : samples(samples), seed(seed) {}

  /// The sample at a place of the endless order.
  int64_t operator[](int64_t place);

private:
  int64_t samples;
  std::optional<uint64_t> seed;
  int64_t epoch = -1; // that `order` is of
  std::vector<int64_t> order;
};

/// The samples of step `step` (from 0), one row after the other.
void fillStep(const Dataset &data, SampleOrder &order, int64_t step,
              int64_t batch, int64_t sequence, std::vector<int64_t> &samples);

} // namespace galv

#endif // GALV_LIB_RUNTIME_DATA_H
