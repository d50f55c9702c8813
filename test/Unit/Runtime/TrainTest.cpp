//===- TrainTest.cpp - whole programs, as a user runs them ----------------===//

#include "SafeTensors.h"
#include "SamplePrograms.h"
#include "Support.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/wait.h>

using namespace galv;
using namespace galv::test;

namespace {

std::string slurp(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Outcome {
  int code;
  std::string out, err;
};

/// A folder for one test, with a data file of 60 tokens below 11.
class TrainTest : public testing::Test {
protected:
  std::string folder;

  void SetUp() override {
    char pattern[] = "/tmp/galv_train_XXXXXX";
    folder = mkdtemp(pattern);
    std::ofstream data(folder + "/data.bin", std::ios::binary);
    for (int i = 0; i < 60; ++i)
      data.put(static_cast<char>(philox(9, i, 0)[0] % sample::vocabulary))
          .put(0);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  Outcome shell(const std::string &command) {
    int status = std::system(
        ("cd " + folder + " && " + command + " >out 2>err").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128,
            slurp(folder + "/out"), slurp(folder + "/err")};
  }
  std::string program(const std::string &name) {
    return "GALV_SAMPLE_PROGRAM=" + name + " ";
  }
  Outcome train(const std::string &name, const std::string &arguments) {
    return shell(program(name) + GALV_SAMPLE " " + arguments);
  }
  /// Runs, with the files of the run under `tag`.
  void trainWell(const std::string &prefix, const std::string &tag,
                 const std::string &extra = "") {
    Outcome outcome =
        shell(prefix +
              " --data data.bin --steps 5 --learning-rate 0.05 "
              "--clip-norm 0.5 --ignore-token 3 --shuffle 4 --save " +
              tag + " --metrics " + tag + ".jsonl --dump-gradients " + tag +
              ".gradients " + extra);
    ASSERT_EQ(outcome.code, 0) << prefix << ": " << outcome.err;
    EXPECT_EQ(outcome.err, "");
  }

  std::vector<nlohmann::json> metrics(const std::string &tag) {
    std::vector<nlohmann::json> lines;
    std::ifstream file(folder + "/" + tag + ".jsonl");
    for (std::string line; std::getline(file, line);)
      lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  /// The same files up to rounding in fp64.
  void expectAlike(const std::string &x, const std::string &y) {
    std::vector<nlohmann::json> mx = metrics(x), my = metrics(y);
    ASSERT_EQ(mx.size(), 5u);
    ASSERT_EQ(my.size(), 5u);
    for (int i = 0; i < 5; ++i)
      for (const char *key : {"loss", "grad_norm"}) {
        double vx = mx[i][key], vy = my[i][key];
        EXPECT_NEAR(vx, vy, 1e-12 * vy) << x << ", " << y << ", " << key;
      }
    for (std::string file : {"/model.safetensors", ".gradients"}) {
      SafeTensorsReader rx(folder + "/" + x + file),
          ry(folder + "/" + y + file);
      ASSERT_EQ(rx.tensors().size(), 2u);
      ASSERT_EQ(ry.tensors().size(), 2u);
      for (const auto &[name, tensor] : rx.tensors()) {
        Tensor<double> vx({55}), vy({55});
        tensor.read(vx, 0, 1);
        ry.find(name)->read(vy, 0, 1);
        EXPECT_LT(difference(vx, vy), 1e-12) << x << ", " << y << ", " << name;
      }
    }
  }
};

TEST_F(TrainTest, TheStrategyDoesNotChangeTheTraining) {
  std::string run = GALV_SAMPLE;
  trainWell(program("one") + run, "one");
  trainWell(program("data") + run, "data", "--in-process 2");
  trainWell(program("pipeline") + run, "pipeline", "--in-process 2");
  expectAlike("data", "one");
  expectAlike("pipeline", "one");
  EXPECT_EQ(slurp(folder + "/one/config.json"),
            "{\"model_type\": \"sample\"}\n");
  std::vector<nlohmann::json> lines = metrics("one");
  EXPECT_EQ(lines[4]["step"], 5);
  EXPECT_EQ(lines[4]["tokens"], 80);
  EXPECT_GT(lines[4]["tokens_per_second"], 0);
  EXPECT_GT(lines[4]["peak_bytes"], 0);
  // Again, and not a bit differs.
  trainWell(program("one") + run, "again");
  EXPECT_EQ(slurp(folder + "/again/model.safetensors"),
            slurp(folder + "/one/model.safetensors"));
}

#ifdef GALV_RUN
TEST_F(TrainTest, ProcessesAndThreadsAgreeBitwise) {
  for (std::string name : {"data", "pipeline"}) {
    trainWell(program(name) + GALV_RUN " -n 2 " GALV_SAMPLE, name + "_p");
    trainWell(program(name) + GALV_RUN " -n 2 --in-process " GALV_SAMPLE,
              name + "_t");
    for (std::string file : {"/model.safetensors", ".gradients"})
      EXPECT_EQ(slurp(folder + "/" + name + "_p" + file),
                slurp(folder + "/" + name + "_t" + file));
    EXPECT_FALSE(slurp(folder + "/" + name + "_p.gradients").empty());
  }
}

/// One line, whichever rank meets the error and however the ranks run.
TEST_F(TrainTest, OneErrorLine) {
  std::string prefix = program("data");
  std::ofstream(folder + "/brief.txt") << "abc";
  struct {
    const char *arguments, *error;
  } cases[] = {
      {"--data brief.txt", "error: data file 'brief.txt' has 3 tokens, one "
                           "sample of 4 tokens and the next needs 5\n"},
      {"--data data.bin --steps x",
       "error: --steps is 'x', not a whole number from 0 on\n"},
      {"--data data.bin --speed 3",
       "error: unknown option '--speed'; --help lists the options\n"},
      {"--data data.bin --load brief.txt",
       "error: 'brief.txt' is not a safetensors file: it has 3 bytes, fewer "
       "than the 8 of a header length\n"},
      {"--data data.bin --save /proc/x",
       "error: cannot make directory '/proc/x': No such file or directory\n"},
      {"--data data.bin --metrics none/x",
       "error: cannot write 'none/x': No such file or directory\n"},
  };
  for (auto &one : cases)
    for (std::string way : {"", "--in-process "}) {
      Outcome outcome = shell(prefix + GALV_RUN " -n 2 " + way + GALV_SAMPLE +
                              " " + one.arguments);
      EXPECT_EQ(outcome.code, 1) << one.arguments;
      EXPECT_EQ(outcome.err, one.error);
    }
  Outcome outcome =
      shell(prefix + GALV_RUN " -n 3 " GALV_SAMPLE " --data data.bin");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: sample is compiled for 2 ranks, the launcher "
                         "starts 3\n");
  outcome = shell(GALV_RUN " -n 0 " GALV_SAMPLE);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: -n is '0', not a number from 1 to 4096\n");
  outcome = shell(GALV_RUN " -n 2 ./nothing");
  EXPECT_EQ(outcome.err,
            "error: cannot run './nothing': No such file or directory\n");
}

TEST_F(TrainTest, ALostRankEndsTheRun) {
  // Rank 1 is killed; a run of so many steps would take hours.
  Outcome outcome =
      shell(program("data") +
            "timeout 60 " GALV_RUN " -n 2 sh -c '"
            "[ $RANK = 1 ] && (sleep 3; kill -9 $$) & exec " GALV_SAMPLE
            " --data data.bin --steps 1000000000'");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("step 1/1000000000"), std::string::npos);
  // galv-run and the rank that is left tell what they saw, in either order.
  std::string killed = "error: rank 1 was ended by signal 9 (Killed)\n";
  std::string left = "error: rank 0: ";
  EXPECT_TRUE(outcome.err.find(killed) != std::string::npos ||
              outcome.err.find(left) != std::string::npos)
      << outcome.err;
}
#endif

TEST_F(TrainTest, TheLossFalls) {
  Outcome outcome = train("one", "--data data.bin --steps 100 "
                                 "--learning-rate 0.05 --metrics long.jsonl");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<nlohmann::json> lines = metrics("long");
  ASSERT_EQ(lines.size(), 100u);
  EXPECT_LT(lines[99]["loss"], 0.7 * lines[0]["loss"].get<double>());
}

TEST_F(TrainTest, LoadGoesOn) {
  trainWell(program("one") + GALV_SAMPLE, "one");
  Outcome outcome = train("data", "--in-process 2 --steps 0 --load "
                                  "one/model.safetensors --save copy");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(slurp(folder + "/copy/model.safetensors"),
            slurp(folder + "/one/model.safetensors"));
}

TEST_F(TrainTest, CopiesAreBitwiseEqual) {
  // Without an update the copy of the last step is what is saved.
  Outcome outcome =
      train("pipeline", "--in-process 2 --data data.bin --steps 2 "
                        "--learning-rate 0 --save m "
                        "--dump-copies c");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  SafeTensorsReader model(folder + "/m/model.safetensors"),
      copies(folder + "/c");
  ASSERT_EQ(copies.tensors().size(), 1u);
  const StoredTensor *copy = copies.find("wte.weight@second");
  ASSERT_TRUE(copy);
  EXPECT_EQ(std::memcmp(copy->data, model.find("wte.weight")->data, 55 * 8), 0);
}

TEST_F(TrainTest, TokenOutsideOfTheVocabulary) {
  std::ofstream(folder + "/text.txt") << "aaaaaaaaaaaaaaaaaaaaaaa";
  Outcome outcome = train("one", "--data text.txt");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err, "error: token 97 at position 0 of 'text.txt' is not "
                         "below the vocabulary of 11\n");
}

TEST_F(TrainTest, HelpNamesEveryDefault) {
  Outcome outcome = train("data", "--help");
  EXPECT_EQ(outcome.code, 0);
  for (const char *text : {"--learning-rate X", "(default: 6e-4)",
                           "--in-process 2", "vocabulary 11"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text;
}

TEST_F(TrainTest, OneRankOfSeveralIsRefused) {
  Outcome outcome = train("data", "--data data.bin");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err,
            "error: sample is compiled for 2 ranks, the launcher starts 1 "
            "(start it by galv-run, torchrun, mpirun or srun, or with "
            "--in-process 2)\n");
}

} // namespace
