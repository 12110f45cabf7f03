#include "tests/property/random_formula.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hiera {
namespace {

constexpr int kMaxDepth = 4;
// Constants whose sums and products are exact, so that no order of folding them rounds.
const char* const kConstants[] = {"0.5", "2.0", "3.0", "0.25", "1.5", "4.0"};
const char* const kFunctions[] = {"exp", "tanh", "abs", "sigmoid", "gelu"};
const char* const kComparisons[] = {"<", "<=", "==", "!="};
const char* const kReductions[] = {"sum", "max", "min", "mean", "prod"};

}  // namespace

RandomFormula::RandomFormula(uint64_t seed) : random_(seed) { root_ = Make(0, {0, 1}); }

RandomFormula::Value RandomFormula::MakeLoad(const std::vector<int>& scope) {
  Value load{Kind::kLoad, std::to_string(Pick(3)), {}, {}, {}, {}};
  for (int axis = 0; axis < 2; ++axis) {
    load.indices.push_back(scope[Pick(static_cast<int>(scope.size()))]);
    load.offsets.push_back(Pick(4) == 0 ? Pick(5) - 2 : 0);
  }
  return load;
}

RandomFormula::Value RandomFormula::MakeLeaf(const std::vector<int>& scope) {
  const int choice = Pick(6);
  if (choice == 0) return {Kind::kConstant, kConstants[Pick(6)], {}, {}, {}, {}};
  if (choice == 1) return {Kind::kScalar, std::to_string(Pick(2)), {}, {}, {}, {}};
  return MakeLoad(scope);
}

RandomFormula::Value RandomFormula::Make(int depth, std::vector<int> scope) {
  if (depth == kMaxDepth) return MakeLeaf(scope);
  Value value;
  value.kind = static_cast<Kind>(static_cast<int>(Kind::kLoad) + Pick(10));
  int members = 1;
  switch (value.kind) {
    case Kind::kSum:
    case Kind::kProduct:
      members = 2 + Pick(2);
      break;
    case Kind::kQuotient:
    case Kind::kExtremum:
      members = 2;
      value.text = Pick(2) == 0 ? "max" : "min";
      break;
    case Kind::kFunction:
      value.text = kFunctions[Pick(5)];
      break;
    case Kind::kSelect:
      members = 4;
      value.text = kComparisons[Pick(4)];
      break;
    case Kind::kReduce:
      value.text = kReductions[Pick(5)];
      for (int count = 1 + Pick(3); count > 0; --count) {
        value.indices.push_back(index_count_);
        scope.push_back(index_count_++);
      }
      break;
    case Kind::kSquare:
    case Kind::kRelu:
      break;
    default:
      return MakeLeaf(scope);
  }
  for (int m = 0; m < members; ++m) {
    value.members.push_back(Make(depth + 1, scope));
    value.negative.push_back(Pick(3) == 0);
  }
  // No constant divides, for quotients of constants round.
  if (value.kind == Kind::kQuotient) value.members[1] = MakeLoad(scope);
  return value;
}

