// A job started by an MPI launcher. The program is linked to no MPI: it loads libmycel_mpi_<flavour>.so, which is.
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include "bench/perf/job.h"
#include "bindings/mpi/world.h"

namespace mycel::perf {
namespace {

struct Plugin {
  mycelMpiWorldInitFunction init = nullptr;
  mycelMpiWorldAllGatherFunction all_gather = nullptr;
  mycelMpiWorldFinalizeFunction finalize = nullptr;
  mycelMpiWorldAbortFunction abort = nullptr;
  mycelMpiWorldErrorTextFunction error_text = nullptr;
};

class MpiJob final : public Job {
 public:
  MpiJob(const Plugin& plugin, int rank, int size, std::string flavour)
      : Job(rank, size), plugin_(plugin), flavour_(std::move(flavour)) {}

  Status AllGather(const void* mine, size_t bytes, void* everyone) override {
    return Check(plugin_.all_gather(mine, bytes, everyone), "MPI_Allgather");
  }

  void Fail() override {
    // The library tells the other ranks what happened; leave them a moment to say so before MPI ends them.
    sleep(2);
    plugin_.abort(1);
  }

  Status Leave() override { return Check(plugin_.finalize(), "MPI_Finalize"); }

  std::string Description() const override { return std::to_string(size_) + " processes of mpirun (" + flavour_ + ")"; }

 private:
  Status Check(int code, const char* what) const {
    if (code == 0) return OkStatus();
    char text[256];
    plugin_.error_text(code, text, sizeof(text));
    return SystemError(std::string(what) + ": " + text);
  }

  Plugin plugin_;
  std::string flavour_;
};

// Beside the program (bin/../lib), then where the loader looks.
void* OpenPlugin(const std::string& name) {
  char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
  if (length > 0) {
    const std::string path(self, static_cast<size_t>(length));
    const std::string beside = path.substr(0, path.rfind('/')) + "/../lib/" + name;
    // Global: Open MPI's own plugins look up its symbols there.
    if (void* handle = dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
  }
  return dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

template <typename Function>
bool Find(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

}  // namespace

StatusOr<std::unique_ptr<Job>> JoinMpiJob(Launcher launcher) {
  const bool open_mpi = launcher == Launcher::kOpenMpi;
  const std::string flavour = open_mpi ? "Open MPI" : "MPICH";
  const std::string name = open_mpi ? "libmycel_mpi_openmpi.so" : "libmycel_mpi_mpich.so";
  void* handle = OpenPlugin(name);
  if (handle == nullptr) {
    const char* why = dlerror();
    return SystemError("started by " + flavour + ", but " + name + " cannot be loaded (" +
                       (why != nullptr ? why : "no reason given") + "): apt install " +
                       (open_mpi ? "libopenmpi-dev" : "libmpich-dev") + " and build Mycel again");
  }
  Plugin plugin;
  if (!Find(handle, "mycelMpiWorldInit", &plugin.init) || !Find(handle, "mycelMpiWorldAllGather", &plugin.all_gather) ||
      !Find(handle, "mycelMpiWorldFinalize", &plugin.finalize) || !Find(handle, "mycelMpiWorldAbort", &plugin.abort) ||
      !Find(handle, "mycelMpiWorldErrorText", &plugin.error_text)) {
    return SystemError(name + " is of another version of Mycel: build it again");
  }
  int rank = 0;
  int size = 1;
  if (const int code = plugin.init(&rank, &size); code != 0) {
    return SystemError("MPI_Init failed with code " + std::to_string(code) + " in " + name);
  }
  return std::unique_ptr<Job>(new MpiJob(plugin, rank, size, flavour));
}

}  // namespace mycel::perf
