#include "tests/gpu/fake_stream.h"

#include <utility>

namespace mycel::fake {

void Mark::Set() {
  const MutexLock lock(mutex_);
  set_ = true;
  changed_.NotifyAll();
}

void Mark::Wait() {
  const MutexLock lock(mutex_);
  while (!set_) changed_.Wait(mutex_);
}

bool Mark::IsSet() {
  const MutexLock lock(mutex_);
  return set_;
}

void FakeGraph::Run() const {
  std::vector<std::unique_ptr<Mark>> done;
  for (size_t i = 0; i < nodes.size(); ++i) done.push_back(std::make_unique<Mark>());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < nodes.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const size_t before : nodes[i].after) done[before]->Wait();
      nodes[i].work();
      done[i]->Set();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

FakeStream::~FakeStream() {
  {
    const MutexLock lock(mutex_);
    closing_ = true;
    changed_.NotifyAll();
  }
  if (worker_.joinable()) worker_.join();
}

void FakeStream::Add(std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    LeaveClosedGraph();
    if (graph_ != nullptr) {
      graph_->nodes.push_back({std::move(work), std::exchange(last_, {})});
      last_ = {graph_->nodes.size() - 1};
      return;
    }
  }
  Enqueue(std::move(work));
}

void FakeStream::Enqueue(std::function<void()> work) {
  const MutexLock lock(mutex_);
  if (!worker_.joinable()) worker_ = std::thread([this] { Work(); });
  queue_.push_back(std::move(work));
  ++queued_;
  changed_.NotifyAll();
}

void FakeStream::Record(FakeEvent* event) {
  {
    const MutexLock lock(mutex_);
    LeaveClosedGraph();
    event->graph = graph_;
    event->after = last_;
    if (graph_ != nullptr) return;
  }
  auto mark = std::make_shared<Mark>();
  event->mark = mark;
  Enqueue([mark] { mark->Set(); });
}

void FakeStream::WaitFor(const FakeEvent& event) {
  if (event.graph != nullptr && event.graph->open.load(std::memory_order_relaxed)) {
    // A stream that waits for a captured event is part of the graph from here on.
    const MutexLock lock(mutex_);
    graph_ = event.graph;
    last_.insert(last_.end(), event.after.begin(), event.after.end());
    return;
  }
  if (event.mark == nullptr) return;
  Add([mark = event.mark] { mark->Wait(); });
}

void FakeStream::Synchronize() {
  const MutexLock lock(mutex_);
  const uint64_t target = queued_;
  while (done_ < target) changed_.Wait(mutex_);
}

bool FakeStream::capturing() {
  const MutexLock lock(mutex_);
  LeaveClosedGraph();
  return graph_ != nullptr;
}

void FakeStream::BeginCapture() {
  const MutexLock lock(mutex_);
  graph_ = std::make_shared<FakeGraph>();
  last_.clear();
}

std::shared_ptr<FakeGraph> FakeStream::EndCapture() {
  const MutexLock lock(mutex_);
  last_.clear();
  if (graph_ != nullptr) graph_->open.store(false, std::memory_order_relaxed);
  return std::exchange(graph_, nullptr);
}

void FakeStream::LeaveClosedGraph() {
  if (graph_ == nullptr || graph_->open.load(std::memory_order_relaxed)) return;
  graph_ = nullptr;
  last_.clear();
}

void FakeStream::Work() {
  mutex_.Lock();
  while (true) {
    while (!closing_ && queue_.empty()) changed_.Wait(mutex_);
    if (queue_.empty()) break;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    mutex_.Unlock();
    work();
    mutex_.Lock();
    ++done_;
    changed_.NotifyAll();
  }
  mutex_.Unlock();
}

}  // namespace mycel::fake