struct RandomFormula::Speller {
  std::mt19937_64 random;
  bool free;
  std::vector<std::string> names;  // per index
  std::string prefix;              // of tensors and scalars

  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random); }
  bool Flip() { return free && Pick(2) == 0; }
  std::string Blank() {
    const char* const blanks[] = {"", "", " ", "  ", "\n", " # a comment\n"};
    return blanks[Pick(6)];
  }
  // Everything inside brackets, where newlines do not count.
  std::string In(const std::string& text) { return "(" + Blank() + text + Blank() + ")"; }

  std::string Sum(const Value& v) {
    std::vector<std::pair<std::string, bool>> terms;
    for (size_t i = 0; i < v.members.size(); ++i) {
      terms.emplace_back(In(Of(v.members[i])), v.negative[i]);
    }
    if (free) std::shuffle(terms.begin(), terms.end(), random);
    std::string text = (terms[0].second ? "-" : "") + terms[0].first;
    for (size_t i = 1; i < terms.size(); ++i) {
      const auto& [term, negative] = terms[i];
      if (Flip()) {
        text = In(text) + (negative ? "+" + In("-" + term) : Blank() + "+" + term);
      } else if (Flip()) {
        text = "-" + In((negative ? term : "-" + term) + "-" + In(text));
      } else {
        text += (negative ? "-" : "+") + term;
      }
    }
    return text;
  }

  std::string Product(const Value& v) {
    std::vector<std::string> factors;
    for (const Value& member : v.members) factors.push_back(In(Of(member)));
    if (free) std::shuffle(factors.begin(), factors.end(), random);
    while (factors.size() > 1) {
      const int at = free ? Pick(static_cast<int>(factors.size()) - 1) : 0;
      factors[at] = In(factors[at] + "*" + factors[at + 1]);
      factors.erase(factors.begin() + at + 1);
    }
    return factors[0];
  }

  std::string Reduce(const Value& v) {
    std::vector<int> order = v.indices;
    if (free) std::shuffle(order.begin(), order.end(), random);
    std::string text = v.text + "(" + Blank();
    for (size_t i = 0; i < order.size(); ++i) {
      text += names[order[i]] + Blank() + "<5";
      const bool last = i + 1 == order.size();
      if (!last) text += Flip() ? ":" + v.text + "(" : std::string(",");
    }
    text += ":" + Blank() + Of(v.members[0]) + ")";
    const auto opened = std::count(text.begin(), text.end(), '(');
    const auto closed = std::count(text.begin(), text.end(), ')');
    return text + std::string(static_cast<size_t>(opened - closed), ')');
  }

  std::string Load(const Value& v) {
    std::string text = prefix + "t" + v.text + "[";
    for (size_t axis = 0; axis < v.indices.size(); ++axis) {
      const int offset = v.offsets[axis];
      if (axis > 0) text += ",";
      if (offset == 0) {
        text += names[v.indices[axis]];
      } else if (Flip()) {
        text += std::to_string(offset) + "+" + names[v.indices[axis]];
      } else {
        text += names[v.indices[axis]] + (offset < 0 ? "" : "+") + std::to_string(offset);
      }
    }
    return text + "]";
  }

  std::string Of(const Value& v) {
    switch (v.kind) {
      case Kind::kConstant:
        return v.text;
      case Kind::kScalar:
        return prefix + "s" + v.text;
      case Kind::kLoad:
        return Load(v);
      case Kind::kSum:
        return Sum(v);
      case Kind::kProduct:
        return Product(v);
      case Kind::kSquare: {
        // Both copies of the same spelling or not: they are one value.
        if (!Flip()) return In(Of(v.members[0])) + "^2";
        const std::string first = In(Of(v.members[0]));
        return In(first + "*" + In(Of(v.members[0])));
      }
      case Kind::kQuotient:
        return In(In(Of(v.members[0])) + "/" + In(Of(v.members[1])));
      case Kind::kFunction:
        return v.text + In(Of(v.members[0]));
      case Kind::kRelu:
        return Flip() ? "max" + In("0.0," + Of(v.members[0])) : "relu" + In(Of(v.members[0]));
      case Kind::kExtremum: {
        std::string a = Of(v.members[0]);
        std::string b = Of(v.members[1]);
        if (Flip()) std::swap(a, b);
        return v.text + In(a + "," + b);
      }
      case Kind::kSelect:
        return Select(v);
      case Kind::kReduce:
        return Reduce(v);
    }
    return "";
  }

  std::string Select(const Value& v) {
    std::string a = In(Of(v.members[0]));
    std::string b = In(Of(v.members[1]));
    std::string comparison = v.text;
    if (Flip()) {
      std::swap(a, b);
      if (comparison == "<") comparison = ">";
      if (comparison == "<=") comparison = ">=";
    }
    return "select(" + a + comparison + b + "," + Of(v.members[2]) + "," + Of(v.members[3]) + ")";
  }
};

std::string RandomFormula::Spelling(uint64_t seed, bool free, const std::string& contract) const {
  Speller speller{std::mt19937_64(seed), free, {}, {}};
  speller.prefix = std::string(1, static_cast<char>('p' + speller.Pick(8)));
  std::vector<int> numbers(index_count_);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), speller.random);
  for (const int number : numbers) speller.names.push_back("n" + std::to_string(number));
  std::string text = contract;
  for (int t = 0; t < 3; ++t) {
    text += "tensor " + speller.prefix + "t" + std::to_string(t) + ": f32[5,5] outside zero\n";
  }
  text += "tensor out: f32[5,5];scalar " + speller.prefix + "s0;scalar " + speller.prefix + "s1\n";
  return text + "out[" + speller.names[0] + "," + speller.names[1] +
         "] = " + speller.In(speller.Of(root_));
}

}  // namespace hiera
