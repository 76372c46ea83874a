// A job whose launcher tells only rank and size: every process connects to process 0 by TCP, which gathers and spreads.
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/perf/job.h"
#include "core/base/clock.h"

namespace mycel::perf {
namespace {

constexpr int64_t kMeetSeconds = 60;
constexpr uint32_t kGreeting = 0x6d796365;  // tells our processes from strangers on the port

struct Hello {
  uint32_t greeting;
  int32_t rank;
  int32_t size;
};

Status Errno(const std::string& what) { return SystemError(what + ": " + std::strerror(errno)); }

Status SendAll(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = send(fd, at, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return RemoteError("a process of the job has gone: " + std::string(std::strerror(errno)));
    at += sent;
    bytes -= static_cast<size_t>(sent);
  }
  return OkStatus();
}

Status ReceiveAll(int fd, void* data, size_t bytes) {
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = recv(fd, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return RemoteError("a process of the job has gone");
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return OkStatus();
}

class SocketJob final : public Job {
 public:
  SocketJob(int rank, int size) : Job(rank, size), sockets_(static_cast<size_t>(size), -1) {}
  ~SocketJob() override {
    for (const int fd : sockets_) {
      if (fd >= 0) close(fd);
    }
  }

  Status AllGather(const void* mine, size_t bytes, void* everyone) override {
    char* all = static_cast<char*>(everyone);
    const size_t total = bytes * static_cast<size_t>(size_);
    if (rank_ != 0) {
      MYCEL_RETURN_IF_ERROR(SendAll(sockets_[0], mine, bytes));
      return ReceiveAll(sockets_[0], all, total);
    }
    std::memcpy(all, mine, bytes);
    for (size_t r = 1; r < sockets_.size(); ++r) MYCEL_RETURN_IF_ERROR(ReceiveAll(sockets_[r], all + r * bytes, bytes));
    for (size_t r = 1; r < sockets_.size(); ++r) MYCEL_RETURN_IF_ERROR(SendAll(sockets_[r], all, total));
    return OkStatus();
  }

  std::string Description() const override { return std::to_string(size_) + " processes of srun"; }

  // Process 0: takes the others' connections in any order.
  Status Accept(int port) {
    const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) return Errno("socket");
    const int on = 1;
    const int off = 0;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    const timeval patience{kMeetSeconds, 0};
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(static_cast<uint16_t>(port));
    Status status;
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(listener, size_) != 0) {
      status = Errno("port " + std::to_string(port) + " for the processes to meet at");
    }
    for (int joined = 1; status.ok() && joined < size_;) status = AcceptOne(listener, &joined);
    close(listener);
    return status;
  }

  // The others: process 0 may start later, so try until it listens.
  Status Connect(const std::string& host, int port) {
    const Deadline deadline = Deadline::After(kMeetSeconds * kNsPerSecond);
    while (true) {
      const int fd = ConnectOnce(host, port);
      const Hello hello{kGreeting, rank_, size_};
      if (fd >= 0 && SendAll(fd, &hello, sizeof(hello)).ok()) {
        sockets_[0] = fd;
        return OkStatus();
      }
      if (fd >= 0) close(fd);
      if (deadline.Passed()) {
        return TimeoutError("process " + std::to_string(rank_) + " could not reach process 0 at " + host + ":" +
                            std::to_string(port) + " within " + std::to_string(kMeetSeconds) + " s");
      }
      usleep(20'000);
    }
  }

 private:
  Status AcceptOne(int listener, int* joined) {
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      return TimeoutError("only " + std::to_string(*joined) + " of " + std::to_string(size_) +
                          " processes came within " + std::to_string(kMeetSeconds) + " s");
    }
    Hello hello{};
    const bool ours = ReceiveAll(fd, &hello, sizeof(hello)).ok() && hello.greeting == kGreeting &&
                      hello.size == size_ && hello.rank > 0 && hello.rank < size_;
    if (!ours || sockets_[static_cast<size_t>(hello.rank)] >= 0) {
      close(fd);
      return OkStatus();
    }
    NoDelay(fd);
    sockets_[static_cast<size_t>(hello.rank)] = fd;
    ++*joined;
    return OkStatus();
  }

  static void NoDelay(int fd) {
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }

  static int ConnectOnce(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) return -1;
    int fd = -1;
    for (const addrinfo* a = list; a != nullptr && fd < 0; a = a->ai_next) {
      fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
      if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
      }
    }
    freeaddrinfo(list);
    if (fd >= 0) NoDelay(fd);
    return fd;
  }

  std::vector<int> sockets_;  // process 0: one per process; the others: [0]
};

}  // namespace

StatusOr<std::unique_ptr<Job>> JoinSocketJob(int rank, int size, const std::string& host, int port) {
  auto job = std::make_unique<SocketJob>(rank, size);
  MYCEL_RETURN_IF_ERROR(rank == 0 ? job->Accept(port) : job->Connect(host, port));
  return std::unique_ptr<Job>(std::move(job));
}

}  // namespace mycel::perf
