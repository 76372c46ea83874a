// A planted mistake, not compiled into anything: a guarded field is read without its lock.
#include "core/base/mutex.h"

class Account {
 public:
  void Deposit(int amount) {
    const mycel::MutexLock lock(mutex_);
    balance_ += amount;
  }
  int balance() const { return balance_; }

 private:
  mycel::Mutex mutex_;
  int balance_ ABSL_GUARDED_BY(mutex_) = 0;
};

int Total(Account& account) {
  account.Deposit(1);
  return account.balance();
}
