//===- FactorRuleParser.cpp - from the rule's text and shapes to a rule ---===//
//
// The text stands in an operation's definition, so a fault in it is a fault of
// the program and not of its user: it is an assertion. Shapes come from users
// and are checked with diagnostics.
//
//===----------------------------------------------------------------------===//

#include "dialects/Galv/FactorRule.h"
#include "dialects/Galv/Galv.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace galv;

namespace {
/// A dimension as written: factor names, or one name that stands for any
/// number of dimensions.
struct DimensionText {
  SmallVector<StringRef, 3> factors;
  bool star = false;
};
using TensorText = SmallVector<DimensionText, 4>;

struct RuleText {
  SmallVector<TensorText, 4> operands, results;
  SmallVector<SmallVector<Term, 2>, 2> terms;
  SmallVector<StringRef, 4> closed, whole, indexed, pad;
  SmallVector<std::pair<StringRef, StringRef>, 2> sizes, counts;
  bool flat = false;
};
} // namespace

/// Splits at top-level commas; brackets of any kind nest.
static SmallVector<StringRef> splitList(StringRef text) {
  SmallVector<StringRef> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += StringRef("([").contains(text[i]);
    depth -= StringRef(")]").contains(text[i]);
    if (text[i] == ',' && depth == 0) {
      parts.push_back(text.slice(begin, i).trim());
      begin = i + 1;
    }
  }
  StringRef last = text.substr(begin).trim();
  if (!last.empty())
    parts.push_back(last);
  return parts;
}

static SmallVector<TensorText, 4> parseTensors(StringRef text) {
  SmallVector<TensorText, 4> tensors;
  for (StringRef tensor : splitList(text)) {
    tensor.consume_front("[");
    tensor.consume_back("]");
    TensorText dims;
    for (StringRef dim : splitList(tensor)) {
      DimensionText parsed;
      parsed.star = dim.consume_back("*");
      dim.consume_front("(");
      dim.consume_back(")");
      llvm::SplitString(dim, parsed.factors);
      dims.push_back(parsed);
    }
    tensors.push_back(dims);
  }
  return tensors;
}

static RuleText parseRule(StringRef text) {
  RuleText rule;
  SmallVector<StringRef> clauses;
  text.split(clauses, ';');
  auto [operands, results] = clauses.front().split("->");
  operands = operands.trim();
  operands.consume_front("(");
  operands.consume_back(")");
  rule.operands = parseTensors(operands);
  rule.results = parseTensors(results.trim());
  for (StringRef clause : ArrayRef(clauses).drop_front()) {
    auto [word, rest] = clause.trim().split(' ');
    SmallVector<StringRef> words;
    llvm::SplitString(rest, words);
    if (word == "terms") {
      SmallVector<StringRef> sums;
      rest.split(sums, '|');
      for (StringRef sum : sums) {
        SmallVector<StringRef> texts;
        sum.split(texts, '+');
        auto &terms = rule.terms.emplace_back();
        for (StringRef term : texts) {
          term = term.trim();
          term.consume_front("(");
          term.consume_back(")");
          SmallVector<StringRef> reads;
          llvm::SplitString(term, reads);
          Term &parsed = terms.emplace_back();
          for (StringRef read : reads) {
            bool linear = read.consume_back("*");
            int operand = 0;
            read.getAsInteger(10, operand);
            parsed.reads.push_back(operand);
            if (linear)
              parsed.linear.push_back(operand);
          }
        }
      }
    } else if (word == "flat") {
      rule.flat = true;
    } else if (word == "size" || word == "count") {
      for (StringRef pair : words)
        (word == "size" ? rule.sizes : rule.counts).push_back(pair.split('='));
    } else {
      auto &list = word == "closed"  ? rule.closed
                   : word == "whole" ? rule.whole
                   : word == "pad"   ? rule.pad
                                     : rule.indexed;
      list.append(words.begin(), words.end());
    }
  }
  return rule;
}

