// RandomFormula: a random task text that can be printed in many spellings. The value is a tree with
// sums, products and reductions of any number of members; a spelling chooses their order and
// grouping, the names, the blanks and which of two equal forms is used. Not thread-safe.
#ifndef HIERA_TESTS_PROPERTY_RANDOM_FORMULA_H_
#define HIERA_TESTS_PROPERTY_RANDOM_FORMULA_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hiera {

class RandomFormula {
 public:
  explicit RandomFormula(uint64_t seed);

  // One spelling. Equal seeds give equal texts. With `free` the order of operands is free, as it is
  // where the contract admits reassociation; else only names and blanks vary.
  std::string Spelling(uint64_t seed, bool free, const std::string& contract) const;

 private:
  enum class Kind {
    kConstant,
    kScalar,
    kLoad,
    kSum,      // members with signs
    kProduct,  // members
    kSquare,
    kQuotient,
    kFunction,
    kRelu,
    kExtremum,
    kSelect,  // members: left, right of the comparison; yes, no
    kReduce,
  };
  struct Value {
    Kind kind = Kind::kConstant;
    std::string text;          // constant, scalar or tensor number, function, comparison, reduction
    std::vector<int> indices;  // kLoad: one an axis; kReduce: bound
    std::vector<int> offsets;  // kLoad
    std::vector<bool> negative;  // kSum
    std::vector<Value> members;
  };
  struct Speller;

  Value Make(int depth, std::vector<int> scope);
  Value MakeLeaf(const std::vector<int>& scope);
  Value MakeLoad(const std::vector<int>& scope);
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  std::mt19937_64 random_;
  int index_count_ = 2;
  Value root_;
};

}  // namespace hiera

#endif  // HIERA_TESTS_PROPERTY_RANDOM_FORMULA_H_
