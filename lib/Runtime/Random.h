//===- Random.h - counter-based random numbers ------------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// 2011): a number is a function of a key and a counter, with no state between
// two draws. So an initial value depends on the seed, the tensor's name and
// the element's index alone, and is the same under every strategy.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_RANDOM_H
#define GALV_LIB_RUNTIME_RANDOM_H

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace galv {

/// Four random words for a 64-bit key and a 128-bit counter.
std::array<uint32_t, 4> philox(uint64_t key, uint64_t counterLow,
                               uint64_t counterHigh);

/// FNV-1a, 64 bits: the site of a name.
uint64_t hashName(const std::string &name);

/// Standard normal values of one tensor, by element index. Elements 2i and
/// 2i+1 are the two values of one Box-Muller transform.
class NormalValues {
public:
  NormalValues(uint64_t seed, const std::string &name)
      : seed(seed), site(hashName(name)) {}

  double operator()(int64_t index);

private:
  uint64_t seed, site;
  int64_t pair = -1; // the pair that `values` holds
  double values[2];
};

/// The order of `count` samples in epoch `epoch`: Fisher and Yates' shuffle
/// from the last element down, where the partner of element i is
/// floor(r (i + 1) / 2^64) for the 64-bit number r = first two words of
/// philox(seed, i, 2^32 + epoch), low word first.
std::vector<int64_t> shuffledOrder(uint64_t seed, int64_t epoch, int64_t count);

} // namespace galv

#endif // GALV_LIB_RUNTIME_RANDOM_H
