//===- Data.cpp - tokens and the order of samples -------------------------===//

#include "Data.h"
#include "Error.h"
#include "Random.h"

#include <cstring>

using namespace galv;

static int64_t bytesOf(TokenType type) {
  return type == TokenType::byte ? 1 : type == TokenType::uint16 ? 2 : 4;
}

static bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         !text.compare(text.size() - end.size(), end.size(), end);
}

Dataset::Dataset(const std::string &path, TokenType type, int64_t sequence)
    : file(path), type(endsWith(path, ".txt") ? TokenType::byte : type),
      sequence_(sequence) {
  if (!endsWith(path, ".txt") && !endsWith(path, ".bin"))
    fail("data file '", path,
         "' ends neither in .txt (bytes) nor in .bin (tokens)");
  int64_t size = bytesOf(this->type);
  if (file.size() % size)
    fail("data file '", path, "' has ", file.size(),
         " bytes, not a multiple of the ", size, " bytes of a token");
  tokens_ = file.size() / size;
  if (tokens_ < sequence + 1)
    fail("data file '", path, "' has ", tokens_, " tokens, one sample of ",
         sequence, " tokens and the next needs ", sequence + 1);
}

int64_t Dataset::token(int64_t position) const {
  const std::byte *at = file.data() + position * bytesOf(type);
  if (type == TokenType::byte)
    return static_cast<uint8_t>(*at);
  uint32_t wide = 0; // little endian, as the file
  std::memcpy(&wide, at, bytesOf(type));
  return wide;
}

template <typename Token>
int64_t Dataset::findOutside(int64_t vocabulary) const {
  const auto *at = reinterpret_cast<const Token *>(file.data());
  for (int64_t i = 0; i < tokens_; ++i)
    if (at[i] >= vocabulary)
      return i;
  return -1;
}

void Dataset::checkVocabulary(int64_t vocabulary) const {
  int64_t at = type == TokenType::byte     ? findOutside<uint8_t>(vocabulary)
               : type == TokenType::uint16 ? findOutside<uint16_t>(vocabulary)
                                           : findOutside<uint32_t>(vocabulary);
  if (at >= 0)
    fail("token ", token(at), " at position ", at, " of '", file.path(),
         "' is not below the vocabulary of ", vocabulary);
}

void Dataset::copySample(int64_t sample, int64_t *to) const {
  for (int64_t i = 0; i <= sequence_; ++i)
    to[i] = token(sample * sequence_ + i);
}

int64_t SampleOrder::operator[](int64_t place) {
  if (!seed)
    return place % samples;
  if (place / samples != epoch) {
    epoch = place / samples;
    order = shuffledOrder(*seed, epoch, samples);
  }
  return order[place % samples];
}

void galv::fillStep(const Dataset &data, SampleOrder &order, int64_t step,
                    int64_t batch, int64_t sequence,
                    std::vector<int64_t> &samples) {
  samples.resize(batch * (sequence + 1));
  for (int64_t row = 0; row < batch; ++row)
    data.copySample(order[step * batch + row],
                    samples.data() + row * (sequence + 1));
}
