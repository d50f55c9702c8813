//===- runtime.h - what an emitted rank program sees of the runtime -------===//
//
// The only header that emitted C++ includes. It is kept free of LibTorch so
// that an emitted file compiles in well under three seconds; everything behind
// it (kernels, communicators, data, optimizer, checkpoints) is compiled once,
// into the runtime library.
//
// An emitted program is data and functions: a `Program` names the mesh, its
// communication groups, and for every stage the tables that say which function
// runs on which addresses, and in which order. `galv::main` reads the rank,
// picks the stage and runs the tables; it adds no computation and no
// communication of its own to a training step.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_RUNTIME_H
#define GALV_RUNTIME_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace galv {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The element types that a program can hold. Token ids are `i64`.
enum class Type : uint8_t { f32, f64, i64 };

/// The bytes of one element.
constexpr int64_t sizeOf(Type type) { return type == Type::f32 ? 4 : 8; }

/// A dense row-major tensor at an address that the memory plan chose. A plain
/// value: it owns nothing. At most six dimensions.
struct View {
  void *data;
  Type type;
  int rank;
  int64_t shape[6];

  int64_t elements() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i)
      n *= shape[i];
    return n;
  }
  int64_t bytes() const { return elements() * sizeOf(type); }
};

/// A communication group of the program: an index into `Program::groups`.
/// Group 0 is always the group of one rank (no axes).
struct Group {
  int index;
};

/// State of one rank: arena, communicators, step inputs, random seeds. There
/// are no globals, so one process can hold many ranks as threads.
class Context;

/// What a function of the program works on: its arguments (inputs first, then
/// results, in the order of the IR), and a scratch area for values that do not
/// outlive the call.
struct Frame {
  void *const *arguments;
  std::byte *scratch;

  View argument(int index, Type type,
                std::initializer_list<int64_t> shape) const {
    return view(arguments[index], type, shape);
  }
  /// A value inside the call, `offset` bytes into the scratch area.
  View local(int64_t offset, Type type,
             std::initializer_list<int64_t> shape) const {
    return view(scratch + offset, type, shape);
  }
  static View view(void *data, Type type,
                   std::initializer_list<int64_t> shape) {
    View v{data, type, static_cast<int>(shape.size()), {}};
    int i = 0;
    for (int64_t size : shape)
      v.shape[i++] = size;
    return v;
  }
};

using Function = void (*)(Context &, const Frame &);

//===----------------------------------------------------------------------===//
// The program as data
//===----------------------------------------------------------------------===//

template <typename T>
struct Span {
  const T *data = nullptr;
  int64_t size = 0;

  constexpr Span() = default;
  template <int64_t N>
  constexpr Span(const T (&array)[N]) : data(array), size(N) {}
  constexpr Span(const T *data, int64_t size) : data(data), size(size) {}
  const T *begin() const { return data; }
  const T *end() const { return data + size; }
  const T &operator[](int64_t i) const { return data[i]; }
};

/// One named axis of a stage's mesh; the list runs major to minor and is the
/// rank order within a stage.
struct Axis {
  const char *name;
  int64_t size;
};

/// A communication group: the ranks of one stage that differ in `axes` only
/// (indices into the mesh, major to minor: this is the order of the ranks in
/// the group), or, with `stages`, the ranks of all stages that agree in every
/// mesh coordinate, in stage order.
struct GroupDescription {
  Span<int> axes;
  bool stages;
};

/// Address of an operand: `base + i * layerStride + (slotted ? slot *
/// Stage::slotStride : 0)` bytes into the arena, where `i` counts the calls of
/// its row and `slot` is the microbatch modulo `Stage::slots`. `alternate` is
/// added in every second call: what one layer hands to the next takes turns
/// between two places.
struct Operand {
  int64_t base;
  int64_t layerStride;
  bool slotted;
  int64_t alternate = 0;
};

/// `count` calls of one function, for the layers `first, first + 1, ...` (or
/// downwards where `layerStep` is -1; a row without layers has count 1).
/// `operands` lists the arguments of the call for its first layer. Where `body`
/// is more than 1, this row and the `body - 1` behind it, of equal count, take
/// turns: a loop over layers with several calls in its body.
struct Row {
  const char *action; // "forward", "backward", "materialize", "update", ...
  const char *block;  // name of the block, with {layer} for the layer number
  Function function;
  int first;
  int count;
  int layerStep;
  Span<Operand> operands;
  int body = 1;
};

/// Rows that run one after the other, without a transfer between them.
struct Segment {
  const char *name;
  Span<Row> rows;
};

/// One tensor that crosses from a stage to another, between ranks of equal
/// position in their stages.
struct Transfer {
  bool send;
  int peerStage;
  int tag; // equal on both sides, distinct for distinct values
  Operand operand;
  int64_t bytes;
};

