//===- Write.cpp - Writes strategies in galv's own format -----------------===//

#include "lib/Strategy/Strategy.h"

#include "llvm/Support/raw_ostream.h"

using namespace galv;

/// The members of an entry, without what is the default.
static void writeMembers(const LayerStrategy &layer, llvm::raw_ostream &os) {
  os << "\"data\": " << layer.data << ", \"tensor\": " << layer.tensor;
  if (layer.sequenceParallel)
    os << ", \"sequence_parallel\": true";
  if (layer.zeroStage)
    os << ", \"zero\": " << layer.zeroStage;
  if (layer.recompute)
    os << ", \"recompute\": true";
  if (layer.tensorOuter)
    os << ", \"order\": \"tensor-outer\"";
}

void galv::writeStrategy(const Strategy &strategy, llvm::raw_ostream &os) {
  os << "{\n  \"ranks\": " << strategy.ranks << ",\n  \"stages\": [";
  llvm::interleaveComma(strategy.stages, os);
  os << "],\n  \"microbatches\": " << strategy.microbatches
     << ",\n  \"schedule\": \""
     << (strategy.schedule == Schedule::gpipe ? "gpipe" : "1f1b")
     << "\",\n  \"layers\": [";
  for (size_t first = 0, end; first < strategy.layers.size(); first = end) {
    const LayerStrategy &layer = strategy.layers[first];
    for (end = first + 1; end < strategy.layers.size(); ++end)
      if (strategy.layers[end] != layer)
        break;
    os << (first ? ",\n" : "\n") << "    {\"range\": \"" << first;
    if (end - first > 1)
      os << '-' << end - 1;
    os << "\", ";
    writeMembers(layer, os);
    os << "}";
  }
  os << "\n  ],\n  \"vocabulary\": {";
  writeMembers(strategy.vocabulary, os);
  os << "}\n}\n";
}
