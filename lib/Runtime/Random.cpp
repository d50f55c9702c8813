//===- Random.cpp - counter-based random numbers --------------------------===//

#include "Random.h"

#include <cmath>
#include <utility>

using namespace galv;

std::array<uint32_t, 4> galv::philox(uint64_t key, uint64_t counterLow,
                                     uint64_t counterHigh) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(counterLow),
                               static_cast<uint32_t>(counterLow >> 32),
                               static_cast<uint32_t>(counterHigh),
                               static_cast<uint32_t>(counterHigh >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1,
         static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return c;
}

static uint64_t join(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

uint64_t galv::hashName(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : name)
    hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

double NormalValues::operator()(int64_t index) {
  if (int64_t wanted = index >> 1; wanted != pair) {
    pair = wanted;
    std::array<uint32_t, 4> words = philox(seed, pair, site);
    // 53 bits each; the first in (0, 1], so that its logarithm is finite.
    double u =
        static_cast<double>((join(words[0], words[1]) >> 11) + 1) * 0x1p-53;
    double angle = static_cast<double>(join(words[2], words[3]) >> 11) *
                   0x1p-53 * 6.283185307179586476925286766559;
    double radius = std::sqrt(-2 * std::log(u));
    values[0] = radius * std::cos(angle);
    values[1] = radius * std::sin(angle);
  }
  return values[index & 1];
}

std::vector<int64_t> galv::shuffledOrder(uint64_t seed, int64_t epoch,
                                         int64_t count) {
  std::vector<int64_t> order(count);
  for (int64_t i = 0; i < count; ++i)
    order[i] = i;
  for (int64_t i = count - 1; i > 0; --i) {
    std::array<uint32_t, 4> words =
        philox(seed, i, (uint64_t{1} << 32) + epoch);
    auto partner = static_cast<int64_t>(
        static_cast<unsigned __int128>(join(words[0], words[1])) *
            static_cast<uint64_t>(i + 1) >>
        64);
    std::swap(order[i], order[partner]);
  }
  return order;
}