/// One entry of a stage's order: run a segment for a microbatch, or start the
/// transfers [first, first + count) of `Stage::transfers` together, as one
/// group, and wait for them. Each transfer of the group carries its own
/// microbatch (a stage may send one and receive another).
struct Action {
  enum Kind : uint8_t { run, transfers } kind;
  int segment;     // run: index into Stage::segments
  int microbatch;  // run: which microbatch; -1 outside of the microbatches
  Span<int> group; // transfers: pairs (index into Stage::transfers, microbatch)
};

/// How an initial value is drawn: a function of (seed, parameter name, global
/// index) alone, so that it is the same under every strategy.
enum class Initializer : uint8_t { zeros, ones, normal };

/// Parameters of one kind, for a range of layers of one stage. The name of a
/// checkpoint tensor holds `{layer}` where the layer number stands.
///
/// A parameter of global shape `shape` (one or two dimensions) lies at rest as
/// follows. Each dimension is split over `axes` (major to minor; chunk c of n
/// holds rows c*ceil(N/n) on, the tail is zero). Where `flatAxes` is not
/// empty, the local tensor is then flattened, padded with zeros and cut over
/// these axes in the same way.
///
/// It is a part of the checkpoint tensor of shape `checkpointShape`: the slice
/// that starts at `checkpointOffset` and, if `transposed`, is its transpose.
struct Parameter {
  const char *checkpoint;
  Type type;
  int rank;
  int64_t shape[2];
  int64_t checkpointShape[2];
  int64_t checkpointOffset[2];
  bool transposed;
  Initializer initializer;
  double deviation; // of `normal`
  bool copy;        // of a parameter whose home is another stage: refreshed
                    // each step, neither saved nor counted
  Span<int> axes[2];
  Span<int> flatAxes;
  int first, count; // layers
  Operand rest;     // master values
  Operand gradient; // reduced gradient of the step, in the rest placement;
                    // base -1 for a copy
  Operand state[2]; // exp_avg, exp_avg_sq; base -1 for a copy
};

/// What one stage runs.
struct Stage {
  const char *name;
  int firstRank;
  int64_t arenaBytes;
  int64_t scratch;    // offset of the scratch area
  int64_t slotStride; // bytes from one microbatch's slot to the next
  int slots;          // microbatches in flight
  Span<Segment> segments;
  Span<Transfer> transfers;
  Span<Action> order;
  Span<Parameter> parameters;
};

/// A whole training program. `loss` and `gradientNorm` are addresses of scalar
/// results of the step that hold the same value on every rank of every stage.
struct Program {
  const char *name;
  const char *configuration; // config.json of the model, written by --save
  Type type;                 // compute and master type
  Span<Axis> mesh;
  Span<GroupDescription> groups;
  Span<Stage> stages;
  int64_t batch; // sequences of a step, over all ranks
  int64_t sequence;
  int64_t vocabulary;
  int microbatches;
  Operand loss;
  Operand gradientNorm;
};

/// Runs `program`: reads the command line and the launcher's environment,
/// trains, and returns the process's exit code. Errors are printed as one line
/// on stderr, exit code 1.
int main(const Program &program, int argc, char **argv);

//===----------------------------------------------------------------------===//
// Step inputs, and values that know where they lie
//
// Results come first, then operands, then attributes in alphabetical order of
// their names. A group argument says over which ranks a dimension is
// split; its coordinate c of n holds rows c*ceil(N/n) on.
//===----------------------------------------------------------------------===//

/// Rows of the step's `name` ("tokens" or "labels"), [rows, columns] in i64.
/// The whole step has `batch` rows of `sequence` columns. With `microbatched`
/// the current microbatch (major) and `rows` (minor) split the batch.
void input(Context &, View result, int64_t batch, Group columns,
           bool microbatched, const char *name, Group rows, int64_t sequence);

/// Positions of the sequence, [columns] in i64.
void positions(Context &, View result, Group columns, int64_t sequence);

/// result[] = number of labels that count (not the ignored token), as the
/// result's floating-point type.
void count_valid(Context &, View result, View labels);

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// result[..., h] = table[ids[...], h], and zero where the id lies outside of
/// the rows that `over` gives this rank of a table of `vocabulary` rows.
void embedding(Context &, View result, View ids, View table, Group over,
               int64_t vocabulary);
/// result[v, h] = sum of cotangent[..., h] over the places where ids is v; the
/// rows that `over` gives this rank.
void embedding_gradient(Context &, View result, View cotangent, View ids,
                        Group over, int64_t vocabulary);
/// result[..., n] = sum_k x[..., k] weight[n, k] (+ bias[n]).
void linear(Context &, View result, View x, View weight);
void linear(Context &, View result, View x, View weight, View bias);
/// result[..., k] = sum_n cotangent[..., n] weight[n, k].
void linear_input_gradient(Context &, View result, View cotangent, View weight);
/// result[n, k] = sum over rows of cotangent[..., n] x[..., k].
void linear_weight_gradient(Context &, View result, View cotangent, View x);
/// result[trailing dimensions] = sum over the first `leading` dimensions of x.
void sum_leading(Context &, View result, View x, int64_t leading);
/// Normalises over the last dimension. mean and rstd have x's leading
/// dimensions.
void layer_norm(Context &, View result, View mean, View rstd, View x,
                View weight, View bias, double epsilon);
