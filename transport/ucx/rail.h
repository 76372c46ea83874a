// Rail: one network device of this rank with its UCP context and worker, and the endpoints made on it. Every call under
// the mutex of the engine that owns it (engine.h); callbacks run inside Progress.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "transport/discover/network_devices.h"
#include "transport/ucx/ucx_library.h"
#include "transport/ucx/wire.h"

namespace mycel {

class Rail;

/// A send or fetch on its way, owned by whoever asked for it.
struct RailRequest {
  void (*done)(RailRequest* request, ucs_status_t status) = nullptr;
  Rail* rail = nullptr;  // set by the rail
};

class Rail {
 public:
  /// A message that has come. `data` is UCX's (for rendezvous a descriptor, see FetchInto).
  using Receiver = std::function<ucs_status_t(const WireHeader& header, void* data, size_t bytes, bool rendezvous)>;

  /// `device`: as UCX names them, "eth0" or "mlx5_0:1"; empty leaves the choice to UCX. SystemError says what UCX says.
  static StatusOr<std::unique_ptr<Rail>> Open(const UcxLibrary& ucx, const std::string& device);
  ~Rail();
  Rail(const Rail&) = delete;
  Rail& operator=(const Rail&) = delete;

  const UcxLibrary& ucx() const { return ucx_; }
  /// Opaque; what a peer needs to connect.
  const std::string& address() const { return address_; }
  /// NetworkOf the device.
  const std::string& network() const { return network_; }
  /// Readable when Progress has something to do, after Arm.
  int event_fd() const { return event_fd_; }
  void set_receiver(Receiver receiver) { receiver_ = std::move(receiver); }

  /// An endpoint to the worker behind `address`; `failed(status)` is called once when it breaks. The rail closes it.
  StatusOr<ucp_ep_h> Connect(const std::string& address, std::function<void(ucs_status_t)> failed);
  /// Closes all endpoints: with `flush` once what was sent has left, at most until `deadline`.
  void CloseEndpoints(bool flush, Deadline deadline);

  /// True when something moved.
  bool Progress() { return ucx_.ucp_worker_progress(worker_) != 0; }
  /// Asks for event_fd to become readable with the next event. False: there are events now.
  bool Arm();

  /// Sends `header` and `payload`; both, and `request`, stay untouched until it is done. UCS_OK: done.
  /// UCS_INPROGRESS: request->done is called later. Anything else is an error, and nothing is called.
  ucs_status_t Send(ucp_ep_h endpoint, const WireHeader& header, const void* payload, size_t bytes,
                    RailRequest* request);
  /// Fetches the payload of a rendezvous message; results like Send's.
  ucs_status_t FetchInto(void* descriptor, void* target, size_t bytes, RailRequest* request);

 private:
  struct Endpoint {
    ucp_ep_h handle = nullptr;
    std::function<void(ucs_status_t)> failed;
  };

  Rail(const UcxLibrary& ucx, std::string device)
      : ucx_(ucx),
        device_(std::move(device)),
        network_(NetworkOf(device_)),
        eager_(device_.find(':') == std::string::npos) {}
  Status Start();
  static void Finish(void* request, ucs_status_t status, void* user_data);

  const UcxLibrary& ucx_;
  const std::string device_;
  const std::string network_;
  // Over TCP a rendezvous costs a round trip for each slice, more than the copy at the target that it saves (0.2
  // against 0.28 GB/s between two ranks, 39 against 47.6 MB/s where the interface passes 48). RDMA is left to UCX.
  const bool eager_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::string address_;
  int event_fd_ = -1;
  Receiver receiver_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // until the worker is gone: one may break while it closes
  bool closed_ = false;
};

}  // namespace mycel
