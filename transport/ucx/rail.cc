#include "transport/ucx/rail.h"

#include <cstdlib>
#include <cstring>

#include "core/base/check.h"
#include "core/base/clock.h"

namespace mycel {
namespace {

constexpr unsigned kMessageId = 1;

// The ranks of one server share memory already; what comes here goes over a network. `^` keeps all the others, which
// needs UCX 1.12. The common name: UCX warns about single ones that a machine lacks, loudly where an MPI loaded it
// first.
constexpr const char* kTransports = "^shm";

ucs_status_t StatusOf(ucs_status_ptr_t request) {
  return UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_PTR_STATUS(request);
}

}  // namespace

StatusOr<std::unique_ptr<Rail>> Rail::Open(const UcxLibrary& ucx, const std::string& device) {
  std::unique_ptr<Rail> rail(new Rail(ucx, device));
  MYCEL_RETURN_IF_ERROR(rail->Start());
  return rail;
}

Status Rail::Start() {
  const auto refused = [&](const char* what, ucs_status_t status) {
    return SystemError("UCX cannot " + std::string(what) + (device_.empty() ? "" : " on " + device_) + ": " +
                       ucx_.ucs_status_string(status) +
                       "; UCX_LOG_LEVEL=debug shows why, MYCEL_NICS names the devices to use");
  };
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx_.ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return refused("read its configuration", status);
  if (std::getenv("UCX_TLS") == nullptr) status = ucx_.ucp_config_modify(config, "TLS", kTransports);
  if (status == UCS_OK && !device_.empty()) status = ucx_.ucp_config_modify(config, "NET_DEVICES", device_.c_str());
  if (status == UCS_OK) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    status = ucx_.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  }
  ucx_.ucp_config_release(config);
  if (status != UCS_OK) return refused("start", status);

  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucx_.ucp_worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return refused("open a worker", status);

  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kMessageId;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.arg = this;
  handler.cb = [](void* rail, const void* header, size_t header_bytes, void* data, size_t bytes,
                  const ucp_am_recv_param_t* param) -> ucs_status_t {
    WireHeader wire{};
    if (header_bytes != sizeof(wire)) return UCS_OK;  // not from a rank of ours
    std::memcpy(&wire, header, sizeof(wire));
    const bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    return static_cast<Rail*>(rail)->receiver_(wire, data, bytes, rendezvous);
  };
  status = ucx_.ucp_worker_set_am_recv_handler(worker_, &handler);
  if (status != UCS_OK) return refused("receive active messages", status);

  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  status = ucx_.ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return refused("tell its address", status);
  address_.assign(reinterpret_cast<const char*>(address), bytes);
  ucx_.ucp_worker_release_address(worker_, address);
  status = ucx_.ucp_worker_get_efd(worker_, &event_fd_);
  if (status != UCS_OK) return refused("wait for events", status);
  return OkStatus();
}

Rail::~Rail() {
  CloseEndpoints(false, Deadline::At(0));
  if (worker_ != nullptr) ucx_.ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucx_.ucp_cleanup(context_);
}

StatusOr<ucp_ep_h> Rail::Connect(const std::string& address, std::function<void(ucs_status_t)> failed) {
  auto endpoint = std::make_unique<Endpoint>();
  endpoint->failed = std::move(failed);
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.arg = endpoint.get();
  params.err_handler.cb = [](void* broken, ucp_ep_h, ucs_status_t why) { static_cast<Endpoint*>(broken)->failed(why); };
  const ucs_status_t status = ucx_.ucp_ep_create(worker_, &params, &endpoint->handle);
  if (status != UCS_OK) {
    return SystemError("UCX on " + (device_.empty() ? "its devices" : device_) +
                       " finds no way: " + ucx_.ucs_status_string(status));
  }
  endpoints_.push_back(std::move(endpoint));
  return endpoints_.back()->handle;
}

void Rail::CloseEndpoints(bool flush, Deadline deadline) {
  if (closed_) return;
  closed_ = true;
  for (const std::unique_ptr<Endpoint>& endpoint : endpoints_) endpoint->failed = [](ucs_status_t) {};
  std::vector<ucs_status_ptr_t> closing;
  for (const std::unique_ptr<Endpoint>& endpoint : endpoints_) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flush ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t request = ucx_.ucp_ep_close_nbx(endpoint->handle, &param);
    if (UCS_PTR_IS_PTR(request)) closing.push_back(request);
  }
  for (const ucs_status_ptr_t request : closing) {
    while (ucx_.ucp_request_check_status(request) == UCS_INPROGRESS && !deadline.Passed()) Progress();
    ucx_.ucp_request_free(request);
  }
}

bool Rail::Arm() { return ucx_.ucp_worker_arm(worker_) == UCS_OK; }

void Rail::Finish(void* request, ucs_status_t status, void* user_data) {
  auto* const asked = static_cast<RailRequest*>(user_data);
  asked->rail->ucx_.ucp_request_free(request);
  asked->done(asked, status);
}

ucs_status_t Rail::Send(ucp_ep_h endpoint, const WireHeader& header, const void* payload, size_t bytes,
                        RailRequest* request) {
  request->rail = this;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = request;
  param.cb.send = &Rail::Finish;
  if (eager_) {
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
  }
  return StatusOf(ucx_.ucp_am_send_nbx(endpoint, kMessageId, &header, sizeof(header), payload, bytes, &param));
}

ucs_status_t Rail::FetchInto(void* descriptor, void* target, size_t bytes, RailRequest* request) {
  request->rail = this;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = request;
  param.cb.recv_am = [](void* fetched, ucs_status_t status, size_t /*bytes*/, void* user_data) {
    Finish(fetched, status, user_data);
  };
  return StatusOf(ucx_.ucp_am_recv_data_nbx(worker_, descriptor, target, bytes, &param));
}

}  // namespace mycel
