#include "transport/joined/joined_transport.h"

namespace mycel {
namespace {

Status Connected() {
  return InvalidUsage("the parts of a joined transport are connected one by one, before they are joined");
}

}  // namespace

JoinedTransport::JoinedTransport(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far)
    : near_(std::move(near)),
      far_(std::move(far)),
      name_(std::string(near_->name()) + "+" + std::string(far_->name())) {}

StatusOr<std::string> JoinedTransport::Prepare(const TransportOptions& /*options*/) { return Connected(); }

Status JoinedTransport::Connect(const std::vector<std::string>& /*addresses*/, Deadline /*deadline*/) {
  return Connected();
}

bool JoinedTransport::Progress() {
  const bool near_moved = near_->NeedsProgress() && near_->Progress();
  return (far_->NeedsProgress() && far_->Progress()) || near_moved;
}

}  // namespace mycel
