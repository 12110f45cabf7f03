// Random: a small, fast, seeded generator (xoshiro256++ of Blackman and Vigna, 2019), so that every
// draw can be repeated. Not thread-safe; not for secrets.
#ifndef HIERA_RUNTIME_EVALUATOR_RANDOM_H_
#define HIERA_RUNTIME_EVALUATOR_RANDOM_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace hiera {

class Random {
 public:
  explicit Random(uint64_t seed) {
    // splitmix64, as its authors recommend for seeding.
    for (uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  uint64_t Bits() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // In [0, bound); bound > 0. The bias is below bound / 2^64.
  uint64_t Below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits()) * bound) >> 64);
  }

  // In [0, 1), 53 random bits.
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }

  // N(0, 1), by the polar method of Marsaglia.
  double Normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    double u, v, s;
    do {
      u = 2 * Uniform() - 1;
      v = 2 * Uniform() - 1;
      s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double scale = std::sqrt(-2 * std::log(s) / s);
    spare_ = v * scale;
    has_spare_ = true;
    return u * scale;
  }

 private:
  uint64_t state_[4];
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_RANDOM_H_
