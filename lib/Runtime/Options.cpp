//===- Options.cpp - the command line of an emitted program ---------------===//

#include "Options.h"
#include "Context.h"
#include "Error.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace galv;

namespace {

/// Parses a value; `what` is the option's name.
double real(const std::string &what, const std::string &text, double low,
            double high) {
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value >= low && value <= high))
    fail("--", what, " is '", text, "', not a number from ", low, " to ",
         high == HUGE_VAL ? "infinity" : std::to_string(high));
  return value;
}

uint64_t natural(const std::string &what, const std::string &text,
                 uint64_t low = 0) {
  char *end = nullptr;
  errno = 0;
  uint64_t value = std::strtoull(text.c_str(), &end, 10);
  bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  if (text.empty() || !digits || errno || value < low)
    fail("--", what, " is '", text, "', not a whole number from ", low, " on");
  return value;
}

int64_t count(const std::string &what, const std::string &text,
              uint64_t low = 0) {
  uint64_t value = natural(what, text, low);
  if (value > INT64_MAX)
    fail("--", what, " is '", text, "', which is too large");
  return static_cast<int64_t>(value);
}

constexpr double most = 1e300; // finite
using Text = const std::string &;

/// One option. An empty default means that the option is off.
struct Option {
  const char *name, *value, *standard, *help;
  void (*set)(Options &, Text name, Text text);
};

const Option table[] = {
    {"data", "FILE", "",
     "required; tokens to train on: a .txt is read as bytes, a .bin as raw "
     "tokens",
     [](Options &o, Text, Text text) { o.data = text; }},
    {"token-type", "TYPE", "uint16",
     "element type of a .bin (little endian): uint16 or uint32",
     [](Options &o, Text, Text text) {
       if (text != "uint16" && text != "uint32")
         fail("--token-type is '", text, "', not uint16 or uint32");
       o.tokenType = text == "uint16" ? TokenType::uint16 : TokenType::uint32;
     }},
    {"shuffle", "SEED", "none",
     "order of the samples, drawn anew each epoch; none: the file's order",
     [](Options &o, Text name, Text text) {
       o.shuffle.reset();
       if (text != "none")
         o.shuffle = natural(name, text);
     }},
    {"ignore-token", "N", "",
     "no loss where the label is this token (off without)",
     [](Options &o, Text name, Text text) {
       o.ignoredToken = count(name, text);
     }},
    {"steps", "N", "100", "optimizer steps; 0 loads and saves only",
     [](Options &o, Text name, Text text) { o.steps = count(name, text); }},
    {"learning-rate", "X", "6e-4", "AdamW's learning rate, constant",
     [](Options &o, Text name, Text text) {
       o.learningRate = real(name, text, 0, most);
     }},
    {"beta1", "X", "0.9", "decay of the gradient's mean",
     [](Options &o, Text name, Text text) {
       o.beta1 = real(name, text, 0, std::nextafter(1, 0));
     }},
    {"beta2", "X", "0.95", "decay of the squared gradient's mean",
     [](Options &o, Text name, Text text) {
       o.beta2 = real(name, text, 0, std::nextafter(1, 0));
     }},
    {"epsilon", "X", "1e-8", "added to AdamW's denominator",
     [](Options &o, Text name, Text text) {
       o.epsilon = real(name, text, 0, most);
     }},
    {"weight-decay", "X", "0.1",
     "AdamW's weight decay, of matrices only (not of vectors)",
     [](Options &o, Text name, Text text) {
       o.weightDecay = real(name, text, 0, most);
     }},
    {"clip-norm", "X", "", "clips the gradient's norm to this (off without)",
     [](Options &o, Text name, Text text) {
       o.clipNorm = real(name, text, 1e-300, most);
     }},
    {"seed", "N", "0", "seed of the initial values",
     [](Options &o, Text name, Text text) { o.seed = natural(name, text); }},
    {"load", "FILE", "",
     "safetensors file to take the weights from instead of initial values",
     [](Options &o, Text, Text text) { o.load = text; }},
    {"save", "DIR", "",
     "writes model.safetensors and config.json there after the last step",
     [](Options &o, Text, Text text) { o.save = text; }},
    {"dump-gradients", "FILE", "",
     "safetensors file for the last step's gradients, before clipping",
     [](Options &o, Text, Text text) { o.dumpGradients = text; }},
    {"dump-copies", "FILE", "",
     "safetensors file for the copies of tied weights on other stages, as "
     "<name>@<stage>",
     [](Options &o, Text, Text text) { o.dumpCopies = text; }},
    {"metrics", "FILE", "",
     "one JSON object a step: step, loss, grad_norm, learning_rate, tokens "
     "(so far), tokens_per_second, peak_bytes (of the largest rank's arena)",
     [](Options &o, Text, Text text) { o.metrics = text; }},
    {"in-process", "N", "0",
     "runs all N ranks as threads of this process; 0: one rank a process",
     [](Options &o, Text name, Text text) { o.inProcess = count(name, text); }},
};

const Option *findOption(const std::string &name) {
  for (const Option &option : table)
    if (name == option.name)
      return &option;
  return nullptr;
}

} // namespace

Options galv::parseOptions(int argc, char **argv) {
  Options options{};
  for (const Option &option : table)
    if (*option.standard)
      option.set(options, option.name, option.standard);
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    if (argument.compare(0, 2, "--"))
      fail("unexpected argument '", argument, "'; --help lists the options");
    size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals - 2);
    const Option *option = findOption(name);
    if (!option)
      fail("unknown option '--", name, "'; --help lists the options");
    if (equals == std::string::npos && i + 1 == argc)
      fail("option '--", name, "' needs a value (", option->value, ")");
    std::string value =
        equals == std::string::npos ? argv[++i] : argument.substr(equals + 1);
    if (value.empty())
      fail("option '--", name, "' needs a value (", option->value, ")");
    option->set(options, name, value);
  }
  if (options.steps > 0 && options.data.empty())
    fail("--data is missing, and --steps is ", options.steps);
  if (options.steps == 0 && !options.dumpGradients.empty())
    fail("--dump-gradients needs a step, and --steps is 0");
  if (options.steps == 0 && !options.dumpCopies.empty())
    fail("--dump-copies needs a step, and --steps is 0");
  return options;
}

std::string galv::helpText(const Program &program, const char *executable) {
  std::ostringstream text;
  text << "usage: " << executable << " --data FILE [options]\n\ntrains "
       << program.name << " on " << worldSize(program)
       << " ranks (stages: " << program.stages.size;
  for (const Axis &axis : program.mesh)
    text << ", " << axis.name << ": " << axis.size;
  text << ")\na step: " << program.batch << " sequences of " << program.sequence
       << " tokens, in " << program.microbatches << " microbatches; vocabulary "
       << program.vocabulary << "\n\n";
  for (const Option &option : table) {
    std::string left = std::string("  --") + option.name + " " + option.value;
    left.resize(std::max<size_t>(left.size() + 2, 26), ' ');
    text << left << option.help;
    if (*option.standard)
      text << " (default: " << option.standard << ")";
    text << "\n";
  }
  text << "  --help                  prints this\n\nseveral ranks are started "
          "by galv-run, torchrun --no-python, mpirun or srun,\nor run in one "
          "process by --in-process "
       << worldSize(program) << "\n";
  return text.str();
}
