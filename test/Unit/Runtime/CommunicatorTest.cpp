//===- CommunicatorTest.cpp - collectives over threads and Gloo -----------===//

#include "GlooWorld.h"
#include "Support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace galv;
using namespace galv::test;

namespace {

constexpr int ranks = 4;

/// A 2 x 2 mesh; groups: all, rows, columns, and all in transposed order.
struct Square {
  Axis mesh[2] = {{"a", 2}, {"b", 2}};
  int ab[2] = {0, 1}, a[1] = {0}, b[1] = {1}, ba[2] = {1, 0};
  GroupDescription groups[5] = {
      {{}, false}, {ab, false}, {a, false}, {b, false}, {ba, false}};
  Stage stage{};
  Program program{};
  Square() {
    program.mesh = mesh;
    program.groups = groups;
    program.stages = {&stage, 1};
  }
};
constexpr Group all{1}, overA{2}, overB{3}, transposed{4};

int freePort() {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(socket, reinterpret_cast<sockaddr *>(&address), size);
  getsockname(socket, reinterpret_cast<sockaddr *>(&address), &size);
  close(socket);
  return ntohs(address.sin_port);
}

void overThreads(const Program &program,
                 const std::function<void(Context &)> &body) {
  runInProcess(program, body);
}

/// Gloo does not care that its ranks are threads here, without c10d's flight
/// recorder; that is turned off before there are threads that read variables.
void overGloo(const Program &program,
              const std::function<void(Context &)> &body) {
  setenv("TORCH_FR_BUFFER_SIZE", "0", 0);
  Launch launch;
  launch.size = static_cast<int>(worldSize(program));
  launch.masterAddress = "127.0.0.1";
  launch.masterPort = freePort();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < launch.size; ++rank)
    threads.emplace_back([&, launch, rank]() mutable {
      launch.rank = rank;
      try {
        auto world = ProcessWorld::connect(launch);
        world->agreeOnInputs();
        world->start();
        runAsRank(launch.size, [&] {
          Context context(program, *world);
          body(context);
          context.everyone().barrier();
        });
        world->finish();
      } catch (const std::exception &error) {
        ADD_FAILURE() << describe(error);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

struct Transport {
  const char *name;
  void (*run)(const Program &, const std::function<void(Context &)> &);
};
void PrintTo(const Transport &transport, std::ostream *out) {
  *out << transport.name;
}
class CommunicatorTest : public testing::TestWithParam<Transport> {
protected:
  void run(const std::function<void(Context &)> &body) {
    GetParam().run(square.program, body);
  }
  Square square;
};
INSTANTIATE_TEST_SUITE_P(Transports, CommunicatorTest,
                         testing::Values(Transport{"threads", overThreads},
                                         Transport{"gloo", overGloo}),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

/// Element (o, d, i) of rank r's tensor of shape [3, extent, 5].
double element(int rank, int o, int d, int i) {
  return rank * 1000 + o * 100 + d * 10 + i;
}

TEST_P(CommunicatorTest, EveryDimension) {
  run([&](Context &c) {
    int me = c.communicator(all).rank();
    EXPECT_EQ(me, c.world().rank());
    Tensor<double> x({3, 4, 5}), gathered({3, 16, 5}), back({3, 4, 5});
    Tensor<double> spread({12, 1, 5}), home({3, 4, 5});
    for (int o = 0; o < 3; ++o)
      for (int d = 0; d < 4; ++d)
        for (int i = 0; i < 5; ++i)
          x[(o * 4 + d) * 5 + i] = element(me, o, d, i);
    all_gather(c, gathered, x, 1, all);
    reduce_scatter(c, back, gathered, 1, all);
    all_to_all(c, spread, x, 0, all, 1);
    all_to_all(c, home, spread, 1, all, 0);
    for (int o = 0; o < 3; ++o)
      for (int i = 0; i < 5; ++i) {
        for (int d = 0; d < 16; ++d)
          EXPECT_EQ(gathered[(o * 16 + d) * 5 + i],
                    element(d / 4, o, d % 4, i));
        for (int r = 0; r < ranks; ++r)
          EXPECT_EQ(spread[(r * 3 + o) * 5 + i], element(r, o, me, i));
      }
    for (int i = 0; i < x.size(); ++i)
      EXPECT_EQ(back[i], 4 * x[i]);
    EXPECT_EQ(home.values, x.values);
  });
}

TEST_P(CommunicatorTest, GroupsFollowTheMesh) {
  run([&](Context &c) {
    int64_t a = c.coordinate(0), b = c.coordinate(1);
    EXPECT_EQ(a * 2 + b, c.world().rank());
    Tensor<int64_t> mine({1}), pair({2}), four({4});
    mine[0] = c.world().rank();
    all_gather(c, pair, mine, 0, overA);
    EXPECT_EQ(pair.values, (std::vector<int64_t>{b, 2 + b}));
    all_gather(c, pair, mine, 0, overB);
    EXPECT_EQ(pair.values, (std::vector<int64_t>{a * 2, a * 2 + 1}));
    all_gather(c, four, mine, 0, transposed);
    EXPECT_EQ(four.values, (std::vector<int64_t>{0, 2, 1, 3}));
    Tensor<int64_t> alone({1});
    all_gather(c, alone, mine, 0, solo);
    EXPECT_EQ(alone[0], mine[0]);
  });
}

/// Small (one message), large (two phases) and not divisible by the ranks.
/// Every rank must hold the sum in rank order, bit for bit.
TEST_P(CommunicatorTest, ReductionsAreBitwiseEqual) {
  for (int64_t n : {1, 7, 4097, 20000}) {
    std::vector<Tensor<float>> values;
    for (int r = 0; r < ranks; ++r)
      values.push_back(
          normal<float>(("rank" + std::to_string(r)).c_str(), {n}));
    Tensor<float> sum = values[0], max = values[0];
    for (int r = 1; r < ranks; ++r)
      for (int64_t i = 0; i < n; ++i) {
        sum[i] += values[r][i];
        max[i] = std::max(max[i], values[r][i]);
      }
    run([&](Context &c) {
      Tensor<float> x = values[c.world().rank()], y({n});
      all_reduce(c, y, x, "sum", all);
      EXPECT_EQ(y.values, sum.values);
      all_reduce(c, y, x, "max", all);
      EXPECT_EQ(y.values, max.values);
      all_reduce(c, x, x, "sum", all); // in place
      EXPECT_EQ(x.values, sum.values);
    });
  }
}

TEST_P(CommunicatorTest, TransfersAreStartedTogether) {
  // Every rank sends to the next and receives from the one before, in one
  // group: one after the other would wait for ever. Two tags cross over.
  run([&](Context &c) {
    int me = c.world().rank(), next = (me + 1) % ranks,
        last = (me + ranks - 1) % ranks;
    for (int round = 0; round < 3; ++round) {
      Tensor<double> one({3000}), two({1}), gotOne({3000}), gotTwo({1});
      std::fill(one.values.begin(), one.values.end(), me + 10 * round);
      two[0] = -me;
      auto bytes = [](Tensor<double> &t) {
        return reinterpret_cast<std::byte *>(t.values.data());
      };
      c.world().transfer({{true, next, 1, bytes(one), 24000},
                          {true, next, 2, bytes(two), 8},
                          {false, last, 2, bytes(gotTwo), 8},
                          {false, last, 1, bytes(gotOne), 24000}});
      EXPECT_EQ(gotOne[2999], last + 10 * round);
      EXPECT_EQ(gotTwo[0], -last);
    }
  });
}

TEST(ThreadWorldTest, AFailureEndsAllRanks) {
  Square square;
  try {
    runInProcess(square.program, [&](Context &c) {
      if (c.world().rank() == 2)
        fail("rank two gives up");
      c.everyone().barrier();
      FAIL() << "the barrier cannot be passed";
    });
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "rank two gives up");
  }
}

TEST(ContextTest, WrongWorldIsRefused) {
  Square square;
  square.stage.firstRank = 3;
  EXPECT_THROW(runInProcess(square.program, [](Context &) {}), Error);
}

} // namespace