namespace {
/// Works out counts of starred dimensions and sizes of factors, and numbers
/// the factors in the order in which they appear.
class RuleBuilder {
public:
  RuleBuilder(const RuleText &text, DictionaryAttr attributes)
      : text(text), attributes(attributes) {}

  FailureOr<FactorRule> build(ArrayRef<RankedTensorType> operands,
                              function_ref<InFlightDiagnostic()> emitError);

private:
  std::optional<int64_t> getInteger(StringRef name) {
    if (!attributes)
      return std::nullopt;
    if (auto attr = attributes.getAs<IntegerAttr>(name))
      return attr.getInt();
    return std::nullopt;
  }
  int getFactor(StringRef name, unsigned copy, bool star) {
    std::string full = star ? (name + Twine(copy)).str() : name.str();
    auto [it, fresh] = numbers.try_emplace(full, rule.factors.size());
    if (fresh) {
      Factor factor;
      factor.name = full;
      auto listed = [&](ArrayRef<StringRef> list) {
        return llvm::any_of(list, [&](StringRef entry) {
          return entry == name || (star && entry == (name + "*").str());
        });
      };
      factor.closed = listed(text.closed);
      factor.whole = listed(text.whole);
      factor.indexed = listed(text.indexed);
      factor.pad = listed(text.pad);
      rule.factors.push_back(factor);
    }
    return it->second;
  }
  TensorFactors expand(const TensorText &tensor) {
    TensorFactors dims;
    for (const DimensionText &dim : tensor) {
      if (!dim.star) {
        DimensionFactors factors;
        for (StringRef name : dim.factors)
          factors.push_back(getFactor(name, 0, false));
        dims.push_back(factors);
        continue;
      }
      for (unsigned i = 0; i < counts.lookup(dim.factors.front()); ++i)
        dims.push_back({getFactor(dim.factors.front(), i, true)});
    }
    return dims;
  }
  /// Solves `rank = dimensions + sum of star counts` where one is unknown.
  bool solveCount(const TensorText &tensor, unsigned rank) {
    unsigned fixed = 0;
    StringRef unknown;
    for (const DimensionText &dim : tensor) {
      if (!dim.star)
        ++fixed;
      else if (counts.count(dim.factors.front()))
        fixed += counts.lookup(dim.factors.front());
      else if (unknown.empty())
        unknown = dim.factors.front();
      else
        return false;
    }
    if (unknown.empty() || fixed > rank)
      return false;
    counts[unknown] = rank - fixed;
    return true;
  }

  const RuleText &text;
  DictionaryAttr attributes;
  FactorRule rule;
  llvm::StringMap<int> numbers;
  llvm::StringMap<unsigned> counts;
};
} // namespace