void layer_norm_input_gradient(Context &, View result, View cotangent, View x,
                               View weight, View mean, View rstd);
/// result[k] = sum over rows of cotangent[..., k] (x - mean) rstd.
void layer_norm_weight_gradient(Context &, View result, View cotangent, View x,
                                View mean, View rstd);
/// GELU in its tanh form (Hendrycks & Gimpel 2016, eq. 2).
void gelu(Context &, View result, View x);
void gelu_gradient(Context &, View result, View cotangent, View x);
/// result = a + b; b may lack leading dimensions of a and is then repeated.
void add(Context &, View result, View a, View b);
/// result = a * scalar[].
void scale(Context &, View result, View a, View scalar);
/// result[] = 1 / x[], and 0 where x is 0.
void reciprocal(Context &, View result, View x);
/// Causal softmax attention (scale 1/sqrt(headDimension)) over q, k, v of shape
/// [batch, sequence, heads * headDimension]; logSumExp is [batch, heads,
/// sequence], natural logarithm.
void attention(Context &, View result, View logSumExp, View q, View k, View v,
               int64_t headDimension);
void attention_gradient(Context &, View dq, View dk, View dv, View cotangent,
                        View q, View k, View v, View result, View logSumExp,
                        int64_t headDimension);

/// Cross entropy of logits [..., v] against labels [...]: the *sum* over the
/// labels that count; logSumExp has the labels' shape. Used whole where the
/// vocabulary is not split; where it is, the three parts below with an
/// all-reduce (max, then sum) between them. Columns past `vocabulary` (padding
/// of a split one) count as minus infinity.
void cross_entropy(Context &, View loss, View logSumExp, View logits,
                   View labels, Group over, int64_t vocabulary);
/// maximum[...] of this rank's columns.
void cross_entropy_maximum(Context &, View maximum, View logits, Group over,
                           int64_t vocabulary);
/// parts[0, ...] = sum of exp(logits - maximum) over this rank's columns,
/// parts[1, ...] = the label's logit where this rank holds it, else 0.
void cross_entropy_parts(Context &, View parts, View logits, View labels,
                         View maximum, Group over, int64_t vocabulary);
void cross_entropy_finish(Context &, View loss, View logSumExp, View maximum,
                          View parts, View labels);
/// result[..., v] = (softmax(logits)[v] - [label is v]) * cotangent[], zero
/// where the label is ignored and in padded columns.
void cross_entropy_gradient(Context &, View result, View cotangent, View logits,
                            View labels, View logSumExp, Group over,
                            int64_t vocabulary);

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

/// result[] = sum of x^2, accumulated in the result's type.
void sum_of_squares(Context &, View result, View x);
/// coefficient[] = min(1, clip / (sqrt(sumOfSquares) + 1e-6)), 1 without
/// --clip-norm; norm[] = sqrt(sumOfSquares). As torch.nn.utils.clip_grad_norm_.
void clip_coefficient(Context &, View coefficient, View norm,
                      View sumOfSquares);
/// AdamW (Loshchilov & Hutter 2019; torch.optim.AdamW's order of operations),
/// in place on parameter and state; the gradient is multiplied by the clip
/// coefficient first. `decay` says whether the run's weight decay applies.
void adamw(Context &, View parameter, View expAvg, View expAvgSq, View gradient,
           View coefficient, bool decay);

//===----------------------------------------------------------------------===//
// Movement on one rank
//===----------------------------------------------------------------------===//

void copy(Context &, View result, View x);
void fill_zero(Context &, View result);
inline void zero(Context &context, View result) { fill_zero(context, result); }
/// result += x.
void accumulate(Context &, View result, View x);
/// result = this rank's chunk of x along `dimension` over the group's
/// coordinate; extents divide.
void slice(Context &, View result, View x, int64_t dimension, Group over);
/// result = x on the group's first rank, zero elsewhere.
void keep_first(Context &, View result, View x, Group over);
/// result = x with zeros appended along `dimension`.
void pad(Context &, View result, View x, int64_t dimension);
/// result = the leading part of x along `dimension`.
void unpad(Context &, View result, View x, int64_t dimension);
/// Same elements in another shape.
void reshape(Context &, View result, View x);

//===----------------------------------------------------------------------===//
// Collectives. Chunks are in the order of the group's ranks.
//===----------------------------------------------------------------------===//

void all_gather(Context &, View result, View x, int64_t dimension, Group over);
void reduce_scatter(Context &, View result, View x, int64_t dimension,
                    Group over);
void all_reduce(Context &, View result, View x, const char *kind, Group over);
/// Splits `from` and gathers `to`: chunk i of x along `splitDimension` goes to
/// rank i, which joins what it receives along `gatherDimension`.
void all_to_all(Context &, View result, View x, int64_t gatherDimension,
                Group over, int64_t splitDimension);

} // namespace galv

#endif // GALV_RUNTIME_H
