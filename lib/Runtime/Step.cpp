//===- Step.cpp - runs the tables of a stage ------------------------------===//

#include "Step.h"
#include "Layout.h"
#include "Types.h"

using namespace galv;

namespace {

/// " in backward of h.3.mlp, stage 's1', microbatch 2"
std::string place(Context &context, const Row &row, int layer) {
  std::string text = std::string(" in ") + row.action + " of " +
                     layerName(row.block, layer) + ", stage '" +
                     context.stage().name + "'";
  if (context.microbatch >= 0)
    text += ", microbatch " + std::to_string(context.microbatch);
  return text;
}

/// Call number `i` of a row.
void runCall(Context &context, const Row &row, int i,
             std::vector<void *> &arguments) {
  arguments.resize(row.operands.size);
  for (int64_t k = 0; k < row.operands.size; ++k)
    arguments[k] = context.address(row.operands[k], i, context.microbatch);
  try {
    row.function(context, {arguments.data(), context.scratch()});
  } catch (const PeerFailed &) {
    throw;
  } catch (const std::exception &error) {
    fail("rank ", context.world().rank(), ": ", describe(error),
         place(context, row, row.first + i * row.layerStep));
  }
}

/// The loops of a segment, each over one or more rows that take turns.
void runRows(Context &context, Span<Row> rows, std::vector<void *> &arguments) {
  for (int64_t r = 0; r < rows.size; r += rows[r].body)
    for (int i = 0; i < rows[r].count; ++i)
      for (int64_t k = r; k < r + rows[r].body; ++k)
        runCall(context, rows[k], i, arguments);
}

void runTransfers(Context &context, const Action &action) {
  const Stage &stage = context.stage();
  const Program &program = context.program();
  int position = context.world().rank() - stage.firstRank;
  std::vector<Message> messages;
  for (int64_t i = 0; i < action.group.size; i += 2) {
    const Transfer &transfer = stage.transfers[action.group[i]];
    int microbatch = action.group[i + 1];
    Message message;
    message.send = transfer.send;
    message.peer = program.stages[transfer.peerStage].firstRank + position;
    // One tag a value and microbatch: a match then does not depend on the
    // order in which the two stages start their transfers.
    message.tag = transfer.tag * (program.microbatches + 1) + microbatch + 1;
    message.data = context.address(transfer.operand, 0, microbatch);
    message.bytes = transfer.bytes;
    messages.push_back(message);
  }
  try {
    context.world().transfer(messages);
  } catch (const PeerFailed &) {
    throw;
  } catch (const std::exception &error) {
    std::string peers;
    for (const Message &message : messages)
      peers += (peers.empty() ? "" : ", ") +
               std::string(message.send ? "to rank " : "from rank ") +
               std::to_string(message.peer);
    fail("rank ", context.world().rank(), ": ", describe(error),
         " in a transfer ", peers, ", stage '", stage.name, "'");
  }
}

} // namespace

void galv::runStep(Context &context) {
  const Stage &stage = context.stage();
  std::vector<void *> arguments;
  for (const Action &action : stage.order) {
    if (action.kind == Action::transfers) {
      runTransfers(context, action);
      continue;
    }
    context.microbatch = action.microbatch;
    runRows(context, stage.segments[action.segment].rows, arguments);
    context.microbatch = -1;
  }
}

double galv::readResult(Context &context, const Operand &operand) {
  return readScalar(
      Frame::view(context.address(operand), context.program().type, {}));
}