FailureOr<FactorRule>
RuleBuilder::build(ArrayRef<RankedTensorType> operands,
                   function_ref<InFlightDiagnostic()> emitError) {
  if (operands.size() > text.operands.size())
    return emitError() << "has " << operands.size() << " operands, its rule "
                       << text.operands.size();
  for (auto [name, attribute] : text.counts)
    if (auto count = getInteger(attribute))
      counts[name] = std::max<int64_t>(*count, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [tensor, type] : llvm::zip(text.operands, operands))
      changed |= solveCount(tensor, type.getRank());
  }
  for (const TensorText &tensor :
       ArrayRef(text.operands).take_front(operands.size()))
    rule.operands.push_back(expand(tensor));
  for (const TensorText &tensor : text.results)
    rule.results.push_back(expand(tensor));
  rule.flat = text.flat;
  rule.terms = text.terms;
  rule.terms.resize(rule.results.size());
  for (auto &terms : rule.terms)
    llvm::erase_if(terms, [&](const Term &term) {
      return llvm::any_of(term.reads, [&](int operand) {
        return operand >= static_cast<int>(operands.size());
      });
    });
  for (auto [name, attribute] : text.sizes)
    if (auto size = getInteger(attribute))
      if (auto it = numbers.find(name); it != numbers.end())
        rule.factors[it->second].size = *size;

  // A dimension with one factor of unknown size gives it, by division.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [index, pair] :
         llvm::enumerate(llvm::zip_equal(rule.operands, operands))) {
      auto [dims, type] = pair;
      if (static_cast<int64_t>(dims.size()) != type.getRank())
        return emitError() << "operand " << index << " has " << type.getRank()
                           << " dimensions, its rule asks for " << dims.size();
      for (auto [dim, factors] : llvm::enumerate(dims)) {
        int64_t known = 1;
        SmallVector<int> unknown;
        for (int factor : factors) {
          if (int64_t size = rule.factors[factor].size)
            known *= size;
          else
            unknown.push_back(factor);
        }
        int64_t size = type.getDimSize(dim);
        bool fits =
            unknown.empty() ? known == size : known > 0 && size % known == 0;
        if (!fits)
          return emitError()
                 << "dimension " << dim << " of operand " << index
                 << " has size " << size << ", where the other shapes ask for "
                 << (unknown.empty() ? "" : "a multiple of ") << known;
        if (unknown.size() == 1) {
          rule.factors[unknown.front()].size = size / known;
          changed = true;
        }
      }
    }
  }
  return rule;
}

static SmallVector<RankedTensorType> getTensorTypes(TypeRange types) {
  SmallVector<RankedTensorType> tensors;
  for (Type type : types)
    tensors.push_back(cast<RankedTensorType>(type));
  return tensors;
}

FailureOr<FactorRule>
galv::getFactorRule(Operation *op,
                    function_ref<InFlightDiagnostic()> emitError) {
  auto iface = dyn_cast<FactorRuleOpInterface>(op);
  if (!iface)
    return emitError() << "has no factor rule";
  RuleText text = parseRule(iface.getRuleText());
  FailureOr<FactorRule> rule =
      RuleBuilder(text, op->getAttrDictionary())
          .build(getTensorTypes(op->getOperandTypes()), emitError);
  if (failed(rule))
    return failure();
  // Factors that only a result has (a read input, a table's rows) take its
  // sizes.
  for (auto [dims, type] :
       llvm::zip_equal(rule->results, getTensorTypes(op->getResultTypes())))
    if (static_cast<int64_t>(dims.size()) == type.getRank())
      for (auto [dim, factors] : llvm::enumerate(dims))
        if (factors.size() == 1 && !rule->factors[factors.front()].size)
          rule->factors[factors.front()].size = type.getDimSize(dim);
  return rule;
}

SmallVector<Type> galv::inferResultTypes(StringRef ruleText,
                                         ValueRange operands,
                                         DictionaryAttr attributes) {
  RuleText text = parseRule(ruleText);
  auto ignore = []() { return InFlightDiagnostic(); };
  SmallVector<RankedTensorType> types = getTensorTypes(operands.getTypes());
  FailureOr<FactorRule> rule =
      RuleBuilder(text, attributes).build(types, ignore);
  Type elementType;
  for (RankedTensorType type : types)
    if (!elementType && isa<FloatType>(type.getElementType()))
      elementType = type.getElementType();
  SmallVector<Type> results;
  if (failed(rule) || !elementType) {
    // Operands that do not fit: the verifier of the operation will say so.
    for (size_t i = 0; i < text.results.size(); ++i)
      results.push_back(types.empty() ? RankedTensorType() : types.front());
    return results;
  }
  for (const TensorFactors &dims : rule->results) {
    SmallVector<int64_t> shape;
    for (const DimensionFactors &factors : dims) {
      int64_t size = 1;
      for (int factor : factors)
        size *= rule->factors[factor].size;
      shape.push_back(size);
    }
    results.push_back(RankedTensorType::get(shape, elementType));
  }
  return results;
}
