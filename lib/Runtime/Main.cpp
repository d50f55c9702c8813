//===- Main.cpp - what an emitted program does ----------------------------===//

#include "Checkpoint.h"
#include "GlooWorld.h"
#include "InProcess.h"
#include "Launch.h"
#include "Options.h"
#include "Report.h"
#include "Step.h"
#include "ThreadWorld.h"
#include "Types.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace galv;

namespace {

/// The files of a run, open and checked; shared by the ranks of a process.
struct Inputs {
  std::unique_ptr<Dataset> data;
  std::unique_ptr<SafeTensorsReader> weights;
};

Inputs openInputs(const Program &program, const Options &options) {
  Inputs inputs;
  if (options.steps > 0)
    inputs.data = std::make_unique<Dataset>(options.data, options.tokenType,
                                            program.sequence);
  if (!options.load.empty()) {
    inputs.weights = std::make_unique<SafeTensorsReader>(options.load);
    checkLoadable(program, *inputs.weights);
  }
  return inputs;
}

/// What only one rank needs to check: slow checks, and paths that rank 0
/// writes.
void checkAsRoot(const Program &program, const Options &options,
                 const Inputs &inputs) {
  if (options.ignoredToken && *options.ignoredToken >= program.vocabulary)
    fail("--ignore-token ", *options.ignoredToken,
         " is not below the vocabulary of ", program.vocabulary);
  if (inputs.data)
    inputs.data->checkVocabulary(program.vocabulary);
  for (const std::string &path :
       {options.metrics, options.dumpGradients, options.dumpCopies})
    if (!path.empty())
      checkWritable(path);
  if (!options.save.empty())
    makeWritableDirectory(options.save);
}

void save(Context &context, const std::string &directory) {
  store(context, Part::values, directory + "/model.safetensors");
  if (context.world().rank() != 0)
    return;
  const char *configuration = context.program().configuration;
  AtomicFile file(directory + "/config.json");
  file.write(configuration, std::strlen(configuration));
  file.commit();
}

/// Trains as one rank.
void train(Context &context, const Options &options, const Inputs &inputs) {
  const Program &program = context.program();
  StepInputs &step = context.step;
  step.learningRate = options.learningRate;
  step.beta1 = options.beta1;
  step.beta2 = options.beta2;
  step.epsilon = options.epsilon;
  step.weightDecay = options.weightDecay;
  step.clipNorm = options.clipNorm;
  step.ignoredToken = options.ignoredToken.value_or(-1);
  context.seed = options.seed;
  if (inputs.weights)
    load(context, *inputs.weights);
  else
    initialize(context);

  if (options.steps > 0) {
    std::unique_ptr<Report> report;
    if (context.world().rank() == 0) {
      int64_t peak = 0;
      for (const Stage &stage : program.stages)
        peak = std::max(peak, stage.arenaBytes);
      report = std::make_unique<Report>(options.metrics, options.steps,
                                        program.batch * program.sequence, peak);
    }
    SampleOrder order(inputs.data->samples(), options.shuffle);
    for (int64_t i = 0; i < options.steps; ++i) {
      step.number = i + 1;
      fillStep(*inputs.data, order, i, program.batch, program.sequence,
               step.samples);
      runStep(context);
      if (report)
        report->add({i + 1, readResult(context, program.loss),
                     readResult(context, program.gradientNorm),
                     step.learningRate});
    }
  }
  if (!options.dumpGradients.empty())
    store(context, Part::gradients, options.dumpGradients);
  if (!options.dumpCopies.empty())
    store(context, Part::copies, options.dumpCopies);
  if (!options.save.empty())
    save(context, options.save);
}

void printError(const std::exception &error) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", describe(error).c_str());
}

/// All ranks in this process: threads, or the only one.
void runHere(const Program &program, const Options &options) {
  Inputs inputs = openInputs(program, options);
  checkAsRoot(program, options, inputs);
  runInProcess(program,
               [&](Context &context) { train(context, options, inputs); });
}

/// This process is one of several ranks. Returns the exit code.
int runProcess(const Program &program, const Options &options,
               const Launch &launch) {
  std::unique_ptr<ProcessWorld> world = ProcessWorld::connect(launch);
  try {
    // Rank 0 checks first; the others then open the same files.
    Inputs inputs;
    if (launch.rank == 0) {
      inputs = openInputs(program, options);
      checkAsRoot(program, options, inputs);
    }
    world->agreeOnInputs();
    if (launch.rank != 0)
      inputs = openInputs(program, options);
    world->start();
    runAsRank(launch.size, [&] {
      Context context(program, *world);
      train(context, options, inputs);
      context.everyone().barrier();
    });
    world->finish();
    return 0;
  } catch (const std::exception &error) {
    bool quiet = dynamic_cast<const PeerFailed *>(&error);
    if (world->announceFailure() && !quiet)
      printError(error);
  }
  // Leave without destructors: those of a communicator whose peers are gone
  // may wait for them.
  std::fflush(nullptr);
  std::_Exit(1);
}

int runChecked(const Program &program, int argc, char **argv) {
  Options options = parseOptions(argc, argv);
  if (options.help) {
    if (guessRank() == 0)
      std::fputs(helpText(program, argv[0]).c_str(), stdout);
    return 0;
  }
  Launch launch = readLaunch();
  int64_t ranks = worldSize(program);
  if (options.inProcess > 0) {
    if (options.inProcess != ranks)
      fail("--in-process ", options.inProcess, ", but ", program.name,
           " is compiled for ", ranks, " ranks");
    if (launch.size > 1)
      fail("--in-process ", options.inProcess, " inside of a run of ",
           launch.size, " processes");
  } else if (launch.size != ranks) {
    fail(program.name, " is compiled for ", ranks, " ranks, the launcher ",
         launch.size == 1 ? "starts 1"
                          : "starts " + std::to_string(launch.size),
         ranks > 1 && launch.size == 1
             ? " (start it by galv-run, torchrun, mpirun or srun, or with "
               "--in-process " +
                   std::to_string(ranks) + ")"
             : "");
  }
  if (ranks == 1 || options.inProcess > 0) {
    runHere(program, options);
    return 0;
  }
  return runProcess(program, options, launch);
}

} // namespace

int galv::main(const Program &program, int argc, char **argv) {
  try {
    return runChecked(program, argc, argv);
  } catch (const std::exception &error) {
    // Every rank meets an error of the command line or the launch; rank 0
    // says it. (Here it is the only rank, or no communicator exists yet.)
    if (guessRank() == 0)
      printError(error);
    return 1;
  }
}
