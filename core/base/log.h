// What Mycel says while it runs. MYCEL_DEBUG chooses the level; a record is one line on standard error:
//   2024-05-06T07:08:09.123456Z host:pid [rank 3] WARN  text
// A record below the level costs one relaxed load; nothing is formatted. Records of threads never mix, and those of
// processes do not either while they are shorter than PIPE_BUF (4096 bytes).
#pragma once

#include <atomic>
#include <sstream>

namespace mycel {

enum class LogLevel : int { kNone = 0, kWarn = 1, kInfo = 2, kTrace = 3 };

namespace log_internal {
inline constexpr int kUnread = -1;
extern std::atomic<int> level;
/// Reads MYCEL_DEBUG into `level` and returns it.
int ReadLevel();
/// Makes both arms of MYCEL_LOG's choice void; & binds looser than <<.
struct Swallow {
  void operator&(std::ostream&) const {}
};
}  // namespace log_internal

inline bool LogEnabled(LogLevel wanted) {
  // relaxed: the level publishes nothing but itself.
  int level = log_internal::level.load(std::memory_order_relaxed);
  if (level == log_internal::kUnread) [[unlikely]]
    level = log_internal::ReadLevel();
  return static_cast<int>(wanted) <= level;
}

/// Overrides MYCEL_DEBUG for this process. Any thread.
void SetLogLevel(LogLevel level);

/// The rank that this thread works for, shown in its records; -1 (the default): none.
void SetLogRank(int rank);
int LogRank();

/// One record; written when it goes out of scope. Use through MYCEL_LOG.
class LogRecord {
 public:
  explicit LogRecord(LogLevel level) : level_(level) {}
  ~LogRecord();
  LogRecord(const LogRecord&) = delete;
  LogRecord& operator=(const LogRecord&) = delete;
  std::ostream& stream() { return text_; }

 private:
  LogLevel level_;
  std::ostringstream text_;
};

}  // namespace mycel

/// MYCEL_LOG(kInfo) << "chose " << planner; the operands are evaluated only when the level is on.
#define MYCEL_LOG(level)                         \
  !::mycel::LogEnabled(::mycel::LogLevel::level) \
      ? static_cast<void>(0)                     \
      : ::mycel::log_internal::Swallow() & ::mycel::LogRecord(::mycel::LogLevel::level).stream()
